// SPDX-License-Identifier: Apache-2.0
// Runs a compiled query. When a segment selects a value, the rest of the query is applied to this value before the next
// value is read. This is the order of RFC 9535, and needs no lists in memory. Every walk through a value reports how
// far it has read, so that no bytes are read again to find the end of the value.
#include "json/path/path.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "json/path/path_impl.h"
#include "json/text.h"

// WALK_DEPTH_MAX limits nested function calls, to bound the use of the stack.
enum { WALK_DEPTH_MAX = 3000, FIRST_NODES = 64, NAMES_FOR_STEP = 16, LISTED = 1024, KEPT = 64 };

// json_path_limits_for allows FAIR_STEPS steps, plus one step for every BYTES_FOR_STEP bytes of the text. This is
// enough to read a text once or twice.
enum { FAIR_STEPS = 3000000, BYTES_FOR_STEP = 4 };

const struct json_path_limits json_path_default_limits = {.max_steps = 20000000, .max_nodes = 100000};

struct json_path_limits json_path_limits_for(size_t bytes) {
  struct json_path_limits limits = json_path_default_limits;
  uint64_t fair = FAIR_STEPS + bytes / BYTES_FOR_STEP;
  if (fair < limits.max_steps) limits.max_steps = fair;
  return limits;
}

bool path_exceed(struct path_run *r, const char *what) {
  if (!r->failed) fault_set(r->f, FAULT_LIMIT, "%s", what);
  r->failed = true;
  return false;
}

bool path_exceed_steps(struct path_run *r) {
  r->steps = 0;
  return path_exceed(r, "the query needs too many steps for this document");
}

static bool is_object(const struct path_run *r, const char *v) {
  return v < r->doc.end && *v == '{';
}

static bool is_array(const struct path_run *r, const char *v) {
  return v < r->doc.end && *v == '[';
}

bool path_next(struct path_run *r, struct json_walk *w) {
  const char *before = w->after ? w->after : w->value;
  bool more = json_walk_next(w);
  const char *reached = more ? w->value : w->after;
  return path_passed(r, 1, before, reached) && more;
}

void path_settle(struct path_run *r, struct json_walk *w, const struct path_end *end) {
  if (end->after) {
    w->after = end->after;
  } else if (end->inside) {
    w->after = json_scan_skip_rest(&r->doc, end->inside, end->levels);
    path_passed(r, 0, end->inside, w->after);
  }
}

void path_learn(struct path_end *end, const struct json_walk *w) {
  if (!w->close) end->after = w->after;
  else if (w->after > end->inside) end->inside = w->after, end->levels = 1;
}

// Applies the segments after `s` to the current value of the walk.
bool path_walk_child(struct path_run *r, const struct path_segment *s, struct json_walk *w,
                     const struct path_sink *sink) {
  struct path_end end = {0};
  bool on = path_walk(r, s->next, w->value, sink, &end);
  if (path_alive(r)) path_settle(r, w, &end);
  return on;
}

bool path_charge_walk(struct path_run *r, const char *container, const struct json_walk *w, size_t names) {
  const char *reached = w->close ? w->value : w->after;
  uint64_t far = reached > container ? (uint64_t)(reached - container) / PATH_STEP_BYTES : 0;
  uint64_t seen = w->count * (1 + names / NAMES_FOR_STEP);
  return path_charge(r, far > seen ? far : seen);
}

static bool select_name(struct path_run *r, const struct path_segment *s, const struct path_selector *selector,
                        const char *v, const struct path_sink *sink, struct path_end *end) {
  struct json_walk w;
  bool on = true;
  if (!is_object(r, v)) return true;
  json_walk_open(&w, &r->doc, v);
  bool found = json_walk_find(&w, path_names(r, selector->set, &selector->name, 1)) == 0;
  if (path_charge_walk(r, v, &w, 1) && found) on = path_walk_child(r, s, &w, sink);
  path_learn(end, &w);
  return on && path_alive(r);
}

// Returns the number of elements of an array.
static int64_t count_elements(struct path_run *r, const char *array, struct path_end *end) {
  struct json_walk w;
  json_walk_open(&w, &r->doc, array);
  while (path_next(r, &w)) {
  }
  path_learn(end, &w);
  return (int64_t)w.count;
}

// Positions of the last elements of an array (at most KEPT, a constant). A walk through the whole array records them.
struct last {
  const char *at[KEPT];
  size_t count;  // number of all elements
};

static bool keep_last(struct path_run *r, const char *array, struct last *last, struct path_end *end) {
  struct json_walk w;
  json_walk_open(&w, &r->doc, array);
  while (path_next(r, &w)) last->at[(w.count - 1) % KEPT] = w.value;
  path_learn(end, &w);
  last->count = w.count;
  return path_alive(r);
}

static bool select_from_end(struct path_run *r, const struct path_segment *s, uint64_t back, const char *v,
                            const struct path_sink *sink, struct path_end *end) {
  struct last last = {.count = 0};
  struct path_end ignored = {0};
  if (!keep_last(r, v, &last, end) || back > last.count) return path_alive(r);
  return path_walk(r, s->next, last.at[(last.count - back) % KEPT], sink, &ignored);
}

static bool select_index(struct path_run *r, const struct path_segment *s, int64_t index, const char *v,
                         const struct path_sink *sink, struct path_end *end) {
  struct json_walk w;
  bool on = true;
  if (!is_array(r, v)) return true;
  if (index < 0 && index >= -KEPT) return select_from_end(r, s, (uint64_t)-index, v, sink, end);
  if (index < 0) index += count_elements(r, v, end);
  if (index < 0 || !path_alive(r)) return path_alive(r);
  json_walk_open(&w, &r->doc, v);
  while ((int64_t)w.count <= index && path_next(r, &w)) {
  }
  if (path_alive(r) && w.close) on = path_walk_child(r, s, &w, sink);
  path_learn(end, &w);
  return on && path_alive(r);
}

static bool select_children(struct path_run *r, const struct path_segment *s, const char *v,
                            const struct path_sink *sink, struct path_end *end) {
  struct json_walk w;
  bool on = true;
  json_walk_open(&w, &r->doc, v);
  while (on && path_next(r, &w)) on = path_walk_child(r, s, &w, sink);
  path_learn(end, &w);
  return on && path_alive(r);
}

// Finds the members that the filter reads, then calls path_filter_test. Reports in `end` how far the value was read.
bool path_test(struct path_run *r, const struct path_selector *selector, const char *value, struct path_end *end) {
  const char *outer = r->tested;
  struct path_end *outer_end = r->tested_end;
  r->tested = value;
  r->tested_end = end;
  if (selector->wanted) path_pick(r, selector->wanted, value, end);
  bool passes = path_filter_test(r, selector->filter, value);
  r->tested = outer;
  r->tested_end = outer_end;
  return passes;
}

static bool select_filtered(struct path_run *r, const struct path_segment *s, const struct path_selector *selector,
                            const char *v, const struct path_sink *sink, struct path_end *end) {
  struct json_walk w;
  bool on = true;
  json_walk_open(&w, &r->doc, v);
  while (on && path_next(r, &w)) {
    struct path_end seen = {0};
    bool passes = path_test(r, selector, w.value, &seen);
    if (!path_alive(r)) return false;
    if (passes) on = path_walk_child(r, s, &w, sink);
    if (on && !w.after) path_settle(r, &w, &seen);
  }
  path_learn(end, &w);
  return on && path_alive(r);
}

// ---- slices ----

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// Converts a bound of a slice to an index between `low` and `high` in an array of `n` elements. Returns `usual` if the
// bound is missing. Bounds are at most 2^53, so nothing overflows.
static int64_t place(bool given, int64_t bound, int64_t usual, int64_t n, int64_t low, int64_t high) {
  if (!given) return usual;
  return clamp(bound < 0 ? bound + n : bound, low, high);
}

static bool is_near_end(const struct path_slice *slice) {
  return slice->has_start && slice->start < 0 && slice->start >= -KEPT && (!slice->has_end || slice->end < 0);
}

// Selects a slice that starts at most KEPT elements before the end of the array.
static bool slice_last(struct path_run *r, const struct path_segment *s, const struct path_slice *slice, const char *v,
                       const struct path_sink *sink, struct path_end *end) {
  struct last last = {.count = 0};
  bool on = keep_last(r, v, &last, end);
  if (!on) return false;
  int64_t n = (int64_t)last.count, next = place(true, slice->start, 0, n, 0, n);
  int64_t stop = place(slice->has_end, slice->end, n, n, 0, n);
  while (on && next < stop) {
    struct path_end ignored = {0};
    on = path_charge(r, 1) && path_walk(r, s->next, last.at[next % KEPT], sink, &ignored);
    next = slice->step > stop - next ? stop : next + slice->step;
  }
  return on;
}

// Selects a slice with a positive step. The elements are counted first if a bound counts from the end.
static bool slice_up(struct path_run *r, const struct path_segment *s, const struct path_slice *slice, const char *v,
                     const struct path_sink *sink, struct path_end *end) {
  bool from_end = (slice->has_start && slice->start < 0) || (slice->has_end && slice->end < 0);
  if (is_near_end(slice)) return slice_last(r, s, slice, v, sink, end);
  int64_t n = from_end ? count_elements(r, v, end) : INT64_MAX;
  int64_t next = place(slice->has_start, slice->start, 0, n, 0, n);
  int64_t stop = place(slice->has_end, slice->end, n, n, 0, n);
  struct json_walk w;
  bool on = path_alive(r);
  json_walk_open(&w, &r->doc, v);
  while (on && next < stop && path_next(r, &w)) {
    if ((int64_t)w.count - 1 != next) continue;
    on = path_walk_child(r, s, &w, sink);
    next = slice->step > stop - next ? stop : next + slice->step;
  }
  path_learn(end, &w);
  return on && path_alive(r);
}

// Positions of the elements of an array, to visit them backwards. A walk goes forwards only, so the position of every
// LISTED-th element is stored. A short walk then fills `list` with the positions between two of these elements.
struct places {
  const char **kept;  // positions of every LISTED-th element
  size_t room;
  const char *list[LISTED];
  int64_t listed;  // index in `kept` of the element at list[0]; -1 if `list` is empty
};

// Fills p->kept. Returns the number of elements.
static int64_t keep_places(struct path_run *r, const char *array, struct places *p, struct path_end *end) {
  struct json_walk w;
  json_walk_open(&w, &r->doc, array);
  while (path_next(r, &w)) {
    size_t at = (w.count - 1) / LISTED;
    if ((w.count - 1) % LISTED) continue;
    if (at == p->room) {
      p->room = p->room ? 2 * p->room : FIRST_NODES;
      p->kept = mem_grow(p->kept, p->room * sizeof *p->kept);
    }
    p->kept[at] = w.value;
  }
  path_learn(end, &w);
  return (int64_t)w.count;
}

static const char *place_of(struct path_run *r, struct places *p, int64_t index, int64_t n) {
  if (p->listed == index / LISTED) return p->list[index % LISTED];
  p->listed = index / LISTED;
  struct json_walk w = {.scan = &r->doc, .close = ']', .after = p->kept[p->listed]};
  for (int64_t i = 0; i < LISTED && p->listed * LISTED + i < n && path_next(r, &w); i++) p->list[i] = w.value;
  return path_alive(r) ? p->list[index % LISTED] : NULL;
}

static bool slice_down(struct path_run *r, const struct path_segment *s, const struct path_slice *slice, const char *v,
                       const struct path_sink *sink, struct path_end *end) {
  struct places *p = mem_zero(sizeof *p);
  p->listed = -1;
  int64_t n = keep_places(r, v, p, end);
  int64_t start = place(slice->has_start, slice->start, n - 1, n, -1, n - 1);
  int64_t stop = place(slice->has_end, slice->end, -1, n, -1, n - 1);
  bool on = path_alive(r);
  for (int64_t i = start; i > stop && on; i += slice->step) {
    struct path_end ignored = {0};
    const char *element = place_of(r, p, i, n);
    on = element && path_charge(r, 1) && path_walk(r, s->next, element, sink, &ignored);
  }
  mem_free(p->kept);
  mem_free(p);
  return on;
}

static bool select_slice(struct path_run *r, const struct path_segment *s, const struct path_slice *slice,
                         const char *v, const struct path_sink *sink, struct path_end *end) {
  if (!is_array(r, v) || slice->step == 0) return true;
  return slice->step > 0 ? slice_up(r, s, slice, v, sink, end) : slice_down(r, s, slice, v, sink, end);
}

// ---- segments ----

static bool select_by(struct path_run *r, const struct path_segment *s, const struct path_selector *selector,
                      const char *v, const struct path_sink *sink, struct path_end *end) {
  switch (selector->kind) {
  case PATH_NAME: return select_name(r, s, selector, v, sink, end);
  case PATH_INDEX: return select_index(r, s, selector->slice.start, v, sink, end);
  case PATH_WILDCARD: return select_children(r, s, v, sink, end);
  case PATH_SLICE: return select_slice(r, s, &selector->slice, v, sink, end);
  case PATH_FILTER: return select_filtered(r, s, selector, v, sink, end);
  }
  return true;
}

bool path_select_all(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                     struct path_end *end) {
  for (const struct path_selector *selector = s->selectors; selector; selector = selector->next)
    if (!path_charge(r, 1) || !select_by(r, s, selector, v, sink, end)) return false;
  return true;
}

bool path_enter_level(struct path_run *r) {
  return ++r->depth <= WALK_DEPTH_MAX || path_exceed(r, "the document is nested too deeply for this query");
}

bool path_walk(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
               struct path_end *end) {
  if (!s) return sink->visit(sink->ctx, v, &end->after) && path_passed(r, 0, v, end->after);
  if (!is_object(r, v) && !is_array(r, v)) return true;
  if (s->descend) return path_descend(r, s, v, sink, end);
  bool on = path_enter_level(r) && path_select_all(r, s, v, sink, end);
  r->depth--;
  return on;
}

// ---- public interface ----

static bool parse_path(struct path_parser *q, struct path_query *out) {
  if (q->text.n > JSON_PATH_LENGTH_MAX) {
    fault_set(q->f, FAULT_LIMIT, "the query has %zu bytes; the maximum is %d", q->text.n, JSON_PATH_LENGTH_MAX);
    return false;
  }
  if (!utf8_valid(q->text)) return path_refuse(q, 0, "the query is not valid UTF-8");
  if (!path_take(q, '$')) return path_expect(q, "expected '$' at the start of the query");
  if (!path_parse_segments(q, out)) return false;
  return q->at == q->text.n || path_expect(q, "expected '.', '..' or '['");
}

struct json_path *json_path_compile(struct arena *a, str query, struct fault *f) {
  ASSERT(a && f);
  struct path_parser q = {.text = arena_str(a, query), .a = a, .f = f};
  struct path_query parsed = {.from_root = true};
  if (!parse_path(&q, &parsed)) return NULL;
  struct json_path *path = ARENA_NEW(a, struct json_path);
  *path =
      (struct json_path){.query = parsed, .hint = q.hint, .sets = q.sets, .places = q.places, .descents = q.descents};
  return path;
}

str json_path_hint(const struct json_path *path) {
  return path->hint;
}

// Finds the start of the document. A document that is a scalar is checked completely, because otherwise any text that
// begins with a digit would be read as a number.
static bool begins_document(struct path_run *r) {
  r->root = json_scan_first(&r->doc);
  if (is_object(r, r->root) || is_array(r, r->root)) return true;
  const char *after = json_scan_skip(&r->doc, r->root);
  return after && json_scan_ends(&r->doc, after);
}

bool json_path_each(const struct json_path *path, str text, const struct json_path_limits *limits,
                    struct arena *scratch, json_path_visit *visit, void *ctx, struct fault *f) {
  ASSERT(path && limits && scratch && visit && f);
  struct path_run r = {
      .doc = json_scan(text), .scratch = scratch, .f = f, .steps = limits->max_steps, .matcher = {.a = scratch}};
  r.sets = ARENA_ARRAY(scratch, struct json_names *, path->sets);
  r.picked = ARENA_ARRAY(scratch, const char *, path->places);
  r.finders = ARENA_ARRAY(scratch, struct path_finder *, path->descents);
  struct path_sink sink = {visit, ctx};
  struct path_end ignored = {0};
  arena_init(&r.patterns);
  if (begins_document(&r) && path_charge(&r, 1)) path_walk(&r, path->query.segments, r.root, &sink, &ignored);
  arena_done(&r.patterns);
  path_free_finders(&r, path->descents);
  if (!r.failed && r.doc.wrong) json_scan_fault(&r.doc, f);
  return path_alive(&r);
}

struct gathered {
  struct json_path_nodes nodes;
  struct json_scan doc;
  size_t room, max;
  struct arena *a;
  bool too_many;
};

static bool gather(void *ctx, const char *value, const char **out_after) {
  struct gathered *g = ctx;
  g->too_many = g->nodes.count == g->max;
  if (g->too_many) return false;
  if (g->nodes.count == g->room) {
    g->room = g->room ? 2 * g->room : FIRST_NODES;
    str *list = arena_alloc(g->a, g->room * sizeof *list);
    if (g->nodes.count) memcpy(list, g->nodes.list, g->nodes.count * sizeof *list);
    g->nodes.list = list;
  }
  *out_after = json_scan_skip(&g->doc, value);
  if (!*out_after) return false;
  g->nodes.list[g->nodes.count++] = (str){value, (size_t)(*out_after - value)};
  return true;
}

bool json_path_find(const struct json_path *path, str text, const struct json_path_limits *limits, struct arena *a,
                    struct json_path_nodes *out, struct fault *f) {
  struct gathered g = {.doc = json_scan(text), .max = limits->max_nodes, .a = a};
  if (!json_path_each(path, text, limits, a, gather, &g, f)) return false;
  if (g.doc.wrong) {
    json_scan_fault(&g.doc, f);
    return false;
  }
  if (g.too_many) {
    fault_set(f, FAULT_LIMIT, "the query selects more than %zu values; select fewer", limits->max_nodes);
    return false;
  }
  *out = g.nodes;
  return true;
}

// ---- normalized paths ----

// Writes a key in single quotes, escaped by RFC 9535, 2.7. `escaped` is the key as it is in the JSON text, with its
// escapes.
static void put_name(struct buf *out, str escaped) {
  static const char plain[] = "\b\t\n\f\r'\\", letters[] = "btnfr'\\";
  buf_str(out, STR("['"));
  while (escaped.n) {
    char text[4];
    uint32_t c = json_text_next(&escaped);
    const char *special = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
    if (special) buf_printf(out, "\\%c", letters[special - plain]);
    else if (c < ' ') buf_printf(out, "\\u%04x", (unsigned)c);
    else buf_add(out, text, utf8_put(c, text));
  }
  buf_str(out, STR("']"));
}

// Repeatedly descends into the member or element whose span contains the value, and appends its name or index.
void json_path_locate(struct buf *out, str text, const char *value) {
  ASSERT(value >= text.p && value < text.p + text.n);
  struct json_scan doc = json_scan_strict(text);
  const char *at = json_scan_first(&doc);
  buf_char(out, '$');
  while (at != value) {
    struct json_walk w;
    json_walk_open(&w, &doc, at);
    bool found = false;
    while (!found && json_walk_next(&w)) {
      str span = json_walk_value(&w);
      found = value >= span.p && value < span.p + span.n;
    }
    if (!found) return;
    if (w.close == '}') put_name(out, w.key);
    else buf_printf(out, "[%zu]", w.count - 1);
    at = w.value;
  }
}
