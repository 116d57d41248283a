// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/ed25519.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/assert.h"
#include "base/mem.h"

struct ed25519 {
  EVP_PKEY *pkey;
  bool private;
};

// Gives no password, so that OpenSSL does not ask for one on the terminal.
static int no_password(char *buf, int size, int rwflag, void *ctx) {
  return -1;
}

static EVP_PKEY *read_pem(str pem, bool private) {
  BIO *bio = pem.n && pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
  EVP_PKEY *pkey = NULL;
  if (bio && private) pkey = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
  else if (bio) pkey = PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
  BIO_free(bio);
  ERR_clear_error();
  return pkey;
}

struct ed25519 *ed25519_read(str pem) {
  bool private = true;
  EVP_PKEY *pkey = read_pem(pem, true);
  if (!pkey) {
    private = false;
    pkey = read_pem(pem, false);
  }
  if (!pkey || !EVP_PKEY_is_a(pkey, "ED25519")) {
    EVP_PKEY_free(pkey);
    return NULL;
  }
  struct ed25519 *key = MEM_NEW(struct ed25519);
  *key = (struct ed25519){pkey, private};
  return key;
}

void ed25519_free(struct ed25519 **key) {
  struct ed25519 *k = *key;
  *key = NULL;
  if (!k) return;
  EVP_PKEY_free(k->pkey);
  mem_free(k);
}

bool ed25519_can_sign(const struct ed25519 *key) {
  return key->private;
}

void ed25519_public(const struct ed25519 *key, unsigned char out[ED25519_PUBLIC]) {
  size_t n = ED25519_PUBLIC;
  ASSERT(EVP_PKEY_get_raw_public_key(key->pkey, out, &n) == 1 && n == ED25519_PUBLIC);
}

void ed25519_sign(const struct ed25519 *key, str text, unsigned char out[ED25519_SIGNATURE]) {
  size_t n = ED25519_SIGNATURE;
  ASSERT(key->private);
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  ASSERT(ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) == 1);
  ASSERT(EVP_DigestSign(ctx, out, &n, (const unsigned char *)text.p, text.n) == 1 && n == ED25519_SIGNATURE);
  EVP_MD_CTX_free(ctx);
}
