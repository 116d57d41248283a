// SPDX-License-Identifier: Apache-2.0
// Values of a JSON text: those that a JSONPath query selects, each on a line of its own, or the one at a JSON Pointer.
#include "base/utf8.h"
#include "result/measure.h"
#include "result/view_impl.h"
#include "text/tokens.h"
#include "json/path.h"
#include "json/pointer.h"
#include "json/write.h"

// What the last line takes at first, in tokens, and what it tells of a query or pointer at the most, in bytes.
enum { NOTE_TOKENS = 60, QUERY_SHOWN = 80, POINTER_SHOWN = 60 };

struct results {
  str bytes;
  const struct json *root;
  str query;
  size_t start;              // results to leave out
  size_t total;              // all there are
  size_t limit;              // tokens
  size_t near;               // bytes that may matter
  const struct json *first;  // of those to be shown
  bool whole;                // the text has them all
  struct buf text;
  struct arena arena;
};

static bool no_json(str type, struct fault *f) {
  struct fault why = *f;
  fault_set(f, FAULT_INVALID, "%.*s needs JSON, and this is none (%s, %s): take {\"type\":\"lines\",\"start\":0}",
            STR_ARG(type), why.path, why.message);
  return false;
}

static bool read_string(const struct json *selector, str name, const char *form, struct arena *a, str *out,
                        struct fault *f) {
  if (json_string(json_get(selector, name), a, out)) return true;
  fault_set(f, FAULT_INVALID, "%.*s is not a string: %s", STR_ARG(name), form);
  fault_set_path(f, name);
  return false;
}

// ---- results of a query ----

static bool count_result(void *ctx, const struct json *node) {
  ((struct results *)ctx)->total++;
  return true;
}

// Writes lines as long as they may fit, then only counts.
static bool take_result(void *ctx, const struct json *node) {
  struct results *r = ctx;
  size_t at = r->total++;
  if (at < r->start || !r->whole) return true;
  if (!r->first) r->first = node;
  r->whole = node->n <= r->near && r->text.n <= r->near;
  if (!r->whole) return true;
  buf_str(&r->text, json_compacted(&r->arena, json_span(node)));
  buf_char(&r->text, '\n');
  return true;
}

static bool run_query(struct results *r, const struct json_path *path, int64_t start, struct fault *f) {
  const struct json_path_limits *limits = &json_path_default_limits;
  r->start = start < 0 ? 0 : (size_t)start;
  if (start < 0) {
    if (!json_path_each(path, r->root, limits, &r->arena, count_result, r, f)) return false;
    uint64_t back = 0 - (uint64_t)start;
    r->start = back < r->total ? r->total - (size_t)back : 0;
    r->total = 0;
  }
  return json_path_each(path, r->root, limits, &r->arena, take_result, r, f);
}

static void note_next(struct buf *out, const struct results *r, size_t next) {
  if (r->query.n > QUERY_SHOWN) {
    buf_printf(out, "go on with the same selector and \"start\":%zu", next);
    return;
  }
  buf_str(out, STR("go on with {\"type\":\"path\",\"path\":"));
  json_escape(out, r->query);
  buf_printf(out, ",\"start\":%zu}", next);
}

// A result that does not fit alone is told where its text is.
static void note_large(struct buf *out, const struct results *r, str value) {
  size_t before = measure_all_chars((str){r->bytes.p, (size_t)(value.p - r->bytes.p)});
  buf_printf(out, "… result %zu does not fit; read it with {\"type\":\"head\",\"start\":%zu,\"chars\":%zu}", r->start,
             before, measure_all_chars(value));
  if (r->start + 1 >= r->total) return;
  buf_str(out, STR("; "));
  note_next(out, r, r->start + 1);
}

// The lines that end within the first `at` bytes, and in *out_bytes what they take.
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

// False, with nothing written, when not even one result fits.
static bool cut_results(const struct results *r, struct buf *out) {
  size_t begin = out->n, width;
  str text = buf_view(&r->text);
  for (size_t room = NOTE_TOKENS; room < r->limit; room += NOTE_TOKENS / 4) {
    size_t count = text.n ? whole_lines(text, measure_cut_tokens(text, r->limit - room), &width) : 0;
    if (!count) return false;
    buf_add(out, text.p, width);
    buf_printf(out, "… cut at result %zu of %zu; ", r->start + count, r->total);
    note_next(out, r, r->start + count);
    if (out->over || tokens_fit(str_from(buf_view(out), begin), r->limit)) return true;
    out->n = begin;
  }
  return false;
}

static void show_results(const struct results *r, struct buf *out) {
  str lines = buf_view(&r->text);
  if (lines.n) lines.n--;
  if (r->whole && tokens_fit(lines, r->limit)) buf_str(out, lines);
  else if (!cut_results(r, out)) note_large(out, r, json_span(r->first));
}

static bool show_query(struct results *r, int64_t start, struct buf *out, struct fault *f) {
  static const char form[] = "{\"type\":\"path\",\"path\":\"$.items[?@.price<10].name\"}";
  struct json_path *path = json_path_compile(&r->arena, r->query, f);
  if (!path) {
    struct fault why = *f;
    fault_set(f, why.code, "path, %s; it looks like %s", why.message, form);
    fault_set_path(f, STR("path"));
    return false;
  }
  r->root = json_parse(&r->arena, r->bytes, &json_default_limits, f);
  if (!r->root) return no_json(STR("path"), f);
  if (!run_query(r, path, start, f)) return false;
  if (r->total || !json_path_hint(path).n) {
    show_results(r, out);
    return true;
  }
  fault_set(f, FAULT_INVALID, "path, %.*s; it looks like %s", STR_ARG(json_path_hint(path)), form);
  fault_set_path(f, STR("path"));
  return false;
}

bool view_show_path(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f) {
  struct results r = {.bytes = bytes, .limit = limit, .whole = true, .near = limit * MEASURE_TOKEN_BYTES};
  int64_t start;
  arena_init(&r.arena);
  buf_init(&r.text, 2 * r.near + 2);
  bool ok = view_number(selector, STR("start"), 0, &start, f) &&
            read_string(selector, STR("path"), "{\"type\":\"path\",\"path\":\"$.a[*].b\"}", &r.arena, &r.query, f) &&
            show_query(&r, start, out, f);
  buf_done(&r.text);
  arena_done(&r.arena);
  return ok;
}

// ---- a pointer ----

// What a pointer cannot go on from.
static str describe(const struct json *v, struct arena *a) {
  if (json_is(v, JSON_OBJECT)) return arena_printf(a, "has %u members", v->count);
  if (json_is(v, JSON_ARRAY)) return arena_printf(a, "has %u elements", v->count);
  return json_is(v, JSON_STRING) ? STR("is a string") : STR("is a single value");
}

// Tells the longest beginning of the pointer that leads somewhere; the empty one always does.
static bool not_there(struct json *root, str pointer, struct arena *a, struct fault *f) {
  static const char form[] = "{\"type\":\"pointer\",\"pointer\":\"/a/0\"}";
  str part = pointer, shown = utf8_cut(pointer, POINTER_SHOWN);
  const struct json *v = NULL;
  while (!v) {
    while (part.n && part.p[part.n - 1] != '/') part.n--;
    if (part.n) part.n--;
    v = json_pointer_find(root, part);
  }
  str there = utf8_cut(part, POINTER_SHOWN), what = describe(v, a);
  if (pointer.p[0] != '/') fault_set(f, FAULT_INVALID, "a pointer begins with '/': %s", form);
  else
    fault_set(f, FAULT_INVALID, "there is nothing at \"%.*s\", \"%.*s\" %.*s: %s", STR_ARG(shown), STR_ARG(there),
              STR_ARG(what), form);
  fault_set_path(f, STR("pointer"));
  return false;
}

static bool show_pointer(str bytes, str pointer, size_t limit, struct arena *a, struct buf *out, struct fault *f) {
  struct json *root = json_parse(a, bytes, &json_default_limits, f);
  if (!root) return no_json(STR("pointer"), f);
  const struct json *v = json_pointer_find(root, pointer);
  if (!v) return not_there(root, pointer, a, f);
  // As it is in the source, so that going on is to read on there.
  struct view_chars chars = {.from = (size_t)(v->p - bytes.p), .count = measure_all_chars(json_span(v))};
  chars.start = measure_all_chars((str){bytes.p, chars.from});
  view_show_chars(bytes, &chars, limit, out);
  return true;
}

bool view_show_pointer(str bytes, const struct json *selector, size_t limit, struct buf *out, struct fault *f) {
  struct arena a;
  str pointer;
  arena_init(&a);
  bool ok = read_string(selector, STR("pointer"), "{\"type\":\"pointer\",\"pointer\":\"/a/0\"}", &a, &pointer, f) &&
            show_pointer(bytes, pointer, limit, &a, out, f);
  arena_done(&a);
  return ok;
}
