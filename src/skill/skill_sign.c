// SPDX-License-Identifier: Apache-2.0
#include "skill/skill_sign.h"

#include "base/crypto/ed25519.h"
#include "base/text/utf8.h"

enum { SIGNATURES_MAX = 16, KID_SHOWN = 64, KEY_TEXT = 128 };

// ---- verification

static bool fails(struct fault *f, const char *why, str kid) {
  fault_set(f, FAULT_SKILL_UNAVAILABLE, "the signature is not valid: %s%s%.*s", why, kid.n ? ": " : "",
            STR_ARG(utf8_cut(kid, KID_SHOWN)));
  return false;
}

static bool verify_one(const struct skill *s, const struct governance *g, const struct json *v, struct arena *a,
                       struct fault *f) {
  str kid = STR(""), sig;
  json_string(json_get(v, STR("kid")), a, &kid);
  if (!json_equals_str(json_get(v, STR("alg")), STR("EdDSA"))) return fails(f, "alg must be EdDSA", STR(""));
  if (!json_string(json_get(v, STR("sig")), a, &sig)) return fails(f, "sig must be a string", STR(""));
  const struct governance_skill_key *known = governance_skill_key(g, kid);
  if (!known) return fails(f, "skill_keys has no key with this kid", kid);
  if (!str_eq(known->owner_role, s->owner_role)) return fails(f, "the key does not belong to the owner_role", kid);
  struct ed25519 *key = ed25519_read_public(known->public_key);
  if (!key) return fails(f, "public_key in skill_keys is not an Ed25519 key", kid);
  bool ok = ed25519_verify_text(key, s->canonical, sig);
  ed25519_free(&key);
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

struct ed25519 *skill_key_read(str pem, struct fault *f) {
  struct ed25519 *key = ed25519_read(pem);
  if (key && ed25519_can_sign(key)) return key;
  ed25519_free(&key);
  fault_set(f, FAULT_INVALID,
            "must be an Ed25519 private key in PEM format without a password; to create one: openssl genpkey "
            "-algorithm ed25519");
  return NULL;
}

str skill_key_public(const struct ed25519 *key, struct arena *a) {
  struct buf b;
  buf_init(&b, KEY_TEXT);
  ed25519_put_public(key, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

str skill_key_id(const struct ed25519 *key, struct arena *a) {
  unsigned char raw[ED25519_PUBLIC], sha[SHA256_SIZE];
  char hex[SKILL_HASH + 1];
  ed25519_public(key, raw);
  hash_sha256((str){(const char *)raw, sizeof raw}, sha);
  hash_hex(sha, sizeof sha, hex);
  return arena_str(a, (str){hex, SKILL_KID});
}

str skill_key_sign(const struct ed25519 *key, str text, struct arena *a) {
  struct buf b;
  buf_init(&b, KEY_TEXT);
  ed25519_put_signature(key, text, &b);
  str signature = arena_str(a, buf_view(&b));
  buf_done(&b);
  return signature;
}
