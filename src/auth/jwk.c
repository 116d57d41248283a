// SPDX-License-Identifier: Apache-2.0
// Reads keys from JWK sets, PEM text and secrets.
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include "auth/jwt_impl.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/base64.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, P256_BYTES = 32, ED25519_BYTES = 32 };

const char *const jwt_algorithm_names[JWT_ALGORITHMS] = {"HS256", "RS256", "ES256", "EdDSA"};

static struct jwt_keys *keys_new(size_t count) {
  struct jwt_keys *k = MEM_NEW(struct jwt_keys);
  k->magic = JWT_KEYS_MAGIC;
  k->refs = 1;
  arena_init(&k->arena);
  k->list = ARENA_ARRAY(&k->arena, struct jwt_key, count);
  return k;
}

struct jwt_keys *jwt_keys_ref(struct jwt_keys *k) {
  ASSERT_MAGIC(k, JWT_KEYS_MAGIC);
  ASSERT(k->refs > 0);
  k->refs++;
  return k;
}

void jwt_keys_unref(struct jwt_keys **keys) {
  struct jwt_keys *k = *keys;
  *keys = NULL;
  if (!k) return;
  ASSERT_MAGIC(k, JWT_KEYS_MAGIC);
  ASSERT(k->refs > 0);
  if (--k->refs) return;
  k->magic = 0;
  for (size_t i = 0; i < k->count; i++) {
    EVP_PKEY_free(k->list[i].pkey);
    if (k->list[i].secret.n) explicit_bzero((char *)k->list[i].secret.p, k->list[i].secret.n);
  }
  arena_done(&k->arena);
  mem_free(k);
}

static bool same_key(const struct jwt_key *a, const struct jwt_key *b) {
  // A key without an id differs from a key with an empty id.
  bool same_id = a->id.p && b->id.p ? str_eq(a->id, b->id) : a->id.p == b->id.p;
  if (a->algorithm != b->algorithm || !same_id) return false;
  if (a->pkey && b->pkey) return EVP_PKEY_eq(a->pkey, b->pkey) == 1;
  str x = a->secret, y = b->secret;
  return a->pkey == b->pkey && x.n == y.n && (!x.n || CRYPTO_memcmp(x.p, y.p, x.n) == 0);
}

bool jwt_keys_same(const struct jwt_keys *a, const struct jwt_keys *b) {
  ASSERT_MAGIC(a, JWT_KEYS_MAGIC);
  ASSERT_MAGIC(b, JWT_KEYS_MAGIC);
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (!same_key(&a->list[i], &b->list[i])) return false;
  return true;
}

size_t jwt_keys_count(const struct jwt_keys *k) {
  ASSERT_MAGIC(k, JWT_KEYS_MAGIC);
  return k->count;
}

unsigned jwt_keys_algorithms(const struct jwt_keys *k) {
  ASSERT_MAGIC(k, JWT_KEYS_MAGIC);
  unsigned all = 0;
  for (size_t i = 0; i < k->count; i++) all |= jwt_bit(k->list[i].algorithm);
  return all;
}

// ---- JWK

// Decodes the base64url text of the member `name`.
static bool get_bytes(const struct json *jwk, const char *name, struct arena *a, str *out) {
  str text;
  struct buf b;
  if (!json_string(json_get(jwk, str_of(name)), a, &text)) return false;
  buf_init(&b, text.n + 1);
  bool ok = base64_decode(text, BASE64_URL, &b) && b.n;
  if (ok) *out = arena_str(a, buf_view(&b));
  buf_done(&b);
  return ok;
}

static bool says(const struct json *jwk, const char *name, const char *value) {
  return json_equals_str(json_get(jwk, str_of(name)), str_of(value));
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build) {
  OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  EVP_PKEY *key = NULL;
  if (params && ctx && EVP_PKEY_fromdata_init(ctx) == 1) EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params);
  EVP_PKEY_CTX_free(ctx);
  OSSL_PARAM_free(params);
  ERR_clear_error();
  return key;
}

static EVP_PKEY *make_rsa(str n, str e) {
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
  BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus);
  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent);
  EVP_PKEY *key = from_params("RSA", build);
  OSSL_PARAM_BLD_free(build);
  BN_free(modulus);
  BN_free(exponent);
  return key;
}

static EVP_PKEY *make_p256(str x, str y) {
  unsigned char point[1 + 2 * P256_BYTES] = {4};  // the prefix 4 marks an uncompressed point
  if (x.n != P256_BYTES || y.n != P256_BYTES) return NULL;
  memcpy(point + 1, x.p, x.n);
  memcpy(point + 1 + P256_BYTES, y.p, y.n);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point);
  EVP_PKEY *key = from_params("EC", build);
  OSSL_PARAM_BLD_free(build);
  return key;
}

static bool algorithm_of(const EVP_PKEY *key, enum jwt_algorithm *out) {
  char group[32] = "";
  size_t n;
  int bits = EVP_PKEY_get_bits(key);
  if (EVP_PKEY_is_a(key, "RSA") && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX) *out = JWT_RS256;
  else if (EVP_PKEY_is_a(key, "ED25519")) *out = JWT_EDDSA;
  else if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 &&
           !strcmp(group, "prime256v1"))
    *out = JWT_ES256;
  else return false;
  return true;
}

static EVP_PKEY *read_public(const struct json *jwk, struct arena *a) {
  str x, y;
  if (says(jwk, "kty", "RSA") && get_bytes(jwk, "n", a, &x) && get_bytes(jwk, "e", a, &y)) return make_rsa(x, y);
  if (says(jwk, "kty", "EC") && says(jwk, "crv", "P-256") && get_bytes(jwk, "x", a, &x) && get_bytes(jwk, "y", a, &y))
    return make_p256(x, y);
  if (says(jwk, "kty", "OKP") && says(jwk, "crv", "Ed25519") && get_bytes(jwk, "x", a, &x) && x.n == ED25519_BYTES)
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.p, x.n);
  return NULL;
}

// Returns whether the members "use" and "alg" of a key, if present, allow signatures by this algorithm.
static bool allows(const struct json *jwk, enum jwt_algorithm algorithm) {
  const struct json *use = json_get(jwk, STR("use")), *alg = json_get(jwk, STR("alg"));
  if (use && !json_equals_str(use, STR("sig"))) return false;
  return !alg || json_equals_str(alg, str_of(jwt_algorithm_names[algorithm]));
}

static bool read_key(struct jwt_keys *k, const struct json *jwk, bool secrets, struct jwt_key *out) {
  const struct json *id = json_get(jwk, STR("kid"));
  *out = (struct jwt_key){.id = STR_NONE};
  // A malformed id must not count as missing: a key without an id verifies tokens with any key id.
  if (id && !json_is(id, JSON_STRING)) return false;
  if (says(jwk, "kty", "oct")) {
    if (!secrets || !get_bytes(jwk, "k", &k->arena, &out->secret) || out->secret.n < JWT_SECRET_MIN) return false;
    out->algorithm = JWT_HS256;
  } else {
    out->pkey = read_public(jwk, &k->arena);
    if (!out->pkey) return false;
  }
  bool usable = (!out->pkey || algorithm_of(out->pkey, &out->algorithm)) && allows(jwk, out->algorithm);
  if (!usable) {
    EVP_PKEY_free(out->pkey);
    return false;
  }
  if (json_string(id, &k->arena, &out->id)) out->id = arena_str(&k->arena, out->id);
  return true;
}

struct jwt_keys *jwt_keys_from_set(const struct json *set, bool secrets, struct fault *f) {
  const struct json *list = json_get(set, STR("keys"));
  if (!json_is(list, JSON_ARRAY) || list->count > JWT_KEYS_MAX) {
    fault_set(f, FAULT_INVALID, "must be a JWK set, {\"keys\": [...]}, with at most %d keys", JWT_KEYS_MAX);
    return NULL;
  }
  struct jwt_keys *k = keys_new(list->count + 1);
  JSON_EACH(it, list)
    if (json_is(it, JSON_OBJECT) && read_key(k, it, secrets, &k->list[k->count])) k->count++;
  ASSERT(k->count <= list->count);
  if (k->count) return k;
  fault_set(f, FAULT_INVALID, "has no usable key; add a key for RS256 (2048 bits or more), ES256%s",
            secrets ? ", EdDSA (Ed25519) or HS256 (32 bytes)" : " or EdDSA (Ed25519)");
  jwt_keys_unref(&k);
  return NULL;
}

// ---- PEM and secrets

struct jwt_keys *jwt_keys_from_pem(str pem, struct fault *f) {
  BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
  EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
  BIO_free(bio);
  ERR_clear_error();
  enum jwt_algorithm algorithm;
  if (!key || !algorithm_of(key, &algorithm)) {
    EVP_PKEY_free(key);
    fault_set(f, FAULT_INVALID, "must be a public key in PEM format: RSA (2048 bits or more), P-256 or Ed25519");
    return NULL;
  }
  struct jwt_keys *k = keys_new(1);
  k->list[k->count++] = (struct jwt_key){.algorithm = algorithm, .pkey = key};
  return k;
}

struct jwt_keys *jwt_keys_from_secret(str secret, struct fault *f) {
  if (secret.n < JWT_SECRET_MIN) {
    fault_set(f, FAULT_INVALID, "is a weak secret: HS256 needs a secret of at least %d bytes", JWT_SECRET_MIN);
    return NULL;
  }
  struct jwt_keys *k = keys_new(1);
  k->list[k->count++] = (struct jwt_key){.algorithm = JWT_HS256, .secret = arena_str(&k->arena, secret)};
  return k;
}
