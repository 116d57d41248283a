// SPDX-License-Identifier: Apache-2.0
#include "call/controls/result_cache.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/canon.h"

struct cache_entry {
  struct list node;  // least recently used first
  struct result_cache_key key;
  uint64_t stored_at;
  bool stateless;
  size_t n;
  char bytes[];
};

struct result_cache {
  struct result_cache_limits limits;
  const struct clock *clock;
  struct map by_key;
  struct list by_use;
  size_t bytes;
  uint64_t generation;
};

struct result_cache *result_cache_new(const struct result_cache_limits *limits, const struct clock *clock,
                                      const struct hash_key *seed) {
  ASSERT(limits && clock);
  struct result_cache *c = MEM_NEW(struct result_cache);
  c->limits = *limits;
  c->clock = clock;
  map_init(&c->by_key, seed);
  list_init(&c->by_use);
  return c;
}

static str name_of(const struct result_cache_key *key) {
  return (str){(const char *)key->digest, sizeof key->digest};
}

static size_t cost(size_t bytes) {
  return sizeof(struct cache_entry) + sizeof(struct map_entry) + bytes;
}

static void drop(struct result_cache *c, struct cache_entry *e) {
  ASSERT(c->bytes >= cost(e->n));
  map_remove(&c->by_key, name_of(&e->key));
  list_remove(&e->node);
  c->bytes -= cost(e->n);
  mem_free(e);
}

static void clear(struct result_cache *c) {
  LIST_EACH(it, &c->by_use) drop(c, CONTAINER_OF(it, struct cache_entry, node));
}

void result_cache_free(struct result_cache **cache) {
  struct result_cache *c = *cache;
  if (!c) return;
  *cache = NULL;
  clear(c);
  ASSERT(!c->bytes);
  map_done(&c->by_key);
  mem_free(c);
}

// ---- keys

// Writes the length of a name, then the name. The length separates names, because a name may contain any byte.
static void put_name(struct buf *b, str name) {
  buf_u64(b, name.n);
  buf_char(b, ':');
  buf_str(b, name);
}

bool result_cache_key(str scope, str server, str tool, const struct json *args, struct result_cache_key *out) {
  struct buf b;
  struct fault ignored;
  buf_init(&b, RESULT_CACHE_ARGS + scope.n + server.n + tool.n + 64);
  put_name(&b, scope);
  put_name(&b, server);
  put_name(&b, tool);
  bool good = args ? json_canon(&b, args, JSON_CANON_EXACT, &ignored) : true;
  if (!args) buf_str(&b, STR("{}"));  // a call without arguments equals a call with an empty object
  good = good && !b.over;
  if (good) hash_sha256(buf_view(&b), out->digest);
  buf_done(&b);
  return good;
}

// ---- entries

static void renew(struct result_cache *c, uint64_t generation) {
  if (generation <= c->generation) return;
  clear(c);
  c->generation = generation;
}

// Results that have expired stay in the cache until there is no room for them.
bool result_cache_find_expired(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                               uint64_t most_ms, struct cached_result *out) {
  renew(c, generation);
  struct cache_entry *e = map_find(&c->by_key, name_of(key));
  if (!e || clock_mono_ms(c->clock) - e->stored_at >= c->limits.ttl_ms + most_ms) return false;
  list_remove(&e->node);
  list_push(&c->by_use, &e->node);
  *out = (struct cached_result){{e->bytes, e->n}, e->stateless};
  return true;
}

bool result_cache_find(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                       struct cached_result *out) {
  return result_cache_find_expired(c, key, generation, 0, out);
}

void result_cache_put(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                      const struct cached_result *result) {
  if (generation < c->generation) return;
  renew(c, generation);
  struct cache_entry *before = map_find(&c->by_key, name_of(key));
  if (before) drop(c, before);
  size_t n = result->bytes.n;
  if (!c->limits.max_entries || n > c->limits.max_bytes || cost(n) > c->limits.max_bytes) return;
  while (map_count(&c->by_key) &&
         (map_count(&c->by_key) >= c->limits.max_entries || c->bytes + cost(n) > c->limits.max_bytes))
    drop(c, CONTAINER_OF(c->by_use.next, struct cache_entry, node));
  ASSERT(c->bytes + cost(n) <= c->limits.max_bytes);
  struct cache_entry *e = mem_alloc(sizeof *e + n);
  *e = (struct cache_entry){.key = *key, .stored_at = clock_mono_ms(c->clock), .stateless = result->stateless, .n = n};
  if (n) memcpy(e->bytes, result->bytes.p, n);
  map_add(&c->by_key, name_of(&e->key), e);
  list_push(&c->by_use, &e->node);
  c->bytes += cost(n);
}

size_t result_cache_count(const struct result_cache *c) {
  return map_count(&c->by_key);
}
size_t result_cache_bytes(const struct result_cache *c) {
  return c->bytes;
}
