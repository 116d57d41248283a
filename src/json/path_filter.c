// SPDX-License-Identifier: Apache-2.0
// Evaluates filters. A value is a JSON node; NULL is the "Nothing" of the RFC.
#include "json/number.h"
#include "json/path_impl.h"
#include "json/text.h"

// Room for a number that is not in the document.
struct made {
  struct json node;
  struct str_digits digits;
};

static const struct json *make_number(struct made *room, uint64_t n) {
  str text = str_from_u64(n, &room->digits);
  room->node = (struct json){.p = text.p, .n = (uint32_t)text.n, .type = JSON_NUMBER};
  return &room->node;
}

static str inside(const struct json *string) {
  return (str){string->p + 1, string->n - 2};
}

// ---- queries in filters ----

// Counts nodes up to a maximum and keeps the first.
struct tally {
  const struct json *first;
  uint64_t count, max;
};

static bool tally_node(void *ctx, const struct json *node) {
  struct tally *t = ctx;
  if (!t->count++) t->first = node;
  return t->count < t->max;
}

static struct tally run_query(struct path_run *r, const struct path_query *query, const struct json *node,
                              uint64_t max) {
  struct tally t = {.max = max};
  struct path_sink sink = {tally_node, &t};
  path_query_each(r, query, node, &sink);
  return t;
}

// ---- comparisons ----

static int compare_digits(const struct json_number *x, const struct json_number *y) {
  const char *p = x->digits.p, *q = y->digits.p;
  for (size_t i = 0; i < x->count && i < y->count; i++, p++, q++) {
    if (*p == '.') p++;
    if (*q == '.') q++;
    if (*p != *q) return *p < *q ? -1 : 1;
  }
  return x->count < y->count ? -1 : x->count > y->count;
}

static int compare_sizes(const struct json_number *x, const struct json_number *y) {
  if (!x->count || !y->count) return (x->count != 0) - (y->count != 0);
  if (x->exponent != y->exponent) return x->exponent < y->exponent ? -1 : 1;
  return compare_digits(x, y);
}

// Exact, as equality is. A number whose exponent cannot be held is in no order to any other.
static bool number_less(const struct json *a, const struct json *b) {
  struct json_number x, y;
  if (!json_number_read(a, &x) || !json_number_read(b, &y)) return false;
  if (x.negative != y.negative) return x.negative;
  return x.negative ? compare_sizes(&y, &x) < 0 : compare_sizes(&x, &y) < 0;
}

// The order of code points, which is that of the bytes of UTF-8.
static bool string_less(const struct json *a, const struct json *b) {
  str x = inside(a), y = inside(b);
  if (!((a->flags | b->flags) & JSON_ESCAPED)) return str_cmp(x, y) < 0;
  while (x.n && y.n) {
    uint32_t c = json_text_next(&x), d = json_text_next(&y);
    if (c != d) return c < d;
  }
  return y.n > 0;
}

static bool less(const struct json *a, const struct json *b) {
  if (json_is(a, JSON_NUMBER) && json_is(b, JSON_NUMBER)) return number_less(a, b);
  return json_is(a, JSON_STRING) && json_is(b, JSON_STRING) && string_less(a, b);
}

static bool same(const struct json *a, const struct json *b) {
  return a && b ? json_same(a, b) : a == b;
}

static bool compare(enum path_operator op, const struct json *a, const struct json *b) {
  switch (op) {
  case PATH_EQ: return same(a, b);
  case PATH_NE: return !same(a, b);
  case PATH_LT: return less(a, b);
  case PATH_LE: return less(a, b) || same(a, b);
  case PATH_GT: return less(b, a);
  case PATH_GE: return less(b, a) || same(a, b);
  }
  return false;
}

// ---- functions ----

static uint64_t count_characters(str escaped) {
  uint64_t n = 0;
  for (; escaped.n; n++) json_text_next(&escaped);
  return n;
}

static const struct json *value_of(struct path_run *r, const struct path_expr *e, const struct json *node,
                                   struct made *room);

static const struct json *call_length(struct path_run *r, const struct path_expr *argument, const struct json *node,
                                      struct made *room) {
  struct made inner;
  const struct json *v = value_of(r, argument, node, &inner);
  if (json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT)) return make_number(room, v->count);
  if (!json_is(v, JSON_STRING) || !path_charge(r, v->n / 16)) return NULL;
  return make_number(room, count_characters(inside(v)));
}

// NULL for Nothing: the test of an expression that is not there, or of a failed run, is of no interest.
static const struct json *value_of(struct path_run *r, const struct path_expr *e, const struct json *node,
                                   struct made *room) {
  if (e->kind == PATH_LITERAL) return e->literal;
  if (e->kind == PATH_QUERY) return run_query(r, &e->query, node, 1).first;
  if (e->function == PATH_LENGTH) return call_length(r, e->child, node, room);
  if (e->function == PATH_COUNT) return make_number(room, run_query(r, &e->child->query, node, UINT64_MAX).count);
  struct tally t = run_query(r, &e->child->query, node, 2);
  return t.count == 1 ? t.first : NULL;
}

// The text of a string, in the document or in the room of the run, until the next one is asked for.
static str text_of(struct path_run *r, const struct json *v) {
  if (!(v->flags & JSON_ESCAPED)) return inside(v);
  if (r->text_n < v->n) {
    r->text_n = 2 * (size_t)v->n;
    r->text = arena_alloc(r->scratch, r->text_n);
  }
  return (str){r->text, json_text_unescape(inside(v), r->text)};
}

// A pattern from the document; most often it is the one of the time before.
static const struct path_regex *regex_of(struct path_run *r, const struct json *pattern, bool whole) {
  if (r->regex && r->pattern_whole == whole && json_equals_str(pattern, r->pattern)) return r->regex;
  if (!path_charge(r, 100 + pattern->n)) return NULL;
  arena_reset(&r->patterns);
  r->regex = NULL;
  json_string(pattern, &r->patterns, &r->pattern);
  r->pattern_whole = whole;
  r->regex = path_regex_new(&r->patterns, r->pattern, whole);
  return r->regex;
}

static bool test_regex(struct path_run *r, const struct path_regex *regex, const struct json *v) {
  bool found = false;
  if (regex->too_large) return path_exceed(r, "a regular expression of the document is too large");
  if (!path_regex_usable(regex) || !path_charge(r, path_regex_cost(regex, v->n))) return false;
  if (!path_regex_test(regex, &r->matcher, text_of(r, v), &found))
    return path_exceed(r, "a regular expression takes too much memory");
  return found;
}

static bool call_match(struct path_run *r, const struct path_expr *e, const struct json *node) {
  struct made room;
  const struct json *v = value_of(r, e->child, node, &room);
  if (!json_is(v, JSON_STRING)) return false;
  if (e->regex) return test_regex(r, e->regex, v);
  struct made pattern_room;
  const struct json *pattern = value_of(r, e->child->next, node, &pattern_room);
  if (!json_is(pattern, JSON_STRING)) return false;
  const struct path_regex *regex = regex_of(r, pattern, e->function == PATH_MATCH);
  return regex && test_regex(r, regex, v);
}

// ---- tests ----

static bool test_comparison(struct path_run *r, const struct path_expr *e, const struct json *node) {
  struct made room_a, room_b;
  const struct json *a = value_of(r, e->child, node, &room_a), *b = value_of(r, e->child->next, node, &room_b);
  if (r->failed) return false;
  if (a && b && a->type == b->type && !path_charge(r, (a->n < b->n ? a->n : b->n) / 8)) return false;
  return compare(e->op, a, b);
}

static bool test_any(struct path_run *r, const struct path_expr *e, const struct json *node, bool wanted) {
  for (const struct path_expr *child = e->child; child && !r->failed; child = child->next)
    if (path_filter_test(r, child, node) == wanted) return true;
  return false;
}

bool path_filter_test(struct path_run *r, const struct path_expr *e, const struct json *node) {
  if (!path_charge(r, 1)) return false;
  switch (e->kind) {
  case PATH_OR: return test_any(r, e, node, true);
  case PATH_AND: return !test_any(r, e, node, false);
  case PATH_NOT: return !path_filter_test(r, e->child, node);
  case PATH_COMPARE: return test_comparison(r, e, node);
  case PATH_QUERY: return run_query(r, &e->query, node, 1).count > 0;
  case PATH_CALL: return call_match(r, e, node);
  case PATH_LITERAL: break;  // refused by the parser
  }
  return false;
}
