// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/mem.h"
#include "schema/schema_impl.h"
#include "json/write.h"

enum { MOST_POINTER_BYTES = 4096 };

const struct schema_options schema_default_options = {
    .draft = SCHEMA_DRAFT_2020_12,
    .max_bytes = 65536,
    .max_depth = 32,
    .max_properties = 512,
    .max_steps = 2 << 20,
    .max_errors = 20,
};

bool schema_fail(struct schema_compiler *c, const struct schema_resource *r, const struct json *at,
                 enum fault_code code, const char *fmt, ...) {
  char text[FAULT_TEXT];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  fault_set(c->fault, code, "%s", text);
  struct buf place;
  buf_init(&place, MOST_POINTER_BYTES);
  if (r->document_uri.n) buf_printf(&place, "%.*s#", STR_ARG(r->document_uri));
  schema_place(&place, r->document, at);
  fault_set_path(c->fault, place.n ? buf_view(&place) : STR(""));
  buf_done(&place);
  return false;
}

// ---- limits ----

struct extent {
  unsigned depth;
  size_t properties;
};

// Measures the depth and the number of properties of a value. Returns false if the value is deeper than max_depth.
static bool measure(const struct json *v, unsigned depth, unsigned max_depth, struct extent *out) {
  if (v->type != JSON_OBJECT && v->type != JSON_ARRAY) return true;
  if (depth > max_depth) return false;
  if (depth > out->depth) out->depth = depth;
  if (v->type == JSON_OBJECT && v->key && json_key_is(v, STR("properties"))) out->properties += v->count;
  JSON_EACH(child, v)
    if (!measure(child, depth + 1, max_depth, out)) return false;
  return true;
}

static bool within_limits(const struct json *root, size_t bytes, const struct schema_options *o, struct fault *f) {
  struct extent e = {0};
  if (bytes > o->max_bytes)
    fault_set(f, FAULT_LIMIT, "the schema has %zu bytes; the maximum is %zu", bytes, o->max_bytes);
  else if (!measure(root, 1, o->max_depth, &e))
    fault_set(f, FAULT_LIMIT, "the schema is nested more than %u levels deep", o->max_depth);
  else if (e.properties > o->max_properties)
    fault_set(f, FAULT_LIMIT, "the schema has %zu properties; the maximum is %zu", e.properties, o->max_properties);
  else {
    ASSERT(e.depth <= o->max_depth);
    return true;
  }
  return false;
}

// ---- compiling ----

static bool compile(struct schema *s, struct fault *f) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct schema_compiler c = {.schema = s, .arena = &s->arena, .fault = f};
  c.last = &c.first;
  map_init(&c.nodes, &seed);
  map_init(&c.resources, &seed);
  s->start = schema_load(&c, STR(""), s->root);
  bool ok = s->start != NULL;
  // Compiling a node may append nodes to the queue: schemas that are reached only by a reference, and schemas of other
  // documents.
  for (struct schema_node *n = c.first; ok && n; n = n->next) ok = schema_compile_node(&c, n);
  ASSERT(!*c.last && (!ok || s->start->resource));  // c.last points to the end of the queue of nodes
  map_done(&c.nodes);
  map_done(&c.resources);
  return ok;
}

struct schema *schema_compile(const struct json *root, const struct schema_options *options, struct fault *f) {
  ASSERT(root && options);
  struct schema *s = MEM_NEW(struct schema);
  s->options = *options;
  arena_init(&s->arena);
  str text = json_compacted(&s->arena, json_span(root));
  struct json_limits limits = {.max_bytes = text.n, .max_depth = JSON_DEEPEST};
  bool ok =
      within_limits(root, text.n, options, f) && (s->root = json_parse(&s->arena, text, &limits, f)) && compile(s, f);
  if (!ok) schema_free(&s);
  return s;
}

void schema_free(struct schema **s) {
  struct schema *gone = *s;
  *s = NULL;
  if (!gone) return;
  arena_done(&gone->arena);
  mem_free(gone);
}

size_t schema_bytes(const struct schema *s) {
  return sizeof *s + s->arena.total;
}

enum schema_draft schema_draft(const struct schema *s) {
  ASSERT(s->start);
  return s->start->resource->draft;
}
