// SPDX-License-Identifier: Apache-2.0
#include "base/crypto/seal.h"

#include <limits.h>
#include <openssl/evp.h>

#include "base/assert.h"
#include "base/text/base64.h"

// Sealed bytes consist of a nonce, the cipher text and a tag. Random nonces of 96 bits are safe for 2^32 texts under
// one key (NIST SP 800-38D, 8.3).
enum { NONCE = 12, TAG = 16 };

void seal_init(struct seal *s, const struct rand_source *r) {
  s->rand = r;
  rand_fill(r, s->key, sizeof s->key);
}

// Asserts that an OpenSSL call succeeded. The calls in this file fail only if there is no memory or no such cipher.
static void must(int done) {
  ASSERT(done == 1);
}

// Returns a context that encrypts (if `closing`) or decrypts, and that also authenticates `bound`.
static EVP_CIPHER_CTX *begin(const struct seal *s, const unsigned char *nonce, str bound, bool closing) {
  EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
  ASSERT(c);
  must(EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, s->key, nonce, closing));
  ASSERT(bound.n <= INT_MAX);
  int n;
  if (bound.n) must(EVP_CipherUpdate(c, NULL, &n, (const unsigned char *)bound.p, (int)bound.n));
  return c;
}

void seal_close(const struct seal *s, str plain, str bound, struct buf *out) {
  ASSERT(plain.n <= INT_MAX - NONCE - TAG);
  struct buf sealed;
  buf_init(&sealed, NONCE + plain.n + TAG);
  unsigned char *nonce = (unsigned char *)buf_room(&sealed, sealed.max), *cipher = nonce + NONCE;
  rand_fill(s->rand, nonce, NONCE);
  EVP_CIPHER_CTX *c = begin(s, nonce, bound, true);
  int n = 0, more = 0;
  if (plain.n) must(EVP_CipherUpdate(c, cipher, &n, (const unsigned char *)plain.p, (int)plain.n));
  must(EVP_CipherFinal_ex(c, cipher + n, &more));
  must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, cipher + plain.n));
  EVP_CIPHER_CTX_free(c);
  sealed.n = sealed.max;
  base64_encode(buf_view(&sealed), BASE64_URL, out);
  buf_done(&sealed);
}

// Decrypts into `out`, which must have room for cipher.n bytes. The contents of `out` are valid only if this returns
// true.
static bool decrypt(const struct seal *s, unsigned char *nonce, str cipher, str bound, unsigned char *out) {
  EVP_CIPHER_CTX *c = begin(s, nonce, bound, false);
  int n = 0, more = 0;
  if (cipher.n) must(EVP_CipherUpdate(c, out, &n, (const unsigned char *)cipher.p, (int)cipher.n));
  must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG, (char *)cipher.p + cipher.n));
  bool genuine = EVP_CipherFinal_ex(c, out + n, &more) == 1;
  EVP_CIPHER_CTX_free(c);
  return genuine;
}

bool seal_open(const struct seal *s, str text, str bound, struct arena *a, str *out_plain) {
  if (text.n > INT_MAX) return false;
  struct buf sealed;
  buf_init(&sealed, text.n);
  bool good = base64_decode(text, BASE64_URL, &sealed) && sealed.n >= NONCE + TAG;
  if (good) {
    str cipher = {sealed.p + NONCE, sealed.n - NONCE - TAG};
    char *plain = arena_alloc(a, cipher.n + 1);
    good = decrypt(s, (unsigned char *)sealed.p, cipher, bound, (unsigned char *)plain);
    if (good) *out_plain = (str){plain, cipher.n};
  }
  buf_done(&sealed);
  return good;
}
