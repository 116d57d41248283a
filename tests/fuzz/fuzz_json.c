// SPDX-License-Identifier: Apache-2.0
// JSON. Whatever is accepted keeps its value when it is written anew, copied with edits, or put into a canonical form.
#include "base/assert.h"
#include "json/canon.h"
#include "json/pointer.h"
#include "json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 64 << 20 };

static struct json *read_again(struct arena *a, const struct buf *b) {
  struct fault f;
  ASSERT(!b->over);
  struct json *v = json_parse(a, buf_view(b), &json_default_limits, &f);
  ASSERT(v);
  return v;
}

static void write_value(struct json_writer *w, const struct json *v, struct arena *a) {
  str s;
  bool object = json_is(v, JSON_OBJECT);
  if (json_string(v, a, &s)) {
    json_put_str(w, s);
    ASSERT(json_equals_str(v, s));
  } else if (object || json_is(v, JSON_ARRAY)) {
    (object ? json_begin_object : json_begin_array)(w);
    JSON_EACH(e, v) {
      if (object) json_put_key(w, json_key(e, a));
      write_value(w, e, a);
    }
    (object ? json_end_object : json_end_array)(w);
  } else {
    json_put_raw(w, json_span(v));
  }
}

static void check_rewritten(struct arena *a, const struct json *v, struct buf *b) {
  buf_reset(b);
  struct json_writer w = json_writer(b);
  write_value(&w, v, a);
  ASSERT(json_same(v, read_again(a, b)));
}

static void check_canon(struct arena *a, const struct json *v, enum json_canon form, struct buf *b) {
  struct fault f;
  struct buf twice;
  buf_reset(b);
  if (!json_canon(b, v, form, &f)) return;
  struct json *again = read_again(a, b);
  buf_init(&twice, MAX_OUT);
  ASSERT(json_canon(&twice, again, form, &f));
  ASSERT(str_eq(buf_view(b), buf_view(&twice)));
  buf_done(&twice);
}

// Removes the first member, replaces the last, adds one.
static void check_edited(struct arena *a, const struct json *object, struct buf *b) {
  const struct json *first = object->child, *last = first;
  while (last && last->next) last = last->next;
  str first_key = first ? json_key(first, a) : STR("none"), last_key = last ? json_key(last, a) : STR("none");
  struct json_edit edits[] = {{last_key, STR("[7]")}, {first_key, STR_NONE}, {STR("\n new"), STR("{}")}};
  buf_reset(b);
  json_copy_edited(b, object, edits, 3);
  struct json *copy = read_again(a, b);
  ASSERT(json_is(json_get(copy, last_key), JSON_ARRAY));
  ASSERT(str_eq(first_key, last_key) || !json_get(copy, first_key));
  JSON_EACH(m, object) {
    str key = json_key(m, a);
    bool edited = m == first || m == last || str_eq(key, edits[2].key);
    ASSERT(edited || str_eq(json_span(m), json_span(json_get(copy, key))));
  }
  buf_reset(b);
  json_copy_edited(b, object, NULL, 0);
  ASSERT(str_eq(buf_view(b), json_span(object)));
}

// Every span parses by itself, numbers agree with each other, pointers lead back; goes two levels down.
static void check_parts(struct arena *a, struct json *v, str text, struct buf *b, int levels) {
  struct fault f;
  int64_t i;
  double d;
  ASSERT(v->p >= text.p && v->p + v->n <= text.p + text.n);
  ASSERT(json_same(v, json_parse(a, json_span(v), &json_default_limits, &f)));
  if (json_int(v, &i)) ASSERT(json_double(v, &d) && (double)i == d);
  size_t count = 0;
  for (struct json *e = v->child; e; e = e->next, count++) {
    buf_reset(b);
    if (e->key) json_pointer_push(b, json_key(e, a));
    else buf_printf(b, "/%zu", count);
    if (count < 20) ASSERT(json_pointer_find(v, buf_view(b)) == e);
    if (levels) check_parts(a, e, text, b, levels - 1);
  }
  ASSERT(count == v->count);
}

// Folded or not, the same is accepted, and unfolded it is the same.
static void check_folded(struct arena *a, const struct json *v, str text) {
  for (unsigned depth = 1; depth < 4; depth++) {
    struct fault f = {0};
    const struct json_fold all = {.depth = depth};
    struct json *folded = json_parse_folding(a, text, &json_default_limits, &all, &f);
    if (!folded) ASSERT(f.code == FAULT_LIMIT || !v);
    else ASSERT(v && folded->count == v->count && folded->n == v->n);
    if (!folded || depth > 1) continue;
    ASSERT(json_is_folded(folded) == (v->count > 0));
    ASSERT(json_unfold(a, folded, &json_default_limits, NULL, &f));
    ASSERT(json_same(v, folded));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct buf b;
  struct fault f = {0};
  str text = {(const char *)data, n};
  arena_init(&arena);
  buf_init(&b, MAX_OUT);
  struct json *v = json_parse(&arena, text, &json_default_limits, &f);
  check_folded(&arena, v, text);
  if (v) {
    check_parts(&arena, v, text, &b, 2);
    check_rewritten(&arena, v, &b);
    check_canon(&arena, v, JSON_CANON_JCS, &b);
    check_canon(&arena, v, JSON_CANON_PYTHON, &b);
    if (json_is(v, JSON_OBJECT)) check_edited(&arena, v, &b);
  } else {
    ASSERT(f.code && f.message[0] && f.path[0]);
  }
  buf_done(&b);
  arena_done(&arena);
  return 0;
}
