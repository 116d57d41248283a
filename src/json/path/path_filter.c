// SPDX-License-Identifier: Apache-2.0
// Evaluates filters. An operand is represented by a JSON node without children, or by NULL for the value "Nothing" of
// RFC 9535.
#include "base/assert.h"
#include "json/number.h"
#include "json/path/path_impl.h"
#include "json/scan_impl.h"
#include "json/text.h"

// The steps charged for one call of the JSON parser.
enum { PARSE_STEPS = 8 };

// Memory for an operand: a value of the document or a computed number.
struct made {
  struct json node;
  struct str_digits digits;
};

static const struct json *make_number(struct made *room, uint64_t n) {
  str text = str_from_u64(n, &room->digits);
  room->node = (struct json){.p = text.p, .n = (uint32_t)text.n, .type = JSON_NUMBER};
  return &room->node;
}

// Makes the node of an operand from the value that starts at `value`. If the value is a scalar, `after` is its end, or
// NULL if the scalar is invalid JSON: the caller has checked it. Containers are not read.
static const struct json *make_node(struct path_run *r, const char *value, const char *after, struct made *room) {
  room->node = (struct json){.p = value, .type = (uint8_t)json_scan_type(&r->doc, value)};
  if (room->node.type == JSON_ARRAY || room->node.type == JSON_OBJECT) return &room->node;
  if (!after) return NULL;
  room->node.n = (uint32_t)(after - value);
  if (room->node.type == JSON_STRING && memchr(value, '\\', room->node.n)) room->node.flags = JSON_ESCAPED;
  return &room->node;
}

static str inside(const struct json *string) {
  return (str){string->p + 1, string->n - 2};
}

// ---- queries in filters ----

// Counts the values that a query selects, up to a maximum, and stores the first value.
struct filter_tally {
  struct path_run *r;
  const char *first, *after;
  uint64_t count, max;
};

static bool tally_value(void *ctx, const char *value, const char **out_after) {
  struct filter_tally *t = ctx;
  bool container = *value == '{' || *value == '[';
  *out_after = container ? NULL : json_scan_verify_scalar(&t->r->doc, value);
  path_passed(t->r, 0, value, *out_after);
  if (!t->count++) t->first = value, t->after = *out_after;
  return t->count < t->max && !t->r->doc.wrong;
}

// Applies the remaining segments of a query (query->rest) to the value `from`.
static void follow_query(struct filter_tally *t, const struct path_query *query, const char *from) {
  struct path_run *r = t->r;
  struct path_end end = {0};
  if (path_charge(r, 1)) path_walk(r, query->rest, from, &(struct path_sink){tally_value, t}, &end);
  if (from != r->tested) return;
  if (end.after) r->tested_end->after = end.after;
  if (end.inside <= r->tested_end->inside) return;
  r->tested_end->inside = end.inside;
  r->tested_end->levels = end.levels;
}

// Returns the value at which the segments in query->rest start: the picked member, the root of the document, or
// `value`. Returns NULL if the picked member is missing.
static const char *begin_of(const struct path_run *r, const struct path_query *query, const char *value) {
  if (query->picked) return r->picked[query->picked->place];
  return query->from_root ? r->root : value;
}

static void run_query(struct path_run *r, const struct path_query *query, const char *value, uint64_t max,
                      struct filter_tally *out) {
  const char *from = begin_of(r, query, value), *ignored;
  *out = (struct filter_tally){.r = r, .max = max};
  if (!from) return;
  if (query->rest) follow_query(out, query, from);
  else tally_value(out, from, &ignored);
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

// Compares exact values. Returns false if a number has an exponent with too many digits.
static bool number_less(const struct json *a, const struct json *b) {
  struct json_number x, y;
  double p, q;
  if (json_number_short(json_span(a), &p) && json_number_short(json_span(b), &q)) return p < q;
  if (!json_number_read(a, &x) || !json_number_read(b, &y)) return false;
  if (x.negative != y.negative) return x.negative;
  return x.negative ? compare_sizes(&y, &x) < 0 : compare_sizes(&x, &y) < 0;
}

// Compares by code points, which gives the same order as comparing UTF-8 bytes.
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

// Parses a container of the document. On failure, sets the fault of the run and returns NULL.
static const struct json *parse_container(struct path_run *r, const struct json *v, struct arena *a) {
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  const char *after = json_scan_skip(&r->doc, v->p);
  if (!after || !path_charge(r, PARSE_STEPS + (uint64_t)(after - v->p) / 4)) return NULL;
  const struct json *made = json_parse(a, (str){v->p, (size_t)(after - v->p)}, &limits, r->f);
  if (!made) r->failed = true;
  return made;
}

static bool same_containers(struct path_run *r, const struct json *a, const struct json *b) {
  struct arena trees;
  if (a->p == b->p) return true;
  arena_init(&trees);
  const struct json *x = parse_container(r, a, &trees), *y = x ? parse_container(r, b, &trees) : NULL;
  bool same = y && json_same(x, y);
  arena_done(&trees);
  return same;
}

static bool same(struct path_run *r, const struct json *a, const struct json *b) {
  if (!a || !b) return a == b;
  if (a->type != b->type) return false;
  if (a->type == JSON_ARRAY || a->type == JSON_OBJECT) return same_containers(r, a, b);
  return json_same(a, b);
}

static bool compare(struct path_run *r, enum path_operator op, const struct json *a, const struct json *b) {
  switch (op) {
  case PATH_EQ: return same(r, a, b);
  case PATH_NE: return !same(r, a, b);
  case PATH_LT: return less(a, b);
  case PATH_LE: return less(a, b) || same(r, a, b);
  case PATH_GT: return less(b, a);
  case PATH_GE: return less(b, a) || same(r, a, b);
  }
  return false;
}

// ---- functions ----

static uint64_t count_characters(str escaped) {
  uint64_t n = 0;
  for (; escaped.n; n++) json_text_next(&escaped);
  return n;
}

static const struct json *value_of(struct path_run *r, const struct path_expr *e, const char *value, struct made *room);

// Returns the number of elements or members of a container, as an operand.
static const struct json *count_children(struct path_run *r, const char *container, struct made *room) {
  struct json_walk w;
  json_walk_open(&w, &r->doc, container);
  while (path_next(r, &w)) {
  }
  return path_alive(r) ? make_number(room, w.count) : NULL;
}

static bool is_all_children(const struct path_segment *s) {
  return s && !s->next && !s->descend && !s->selectors->next && s->selectors->kind == PATH_WILDCARD;
}

static const struct json *call_count(struct path_run *r, const struct path_query *query, const char *value,
                                     struct made *room) {
  struct filter_tally t = {0};
  const char *from = begin_of(r, query, value);
  if (from && is_all_children(query->rest)) return count_children(r, from, room);
  run_query(r, query, value, UINT64_MAX, &t);
  return make_number(room, t.count);
}

static const struct json *call_length(struct path_run *r, const struct path_expr *argument, const char *value,
                                      struct made *room) {
  struct made inner;
  const struct json *v = value_of(r, argument, value, &inner);
  if (json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT)) return count_children(r, v->p, room);
  if (!json_is(v, JSON_STRING) || !path_charge(r, v->n / 16)) return NULL;
  return make_number(room, count_characters(inside(v)));
}

static const struct json *first_of(struct path_run *r, const struct filter_tally *t, struct made *room) {
  return t->first && path_alive(r) ? make_node(r, t->first, t->after, room) : NULL;
}

// Returns the value of an operand, or NULL for "Nothing". If the run has failed, the result must not be used.
static const struct json *value_of(struct path_run *r, const struct path_expr *e, const char *value,
                                   struct made *room) {
  struct filter_tally t;
  if (e->kind == PATH_LITERAL) return e->literal;
  if (e->kind == PATH_QUERY) {
    run_query(r, &e->query, value, 1, &t);
    return first_of(r, &t, room);
  }
  if (e->function == PATH_LENGTH) return call_length(r, e->child, value, room);
  if (e->function == PATH_COUNT) return call_count(r, &e->child->query, value, room);
  run_query(r, &e->child->query, value, 2, &t);
  return t.count == 1 ? first_of(r, &t, room) : NULL;
}

// Returns the unescaped text of a string. The next call may overwrite this text, because a run has memory for only one
// unescaped text.
static str text_of(struct path_run *r, const struct json *v) {
  if (!(v->flags & JSON_ESCAPED)) return inside(v);
  if (r->text_n < v->n) {
    r->text_n = 2 * (size_t)v->n;
    r->text = arena_alloc(r->scratch, r->text_n);
  }
  return (str){r->text, json_text_unescape(inside(v), r->text)};
}

// Compiles a pattern that is a value of the document. If the pattern is the same as in the last call, which is usual,
// returns the same compiled pattern.
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
  if (regex->too_large) return path_exceed(r, "a regular expression in the document is too large");
  if (!path_regex_usable(regex) || !path_charge(r, 1 + v->n / 16)) return false;
  str text = text_of(r, v);
  if (!path_regex_may_match(regex, text) || !path_charge(r, path_regex_cost(regex, v->n))) return false;
  if (!path_regex_test(regex, &r->matcher, text, &found))
    return path_exceed(r, "a regular expression needs too much memory");
  return found;
}

static bool call_match(struct path_run *r, const struct path_expr *e, const char *value) {
  struct made room;
  const struct json *v = value_of(r, e->child, value, &room);
  if (!json_is(v, JSON_STRING)) return false;
  if (e->regex) return test_regex(r, e->regex, v);
  struct made pattern_room;
  const struct json *pattern = value_of(r, e->child->next, value, &pattern_room);
  if (!json_is(pattern, JSON_STRING)) return false;
  const struct path_regex *regex = regex_of(r, pattern, e->function == PATH_MATCH);
  return regex && test_regex(r, regex, v);
}

// ---- tests ----

// Compares two short numbers (json/number.h) by their doubles.
static bool compare_short(enum path_operator op, double a, double b) {
  ASSERT(op <= PATH_GE);
  switch (op) {
  case PATH_EQ: return !(a < b) && !(a > b);
  case PATH_NE: return a < b || a > b;
  case PATH_LT: return a < b;
  case PATH_LE: return a <= b;
  case PATH_GT: return a > b;
  case PATH_GE: return a >= b;
  }
  return false;
}

// Reads the value of a query as a short number (json/number.h). Returns false for any other value.
static bool is_short(struct path_run *r, const struct path_expr *e, const char *value, double *out) {
  const char *v = e->kind == PATH_QUERY && !e->query.rest ? begin_of(r, &e->query, value) : NULL;
  if (!v || (*v != '-' && (unsigned char)(*v - '0') > 9)) return false;
  const char *after = json_scan_scalar_end(v, r->doc.end), *digits = v + (*v == '-');
  if (after - digits > 1 && *digits == '0' && digits[1] != '.') return false;
  return json_number_short((str){v, (size_t)(after - v)}, out);
}

// Compares the value of a query with a string literal, byte by byte, and sets *out_same. Returns false if a comparison
// of bytes is not enough: if the literal has escapes, or if an escape begins at the first byte that differs.
static bool compare_bytes(struct path_run *r, const struct path_expr *e, const struct json *literal, const char *value,
                          bool *out_same) {
  const char *v = e->kind == PATH_QUERY && !e->query.rest ? begin_of(r, &e->query, value) : NULL;
  if (!v || !json_is(literal, JSON_STRING) || literal->flags & JSON_ESCAPED) return false;
  size_t i = 0, n = literal->n;
  if (r->doc.end - v <= (ptrdiff_t)n) return false;
  while (i < n && v[i] == literal->p[i]) i++;
  *out_same = i == n;
  return *out_same || v[i] != '\\';
}

static bool test_comparison(struct path_run *r, const struct path_expr *e, const char *value) {
  const struct path_expr *left = e->child, *right = left->next;
  struct made room_a, room_b;
  double number;
  bool same;
  if ((e->op == PATH_EQ || e->op == PATH_NE) && compare_bytes(r, left, right->literal, value, &same))
    return same == (e->op == PATH_EQ);
  if (right->is_number && is_short(r, left, value, &number)) return compare_short(e->op, number, right->number);
  const struct json *a = value_of(r, left, value, &room_a), *b = value_of(r, right, value, &room_b);
  if (!path_alive(r)) return false;
  if (a && b && a->type == b->type && !path_charge(r, (a->n < b->n ? a->n : b->n) / 8)) return false;
  return compare(r, e->op, a, b);
}

static bool test_exists(struct path_run *r, const struct path_query *query, const char *value) {
  struct filter_tally t;
  run_query(r, query, value, 1, &t);
  return t.count > 0;
}

static bool test_any(struct path_run *r, const struct path_expr *e, const char *value, bool wanted) {
  for (const struct path_expr *child = e->child; child && path_alive(r); child = child->next)
    if (path_filter_test(r, child, value) == wanted) return true;
  return false;
}

bool path_filter_test(struct path_run *r, const struct path_expr *e, const char *value) {
  ASSERT(e);
  if (!path_charge(r, 1)) return false;
  switch (e->kind) {
  case PATH_OR: return test_any(r, e, value, true);
  case PATH_AND: return !test_any(r, e, value, false);
  case PATH_NOT: return !path_filter_test(r, e->child, value);
  case PATH_COMPARE: return test_comparison(r, e, value);
  case PATH_QUERY: return test_exists(r, &e->query, value);
  case PATH_CALL: return call_match(r, e, value);
  case PATH_LITERAL: break;  // the query parser does not allow a literal as a test
  }
  return false;
}
