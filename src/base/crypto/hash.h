// SPDX-License-Identifier: Apache-2.0
// Hashes: SipHash with a secret key for hash tables, so that nobody can choose colliding keys; SHA-256 for names and
// secrets.
#pragma once
#include "base/str.h"

struct hash_key {
  uint64_t k0, k1;
};

uint64_t hash_sip(const struct hash_key *key, str s);  // SipHash-1-3

enum { SHA256_SIZE = 32 };
void hash_sha256(str s, unsigned char out[SHA256_SIZE]);

// Writes n bytes as lower-case hexadecimal digits, followed by a NUL, into out[2 * n + 1].
void hash_hex(const unsigned char *p, size_t n, char *out);
