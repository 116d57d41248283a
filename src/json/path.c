// SPDX-License-Identifier: Apache-2.0
// Runs a compiled query. Segments are followed depth first: what one node leads to comes before what the next one
// leads to, which is the order of the RFC and needs no lists in between.
#include "json/path.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "json/path_impl.h"

// Calls inside each other, over all queries of a filter in a filter: bounds the stack.
enum { WALK_DEPTH_MAX = 3000, FIRST_NODES = 64 };

const struct json_path_limits json_path_default_limits = {.max_steps = 20000000, .max_nodes = 100000};

bool path_exceed(struct path_run *r, const char *what) {
  if (!r->failed) fault_set(r->f, FAULT_LIMIT, "%s", what);
  r->failed = true;
  return false;
}

bool path_charge(struct path_run *r, uint64_t steps) {
  if (steps > r->steps) return path_exceed(r, "the query takes too many steps on this document");
  r->steps -= steps;
  return true;
}

static bool walk(struct path_run *r, const struct path_segment *s, const struct json *v, const struct path_sink *sink);

// Keys are compared several to a step.
static bool select_name(struct path_run *r, const struct path_segment *s, str name, const struct json *v,
                        const struct path_sink *sink) {
  if (v->type != JSON_OBJECT) return true;
  const struct json *m = v->child;
  uint64_t passed = 0;
  for (; m && !json_key_is(m, name); m = m->next) passed++;
  if (!path_charge(r, passed / 4)) return false;
  return !m || walk(r, s->next, m, sink);
}

static bool select_index(struct path_run *r, const struct path_segment *s, int64_t index, const struct json *v,
                         const struct path_sink *sink) {
  if (v->type != JSON_ARRAY) return true;
  if (index < 0) index += v->count;
  if (index < 0 || index >= v->count) return true;
  return path_charge(r, (uint64_t)index / 2) && walk(r, s->next, json_at(v, (size_t)index), sink);
}

static bool select_children(struct path_run *r, const struct path_segment *s, const struct json *v,
                            const struct path_sink *sink) {
  JSON_EACH(child, v)
    if (!path_charge(r, 1) || !walk(r, s->next, child, sink)) return false;
  return true;
}

static bool select_filtered(struct path_run *r, const struct path_segment *s, const struct path_expr *filter,
                            const struct json *v, const struct path_sink *sink) {
  JSON_EACH(child, v) {
    if (!path_charge(r, 1)) return false;
    bool passes = path_filter_test(r, filter, child);
    if (r->failed || (passes && !walk(r, s->next, child, sink))) return false;
  }
  return true;
}

// ---- slices ----

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// Where a bound lies in an array of n, from `low` to `high`. Bounds are within 2^53, so nothing overflows.
static int64_t place(bool given, int64_t bound, int64_t usual, int64_t n, int64_t low, int64_t high) {
  if (!given) return usual;
  return clamp(bound < 0 ? bound + n : bound, low, high);
}

static bool slice_up(struct path_run *r, const struct path_segment *s, const struct path_slice *slice,
                     const struct json *v, const struct path_sink *sink) {
  int64_t n = v->count;
  int64_t next = place(slice->has_start, slice->start, 0, n, 0, n);
  int64_t end = place(slice->has_end, slice->end, n, n, 0, n), at = 0;
  for (const struct json *e = v->child; e && next < end; e = e->next, at++) {
    if (!path_charge(r, 1)) return false;
    if (at != next) continue;
    if (!walk(r, s->next, e, sink)) return false;
    next += slice->step;
  }
  return true;
}

// Elements are linked forwards only, so those in question are listed first.
static bool slice_down(struct path_run *r, const struct path_segment *s, const struct path_slice *slice,
                       const struct json *v, const struct path_sink *sink) {
  int64_t n = v->count;
  int64_t start = place(slice->has_start, slice->start, n - 1, n, -1, n - 1);
  int64_t end = place(slice->has_end, slice->end, -1, n, -1, n - 1);
  if (start <= end || !path_charge(r, (uint64_t)start / 2)) return !r->failed;
  const struct json **list = mem_alloc(((size_t)start + 1) * sizeof(struct json *)), *e = v->child;
  for (int64_t i = 0; i <= start; i++, e = e->next) list[i] = e;
  bool on = true;
  for (int64_t i = start; i > end && on; i += slice->step) on = path_charge(r, 1) && walk(r, s->next, list[i], sink);
  mem_free(list);
  return on;
}

static bool select_slice(struct path_run *r, const struct path_segment *s, const struct path_slice *slice,
                         const struct json *v, const struct path_sink *sink) {
  if (v->type != JSON_ARRAY || slice->step == 0) return true;
  return slice->step > 0 ? slice_up(r, s, slice, v, sink) : slice_down(r, s, slice, v, sink);
}

// ---- segments ----

static bool select_by(struct path_run *r, const struct path_segment *s, const struct path_selector *selector,
                      const struct json *v, const struct path_sink *sink) {
  switch (selector->kind) {
  case PATH_NAME: return select_name(r, s, selector->name, v, sink);
  case PATH_INDEX: return select_index(r, s, selector->slice.start, v, sink);
  case PATH_WILDCARD: return select_children(r, s, v, sink);
  case PATH_SLICE: return select_slice(r, s, &selector->slice, v, sink);
  case PATH_FILTER: return select_filtered(r, s, selector->filter, v, sink);
  }
  return true;
}

static bool select_all(struct path_run *r, const struct path_segment *s, const struct json *v,
                       const struct path_sink *sink) {
  for (const struct path_selector *selector = s->selectors; selector; selector = selector->next)
    if (!path_charge(r, 1) || !select_by(r, s, selector, v, sink)) return false;
  return true;
}

static bool enter(struct path_run *r) {
  return ++r->depth <= WALK_DEPTH_MAX || path_exceed(r, "the query goes too deep into this document");
}

static bool descend(struct path_run *r, const struct path_segment *s, const struct json *v,
                    const struct path_sink *sink) {
  bool on = enter(r) && select_all(r, s, v, sink);
  for (const struct json *child = v->child; child && on; child = child->next)
    on = path_charge(r, 1) && (!child->child || descend(r, s, child, sink));
  r->depth--;
  return on;
}

// Visits what the segments from s on lead to. False: stop.
static bool walk(struct path_run *r, const struct path_segment *s, const struct json *v, const struct path_sink *sink) {
  if (!s) return sink->visit(sink->ctx, v);
  if (!v->child) return true;
  if (s->descend) return descend(r, s, v, sink);
  bool on = enter(r) && select_all(r, s, v, sink);
  r->depth--;
  return on;
}

bool path_query_each(struct path_run *r, const struct path_query *query, const struct json *node,
                     const struct path_sink *sink) {
  return path_charge(r, 1) && walk(r, query->segments, query->from_root ? r->root : node, sink);
}

// ---- the interface ----

static bool parse_path(struct path_parser *q, struct path_query *out) {
  if (q->text.n > JSON_PATH_LENGTH_MAX) {
    fault_set(q->f, FAULT_LIMIT, "the query has %zu bytes, at most %d are allowed", q->text.n, JSON_PATH_LENGTH_MAX);
    return false;
  }
  if (!utf8_valid(q->text)) return path_refuse(q, 0, "the query is no valid UTF-8");
  if (!path_take(q, '$')) return path_expect(q, "a query begins with '$'");
  if (!path_parse_segments(q, out)) return false;
  return q->at == q->text.n || path_expect(q, "'.', '..' or '[' is expected");
}

struct json_path *json_path_compile(struct arena *a, str query, struct fault *f) {
  struct path_parser q = {.text = arena_str(a, query), .a = a, .f = f};
  struct path_query parsed = {.from_root = true};
  if (!parse_path(&q, &parsed)) return NULL;
  struct json_path *path = ARENA_NEW(a, struct json_path);
  *path = (struct json_path){parsed, q.hint};
  return path;
}

str json_path_hint(const struct json_path *path) {
  return path->hint;
}

bool json_path_each(const struct json_path *path, const struct json *root, const struct json_path_limits *limits,
                    struct arena *scratch, json_path_visit *visit, void *ctx, struct fault *f) {
  struct path_run r = {.root = root, .scratch = scratch, .f = f, .steps = limits->max_steps, .matcher = {.a = scratch}};
  struct path_sink sink = {visit, ctx};
  arena_init(&r.patterns);
  path_query_each(&r, &path->query, root, &sink);
  arena_done(&r.patterns);
  return !r.failed;
}

struct gathered {
  struct json_path_nodes nodes;
  size_t room, max;
  struct arena *a;
  bool too_many;
};

static bool gather(void *ctx, const struct json *node) {
  struct gathered *g = ctx;
  g->too_many = g->nodes.count == g->max;
  if (g->too_many) return false;
  if (g->nodes.count == g->room) {
    g->room = g->room ? 2 * g->room : FIRST_NODES;
    const struct json **list = arena_alloc(g->a, g->room * sizeof(struct json *));
    if (g->nodes.count) memcpy(list, g->nodes.list, g->nodes.count * sizeof(struct json *));
    g->nodes.list = list;
  }
  g->nodes.list[g->nodes.count++] = node;
  return true;
}

bool json_path_find(const struct json_path *path, const struct json *root, const struct json_path_limits *limits,
                    struct arena *a, struct json_path_nodes *out, struct fault *f) {
  struct gathered g = {.max = limits->max_nodes, .a = a};
  if (!json_path_each(path, root, limits, a, gather, &g, f)) return false;
  if (g.too_many) {
    fault_set(f, FAULT_LIMIT, "the query selects more than %zu nodes", limits->max_nodes);
    return false;
  }
  *out = g.nodes;
  return true;
}

// ---- normalized paths ----

// Between single quotes, with the escapes that RFC 9535 asks for in 2.7.
static void put_name(struct buf *out, const struct json *member) {
  static const char plain[] = "\b\t\n\f\r'\\", escaped[] = "btnfr'\\";
  struct arena a;
  arena_init(&a);
  str key = json_key(member, &a);
  buf_str(out, STR("['"));
  for (size_t i = 0; i < key.n; i++) {
    char c = key.p[i];
    const char *special = c ? strchr(plain, c) : NULL;
    if (special) buf_printf(out, "\\%c", escaped[special - plain]);
    else if ((unsigned char)c < ' ') buf_printf(out, "\\u%04x", (unsigned)c);
    else buf_char(out, c);
  }
  buf_str(out, STR("']"));
  arena_done(&a);
}

// A node lies in the container whose span it is part of.
void json_path_locate(struct buf *out, const struct json *root, const struct json *node) {
  buf_char(out, '$');
  while (root && root != node) {
    size_t index = 0;
    const struct json *child = root->child;
    for (; child && (node->p < child->p || node->p >= child->p + child->n); child = child->next) index++;
    if (child && child->key) put_name(out, child);
    else if (child) buf_printf(out, "[%zu]", index);
    root = child;
  }
}
