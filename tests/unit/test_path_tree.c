// SPDX-License-Identifier: Apache-2.0
// json/path beside a plain reading of RFC 9535: the same queries over a tree of the text, segment by segment. A run
// over text takes shortcuts (names that are guessed, members picked in one pass, bytes that are searched); whatever it
// takes, it must select the same values in the same order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/path/path.h"

enum { ROOM = 1 << 16, MOST = 1 << 14, ROUNDS = 20000 };

// ---- random texts

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)(state % n);
}

// Each key is once in an object; some are written with an escape.
static const char *const keys[] = {"a", "b", "price", "a member with a rather long name", "c d"};
static const char *const escaped[] = {"\\u0061", "b", "pr\\u0069ce", "a member with a rather long name", "c\\u0020d"};
enum { KEYS = 5 };

static void write_value(struct buf *b, unsigned depth, bool plain);

static void write_object(struct buf *b, unsigned depth, bool plain) {
  unsigned order = plain ? 0 : below(KEYS), left_out = plain ? 0 : below(1 << KEYS);
  bool any = false;
  buf_char(b, '{');
  for (unsigned i = 0; i < KEYS; i++) {
    unsigned k = (i + order) % KEYS;
    if (left_out >> k & 1) continue;
    if (any) buf_str(b, plain || below(3) ? STR(",") : STR(" , \n "));
    buf_printf(b, "\"%s\":%s", (plain || below(12) ? keys : escaped)[k], below(8) ? "" : " ");
    write_value(b, depth + 1, plain);
    any = true;
  }
  buf_char(b, '}');
}

static void write_array(struct buf *b, unsigned depth, bool plain) {
  buf_char(b, '[');
  for (unsigned i = 0, n = below(4); i < n; i++) {
    if (i) buf_char(b, ',');
    write_value(b, depth + 1, plain);
  }
  buf_char(b, ']');
}

static void write_value(struct buf *b, unsigned depth, bool plain) {
  static const char *const scalars[] = {"0",     "1",    "-2.50",       "3e0",       "12345678901", "\"x\"",    "\"\"",
                                        "false", "null", "\"\\u0078\"", "\"\\\"{\"", "true",        "\"price\""};
  unsigned kind = below(depth > 3 ? 12 : 18);
  if (kind < 13) buf_str(b, str_of(scalars[kind]));
  else if (kind < 16) write_object(b, depth, plain);
  else write_array(b, depth, plain);
}

// Rows of which most are alike.
static void write_text(struct buf *b) {
  buf_char(b, '[');
  for (unsigned i = 0, n = below(12); i <= n; i++) {
    if (i) buf_char(b, ',');
    if (below(8)) write_object(b, 1, below(4));
    else write_value(b, 1, false);
  }
  buf_char(b, ']');
}

// ---- random queries

enum { NAMES, WILDCARD, INDEX, SLICE, FILTER, KINDS };
enum { SEGMENTS = 3, TESTS = 3, NAMED = 2 };

static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
static const char *const literals[] = {"1", "-2.5", "'x'", "null", "false", "0"};

// @.a.b < 1, or only @.a.b, or @..a
struct test {
  bool negated, deep;
  unsigned names[NAMED], count;
  int op;  // -1: is it there?
  unsigned literal;
};

struct segment {
  bool descend;
  unsigned kind, names[NAMED], count;
  int index, end, step;  // of a slice, where each may be left out
  bool has_index, has_end;
  struct test tests[TESTS];
  unsigned tests_count;
  bool any;  // of the tests, not all
};

struct query {
  struct segment segments[SEGMENTS];
  unsigned count;
};

static struct test random_test(void) {
  struct test t = {.negated = !below(6), .count = below(NAMED + 1), .op = (int)below(7) - 1, .literal = below(6)};
  for (unsigned i = 0; i < t.count; i++) t.names[i] = below(KEYS);
  t.deep = t.op < 0 && t.count == 1 && below(2);
  return t;
}

static struct query random_query(void) {
  struct query q = {.count = 1 + below(SEGMENTS)};
  for (unsigned i = 0; i < q.count; i++) {
    struct segment *s = &q.segments[i];
    *s = (struct segment){.descend = !below(3), .kind = below(KINDS), .count = 1 + below(NAMED)};
    if (!i && !s->descend && s->kind == NAMES) s->kind = WILDCARD;
    s->index = (int)below(s->kind == SLICE ? 12 : 4) - (s->kind == SLICE ? 6 : 2);
    s->end = (int)below(12) - 6;
    s->step = (int)below(7) - 3;
    s->has_index = below(3);
    s->has_end = below(3);
    s->any = below(2);
    s->tests_count = 1 + below(TESTS);
    for (unsigned k = 0; k < s->count; k++) s->names[k] = below(KEYS);
    for (unsigned k = 0; k < s->tests_count; k++) s->tests[k] = random_test();
  }
  return q;
}

static void write_test(struct buf *b, const struct test *t) {
  buf_str(b, t->negated ? STR("!(@") : STR("@"));
  if (t->deep) buf_str(b, STR(".."));
  for (unsigned i = 0; i < t->count; i++) buf_printf(b, "['%s']", keys[t->names[i]]);
  if (t->op >= 0) buf_printf(b, " %s %s", operators[t->op], literals[t->literal]);
  if (t->negated) buf_char(b, ')');
}

static void write_segment(struct buf *b, const struct segment *s) {
  buf_str(b, s->descend ? STR("..[") : STR("["));
  if (s->kind == WILDCARD) buf_char(b, '*');
  else if (s->kind == INDEX) buf_printf(b, "%d", s->index);
  else if (s->kind == FILTER) buf_char(b, '?');
  if (s->kind == SLICE && s->has_index) buf_printf(b, "%d", s->index);
  if (s->kind == SLICE) buf_char(b, ':');
  if (s->kind == SLICE && s->has_end) buf_printf(b, "%d", s->end);
  if (s->kind == SLICE) buf_printf(b, ":%d", s->step);
  for (unsigned i = 0; s->kind == NAMES && i < s->count; i++) buf_printf(b, "%s'%s'", i ? "," : "", keys[s->names[i]]);
  for (unsigned i = 0; s->kind == FILTER && i < s->tests_count; i++) {
    if (i) buf_str(b, s->any ? STR(" || ") : STR(" && "));
    write_test(b, &s->tests[i]);
  }
  buf_char(b, ']');
}

// ---- the plain reading

struct nodes {
  const struct json *list[MOST];
  size_t count;
};

static void add(struct nodes *n, const struct json *v) {
  if (v && n->count < MOST) n->list[n->count++] = v;
}

static bool is_container(const struct json *v) {
  return json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY);
}

// Of numbers and strings only, as the literals are.
static int order_of(const struct json *a, const struct json *b) {
  double x, y;
  if (json_double(a, &x) && json_double(b, &y)) return x < y ? -1 : x > y ? 1 : 0;
  return 2;
}

static bool less(const struct json *a, const struct json *b, struct arena *arena) {
  str x, y;
  if (json_is(a, JSON_STRING) && json_is(b, JSON_STRING))
    return json_string(a, arena, &x) && json_string(b, arena, &y) && str_cmp(x, y) < 0;
  return order_of(a, b) == -1;
}

static bool compare(const struct json *a, int op, const struct json *b, struct arena *arena) {
  bool same = a && json_same(a, b);
  switch (op) {
  case 0: return same;
  case 1: return !same;
  case 2: return less(a, b, arena);
  case 3: return same || less(a, b, arena);
  case 4: return less(b, a, arena);
  default: return same || less(b, a, arena);
  }
}

static bool has_below(const struct json *v, str key) {
  if (json_get(v, key)) return true;
  if (is_container(v))
    JSON_EACH(child, v)
      if (has_below(child, key)) return true;
  return false;
}

static bool passes_test(const struct test *t, const struct json *v, struct arena *a) {
  struct fault f;
  if (t->deep) return has_below(v, str_of(keys[t->names[0]])) != t->negated;
  for (unsigned i = 0; i < t->count; i++) v = json_get(v, str_of(keys[t->names[i]]));
  str text = str_of(literals[t->literal]);
  if (text.p[0] == '\'') text = STR("\"x\"");
  bool passes = t->op < 0 ? v != NULL : compare(v, t->op, json_parse(a, text, &json_default_limits, &f), a);
  return passes != t->negated;
}

static bool passes(const struct segment *s, const struct json *v, struct arena *a) {
  for (unsigned i = 0; i < s->tests_count; i++)
    if (passes_test(&s->tests[i], v, a) == s->any) return s->any;
  return !s->any;
}

// RFC 9535, 2.3.4.2.2.
static void select_slice(const struct segment *s, const struct json *v, struct nodes *out) {
  int n = (int)v->count, up = s->step > 0;
  int start = s->has_index ? s->index : up ? 0 : n - 1, end = s->has_end ? s->end : up ? n : -n - 1;
  if (start < 0 && s->has_index) start += n;
  if (end < 0) end += n;
  int low = up ? 0 : -1, high = up ? n : n - 1;
  start = start < low ? low : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  for (int i = start; s->step && (up ? i < end : i > end); i += s->step) add(out, json_at(v, (size_t)i));
}

static void select_from(const struct segment *s, const struct json *v, struct nodes *out, struct arena *a) {
  if (!is_container(v)) return;
  if (s->kind == INDEX && v->type == JSON_ARRAY) {
    int64_t index = s->index < 0 ? s->index + (int64_t)v->count : s->index;
    if (index >= 0) add(out, json_at(v, (size_t)index));
  }
  if (s->kind == SLICE && v->type == JSON_ARRAY) select_slice(s, v, out);
  for (unsigned i = 0; s->kind == NAMES && i < s->count; i++) add(out, json_get(v, str_of(keys[s->names[i]])));
  if (s->kind == WILDCARD || s->kind == FILTER)
    JSON_EACH(child, v)
      if (s->kind == WILDCARD || passes(s, child, a)) add(out, child);
}

static void select_below(const struct segment *s, const struct json *v, struct nodes *out, struct arena *a) {
  select_from(s, v, out, a);
  if (s->descend && is_container(v))
    JSON_EACH(child, v) select_below(s, child, out, a);
}

// ---- both

static void run_both(const struct query *q, str text, str query) {
  static struct nodes from, to;
  struct json_path_limits limits = {.max_steps = UINT64_MAX, .max_nodes = MOST};
  struct json_path_nodes found;
  struct arena a;
  struct fault f = {0};
  arena_init(&a);
  from.count = 0;
  add(&from, json_parse(&a, text, &json_default_limits, &f));
  for (unsigned i = 0; i < q->count; i++) {
    to.count = 0;
    for (size_t k = 0; k < from.count; k++) select_below(&q->segments[i], from.list[k], &to, &a);
    from = to;
  }
  struct json_path *path = json_path_compile(&a, query, &f);
  if (!path) fail_msg("%.*s: %s", STR_ARG(query), f.message);
  bool ran = json_path_find(path, text, &limits, &a, &found, &f);
  bool same = from.count == MOST || (ran && found.count == from.count);
  for (size_t i = 0; same && from.count < MOST && i < found.count; i++) same = found.list[i].p == from.list[i]->p;
  if (!same) fail_msg("%.*s of %.*s selects other values", STR_ARG(query), STR_ARG(text));
  arena_done(&a);
}

static void a_run_selects_what_the_rfc_says(void **unused) {
  struct buf text, query;
  buf_init(&text, ROOM);
  buf_init(&query, ROOM);
  for (int round = 0; round < ROUNDS; round++) {
    struct query q = random_query();
    if (round % 4 == 0) buf_reset(&text), write_text(&text);
    buf_reset(&query);
    buf_char(&query, '$');
    for (unsigned i = 0; i < q.count; i++) write_segment(&query, &q.segments[i]);
    if (!text.over) run_both(&q, buf_view(&text), buf_view(&query));
  }
  buf_done(&query);
  buf_done(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_selects_what_the_rfc_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
