// SPDX-License-Identifier: Apache-2.0
// Random bytes from a source that tests can replace.
#pragma once
#include "base/crypto/hash.h"

struct rand_source {
  void (*fill)(void *ctx, void *out, size_t n);
  void *ctx;
};

extern const struct rand_source rand_system;  // the kernel's random generator; ends the program if the generator fails

static inline void rand_fill(const struct rand_source *r, void *out, size_t n) {
  r->fill(r->ctx, out, n);
}

// Fetches random bytes in blocks, because a call of the kernel for every few bytes is slow. Returns each byte once. Not
// for secrets: the bytes stay in memory until they are used. Zeroed memory is an empty pool.
struct rand_pool {
  unsigned char bytes[512];
  size_t left;
};
void rand_pool_fill(struct rand_pool *p, const struct rand_source *r, void *out, size_t n);  // at most 512 bytes

struct hash_key rand_hash_key(const struct rand_source *r);

// rand_id writes 128 random bits as 32 hexadecimal digits and a NUL, for session ids and other names that must be
// unguessable.
enum { RAND_ID_SIZE = 33 };
void rand_id(const struct rand_source *r, char out[RAND_ID_SIZE]);
