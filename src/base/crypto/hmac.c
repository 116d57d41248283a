// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/assert.h"
#include "base/mem.h"

enum { HMAC_BLOCK = 64 };  // block size of SHA-256, in bytes

struct hmac {
  EVP_MD_CTX *inner, *outer;  // SHA-256 states after the padded key, for the inner and the outer hash (RFC 2104)
  EVP_MD_CTX *state;
};

// Returns the SHA-256 state after hashing one block: the key, with every byte XORed with `pad` (RFC 2104).
static EVP_MD_CTX *keyed(const unsigned char *key, unsigned char pad) {
  unsigned char block[HMAC_BLOCK];
  EVP_MD_CTX *state = EVP_MD_CTX_new();
  for (size_t i = 0; i < sizeof block; i++) block[i] = key[i] ^ pad;
  ASSERT(state && EVP_DigestInit_ex2(state, EVP_sha256(), NULL) && EVP_DigestUpdate(state, block, sizeof block));
  OPENSSL_cleanse(block, sizeof block);
  return state;
}

struct hmac *hmac_new(str key) {
  unsigned char block[HMAC_BLOCK] = {0};
  struct hmac *h = MEM_NEW(struct hmac);
  if (key.n > sizeof block) hash_sha256(key, block);
  else if (key.n) memcpy(block, key.p, key.n);
  h->inner = keyed(block, 0x36);
  h->outer = keyed(block, 0x5c);
  h->state = EVP_MD_CTX_new();
  ASSERT(h->state);
  OPENSSL_cleanse(block, sizeof block);
  return h;
}

void hmac_free(struct hmac **hmac) {
  struct hmac *h = *hmac;
  if (!h) return;
  *hmac = NULL;
  EVP_MD_CTX_free(h->inner);
  EVP_MD_CTX_free(h->outer);
  EVP_MD_CTX_free(h->state);
  mem_free(h);
}

void hmac_sign(struct hmac *h, str s, unsigned char out[SHA256_SIZE]) {
  ASSERT(h);
  ASSERT(EVP_MD_CTX_copy_ex(h->state, h->inner) && EVP_DigestUpdate(h->state, s.n ? s.p : "", s.n));
  ASSERT(EVP_DigestFinal_ex(h->state, out, NULL));
  ASSERT(EVP_MD_CTX_copy_ex(h->state, h->outer) && EVP_DigestUpdate(h->state, out, SHA256_SIZE));
  ASSERT(EVP_DigestFinal_ex(h->state, out, NULL));
}
