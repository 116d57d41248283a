// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/hash.h"

#include <endian.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/assert.h"
#include "base/mem.h"

// The state of SipHash: four words, passed and returned by value so that they stay in registers.
struct sip {
  uint64_t a, b, c, d;
};

static inline uint64_t rotl(uint64_t x, int b) {
  return (x << b) | (x >> (64 - b));
}

static inline struct sip sip_round(struct sip v) {
  v.a += v.b, v.b = rotl(v.b, 13) ^ v.a, v.a = rotl(v.a, 32);
  v.c += v.d, v.d = rotl(v.d, 16) ^ v.c;
  v.a += v.d, v.d = rotl(v.d, 21) ^ v.a;
  v.c += v.b, v.b = rotl(v.b, 17) ^ v.c, v.c = rotl(v.c, 32);
  return v;
}

static inline struct sip sip_take(struct sip v, uint64_t m) {
  v.d ^= m;
  v = sip_round(v);
  v.a ^= m;
  return v;
}

uint64_t hash_sip(const struct hash_key *key, str s) {
  struct sip v = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL, key->k0 ^ 0x6c7967656e657261ULL,
                  key->k1 ^ 0x7465646279746573ULL};
  const char *p = s.p;
  size_t left = s.n;
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t m;
    memcpy(&m, p, sizeof m);
    v = sip_take(v, le64toh(m));
  }
  uint64_t last = (uint64_t)s.n << 56;
  for (size_t i = 0; i < left; i++) last |= (uint64_t)(unsigned char)p[i] << (8 * i);
  v = sip_take(v, last);
  v.c ^= 0xff;
  v = sip_round(sip_round(sip_round(v)));
  return v.a ^ v.b ^ v.c ^ v.d;
}

void hash_sha256(str s, unsigned char out[SHA256_SIZE]) {
  SHA256((const unsigned char *)(s.n ? s.p : ""), s.n, out);
}

struct hasher {
  EVP_MD *sha256;
  EVP_MD_CTX *state;
};

struct hasher *hasher_new(void) {
  struct hasher *h = MEM_NEW(struct hasher);
  h->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  h->state = EVP_MD_CTX_new();
  ASSERT(h->sha256 && h->state);
  return h;
}

void hasher_free(struct hasher **hasher) {
  struct hasher *h = *hasher;
  if (!h) return;
  *hasher = NULL;
  EVP_MD_CTX_free(h->state);
  EVP_MD_free(h->sha256);
  mem_free(h);
}

void hash_sha256_with(struct hasher *h, str s, unsigned char out[SHA256_SIZE]) {
  ASSERT(h);
  ASSERT(EVP_DigestInit_ex2(h->state, h->sha256, NULL));
  ASSERT(EVP_DigestUpdate(h->state, s.n ? s.p : "", s.n) && EVP_DigestFinal_ex(h->state, out, NULL));
}

void hash_hex(const unsigned char *p, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[p[i] >> 4];
    out[2 * i + 1] = digits[p[i] & 15];
  }
  out[2 * n] = 0;
}
