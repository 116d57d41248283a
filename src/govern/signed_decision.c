// SPDX-License-Identifier: Apache-2.0
// Writes the tokens of signed decisions.
#include "base/assert.h"
#include "base/crypto/hash.h"
#include "base/text/base64.h"
#include "govern/run.h"
#include "govern/signing_impl.h"
#include "json/canon.h"
#include "json/write.h"

enum { CLAIMS_MAX = DECISION_TOKEN_MAX / 4 * 3, CANONICAL_MAX = 64 << 20, CANONICAL_FACTOR = 8, HEX = 2 * SHA256_SIZE };

static bool hash_args(const struct json *args, char out[HEX + 1], struct fault *f) {
  unsigned char digest[SHA256_SIZE];
  struct buf b;
  if (!args) args = &json_empty_object;
  // A short number such as 1e20 has a longer canonical form.
  buf_init(&b, args->n < CANONICAL_MAX / CANONICAL_FACTOR ? CANONICAL_FACTOR * (size_t)args->n + 64 : CANONICAL_MAX);
  bool ok = json_canon(&b, args, JSON_CANON_JCS, f);
  if (ok && b.over) fault_set(f, FAULT_LIMIT, "the arguments are too large to be signed");
  ok = ok && !b.over;
  if (ok) {
    hash_sha256(buf_view(&b), digest);
    hash_hex(digest, sizeof digest, out);
  }
  buf_done(&b);
  return ok;
}

static str member(const struct json *object, str key, struct arena *a) {
  str text = STR_NONE;
  json_string(json_get(object, key), a, &text);
  return text;
}

static void put_member(struct json_writer *w, str key, str value) {
  if (value.p) json_member_str(w, key, value);
}

// Writes the origin of the request as `sub`. Writes the other principals as nested `act` claims (RFC 8693): the
// outermost one is the current actor, and each contains the actor before it.
static void put_principals(struct json_writer *w, const struct json *principals, struct arena *a) {
  const struct json *list[RUN_PRINCIPALS_MAX];
  size_t count = 0;
  if (json_is(principals, JSON_ARRAY))
    JSON_EACH(it, principals)
      if (count < RUN_PRINCIPALS_MAX) list[count++] = it;
  if (count) put_member(w, STR("sub"), member(list[0], STR("id"), a));
  for (size_t i = count; i-- > 1;) {
    json_put_key(w, STR("act"));
    json_begin_object(w);
    put_member(w, STR("sub"), member(list[i], STR("id"), a));
  }
  for (size_t i = 1; i < count; i++) json_end_object(w);
}

static void put_claims(struct json_writer *w, str issuer, const struct signed_decision *d, const char *args_sha256,
                       struct arena *a) {
  const struct json *scopes = json_get(d->context, STR("scopes"));
  json_begin_object(w);
  json_member_str(w, STR("iss"), issuer.p ? issuer : STR("toolgate"));
  json_member_str(w, STR("aud"), d->server);
  json_member_int(w, STR("iat"), d->now);
  json_member_int(w, STR("exp"), d->now + DECISION_SECONDS);
  put_member(w, STR("jti"), d->id);
  put_member(w, STR("tenant"), member(d->context, STR("tenant"), a));
  put_principals(w, json_get(d->context, STR("principals")), a);
  put_member(w, STR("workload"), member(d->context, STR("workload"), a));
  if (json_is(scopes, JSON_ARRAY)) json_member_raw(w, STR("scopes"), json_span(scopes));
  json_member_str(w, STR("capability"), d->capability->id);
  json_member_str(w, STR("mode"), str_of(approval_mode_name(d->mode)));
  if (d->capability->provisional) json_member_bool(w, STR("provisional"), true);
  json_member_str(w, STR("args_sha256"), str_of(args_sha256));
  json_end_object(w);
}

bool governance_signs(const struct governance_capability *c) {
  return c->adapter->signs;
}

str governance_sign(const struct governance *g, const struct signed_decision *d, struct arena *a, struct fault *f) {
  ASSERT(governance_key_count(g) && governance_signs(d->capability));
  const struct signing_key *key = &g->signing->keys[0];
  char args_sha256[HEX + 1];
  unsigned char signature[ED25519_SIGNATURE];
  struct buf claims, token;
  ASSERT(key->key);
  if (!hash_args(d->args, args_sha256, f)) return STR_NONE;
  buf_init(&claims, CLAIMS_MAX);
  buf_init(&token, DECISION_TOKEN_MAX);
  struct json_writer w = json_writer(&claims);
  put_claims(&w, g->signing->issuer, d, args_sha256, a);
  buf_str(&token, key->head);
  buf_char(&token, '.');
  base64_encode(buf_view(&claims), BASE64_URL, &token);
  ed25519_sign(key->key, buf_view(&token), signature);
  buf_char(&token, '.');
  base64_encode((str){(const char *)signature, sizeof signature}, BASE64_URL, &token);
  bool fits = !claims.over && !token.over;
  str text = fits ? arena_str(a, buf_view(&token)) : STR_NONE;
  if (!fits) fault_set(f, FAULT_LIMIT, "the context of the run is too large to be signed");
  buf_done(&claims);
  buf_done(&token);
  return text;
}
