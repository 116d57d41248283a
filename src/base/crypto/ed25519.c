// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/ed25519.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/base64.h"

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

static struct ed25519 *wrap(EVP_PKEY *pkey, bool private) {
  struct ed25519 *key = MEM_NEW(struct ed25519);
  *key = (struct ed25519){pkey, private};
  return key;
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
  return wrap(pkey, private);
}

static struct ed25519 *read_raw(str text) {
  struct buf b;
  EVP_PKEY *pkey = NULL;
  buf_init(&b, ED25519_PUBLIC);
  if (base64_decode(text, BASE64_URL, &b) && b.n == ED25519_PUBLIC)
    pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)b.p, b.n);
  buf_done(&b);
  return pkey ? wrap(pkey, false) : NULL;
}

struct ed25519 *ed25519_read_public(str text) {
  text = str_trim(text);
  struct ed25519 *key = str_starts(text, STR("-----BEGIN")) ? ed25519_read(text) : read_raw(text);
  if (key && key->private) ed25519_free(&key);
  return key;
}

struct ed25519 *ed25519_new(const struct rand_source *rand) {
  unsigned char seed[32];
  rand_fill(rand, seed, sizeof seed);
  EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
  OPENSSL_cleanse(seed, sizeof seed);
  ASSERT(pkey);
  return wrap(pkey, true);
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

static bool verify(const struct ed25519 *key, str text, str signature) {
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  bool ok = signature.n == ED25519_SIGNATURE && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
            EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                             text.n) == 1;
  EVP_MD_CTX_free(ctx);
  ERR_clear_error();
  return ok;
}

// ---- keys and signatures as text

void ed25519_put_private(const struct ed25519 *key, struct buf *out) {
  char *text;
  BIO *bio = BIO_new(BIO_s_mem());
  ASSERT(key->private && bio && PEM_write_bio_PrivateKey(bio, key->pkey, NULL, NULL, 0, NULL, NULL) == 1);
  long n = BIO_get_mem_data(bio, &text);
  ASSERT(n > 0);
  buf_str(out, (str){text, (size_t)n});
  OPENSSL_cleanse(text, (size_t)n);
  BIO_free(bio);
}

void ed25519_put_public(const struct ed25519 *key, struct buf *out) {
  unsigned char raw[ED25519_PUBLIC];
  ed25519_public(key, raw);
  base64_encode((str){(const char *)raw, sizeof raw}, BASE64_URL, out);
}

void ed25519_put_thumbprint(const struct ed25519 *key, struct buf *out) {
  unsigned char digest[SHA256_SIZE];
  struct buf b;
  buf_init(&b, 256);
  buf_str(&b, STR("{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\""));
  ed25519_put_public(key, &b);
  buf_str(&b, STR("\"}"));
  hash_sha256(buf_view(&b), digest);
  buf_done(&b);
  base64_encode((str){(const char *)digest, sizeof digest}, BASE64_URL, out);
}

void ed25519_put_signature(const struct ed25519 *key, str text, struct buf *out) {
  unsigned char signature[ED25519_SIGNATURE];
  ed25519_sign(key, text, signature);
  base64_encode((str){(const char *)signature, sizeof signature}, BASE64_URL, out);
}

bool ed25519_verify_text(const struct ed25519 *key, str text, str signature) {
  struct buf b;
  buf_init(&b, ED25519_SIGNATURE);
  bool ok = base64_decode(signature, BASE64_URL, &b) && verify(key, text, buf_view(&b));
  buf_done(&b);
  return ok;
}
