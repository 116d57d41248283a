// SPDX-License-Identifier: Apache-2.0
// Credentials from outside. The first byte says what the rest is: t a token; c the claims of one that is rightly
// signed; h its header, a line break, its claims; k a JWK set; p a key in PEM. No token is good that is not signed,
// and none says who it is from unless it is good.
#include <openssl/hmac.h>

#include "auth/jwt.h"
#include "base/assert.h"
#include "base/text/base64.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { NOW = 1700000000, MOST = 64 << 10 };

static const char secret[] = "0123456789abcdef0123456789abcdef";
static const struct jwt_rules rules = {.algorithms = (1U << JWT_ALGORITHMS) - 1,
                                       .issuer = STR("https://id"),
                                       .audience = STR("gw"),
                                       .claim = STR("agent"),
                                       .leeway = 30};

static bool verify(const struct jwt_keys *keys, str token, struct arena *a) {
  struct jwt_claims claims;
  struct fault f;
  enum jwt_flaw flaw;
  bool ok = jwt_verify(keys, &rules, token, NOW, a, &claims, &flaw, &f);
  if (ok) ASSERT(policy_is_agent_id(claims.agent) && claims.expires > NOW - 31 && claims.expires < NOW * INT64_C(1000));
  else ASSERT(f.message[0]);
  return ok;
}

static str sign(str header, str claims, struct arena *a) {
  struct buf b;
  unsigned char mac[32];
  unsigned size = sizeof mac;
  buf_init(&b, 4 * MOST);
  base64_encode(header, BASE64_URL, &b);
  buf_char(&b, '.');
  base64_encode(claims, BASE64_URL, &b);
  HMAC(EVP_sha256(), secret, sizeof secret - 1, (const unsigned char *)b.p, b.n, mac, &size);
  buf_char(&b, '.');
  base64_encode((str){(const char *)mac, size}, BASE64_URL, &b);
  str token = arena_str(a, buf_view(&b));
  buf_done(&b);
  return token;
}

static void check_signed(str header, str claims, struct arena *a) {
  struct fault f;
  struct jwt_keys *keys = jwt_keys_from_secret(str_of(secret), &f);
  str token = sign(header, claims, a);
  if (verify(keys, token, a)) {
    // The signature covers all of it.
    char *altered = arena_cstr(a, token);
    altered[token.n / 2] = altered[token.n / 2] == 'A' ? 'B' : 'A';
    ASSERT(!verify(keys, (str){altered, token.n}, a));
  }
  jwt_keys_unref(&keys);
}

static void check_token(str token, struct arena *a) {
  struct fault f;
  struct jwt_keys *keys = jwt_keys_from_secret(STR("a secret that no input of this target knows"), &f);
  ASSERT(!verify(keys, token, a));
  jwt_keys_unref(&keys);
}

static void check_keys(struct jwt_keys *keys, struct arena *a) {
  if (!keys) return;
  ASSERT(jwt_keys_count(keys) > 0 && jwt_keys_count(keys) <= JWT_KEYS_MAX && jwt_keys_algorithms(keys));
  verify(keys, STR("eyJhbGciOiJSUzI1NiJ9.e30.AAAA"), a);
  verify(keys, STR("eyJhbGciOiJFZERTQSJ9.e30.AAAA"), a);
  jwt_keys_unref(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f;
  str text = {(const char *)data + 1, n ? n - 1 : 0}, header, claims;
  if (!n || n > MOST) return 0;
  arena_init(&a);
  const struct json *set = data[0] == 'k' ? json_parse(&a, text, &json_default_limits, &f) : NULL;
  if (data[0] == 't') check_token(text, &a);
  if (data[0] == 'c') check_signed(STR("{\"alg\":\"HS256\",\"typ\":\"at+jwt\"}"), text, &a);
  if (data[0] == 'h' && str_cut(text, '\n', &header, &claims)) check_signed(header, claims, &a);
  if (set) check_keys(jwt_keys_from_set(set, true, &f), &a);
  if (data[0] == 'p') check_keys(jwt_keys_from_pem(text, &f), &a);
  arena_done(&a);
  return 0;
}
