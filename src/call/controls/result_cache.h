// SPDX-License-Identifier: Apache-2.0
// Results of tools that only read, kept for a while as the bytes that the server answered with.
//
// What is found belongs to one scope (a principal, and its session where that has connections of its own), one tool and
// one set of arguments: in whatever order they are written, with numbers digit by digit. Everything goes when the
// catalog is another. Bounded in time, entries and bytes; what was not used for the longest time leaves first.
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto/hash.h"
#include "json/json.h"

struct result_cache_limits {
  uint64_t ttl_ms;     // an entry is not found any more once it is so old
  size_t max_entries;  // all of them
  size_t max_bytes;    // with what it takes to keep them
};

struct result_cache;

struct result_cache *result_cache_new(const struct result_cache_limits *limits, const struct clock *clock,
                                      const struct hash_key *seed);
void result_cache_free(struct result_cache **c);

struct result_cache_key {
  unsigned char digest[SHA256_SIZE];
};

// args: an object, or NULL. False: they are too large to be worth it, and have no key.
enum { RESULT_CACHE_ARGS = 256 << 10 };
bool result_cache_key(str scope, str server, str tool, const struct json *args, struct result_cache_key *out);

struct cached_result {
  str bytes;       // the result, raw
  bool stateless;  // the server that gave it is
};

// generation: of the catalog as it is; another one than before empties the cache. What is found counts as used, and
// lives until the next call.
bool result_cache_find(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                       struct cached_result *out);

// Keeps a copy, in place of what was there. What is larger than all that may be kept is not. generation: of the catalog
// by which it was called; when there is a newer one, nothing is kept.
void result_cache_put(struct result_cache *c, const struct result_cache_key *key, uint64_t generation,
                      const struct cached_result *result);

size_t result_cache_count(const struct result_cache *c);
size_t result_cache_bytes(const struct result_cache *c);
