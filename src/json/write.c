// SPDX-License-Identifier: Apache-2.0
#include "json/write.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/text/utf8.h"
#include "json/put.h"
#include "json/text.h"

enum { SHORT = 512 };  // longer texts are searched for characters to escape before they are copied

struct json_writer json_writer(struct buf *out) {
  return (struct json_writer){.out = out};
}

static void before_value(struct json_writer *w) {
  if (w->comma) buf_char(w->out, ',');
  w->comma = true;
}

static void begin(struct json_writer *w, char bracket) {
  before_value(w);
  buf_char(w->out, bracket);
  w->comma = false;
}

static void end(struct json_writer *w, char bracket) {
  buf_char(w->out, bracket);
  w->comma = true;
}

void json_begin_object(struct json_writer *w) {
  begin(w, '{');
}
void json_end_object(struct json_writer *w) {
  end(w, '}');
}
void json_begin_array(struct json_writer *w) {
  begin(w, '[');
}
void json_end_array(struct json_writer *w) {
  end(w, ']');
}

void json_put_key(struct json_writer *w, str key) {
  before_value(w);
  json_escape(w->out, key);
  buf_char(w->out, ':');
  w->comma = false;
}

void json_put_str(struct json_writer *w, str s) {
  before_value(w);
  json_escape(w->out, s);
}

void json_put_raw(struct json_writer *w, str text) {
  before_value(w);
  buf_str(w->out, text);
}

void json_put_int(struct json_writer *w, int64_t v) {
  before_value(w);
  if (v < 0) buf_char(w->out, '-');
  buf_u64(w->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void json_put_u64(struct json_writer *w, uint64_t v) {
  before_value(w);
  buf_u64(w->out, v);
}

void json_put_bool(struct json_writer *w, bool v) {
  json_put_raw(w, v ? STR("true") : STR("false"));
}

void json_put_null(struct json_writer *w) {
  json_put_raw(w, STR("null"));
}

void json_member_str(struct json_writer *w, str key, str value) {
  json_put_key(w, key);
  json_put_str(w, value);
}
void json_member_str_or_null(struct json_writer *w, str key, str value) {
  json_put_key(w, key);
  if (value.p) json_put_str(w, value);
  else json_put_null(w);
}
void json_member_raw(struct json_writer *w, str key, str text) {
  json_put_key(w, key);
  json_put_raw(w, text);
}
void json_member_int(struct json_writer *w, str key, int64_t value) {
  json_put_key(w, key);
  json_put_int(w, value);
}
void json_member_u64(struct json_writer *w, str key, uint64_t value) {
  json_put_key(w, key);
  json_put_u64(w, value);
}
void json_member_bool(struct json_writer *w, str key, bool value) {
  json_put_key(w, key);
  json_put_bool(w, value);
}
void json_member_seconds(struct json_writer *w, str key, uint64_t ms) {
  char text[32];
  int n = snprintf(text, sizeof text, "%llu.%03llu", (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000));
  ASSERT(n > 4 && (size_t)n < sizeof text);
  while (text[n - 1] == '0') n--;
  if (text[n - 1] == '.') n--;
  json_member_raw(w, key, (str){text, (size_t)n});
}

static void escape(struct buf *out, str s) {
  const char *end = s.p + s.n, *copied = s.p;
  buf_char(out, '"');
  for (const char *p = json_text_skip_plain(s.p, end); p < end; p = json_text_skip_plain(p, end)) {
    size_t n = utf8_char(p, (size_t)(end - p));
    if (n > 1) {
      p += n;
      continue;
    }
    buf_add(out, copied, (size_t)(p - copied));
    if (n) json_text_escape(out, *p);
    else buf_str(out, STR("\xef\xbf\xbd"));
    copied = ++p;
  }
  buf_add(out, copied, (size_t)(end - copied));
  buf_char(out, '"');
}

// Copies a text. Returns false, after it has copied a part, if a byte needs an escape.
static inline bool copy_plain(char *to, str text) {
  const char *p = text.p, *last;
  uint64_t w, stops = 0;
  uint32_t half;
  size_t n = text.n;
  if (n < 4) {
    for (size_t i = 0; i < n; i++) to[i] = p[i];
    return json_text_skip_rest(p, p, p + n) == p + n;
  }
  if (n < 8) {  // the first and the last four bytes, which may overlap
    memcpy(&half, p, 4);
    memcpy(to, &half, 4);
    w = half;
    memcpy(&half, p + n - 4, 4);
    memcpy(to + n - 4, &half, 4);
    return !json_text_stops(w | (uint64_t)half << 32);
  }
  for (last = p + n - 8; p < last; p += 8, to += 8) {
    memcpy(&w, p, 8);
    memcpy(to, &w, 8);
    stops |= json_text_stops(w);
  }
  memcpy(&w, last, 8);
  memcpy(to - (p - last), &w, 8);
  return !(stops | json_text_stops(w));
}

void json_escape(struct buf *out, str s) {
  if (!s.p) s = STR("");
  char *to = s.n <= SHORT ? buf_room(out, s.n + 2) : NULL;
  if (!to || !copy_plain(to + 1, s)) {
    escape(out, s);
    return;
  }
  to[0] = to[s.n + 1] = '"';  // the most frequent case: a short string without escapes
  out->n += s.n + 2;
}

void json_put_text(struct buf *out, str s) {
  if (s.p) json_escape(out, s);
  else buf_str(out, STR("null"));
}

static const struct json_edit *find_edit(const struct json_edit *edits, size_t count, const struct json *member) {
  for (size_t i = 0; i < count; i++)
    if (json_key_is(member, edits[i].key)) return &edits[i];
  return NULL;
}

static const char *member_start(const struct json *member) {
  ASSERT(member->key);
  return member->key - 1;
}

static const char *member_end(const struct json *member) {
  return member->p + member->n;
}

struct copy {
  struct buf *out;
  const char *from;  // start of the part of the source text that is not copied yet
  bool kept;         // the output has at least one member
};

static void copy_up_to(struct copy *c, const char *to) {
  ASSERT(to >= c->from);
  buf_add(c->out, c->from, (size_t)(to - c->from));
  c->from = to;
}

// Leaves out a member and one comma: the comma before it or, if the output has no member yet, the comma after it.
static void leave_out(struct copy *c, const struct json *member, const struct json *before) {
  ASSERT(!c->kept || before);
  copy_up_to(c, c->kept ? member_end(before) : member_start(member));
  c->from = c->kept || !member->next ? member_end(member) : member_start(member->next);
}

static void replace(struct copy *c, const struct json *member, str raw) {
  copy_up_to(c, member->p);
  buf_str(c->out, raw);
  c->from = member_end(member);
  c->kept = true;
}

static void append(struct copy *c, const struct json_edit *edit) {
  if (c->kept) buf_char(c->out, ',');
  json_escape(c->out, edit->key);
  buf_char(c->out, ':');
  buf_str(c->out, edit->raw);
  c->kept = true;
}

void json_copy_edited(struct buf *out, const struct json *object, const struct json_edit *edits, size_t count) {
  ASSERT(object && (edits || !count));
  ASSERT(object->type == JSON_OBJECT);
  struct copy c = {.out = out, .from = object->p};
  const struct json *last = NULL;
  JSON_EACH(m, object) {
    const struct json_edit *edit = find_edit(edits, count, m);
    if (!edit) c.kept = true;
    else if (edit->raw.p) replace(&c, m, edit->raw);
    else leave_out(&c, m, last);
    last = m;
  }
  copy_up_to(&c, last ? member_end(last) : object->p + 1);
  for (size_t i = 0; i < count; i++)
    if (edits[i].raw.p && !json_get(object, edits[i].key)) append(&c, &edits[i]);
  copy_up_to(&c, object->p + object->n);
}

static str into_arena(struct arena *a, struct buf *b) {
  ASSERT(!b->over);
  str copy = arena_str(a, buf_view(b));
  buf_done(b);
  return copy;
}

str json_edited(struct arena *a, const struct json *object, const struct json_edit *edits, size_t count) {
  size_t max = object->n;
  for (size_t i = 0; i < count; i++) max += edits[i].key.n * 6 + edits[i].raw.n + STR("\"\":,").n;
  struct buf b;
  buf_init(&b, max);
  json_copy_edited(&b, object, edits, count);
  return into_arena(a, &b);
}

str json_escaped(struct arena *a, str s) {
  struct buf b;
  buf_init(&b, s.n * 6 + 2);
  json_escape(&b, s);
  return into_arena(a, &b);
}

const struct json json_empty_object = {.p = "{}", .n = 2, .type = JSON_OBJECT};

// Returns the position after the closing quote, which is the first quote after an even number of backslashes.
static const char *string_end(const char *p, const char *end) {
  const char *from = p + 1, *quote;
  while (from < end && (quote = memchr(from, '"', (size_t)(end - from)))) {
    const char *at = quote;
    while (at > from && at[-1] == '\\') at--;
    if ((quote - at) % 2 == 0) return quote + 1;
    from = quote + 1;
  }
  return end;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

str json_compacted(struct arena *a, str text) {
  ASSERT(text.n);
  char *out = arena_alloc(a, text.n + 1), *to = out;
  const char *end = text.p + text.n;
  for (const char *p = text.p; p < end;) {
    const char *from = p;
    while (p < end && !is_blank(*p)) p = *p == '"' ? string_end(p, end) : p + 1;
    memcpy(to, from, (size_t)(p - from));
    to += p - from;
    while (p < end && is_blank(*p)) p++;
  }
  ASSERT((size_t)(to - out) <= text.n);
  return (str){out, (size_t)(to - out)};
}
