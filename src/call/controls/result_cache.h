// SPDX-License-Identifier: Apache-2.0
// Caches results of read-only tools as the bytes of the server's answer.
//
// The key of an entry consists of a scope (principal and agent, and the session if it has its own connection), a tool,
// and the arguments in canonical form. Two numbers are equal only if they have the same digits. A new catalog empties
// the cache. The lifetime, number and size of the entries are limited; the least recently used entry is dropped first.
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto/hash.h"
#include "json/json.h"

struct result_cache_limits {
  uint64_t ttl_ms;  // lifetime of an entry
  size_t max_entries;
  size_t max_bytes;  // maximum bytes of all entries, including their overhead
};

struct result_cache;

struct result_cache *result_cache_new(const struct result_cache_limits *limits, const struct clock *clock,
                                      const struct hash_key *seed);
void result_cache_free(struct result_cache **c);

struct result_cache_key {
  unsigned char digest[SHA256_SIZE];
};

enum { RESULT_CACHE_ARGS = 256 << 10 };
// Makes the key of a call. `args` must be an object or NULL. Returns false if `args` are too large (RESULT_CACHE_ARGS).
bool result_cache_key(str scope, str server, str tool, const struct json *args, struct result_cache_key *out);

struct cached_result {
  str bytes;       // the raw result
  bool stateless;  // whether the result comes from a stateless server
};

// Finds a result and marks it as used. `generation` is the generation of the current catalog; a new generation empties
// the cache. *out is valid until the next call of a function of the cache.
bool result_cache_find(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                       struct cached_result *out);

// Finds a result that has expired at most `most_ms` ago, or has not expired.
bool result_cache_find_expired(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                               uint64_t most_ms, struct cached_result *out);

// Stores a copy of a result, which replaces an older result with the same key. `generation` is the generation of the
// catalog that the call used. A result that is larger than the cache, or that has an old generation, is not stored.
void result_cache_put(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                      const struct cached_result *result);

size_t result_cache_count(const struct result_cache *c);
size_t result_cache_bytes(const struct result_cache *c);
