// SPDX-License-Identifier: Apache-2.0
// OpenSSL calls SHA256_Init and the like deprecated, in favour of EVP, which looks up the algorithm and allocates memory
// for every hash. That takes longer than to hash a short text.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/crypto/hash.h"

#include <endian.h>
#include <openssl/sha.h>

#include "base/assert.h"

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
  SHA256_CTX state;
  ASSERT(SHA256_Init(&state) && SHA256_Update(&state, s.n ? s.p : "", s.n) && SHA256_Final(out, &state));
}

// Returns the eight hexadecimal digits of four bytes, in the order of the bytes.
static inline uint64_t hex_of_four(uint32_t bytes) {
  const uint64_t ones = 0x0101010101010101;
  uint64_t x = bytes;
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x >> 4 | x << 8) & 15 * ones;              // a value below 16 in each byte
  uint64_t letters = (x + 6 * ones) >> 4 & ones;  // 1 in each byte whose digit is a letter
  return x + '0' * ones + ('a' - '0' - 10) * letters;
}

void hash_hex(const unsigned char *p, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (; n >= 4; p += 4, n -= 4, out += 8) {
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    uint64_t hex = htole64(hex_of_four(le32toh(bytes)));
    memcpy(out, &hex, sizeof hex);
  }
  for (; n; p++, n--) {
    *out++ = digits[*p >> 4];
    *out++ = digits[*p & 15];
  }
  *out = 0;
}
