// SPDX-License-Identifier: Apache-2.0
#include "call/controls/checkers.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/mem.h"

enum { MOST_CHECKERS = 1024, MOST_BYTES = 64 << 20 };

struct checker {
  struct list node;       // least recently used first
  uint64_t generation;    // generation of the catalog with which the schema was last compared
  uint64_t digest;        // hash of the schema's text
  struct schema *schema;  // NULL if the schema allows everything or cannot be used
  struct fault *fault;    // why the schema cannot be used, or NULL
  size_t bytes;
  str key;  // stored after this struct
};

struct checkers {
  struct schema_options options;
  struct hash_key seed;
  struct map by_key;
  struct list used;
  size_t bytes, compiled;
  struct arena scratch;
};

struct checkers *checkers_new(const struct schema_options *options, const struct hash_key *seed) {
  struct checkers *k = MEM_NEW(struct checkers);
  k->options = *options;
  k->seed = *seed;
  map_init(&k->by_key, seed);
  list_init(&k->used);
  arena_init(&k->scratch);
  return k;
}

// ---- a compiled schema

static void forget(struct checkers *k, struct checker *c) {
  ASSERT(k->bytes >= c->bytes);
  k->bytes -= c->bytes;
  schema_free(&c->schema);
  mem_free(c->fault);
  c->fault = NULL;
  c->bytes = 0;
}

static void drop(struct checkers *k, struct checker *c) {
  forget(k, c);
  map_remove(&k->by_key, c->key);
  list_remove(&c->node);
  mem_free(c);
}

void checkers_free(struct checkers **checkers) {
  struct checkers *k = *checkers;
  *checkers = NULL;
  if (!k) return;
  while (!list_empty(&k->used)) drop(k, CONTAINER_OF(k->used.next, struct checker, node));
  ASSERT(!k->bytes && !map_count(&k->by_key));
  map_done(&k->by_key);
  arena_done(&k->scratch);
  mem_free(k);
}

static struct checker *add(struct checkers *k, str key) {
  struct checker *c = mem_zero(sizeof *c + key.n);
  char *copy = (char *)(c + 1);
  memcpy(copy, key.p, key.n);
  c->key = (str){copy, key.n};
  list_init(&c->node);
  map_add(&k->by_key, c->key, c);
  return c;
}

// ---- the schema of a tool

// Returns a tool's input schema. Returns NULL if the tool has no input schema, or if the schema allows everything.
static const struct json *schema_of(struct checkers *k, const struct item *tool) {
  struct fault f;
  const struct json *definition = json_parse(&k->scratch, tool->text, &json_default_limits, &f);
  const struct json *schema = json_get(definition, STR("inputSchema"));
  bool restricts = schema && schema->type != JSON_NULL && !(schema->type == JSON_OBJECT && !schema->count);
  return restricts ? schema : NULL;
}

static void compile(struct checkers *k, struct checker *c, const struct json *source) {
  struct fault f;
  forget(k, c);
  c->bytes = sizeof *c + c->key.n;
  if (source) {
    k->compiled++;
    c->schema = schema_compile(source, &k->options, &f);
    if (!c->schema) {
      c->fault = mem_alloc(sizeof f);
      *c->fault = f;
    }
    c->bytes += c->schema ? schema_bytes(c->schema) : sizeof f;
  }
  k->bytes += c->bytes;
}

// Compares the cached schema with the tool's definition in the catalog. Compiles the schema if it is new or has
// changed.
static void compare(struct checkers *k, struct checker *c, const struct item *tool, uint64_t generation) {
  const struct json *source = schema_of(k, tool);
  uint64_t digest = source ? hash_sip(&k->seed, json_span(source)) : 0;
  if (!c->bytes || digest != c->digest) compile(k, c, source);
  c->digest = digest;
  c->generation = generation;
  arena_reset(&k->scratch);
}

// Returns the key of a tool in the cache: the server's name, a NUL, and the tool's name.
static str key_of(struct arena *a, str server, str tool) {
  char *key = arena_alloc(a, server.n + 1 + tool.n);
  memcpy(key, server.p, server.n);
  key[server.n] = 0;
  memcpy(key + server.n + 1, tool.p, tool.n);
  return (str){key, server.n + 1 + tool.n};
}

bool checkers_get(struct checkers *k, str server, const struct item *tool, uint64_t generation,
                  const struct schema **out, struct fault *f) {
  str key = key_of(&k->scratch, server, tool->name);
  struct checker *c = map_find(&k->by_key, key);
  if (!c) c = add(k, key);
  arena_reset(&k->scratch);
  if (!c->bytes || c->generation != generation) compare(k, c, tool, generation);
  list_remove(&c->node);
  list_push(&k->used, &c->node);
  ASSERT(!c->fault || !c->schema);
  while (map_count(&k->by_key) > MOST_CHECKERS || k->bytes > MOST_BYTES) {
    struct checker *oldest = CONTAINER_OF(k->used.next, struct checker, node);
    if (oldest == c) break;
    drop(k, oldest);
  }
  if (c->fault) *f = *c->fault;
  else *out = c->schema;
  return !c->fault;
}

size_t checkers_compiled(const struct checkers *k) {
  return k->compiled;
}

size_t checkers_count(const struct checkers *k) {
  return map_count(&k->by_key);
}
