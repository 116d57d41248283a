// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/assert.h"
#include "base/mem.h"

static uint64_t rotl(uint64_t x, int b) {
  return (x << b) | (x >> (64 - b));
}

static void sip_round(uint64_t v[4]) {
  v[0] += v[1], v[1] = rotl(v[1], 13) ^ v[0], v[0] = rotl(v[0], 32);
  v[2] += v[3], v[3] = rotl(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = rotl(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = rotl(v[1], 17) ^ v[2], v[2] = rotl(v[2], 32);
}

static uint64_t load64(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
  return v;
}

uint64_t hash_sip(const struct hash_key *key, str s) {
  uint64_t v[4] = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL, key->k0 ^ 0x6c7967656e657261ULL,
                   key->k1 ^ 0x7465646279746573ULL};
  const unsigned char *p = (const unsigned char *)s.p;
  size_t left = s.n;
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t m = load64(p, 8);
    v[3] ^= m;
    sip_round(v);
    v[0] ^= m;
  }
  uint64_t last = load64(p, left) | (uint64_t)s.n << 56;
  v[3] ^= last;
  sip_round(v);
  v[0] ^= last;
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
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
  ASSERT(EVP_DigestInit_ex2(h->state, h->sha256, NULL));
  ASSERT(EVP_DigestUpdate(h->state, s.n ? s.p : "", s.n) && EVP_DigestFinal_ex(h->state, out, NULL));
}

void hash_hmac_sha256(str key, str s, unsigned char out[SHA256_SIZE]) {
  unsigned n = SHA256_SIZE;
  ASSERT(HMAC(EVP_sha256(), key.n ? key.p : "", (int)key.n, (const unsigned char *)s.p, s.n, out, &n));
}

void hash_hex(const unsigned char *p, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[p[i] >> 4];
    out[2 * i + 1] = digits[p[i] & 15];
  }
  out[2 * n] = 0;
}
