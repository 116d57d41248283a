// SPDX-License-Identifier: Apache-2.0
#include "call/controls/checkers.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/mem.h"
#include "govern/schema_pin.h"

enum { MOST_CHECKERS = 1024, MOST_BYTES = 64 << 20 };

struct checker {
  struct list node;           // least recently used first
  uint64_t generation;        // generation of the catalog with which the schema was last compared
  uint64_t digest;            // hash of the schema's text; 0 without a schema
  bool compiled, pinned;      // whether `schema` and `fault`, and `pin`, are set
  struct schema *schema;      // NULL if the schema allows everything or cannot be used
  struct fault *fault;        // why the schema cannot be used, or NULL
  char pin[SCHEMA_PIN_SIZE];  // empty if the schema has no pin
  size_t bytes;
  str key;  // stored after this struct
};

struct checkers {
  str member;
  struct schema_options options;
  struct hash_key seed;
  struct map by_key;
  struct list used;
  size_t bytes, compiled;
  struct arena scratch;
};

struct checkers *checkers_new(const char *member, const struct schema_options *options, const struct hash_key *seed) {
  struct checkers *k = MEM_NEW(struct checkers);
  k->member = str_of(member);
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
  c->compiled = c->pinned = false;
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

// Returns a tool's schema, in k->scratch. Returns NULL if the tool has no schema.
static const struct json *schema_of(struct checkers *k, const struct item *tool) {
  struct fault f;
  const struct json *definition = json_parse(&k->scratch, tool->text, &json_default_limits, &f);
  const struct json *schema = json_get(definition, k->member);
  return json_is(schema, JSON_NULL) ? NULL : schema;
}

// Compiles the schema, unless it allows everything.
static void compile(struct checkers *k, struct checker *c, const struct json *source) {
  struct fault f;
  c->compiled = true;
  if (!source || (json_is(source, JSON_OBJECT) && !source->count)) return;
  k->compiled++;
  c->schema = schema_compile(source, &k->options, &f);
  if (!c->schema) {
    c->fault = mem_alloc(sizeof f);
    *c->fault = f;
  }
  size_t more = c->schema ? schema_bytes(c->schema) : sizeof f;
  c->bytes += more;
  k->bytes += more;
}

// Drops the cached schema if the tool's definition in the catalog has changed.
static void compare(struct checkers *k, struct checker *c, const struct item *tool, uint64_t generation) {
  const struct json *source = schema_of(k, tool);
  uint64_t digest = source ? hash_sip(&k->seed, json_span(source)) : 0;
  if (!c->bytes || digest != c->digest) {
    forget(k, c);
    c->bytes = sizeof *c + c->key.n;
    k->bytes += c->bytes;
  }
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

// Returns the cache entry of a tool, adding it if necessary, and marks it as the most recently used entry. Drops the
// cached schema if the tool's definition has changed.
static struct checker *entry_of(struct checkers *k, str server, const struct item *tool, uint64_t generation) {
  str key = key_of(&k->scratch, server, tool->name);
  struct checker *c = map_find(&k->by_key, key);
  if (!c) c = add(k, key);
  arena_reset(&k->scratch);
  if (!c->bytes || c->generation != generation) compare(k, c, tool, generation);
  list_remove(&c->node);
  list_push(&k->used, &c->node);
  return c;
}

static void limit(struct checkers *k, const struct checker *kept) {
  while (map_count(&k->by_key) > MOST_CHECKERS || k->bytes > MOST_BYTES) {
    struct checker *oldest = CONTAINER_OF(k->used.next, struct checker, node);
    if (oldest == kept) break;
    drop(k, oldest);
  }
}

bool checkers_get(struct checkers *k, str server, const struct item *tool, uint64_t generation,
                  const struct schema **out, struct fault *f) {
  struct checker *c = entry_of(k, server, tool, generation);
  if (!c->compiled) compile(k, c, schema_of(k, tool));
  arena_reset(&k->scratch);
  limit(k, c);
  ASSERT(!c->fault || !c->schema);
  if (c->fault) *f = *c->fault;
  else *out = c->schema;
  return !c->fault;
}

str checkers_pin(struct checkers *k, str server, const struct item *tool, uint64_t generation) {
  struct checker *c = entry_of(k, server, tool, generation);
  if (!c->pinned && !schema_pin(schema_of(k, tool), c->pin)) c->pin[0] = 0;
  c->pinned = true;
  arena_reset(&k->scratch);
  limit(k, c);
  return *c->pin ? str_of(c->pin) : STR_NONE;
}

const struct schema_options *checkers_options(const struct checkers *k) {
  return &k->options;
}

size_t checkers_compiled(const struct checkers *k) {
  return k->compiled;
}

size_t checkers_count(const struct checkers *k) {
  return map_count(&k->by_key);
}
