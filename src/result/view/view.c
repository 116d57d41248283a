// SPDX-License-Identifier: Apache-2.0
#include "result/view/view.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/envelope/lookalike.h"
#include "result/text_cut.h"
#include "result/view/view_impl.h"
#include "text/tokens.h"
#include "json/write.h"

bool view_refuse(const struct view_order *o, str name, const char *what, struct fault *f) {
  ASSERT(o->form);
  fault_set(f, FAULT_INVALID, "%.*s must be %s; example: %s", STR_ARG(name), what, o->form);
  fault_set_path(f, name);
  return false;
}

const struct json *view_member(const struct view_order *o, str name) {
  const struct json *v = json_get(o->selector, name);
  return json_is(v, JSON_NULL) ? NULL : v;
}

bool view_number(const struct view_order *o, str name, int64_t usual, int64_t *out, struct fault *f) {
  const struct json *v = view_member(o, name);
  if (!v) *out = usual;
  return !v || json_int(v, out) || view_refuse(o, name, "a whole number", f);
}

bool view_string(const struct view_order *o, str name, str usual, struct arena *a, str *out, struct fault *f) {
  const struct json *v = view_member(o, name);
  if (!v && usual.p) *out = usual;
  return (!v && usual.p) || json_string(v, a, out) || view_refuse(o, name, "a string", f);
}

bool view_no_json(const struct view_order *o, struct fault *f) {
  struct fault why = *f;
  fault_set(f, why.code, "%.*s needs JSON, but the text is not JSON (%s, %s); use {\"type\":\"lines\",\"start\":0}",
            STR_ARG(o->type), why.path, why.message);
  return false;
}

size_t view_place(int64_t index, size_t count) {
  if (index >= 0) return (uint64_t)index < count ? (size_t)index : count;
  uint64_t back = 0 - (uint64_t)index;
  return back < count ? count - (size_t)back : 0;
}

// ---- cut lines

// Returns the number of lines that end before `at`; *out_bytes is the size of these lines, including line ends.
static size_t whole_lines(str text, size_t at, size_t *out_bytes) {
  size_t count = 0;
  ASSERT(at <= text.n);
  *out_bytes = 0;
  for (size_t i = 0; i < at; i++) {
    if (text.p[i] != '\n') continue;
    count++;
    *out_bytes = i + 1;
  }
  return count;
}

void view_begin_note(const struct view_order *o, struct buf *out) {
  buf_str(out, o->mark);
  buf_char(out, ' ');
}

bool view_cut_lines(const struct view_order *o, str lines, view_note *note, void *ctx, struct buf *out) {
  size_t begin = out->n, limit = o->limit;
  for (size_t room = VIEW_NOTE_TOKENS; room < limit; room += VIEW_NOTE_TOKENS / 4) {
    size_t width, count = lines.n ? whole_lines(lines, measure_cut_tokens(lines, limit - room), &width) : 0;
    if (!count) return false;
    buf_add(out, lines.p, width);
    view_begin_note(o, out);
    note(ctx, count, out);
    if (out->over || tokens_fit(str_from(buf_view(out), begin), limit)) return true;
    out->n = begin;
  }
  return false;
}

bool view_put_lines(const struct view_order *o, str lines, bool whole, view_note *note, void *ctx, struct buf *out) {
  str all = {lines.p, lines.n ? lines.n - 1 : 0};
  if (!whole || !tokens_fit(all, o->limit)) return view_cut_lines(o, lines, note, ctx, out);
  buf_str(out, all);
  return true;
}

void view_put_edited(struct buf *out, const struct view_order *o, const struct json_edit *edits, size_t count) {
  struct arena a;
  arena_init(&a);
  str next = json_compacted(&a, json_edited(&a, o->selector, edits, count));
  if (next.n <= VIEW_REPEATED) {
    buf_printf(out, "go on with %.*s", STR_ARG(next));
  } else {
    buf_str(out, STR("go on with the same selector and "));
    for (size_t i = 0; i < count; i++)
      buf_printf(out, "%s\"%.*s\":%.*s", i ? "," : "", STR_ARG(edits[i].key), STR_ARG(edits[i].raw));
  }
  arena_done(&a);
}

void view_put_next(struct buf *out, const struct view_order *o, size_t start) {
  struct str_digits room;
  struct json_edit edit = {STR("start"), str_from_u64(start, &room)};
  view_put_edited(out, o, &edit, 1);
}

// Writes a note: the selected range is outside of the text, although the text is not empty.
static void note_none(const struct view_order *o, struct buf *out, size_t total, const char *what) {
  view_begin_note(o, out);
  buf_printf(out, "out of range: there are %zu %s, counted from 0", total, what);
}

// ---- characters ----

static void note_chars(const struct view_order *o, const struct view_chars *chars, str shown, struct buf *out) {
  str bytes = o->bytes;
  size_t count = measure_all_chars(shown), width;
  measure_chars(str_from(bytes, chars->from), count, &width);
  ASSERT(count <= chars->count);
  view_begin_note(o, out);
  buf_printf(out, "cut at character %zu (byte %zu of %zu); go on with {\"type\":\"head\",\"start\":%zu,\"chars\":%zu}",
             chars->start + count, chars->from + width, bytes.n, chars->start + count, chars->count - count);
}

// Appends the beginning of `text`, and a note that says how to read the rest. Tries again with more room for the note
// until both fit.
static void cut_chars(const struct view_order *o, const struct view_chars *chars, str text, struct buf *out) {
  size_t begin = out->n, limit = o->limit;
  for (size_t room = VIEW_NOTE_TOKENS;; room += VIEW_NOTE_TOKENS / 4) {
    size_t left = limit > room ? limit - room : 0;
    str shown = {text.p, measure_cut_nicely(text, measure_cut_tokens(text, left))};
    buf_str(out, shown);
    if (out->n > begin && out->p[out->n - 1] != '\n') buf_char(out, '\n');
    note_chars(o, chars, shown, out);
    if (!left || out->over || tokens_fit(str_from(buf_view(out), begin), limit)) return;
    out->n = begin;
  }
}

void view_show_chars(const struct view_order *o, const struct view_chars *chars, struct buf *out) {
  size_t limit = o->limit;
  ASSERT(chars->from <= o->bytes.n);
  str rest = str_from(o->bytes, chars->from), near = utf8_cut(rest, limit * MEASURE_TOKEN_BYTES);
  size_t width, count = measure_chars(near, chars->count, &width);
  bool whole = count == chars->count || near.n == rest.n;
  struct buf text;
  buf_init(&text, 3 * width);
  measure_repair(&text, (str){near.p, width});
  if (whole && tokens_fit(buf_view(&text), limit)) buf_str(out, buf_view(&text));
  else cut_chars(o, chars, buf_view(&text), out);
  buf_done(&text);
}

void view_put_head(struct buf *out, str bytes, str span) {
  ASSERT(span.p >= bytes.p && span.p + span.n <= bytes.p + bytes.n);
  size_t start = measure_all_chars((str){bytes.p, (size_t)(span.p - bytes.p)});
  buf_printf(out, "{\"type\":\"head\",\"start\":%zu,\"chars\":%zu}", start, measure_all_chars(span));
}

// Returns the byte offset at which the last `chars` characters begin. If `chars` is small, reads only the end of the
// text.
static size_t from_end(str bytes, size_t chars) {
  enum { CHAR_BYTES = 4, NEAR = 1 << 20 };
  size_t at = chars < NEAR && bytes.n > CHAR_BYTES * (chars + 1) ? bytes.n - CHAR_BYTES * (chars + 1) : 0, from;
  while (at && utf8_follows(bytes.p[at])) at--;
  str near = str_from(bytes, at);
  measure_chars(near, measure_all_chars(near) - chars, &from);
  return at + from;
}

static bool show_head(const struct view_order *o, struct buf *out, struct fault *f) {
  int64_t start, count;
  if (!view_number(o, STR("start"), 0, &start, f)) return false;
  if (!view_number(o, STR("chars"), VIEW_CHARS, &count, f)) return false;
  size_t total = start < 0 || count < 0 ? measure_all_chars(o->bytes) : SIZE_MAX;
  struct view_chars chars = {.start = view_place(start, total), .count = (size_t)count};
  if (count < 0) {
    size_t end = view_place(count, total);
    chars.count = end > chars.start ? end - chars.start : 0;
  }
  if (start < 0) chars.from = from_end(o->bytes, total - chars.start);
  else chars.start = measure_chars(o->bytes, chars.start, &chars.from);
  bool none = o->bytes.n && count && (!chars.count || chars.from >= o->bytes.n);
  if (none) note_none(o, out, measure_all_chars(o->bytes), "characters");
  else view_show_chars(o, &chars, out);
  return true;
}

// ---- lines ----

struct line_range {
  const struct view_order *order;
  size_t total, start, end;  // number of lines in the text; first line to show; line after the last one
  size_t from;               // byte offset of the first line
};

// Appends as many lines of the range as may fit to `text`, each with a line end. Returns the number of appended lines.
static size_t gather_lines(const struct line_range *l, size_t max_bytes, struct buf *text) {
  str rest = str_from(l->order->bytes, l->from);
  size_t count = 0;
  for (; l->start + count < l->end && text->n <= max_bytes; count++) {
    str line = measure_next_line(&rest);
    if (line.n > max_bytes) return count;
    measure_repair(text, line);
    buf_char(text, '\n');
  }
  return count;
}

static void note_lines(void *ctx, size_t shown, struct buf *out) {
  const struct line_range *l = ctx;
  buf_printf(out, "cut at line %zu of %zu; go on with {\"type\":\"%.*s\",\"start\":%zu,\"end\":%zu}", l->start + shown,
             l->total, STR_ARG(l->order->type), l->start + shown, l->end);
}

static bool show_lines(const struct view_order *o, struct buf *out, struct fault *f) {
  int64_t start, end;
  if (!view_number(o, STR("start"), 0, &start, f)) return false;
  if (!view_number(o, STR("end"), INT64_MAX, &end, f)) return false;
  struct line_range l = {.order = o, .total = measure_lines(o->bytes)};
  l.start = view_place(start, l.total);
  l.end = view_place(end, l.total);
  if (l.start >= l.end) {
    if (l.total) note_none(o, out, l.total, "lines");
    return true;
  }
  l.from = measure_skip_lines(o->bytes, l.start);
  size_t near = o->limit * MEASURE_TOKEN_BYTES;
  struct buf text;
  buf_init(&text, 8 * near);  // replacing invalid UTF-8 may turn one byte into three; the last line may exceed `near`
  bool whole = gather_lines(&l, near, &text) == l.end - l.start;
  if (!view_put_lines(o, buf_view(&text), whole, note_lines, &l, out)) {
    // If not even the first line fits, shows the selected lines as a range of characters.
    size_t width = measure_skip_lines(str_from(o->bytes, l.from), l.end - l.start);
    struct view_chars chars = {.from = l.from, .start = measure_all_chars((str){o->bytes.p, l.from})};
    chars.count = measure_all_chars((str){o->bytes.p + l.from, width});
    view_show_chars(o, &chars, out);
  }
  buf_done(&text);
  return true;
}

// ---- all selectors

#define SELECT(type, rest) "{\"type\":\"" type "\"," rest "}"

static const struct {
  str type;
  view_show *show;
  const char *members;  // names of the members other than type, each preceded by a blank
  const char *form;
} selectors[] = {
    {STR("head"), show_head, " start chars", SELECT("head", "\"start\":0,\"chars\":500")},
    {STR("lines"), show_lines, " start end", SELECT("lines", "\"start\":0,\"end\":100")},
    {STR("rows"), show_lines, " start end", SELECT("rows", "\"start\":0,\"end\":100")},
    {STR("json_keys"), view_show_keys, " keys start", SELECT("json_keys", "\"keys\":[\"a\",\"b\"]")},
    {STR("path"), view_show_path, " path start", SELECT("path", "\"path\":\"$.items[?@.price<10].name\"")},
    {STR("pointer"), view_show_pointer, " pointer", SELECT("pointer", "\"pointer\":\"/a/0\"")},
    {STR("search"), view_show_search, " query top start", SELECT("search", "\"query\":\"some words\",\"top\":5")},
    {STR("records"), view_show_records, " columns where sort limit start path",
     SELECT("records", "\"columns\":[\"a\"],\"where\":[{\"column\":\"b\",\"op\":\">\",\"value\":5}],\"sort\":\"-b\"")},
    {STR("stats"), view_show_stats, " column by where start path",
     SELECT("stats", "\"column\":\"price\",\"by\":\"city\",\"path\":\"$.items\"")},
};
enum { VIEW_TYPES = sizeof selectors / sizeof *selectors };

static bool unknown_type(struct fault *f) {
  char names[VIEW_TYPES * 16];
  size_t n = 0;
  for (size_t i = 0; i < VIEW_TYPES; i++)
    n += (size_t)snprintf(names + n, sizeof names - n, "%s\"%.*s\"", i ? ", " : "", STR_ARG(selectors[i].type));
  fault_set(f, FAULT_INVALID, "unknown selector type; known types: %s; example: %s", names, selectors[0].form);
  fault_set_path(f, STR("type"));
  return false;
}

// Returns whether the list, in which a blank precedes each name, contains the name.
static bool is_listed(const char *list, str name) {
  str head, rest = str_of(list + 1);
  do {
    str_cut(rest, ' ', &head, &rest);
    if (str_eq(head, name)) return true;
  } while (rest.n);
  return false;
}

// Returns false, with f set, if the selector has an unknown member. Such a member would have no effect.
static bool known_members(const struct view_order *o, const char *members, struct fault *f) {
  struct arena a;
  bool ok = true;
  arena_init(&a);
  for (const struct json *m = o->selector->child; m && ok; m = m->next) {
    str name = json_key(m, &a);
    ok = str_eq(name, STR("type")) || is_listed(members, name);
    if (ok) continue;
    fault_set(f, FAULT_INVALID, "selector type %.*s has no member \"%.*s\"; its members are%s; example: %s",
              STR_ARG(o->type), STR_ARG(utf8_cut(name, 40)), members, o->form);
    fault_set_path(f, name);
  }
  arena_done(&a);
  return ok;
}

// Shows a view. If the view imitates the gateway (lookalike.h), shows a notice before it, within the same limit.
static bool show_marked(struct view_order *o, view_show *show, struct buf *out, struct fault *f) {
  size_t begin = out->n;
  if (!show(o, out, f)) return false;
  if (!lookalike(str_from(buf_view(out), begin), o->mark)) return true;
  out->n = begin;
  ASSERT(o->limit > LOOKALIKE_NOTICE_TOKENS);
  lookalike_put_notice(out, o->mark);
  o->limit -= LOOKALIKE_NOTICE_TOKENS;
  return show(o, out, f);
}

bool view_select(str bytes, const struct json *selector, size_t limit, str mark, struct buf *out, struct fault *f) {
  const struct json *type = json_get(selector, STR("type"));
  struct view_order o = {.bytes = bytes.p ? bytes : STR(""), .selector = selector, .limit = limit, .mark = mark};
  if (!limit) o.limit = VIEW_TOKENS;
  if (o.limit < VIEW_TOKENS_MIN) o.limit = VIEW_TOKENS_MIN;
  if (o.limit > VIEW_TOKENS_MAX) o.limit = VIEW_TOKENS_MAX;
  for (size_t i = 0; i < VIEW_TYPES; i++) {
    if (!json_equals_str(type, selectors[i].type)) continue;
    o.type = selectors[i].type;
    o.form = selectors[i].form;
    return known_members(&o, selectors[i].members, f) && show_marked(&o, selectors[i].show, out, f);
  }
  return unknown_type(f);
}
