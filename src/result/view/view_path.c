// SPDX-License-Identifier: Apache-2.0
// Shows the values of a JSON text that a JSONPath query selects, each on its own line.
#include "base/assert.h"
#include "result/text_cut.h"
#include "result/view/view_impl.h"
#include "json/path/path.h"
#include "json/write.h"

// Limit on the total bytes of the results that are read, as a multiple of the bytes that may be shown. Results can be
// larger than their shown form, which has no blanks.
enum { READ_MOST = 64 };

struct results {
  const struct view_order *order;
  struct json_scan scan;  // finds the ends of values
  size_t start;           // number of results to skip
  size_t total;           // number of results seen so far; of all results if count_all
  bool count_all;
  size_t near;  // number of bytes that may be shown
  size_t read;  // number of bytes of the results read so far, including blanks
  str first;    // the first result to show
  bool whole;   // `text` has all results
  bool broken;  // a result is not JSON
  struct fault *fault;
  struct buf text;
  struct arena arena, values;
};

static bool count_result(void *ctx, const char *value, const char **out_after) {
  ((struct results *)ctx)->total++;
  return true;
}

// Appends a result as one line of compact JSON. Returns false if the result is not JSON.
static bool put_result(struct results *r, str value) {
  if (!json_scan_check(value, &json_default_limits, r->fault)) return false;
  arena_reset(&r->values);
  buf_str(&r->text, json_compacted(&r->values, value));
  buf_char(&r->text, '\n');
  return true;
}

// Handles one result of the query. Writes the result if it may fit; after the first result that does not fit, only
// counts results.
static bool take_result(void *ctx, const char *value, const char **out_after) {
  struct results *r = ctx;
  ASSERT(!r->broken);
  size_t at = r->total++;
  if (at < r->start) return true;
  if (!r->whole) return r->count_all;
  *out_after = json_scan_skip(&r->scan, value);
  if (!*out_after) return true;  // json_path_each reports the error
  str span = {value, (size_t)(*out_after - value)};
  if (!r->first.p) r->first = span;
  r->read += span.n;
  r->whole = span.n <= r->near && r->text.n <= r->near && r->read <= READ_MOST * r->near;
  if (r->whole) r->broken = !put_result(r, span);
  return !r->broken && (r->whole || r->count_all);
}

static bool run_query(struct results *r, const struct json_path *path, int64_t start, struct fault *f) {
  str bytes = r->order->bytes;
  struct json_path_limits limits = json_path_limits_for(bytes.n);
  r->start = start < 0 ? 0 : (size_t)start;
  if (start < 0) {
    if (!json_path_each(path, bytes, &limits, &r->arena, count_result, r, f)) return false;
    r->start = view_place(start, r->total);
    r->total = 0;
  }
  return json_path_each(path, bytes, &limits, &r->arena, take_result, r, f) && !r->broken;
}

static void note_cut(void *ctx, size_t shown, struct buf *out) {
  const struct results *r = ctx;
  buf_printf(out, "cut at result %zu", r->start + shown);
  if (r->count_all) buf_printf(out, " of %zu", r->total);
  buf_str(out, STR("; "));
  view_put_next(out, r->order, r->start + shown);
}

// Writes a note with a selector for a result that does not fit even alone.
static void note_large(struct buf *out, const struct results *r) {
  view_begin_note(r->order, out);
  buf_printf(out, "result %zu does not fit; read it with ", r->start);
  view_put_head(out, r->order->bytes, r->first);
  if (r->count_all && r->start + 1 >= r->total) return;
  buf_str(out, STR("; "));
  view_put_next(out, r->order, r->start + 1);
}

static bool refuse_query(const struct view_order *o, enum fault_code code, const char *why, struct fault *f) {
  char text[FAULT_TEXT];
  memcpy(text, why, sizeof text);
  fault_set(f, code, "path failed: %s; example: %s", text, o->form);
  fault_set_path(f, STR("path"));
  return false;
}

static bool show_query(struct results *r, str query, int64_t start, struct buf *out, struct fault *f) {
  struct json_path *path = json_path_compile(&r->arena, query, f);
  if (!path) return refuse_query(r->order, f->code, f->message, f);
  if (r->count_all && !json_scan_check(r->order->bytes, &json_default_limits, f)) return view_no_json(r->order, f);
  if (!run_query(r, path, start, f)) return f->code == FAULT_INVALID ? view_no_json(r->order, f) : false;
  str hint = json_path_hint(path);
  if (!r->total && hint.n) {
    fault_set(f, FAULT_INVALID, "%.*s", STR_ARG(hint));
    return refuse_query(r->order, FAULT_INVALID, f->message, f);
  }
  if (!r->total) buf_printf(out, "%.*s 0 matches", STR_ARG(r->order->mark));
  else if (!view_put_lines(r->order, buf_view(&r->text), r->whole, note_cut, r, out)) note_large(out, r);
  return true;
}

bool view_show_path(const struct view_order *o, struct buf *out, struct fault *f) {
  struct results r = {.order = o, .scan = json_scan(o->bytes), .whole = true, .fault = f};
  int64_t start;
  str query;
  r.near = o->limit * MEASURE_TOKEN_BYTES;
  r.count_all = o->bytes.n <= VIEW_SMALL;
  arena_init(&r.arena);
  arena_init(&r.values);
  buf_init(&r.text, 2 * r.near + 2);
  bool ok = view_number(o, STR("start"), 0, &start, f) && view_string(o, STR("path"), STR_NONE, &r.arena, &query, f) &&
            show_query(&r, query, start, out, f);
  buf_done(&r.text);
  arena_done(&r.values);
  arena_done(&r.arena);
  return ok;
}
