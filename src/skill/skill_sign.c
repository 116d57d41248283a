// SPDX-License-Identifier: Apache-2.0
#include "skill/skill_sign.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"

enum { RAW_KEY = 32, SIGNATURE = 64, SIGNATURES_MAX = 16, KID_SHOWN = 64 };

struct skill_key {
  EVP_PKEY *pkey;
};

// ---- verification

static EVP_PKEY *read_raw(str text) {
  struct buf b;
  buf_init(&b, RAW_KEY);
  EVP_PKEY *key = NULL;
  if (base64_decode(text, BASE64_URL, &b) && b.n == RAW_KEY)
    key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)b.p, b.n);
  buf_done(&b);
  return key;
}

// Returns a key in PEM or base64url format; NULL if it is not an Ed25519 key.
static EVP_PKEY *read_public(str text) {
  text = str_trim(text);
  if (!str_starts(text, STR("-----BEGIN"))) return read_raw(text);
  BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
  EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
  BIO_free(bio);
  ERR_clear_error();
  if (key && EVP_PKEY_is_a(key, "ED25519")) return key;
  EVP_PKEY_free(key);
  return NULL;
}

static bool check(EVP_PKEY *key, str text, str signature) {
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
            EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                             text.n) == 1;
  EVP_MD_CTX_free(ctx);
  ERR_clear_error();
  return ok;
}

static bool fails(struct fault *f, const char *why, str kid) {
  fault_set(f, FAULT_SKILL_UNAVAILABLE, "the signature is not valid: %s%s%.*s", why, kid.n ? ": " : "",
            STR_ARG(utf8_cut(kid, KID_SHOWN)));
  return false;
}

static bool verify_one(const struct skill *s, const struct governance *g, const struct json *v, struct arena *a,
                       struct fault *f) {
  str kid = STR(""), sig;
  struct buf b;
  json_string(json_get(v, STR("kid")), a, &kid);
  if (!json_equals_str(json_get(v, STR("alg")), STR("EdDSA"))) return fails(f, "alg must be EdDSA", STR(""));
  if (!json_string(json_get(v, STR("sig")), a, &sig)) return fails(f, "sig must be a string", STR(""));
  const struct governance_skill_key *known = governance_skill_key(g, kid);
  if (!known) return fails(f, "skill_keys has no key with this kid", kid);
  if (!str_eq(known->owner_role, s->owner_role)) return fails(f, "the key does not belong to the owner_role", kid);
  EVP_PKEY *key = read_public(known->public_key);
  if (!key) return fails(f, "public_key in skill_keys is not an Ed25519 key", kid);
  buf_init(&b, SIGNATURE);
  bool ok = base64_decode(sig, BASE64_URL, &b) && b.n == SIGNATURE && check(key, s->canonical, buf_view(&b));
  buf_done(&b);
  EVP_PKEY_free(key);
  return ok || fails(f, "the file was changed after it was signed, or another key signed it", kid);
}

bool skill_verify(const struct skill *s, const struct governance *g, struct fault *f) {
  struct arena a;
  bool ok = false;
  if (!json_is(s->signatures, JSON_ARRAY) || !s->signatures->count || s->signatures->count > SIGNATURES_MAX)
    return fails(f, "signatures must be a list of 1 to 16 signatures", STR(""));
  arena_init(&a);
  for (const struct json *it = json_first(s->signatures); it && !ok; it = it->next) ok = verify_one(s, g, it, &a, f);
  arena_done(&a);
  return ok;
}

// ---- signing

struct skill_key *skill_key_read(str pem, struct fault *f) {
  BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
  EVP_PKEY *pkey = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"") : NULL;
  BIO_free(bio);
  ERR_clear_error();
  if (!pkey || !EVP_PKEY_is_a(pkey, "ED25519")) {
    EVP_PKEY_free(pkey);
    fault_set(f, FAULT_INVALID,
              "must be an Ed25519 private key in PEM format without a password; to create one: openssl genpkey "
              "-algorithm ed25519");
    return NULL;
  }
  struct skill_key *k = MEM_NEW(struct skill_key);
  k->pkey = pkey;
  return k;
}

void skill_key_free(struct skill_key **k) {
  if (!*k) return;
  EVP_PKEY_free((*k)->pkey);
  mem_free(*k);
  *k = NULL;
}

static void get_raw(const struct skill_key *k, unsigned char out[RAW_KEY]) {
  size_t n = RAW_KEY;
  int done = EVP_PKEY_get_raw_public_key(k->pkey, out, &n);
  ASSERT(done == 1 && n == RAW_KEY);
}

static str encode(const unsigned char *p, size_t n, struct arena *a) {
  struct buf b;
  buf_init(&b, 2 * n + 4);
  base64_encode((str){(const char *)p, n}, BASE64_URL, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

str skill_key_public(const struct skill_key *k, struct arena *a) {
  unsigned char raw[RAW_KEY];
  get_raw(k, raw);
  return encode(raw, sizeof raw, a);
}

str skill_key_id(const struct skill_key *k, struct arena *a) {
  unsigned char raw[RAW_KEY], sha[SHA256_SIZE];
  char hex[SKILL_HASH + 1];
  get_raw(k, raw);
  hash_sha256((str){(const char *)raw, sizeof raw}, sha);
  hash_hex(sha, sizeof sha, hex);
  return arena_str(a, (str){hex, SKILL_KID});
}

str skill_key_sign(const struct skill_key *k, str text, struct arena *a) {
  unsigned char sig[SIGNATURE];
  size_t n = sizeof sig;
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  bool ok = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->pkey) == 1 &&
            EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text.p, text.n) == 1;
  EVP_MD_CTX_free(ctx);
  ASSERT(ok && n == SIGNATURE);
  return encode(sig, n, a);
}
