// SPDX-License-Identifier: Apache-2.0
#include "json/edit/patch.h"

#include "base/assert.h"
#include "json/edit/relaxed.h"
#include "json/write.h"

enum { MOST_TEXT = 256 << 20 };

// A change that replaces `n` bytes of the text at offset `at` by `put`.
struct json_change {
  size_t at, n;
  str put;
};

static void add_change(struct json_patch *p, size_t from, size_t to, str put) {
  ASSERT(from <= to && to <= p->text.n);
  if (p->count == p->cap) {
    size_t cap = p->cap ? 2 * p->cap : 16;
    struct json_change *grown = ARENA_ARRAY(p->arena, struct json_change, cap);
    if (p->count) memcpy(grown, p->changes, p->count * sizeof *grown);
    p->changes = grown;
    p->cap = cap;
  }
  // Inserts the change so that changes stay sorted by offset. Changes at the same offset stay in the order in which
  // they were added.
  size_t i = p->count++;
  for (; i && p->changes[i - 1].at > from; i--) p->changes[i] = p->changes[i - 1];
  p->changes[i] = (struct json_change){from, to - from, put};
}

// ---- places in the text

static size_t start_of(const struct json_patch *p, const struct json *v) {
  ASSERT(v->p >= p->relaxed.p && v->p + v->n <= p->relaxed.p + p->relaxed.n);
  return (size_t)(v->p - p->relaxed.p);
}

static size_t end_of(const struct json_patch *p, const struct json *v) {
  return start_of(p, v) + v->n;
}

static size_t key_start(const struct json_patch *p, const struct json *member) {
  return (size_t)(member->key - p->relaxed.p) - 1;
}

// Returns the offset after the comma that follows a value, or after the value if no comma follows.
static size_t after_comma(const struct json_patch *p, const struct json *v) {
  size_t end = end_of(p, v), at = json_skip_blank(p->text, end);
  return at < p->text.n && p->text.p[at] == ',' ? at + 1 : end;
}

static size_t blanks_before(str text, size_t at) {
  size_t n = 0;
  while (n < at && (text.p[at - n - 1] == ' ' || text.p[at - n - 1] == '\t')) n++;
  return n;
}

// Returns the white space at the beginning of the line that contains the offset `at`.
static str margin_of(str text, size_t at) {
  while (at && text.p[at - 1] != '\n') at--;
  size_t n = 0;
  while (at + n < text.n && (text.p[at + n] == ' ' || text.p[at + n] == '\t')) n++;
  return (str){text.p + at, n};
}

// Returns the white space of one level of indentation: the indentation of the first indented line, or two blanks if no
// line is indented.
static str find_unit(str text) {
  for (size_t at = 0; at < text.n; at++) {
    if (at && text.p[at - 1] != '\n') continue;
    str margin = margin_of(text, at);
    size_t end = at + margin.n;
    if (margin.n && margin.n <= 8 && end < text.n && text.p[end] == '"') return margin;
  }
  return STR("  ");
}

bool json_patch_init(struct json_patch *p, struct arena *a, str text, const struct json_limits *limits,
                     struct fault *f) {
  char *copy = arena_cstr(a, text);
  json_relax(copy, text.n);
  *p = (struct json_patch){.arena = a, .text = arena_str(a, text), .relaxed = {copy, text.n}, .unit = find_unit(text)};
  p->root = json_parse(a, p->relaxed, limits, f);
  return p->root != NULL;
}

// ---- values

static bool is_flat(const struct json *v) {
  if (v->type != JSON_ARRAY) return v->count == 0;
  JSON_EACH(it, v)
    if (it->count) return false;
  return true;
}

static void put_line(struct buf *out, str margin, str unit) {
  buf_char(out, '\n');
  buf_str(out, margin);
  buf_str(out, unit);
}

void json_pretty(struct buf *out, const struct json *v, str unit, str margin) {
  ASSERT(out && v);
  bool object = v->type == JSON_OBJECT, flat = is_flat(v);
  if (!object && v->type != JSON_ARRAY) {
    buf_str(out, json_span(v));
    return;
  }
  struct arena a;
  arena_init(&a);
  str below = arena_printf(&a, "%.*s%.*s", STR_ARG(margin), STR_ARG(unit));
  buf_char(out, object ? '{' : '[');
  JSON_EACH(it, v) {
    if (it != json_first(v)) buf_str(out, flat ? STR(", ") : STR(","));
    if (!flat) put_line(out, margin, unit);
    if (object) {
      buf_char(out, '"');
      buf_add(out, it->key, it->key_n);
      buf_str(out, STR("\": "));
    }
    json_pretty(out, it, unit, below);
  }
  if (!flat) put_line(out, margin, STR(""));
  buf_char(out, object ? '}' : ']');
  arena_done(&a);
}

static str pretty_text(const struct json_patch *p, str value, str margin) {
  struct buf b;
  struct fault f;
  const struct json *v = json_parse(p->arena, value, &json_default_limits, &f);
  ASSERT(v);
  buf_init(&b, MOST_TEXT);
  json_pretty(&b, v, p->unit, margin);
  str text = arena_str(p->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

void json_patch_replace(struct json_patch *p, const struct json *value, str text) {
  ASSERT(value && text.n);
  size_t at = start_of(p, value);
  add_change(p, at, at + value->n, pretty_text(p, text, margin_of(p->text, at)));
}

// ---- members

// Removes a member, its comma, and the white space and line breaks before it. If a comment precedes the member, the
// line break stays, because a line break may end the comment.
static void drop_member(struct json_patch *p, const struct json *member, size_t after_previous) {
  size_t start = key_start(p, member), line = start - blanks_before(p->text, start);
  size_t end = after_comma(p, member);
  ASSERT(after_previous <= start && start < end);
  bool plain = true;
  for (size_t i = after_previous; i < start; i++) plain &= p->relaxed.p[i] == p->text.p[i];
  while (plain && line > after_previous && strchr(" \t\r\n", p->text.p[line - 1])) line--;
  add_change(p, line, end, STR(""));
}

static str member_margin(const struct json_patch *p, const struct json *object) {
  str outer = margin_of(p->text, start_of(p, object));
  const struct json *first = json_first(object);
  if (first) {
    size_t start = key_start(p, first), n = blanks_before(p->text, start);
    if (n && start > n && p->text.p[start - n - 1] == '\n') return (str){p->text.p + start - n, n};
  }
  return arena_printf(p->arena, "%.*s%.*s", STR_ARG(outer), STR_ARG(p->unit));
}

// Adds a member after `last`, the last member that is not dropped, or at the start if `last` is NULL.
static void add_member(struct json_patch *p, const struct json *object, const struct json *last, str key, str value) {
  str margin = member_margin(p, object);
  size_t end = end_of(p, object) - 1, at = last ? after_comma(p, last) : start_of(p, object) + 1;
  bool comma = last && at == end_of(p, last);
  const struct json *final = last;
  for (const struct json *it = json_first(object); it; it = it->next) final = it;
  size_t tail = final ? after_comma(p, final) : start_of(p, object) + 1;
  ASSERT(at <= tail && tail <= end);
  bool closes = memchr(p->text.p + tail, '\n', end - tail) != NULL;
  str outer = margin_of(p->text, start_of(p, object));
  add_change(p, at, at,
             arena_printf(p->arena, "%s\n%.*s%.*s: %.*s%s%.*s", comma ? "," : "", STR_ARG(margin),
                          STR_ARG(json_escaped(p->arena, key)), STR_ARG(pretty_text(p, value, margin)),
                          closes ? "" : "\n", closes ? 0 : (int)outer.n, outer.p));
}

void json_patch_members(struct json_patch *p, const struct json *object, json_patch_drop *drop, void *ctx, str key,
                        str value) {
  const struct json *last = NULL;
  bool dropped_after = false;
  size_t previous = start_of(p, object) + 1;
  JSON_EACH(it, object)
    if (!drop || !drop(ctx, it)) last = it;
  if (key.p) add_member(p, object, last, key, value);
  JSON_EACH(it, object) {
    bool goes = drop && drop(ctx, it);
    if (goes) drop_member(p, it, previous);
    dropped_after = it == last ? false : goes;
    previous = after_comma(p, it);
  }
  // If all members after `last` were dropped, the comma after `last` is dropped, too.
  if (key.p || !last || !dropped_after) return;
  size_t end = after_comma(p, last);
  add_change(p, end - 1, end, STR(""));
}

str json_patch_apply(struct json_patch *p) {
  ASSERT(p->arena);
  struct buf b;
  buf_init(&b, MOST_TEXT);
  size_t at = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct json_change *c = &p->changes[i];
    ASSERT(c->at >= at);
    buf_add(&b, p->text.p + at, c->at - at);
    buf_str(&b, c->put);
    at = c->at + c->n;
  }
  buf_str(&b, str_from(p->text, at));
  ASSERT(!b.over);
  str text = arena_str(p->arena, buf_view(&b));
  buf_done(&b);
  return text;
}
