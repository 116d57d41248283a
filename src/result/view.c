// SPDX-License-Identifier: Apache-2.0
#include "result/view.h"

#include "base/utf8.h"
#include "result/measure.h"
#include "result/view_impl.h"
#include "text/tokens.h"

// What the last line of a view that was cut takes, with its numbers; one that takes more is tried again.
enum { NOTE_TOKENS = 60 };

static const char forms[] =
    "{\"type\":\"head\",\"start\":0,\"chars\":500}, {\"type\":\"lines\" or \"rows\",\"start\":0,\"end\":100}, "
    "{\"type\":\"json_keys\",\"keys\":[\"a\"]}, {\"type\":\"path\",\"path\":\"$.a[*]\"} or "
    "{\"type\":\"pointer\",\"pointer\":\"/a/0\"}";

bool view_number(const struct json *selector, str name, int64_t usual, int64_t *out, struct fault *f) {
  const struct json *v = json_get(selector, name);
  if (!v || json_is(v, JSON_NULL)) {
    *out = usual;
    return true;
  }
  if (json_int(v, out)) return true;
  fault_set(f, FAULT_INVALID, "%.*s is not a whole number: %s", STR_ARG(name), forms);
  fault_set_path(f, name);
  return false;
}

// As Python places an index of a slice: from the end when below zero, and never outside.
static size_t place(int64_t index, size_t count) {
  if (index >= 0) return (uint64_t)index < count ? (size_t)index : count;
  uint64_t back = 0 - (uint64_t)index;
  return back < count ? count - (size_t)back : 0;
}

static void add_note_break(struct buf *out, size_t begin) {
  if (out->n > begin && out->p[out->n - 1] != '\n') buf_char(out, '\n');
}

// ---- characters ----

static void note_chars(struct buf *out, str bytes, const struct view_chars *chars, str shown) {
  size_t count = measure_all_chars(shown), width;
  measure_chars(str_from(bytes, chars->from), count, &width);
  buf_printf(out,
             "… cut at character %zu (byte %zu of %zu); go on with {\"type\":\"head\",\"start\":%zu,\"chars\":%zu}",
             chars->start + count, chars->from + width, bytes.n, chars->start + count, chars->count - count);
}

// The longest beginning that fits together with its note. Each try leaves more room; an empty one always fits.
static void cut_chars(str bytes, const struct view_chars *chars, str text, size_t limit, struct buf *out) {
  size_t begin = out->n;
  for (size_t room = NOTE_TOKENS;; room += NOTE_TOKENS / 4) {
    size_t left = limit > room ? limit - room : 0;
    str shown = {text.p, measure_cut_nicely(text, measure_cut_tokens(text, left))};
    buf_str(out, shown);
    add_note_break(out, begin);
    note_chars(out, bytes, chars, shown);
    if (!left || out->over || tokens_fit(str_from(buf_view(out), begin), limit)) return;
    out->n = begin;
  }
}

void view_show_chars(str bytes, const struct view_chars *chars, size_t limit, struct buf *out) {
  str rest = str_from(bytes, chars->from), near = utf8_cut(rest, limit * MEASURE_TOKEN_BYTES);
  size_t width, count = measure_chars(near, chars->count, &width);
  bool whole = count == chars->count || near.n == rest.n;
  struct buf text;
  buf_init(&text, 3 * width);
  measure_repair(&text, (str){near.p, width});
  if (whole && tokens_fit(buf_view(&text), limit)) buf_str(out, buf_view(&text));
  else cut_chars(bytes, chars, buf_view(&text), limit, out);
  buf_done(&text);
}

static bool show_head(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f) {
  int64_t start, count;
  if (!view_number(selector, STR("start"), 0, &start, f)) return false;
  if (!view_number(selector, STR("chars"), VIEW_CHARS, &count, f)) return false;
  size_t total = start < 0 || count < 0 ? measure_all_chars(bytes) : SIZE_MAX;
  struct view_chars chars = {.start = place(start, total), .count = (size_t)count};
  if (count < 0) {
    size_t end = place(count, total);
    chars.count = end > chars.start ? end - chars.start : 0;
  }
  chars.start = measure_chars(bytes, chars.start, &chars.from);
  view_show_chars(bytes, &chars, limit, out);
  return true;
}

// ---- lines ----

struct lines {
  str bytes;
  size_t total, start, end;  // numbers of lines
  size_t from;               // where the first begins, in bytes
};

// Joins as many lines as can matter. Gives how many there are.
static size_t gather_lines(const struct lines *l, size_t max_bytes, struct buf *text) {
  str rest = str_from(l->bytes, l->from);
  size_t count = 0;
  for (; l->start + count < l->end && text->n <= max_bytes; count++) {
    str line = measure_next_line(&rest);
    if (line.n > max_bytes) return count;
    if (count) buf_char(text, '\n');
    measure_repair(text, line);
  }
  return count;
}

static void note_lines(struct buf *out, const struct lines *l, str type, size_t shown) {
  buf_printf(out, "… cut at line %zu of %zu; go on with {\"type\":\"%.*s\",\"start\":%zu,\"end\":%zu}",
             l->start + shown, l->total, STR_ARG(type), l->start + shown, l->end);
}

// The lines of the text that end before `at`, and in *out_bytes what they take, their last end included.
static size_t whole_lines(str text, size_t at, size_t *out_bytes) {
  size_t count = 0;
  *out_bytes = 0;
  for (size_t i = 0; i < at; i++) {
    if (text.p[i] != '\n') continue;
    count++;
    *out_bytes = i + 1;
  }
  return count;
}

// False, with nothing written, when not even one line fits.
static bool cut_lines(const struct lines *l, str type, str text, size_t limit, struct buf *out) {
  size_t begin = out->n;
  for (size_t room = NOTE_TOKENS; room < limit; room += NOTE_TOKENS / 4) {
    size_t width, count = whole_lines(text, measure_cut_tokens(text, limit - room), &width);
    if (!count) return false;
    buf_add(out, text.p, width);
    note_lines(out, l, type, count);
    if (out->over || tokens_fit(str_from(buf_view(out), begin), limit)) return true;
    out->n = begin;
  }
  return false;
}

// A line that is too long is shown by its characters, and so is what was asked for behind it.
static void show_long_line(const struct lines *l, size_t limit, struct buf *out) {
  size_t end = l->from + measure_skip_lines(str_from(l->bytes, l->from), l->end - l->start);
  struct view_chars chars = {.from = l->from, .start = measure_all_chars((str){l->bytes.p, l->from})};
  chars.count = measure_all_chars((str){l->bytes.p + l->from, end - l->from});
  view_show_chars(l->bytes, &chars, limit, out);
}

static bool show_lines(str bytes, const struct json *selector, str type, size_t limit, struct buf *out,
                       struct fault *f) {
  int64_t start, end;
  if (!view_number(selector, STR("start"), 0, &start, f)) return false;
  if (!view_number(selector, STR("end"), INT64_MAX, &end, f)) return false;
  struct lines l = {.bytes = bytes, .total = measure_lines(bytes)};
  l.start = place(start, l.total);
  l.end = place(end, l.total);
  if (l.start >= l.end) return true;
  l.from = measure_skip_lines(bytes, l.start);
  size_t near = limit * MEASURE_TOKEN_BYTES;
  struct buf text;
  buf_init(&text, 8 * near);  // a line more than what is near, each byte of both may become three
  bool whole = gather_lines(&l, near, &text) == l.end - l.start;
  if (whole && tokens_fit(buf_view(&text), limit)) buf_str(out, buf_view(&text));
  else if (!cut_lines(&l, type, buf_view(&text), limit, out)) show_long_line(&l, limit, out);
  buf_done(&text);
  return true;
}

static bool unknown_type(struct fault *f) {
  fault_set(f, FAULT_INVALID, "unknown type: %s", forms);
  fault_set_path(f, STR("type"));
  return false;
}

bool view_select(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f) {
  const struct json *type = json_get(selector, STR("type"));
  if (!limit) limit = VIEW_TOKENS;
  if (limit < VIEW_TOKENS_MIN) limit = VIEW_TOKENS_MIN;
  if (limit > VIEW_TOKENS_MAX) limit = VIEW_TOKENS_MAX;
  if (!bytes.p) bytes = STR("");
  if (json_equals_str(type, STR("head"))) return show_head(bytes, selector, limit, out, f);
  if (json_equals_str(type, STR("lines"))) return show_lines(bytes, selector, STR("lines"), limit, out, f);
  if (json_equals_str(type, STR("rows"))) return show_lines(bytes, selector, STR("rows"), limit, out, f);
  if (json_equals_str(type, STR("json_keys"))) return view_show_keys(bytes, selector, limit, out, f);
  if (json_equals_str(type, STR("path"))) return view_show_path(bytes, selector, limit, out, f);
  if (json_equals_str(type, STR("pointer"))) return view_show_pointer(bytes, selector, limit, out, f);
  return unknown_type(f);
}
