// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/hmac.h>

#include "auth/jwt_impl.h"
#include "base/assert.h"
#include "base/crypto/hash.h"

enum { P256_SIGNATURE = 64, DER_MAX = 80 };

static bool check_hmac(const struct jwt_key *key, str text, str signature) {
  ASSERT(!key->pkey && key->secret.n >= JWT_SECRET_MIN);
  unsigned char mac[SHA256_SIZE];
  unsigned n = sizeof mac;
  bool made = HMAC(EVP_sha256(), key->secret.p, (int)key->secret.n, (const unsigned char *)text.p, text.n, mac, &n);
  return made && signature.n == n && CRYPTO_memcmp(mac, signature.p, n) == 0;
}

static bool check_public(EVP_PKEY *key, const EVP_MD *digest, str text, str signature) {
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, digest, NULL, key) == 1 &&
            EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                             text.n) == 1;
  EVP_MD_CTX_free(ctx);
  ERR_clear_error();
  return ok;
}

// Checks an ES256 signature. A token contains the two numbers of the signature concatenated; OpenSSL expects them in
// DER encoding.
static bool check_p256(EVP_PKEY *key, str text, str signature) {
  unsigned char der[DER_MAX], *to = der;
  if (signature.n != P256_SIGNATURE) return false;
  const unsigned char *p = (const unsigned char *)signature.p;
  ECDSA_SIG *sig = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(p, P256_SIGNATURE / 2, NULL), *s = BN_bin2bn(p + P256_SIGNATURE / 2, P256_SIGNATURE / 2, NULL);
  bool set = sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1;
  if (!set) {
    BN_free(r);
    BN_free(s);
  }
  int n = set ? i2d_ECDSA_SIG(sig, NULL) : 0;
  bool ok = n > 0 && n <= DER_MAX && i2d_ECDSA_SIG(sig, &to) == n &&
            check_public(key, EVP_sha256(), text, (str){(const char *)der, (size_t)n});
  ECDSA_SIG_free(sig);
  return ok;
}

bool jwt_check_signature(const struct jwt_key *key, str signed_text, str signature) {
  ASSERT(key->pkey || key->algorithm == JWT_HS256);
  switch (key->algorithm) {
  case JWT_HS256: return check_hmac(key, signed_text, signature);
  case JWT_RS256: return check_public(key->pkey, EVP_sha256(), signed_text, signature);
  case JWT_ES256: return check_p256(key->pkey, signed_text, signature);
  case JWT_EDDSA: return check_public(key->pkey, NULL, signed_text, signature);
  }
  return false;
}
