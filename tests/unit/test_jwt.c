// SPDX-License-Identifier: Apache-2.0
// Tokens that must be accepted, and all the others. Tokens are made here with OpenSSL, those of RFC 7515 and 8037 come
// from elsewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cmocka.h>

#include "auth/jwt.h"
#include "base/text/base64.h"

enum { NOW = 1700000000 };

static struct arena arena;

static int begin(void **state) {
  arena_init(&arena);
  return 0;
}
static int end(void **state) {
  arena_done(&arena);
  return 0;
}

// ---- making tokens

static str encoded(str bytes) {
  struct buf b;
  buf_init(&b, 2 * bytes.n + 8);
  base64_encode(bytes, BASE64_URL, &b);
  str text = arena_str(&arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static str unsigned_token(const char *header, const char *payload) {
  return arena_printf(&arena, "%s.%s", encoded(str_of(header)).p, encoded(str_of(payload)).p);
}

static str with_signature(str text, str signature) {
  return arena_printf(&arena, "%s.%s", text.p, encoded(signature).p);
}

static str hs256(const char *secret, const char *header, const char *payload) {
  unsigned char mac[32];
  unsigned n = sizeof mac;
  str text = unsigned_token(header, payload);
  HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)text.p, text.n, mac, &n);
  return with_signature(text, (str){(char *)mac, n});
}

static str sign(EVP_PKEY *key, const EVP_MD *digest, str text) {
  unsigned char *out = arena_alloc(&arena, 1024);
  size_t n = 1024;
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  assert_int_equal(EVP_DigestSignInit(ctx, NULL, digest, NULL, key), 1);
  assert_int_equal(EVP_DigestSign(ctx, out, &n, (const unsigned char *)text.p, text.n), 1);
  EVP_MD_CTX_free(ctx);
  return (str){(char *)out, n};
}

static str raw_p256(str der) {
  const unsigned char *p = (const unsigned char *)der.p;
  ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)der.n);
  unsigned char *out = arena_zero(&arena, 64);
  BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + 32, 32);
  ECDSA_SIG_free(sig);
  return (str){(char *)out, 64};
}

static str pem_of(EVP_PKEY *key) {
  BIO *bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key);
  char *p;
  long n = BIO_get_mem_data(bio, &p);
  str text = arena_str(&arena, (str){p, (size_t)n});
  BIO_free(bio);
  return text;
}

// ---- checking

static const char secret[] = "0123456789abcdef0123456789abcdef";
static const char good[] =
    "{\"sub\":\"u1\",\"agent\":\"team.ops\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}";
static const struct jwt_rules rules = {.algorithms = (1U << JWT_ALGORITHMS) - 1,
                                       .issuer = STR("https://id"),
                                       .audience = STR("gw"),
                                       .claim = STR("agent"),
                                       .leeway = 30};

static struct jwt_keys *secret_keys(void) {
  struct fault f;
  struct jwt_keys *k = jwt_keys_from_secret(str_of(secret), &f);
  assert_non_null(k);
  return k;
}

static void assert_good(const struct jwt_keys *keys, str token) {
  struct jwt_claims claims;
  struct fault f;
  if (!jwt_verify(keys, &rules, token, NOW, &arena, &claims, NULL, &f)) fail_msg("%s", f.message);
  assert_true(str_eq(claims.agent, STR("team.ops")));
}

static void assert_bad(const struct jwt_keys *keys, str token, const char *why) {
  struct jwt_claims claims;
  struct fault f;
  assert_false(jwt_verify(keys, &rules, token, NOW, &arena, &claims, NULL, &f));
  assert_string_equal(f.message, why);
}

static struct jwt_keys *set_of(const char *text) {
  struct fault f;
  const struct json *v = json_parse(&arena, str_of(text), &json_default_limits, &f);
  assert_non_null(v);
  return jwt_keys_from_set(v, true, &f);
}

#define HS "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"

static void a_token_names_its_agent(void **state) {
  struct jwt_keys *k = secret_keys();
  struct jwt_claims claims;
  struct fault f;
  assert_true(jwt_verify(k, &rules, hs256(secret, HS, good), NOW, &arena, &claims, NULL, &f));
  assert_true(str_eq(claims.agent, STR("team.ops")) && str_eq(claims.subject, STR("u1")));
  assert_int_equal(claims.expires, 1700000600);
  jwt_keys_unref(&k);
}

static void each_algorithm_is_checked_with_its_own_keys(void **state) {
  struct fault f;
  EVP_PKEY *rsa = EVP_RSA_gen(2048), *ec = EVP_EC_gen("P-256"), *ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  struct jwt_keys *k[3] = {jwt_keys_from_pem(pem_of(rsa), &f), jwt_keys_from_pem(pem_of(ec), &f),
                           jwt_keys_from_pem(pem_of(ed), &f)};
  str text[3] = {unsigned_token("{\"alg\":\"RS256\"}", good), unsigned_token("{\"alg\":\"ES256\"}", good),
                 unsigned_token("{\"alg\":\"EdDSA\"}", good)};
  str token[3] = {with_signature(text[0], sign(rsa, EVP_sha256(), text[0])),
                  with_signature(text[1], raw_p256(sign(ec, EVP_sha256(), text[1]))),
                  with_signature(text[2], sign(ed, NULL, text[2]))};
  for (int i = 0; i < 3; i++) {
    assert_non_null(k[i]);
    assert_good(k[i], token[i]);
    assert_bad(k[(i + 1) % 3], token[i], "the token is signed with an unknown key");
    str altered = arena_str(&arena, token[i]);
    ((char *)altered.p)[altered.n - 5] ^= 1;
    struct jwt_claims claims;
    assert_false(jwt_verify(k[i], &rules, altered, NOW, &arena, &claims, NULL, &f));
  }
  // A signature of P-256 in DER is none of a token.
  assert_bad(k[1], with_signature(text[1], sign(ec, EVP_sha256(), text[1])), "the token has a wrong signature");
  for (int i = 0; i < 3; i++) jwt_keys_unref(&k[i]);
  EVP_PKEY_free(rsa);
  EVP_PKEY_free(ec);
  EVP_PKEY_free(ed);
}

static void a_token_cannot_choose_the_algorithm_that_verifies_it(void **state) {
  struct fault f;
  struct jwt_keys *k = secret_keys();
  assert_bad(k, with_signature(unsigned_token("{\"alg\":\"none\"}", good), STR("x")),
             "the token is signed with an algorithm that is not accepted");
  assert_bad(k, arena_printf(&arena, "%s.", unsigned_token("{\"alg\":\"none\"}", good).p),
             "the token is not a JSON Web Token");
  assert_bad(k, hs256(secret, "{\"alg\":\"hs256\"}", good),
             "the token is signed with an algorithm that is not accepted");
  assert_bad(k, hs256(secret, "{\"alg\":\"HS512\"}", good),
             "the token is signed with an algorithm that is not accepted");
  assert_bad(k, hs256(secret, "{\"alg\":\"HS256\",\"crit\":[\"b64\"]}", good), "the token requires unknown extensions");
  jwt_keys_unref(&k);
  // The text of a public key used as a secret.
  EVP_PKEY *rsa = EVP_RSA_gen(2048);
  k = jwt_keys_from_pem(pem_of(rsa), &f);
  assert_bad(k, hs256(pem_of(rsa).p, HS, good), "the token is signed with an unknown key");
  jwt_keys_unref(&k);
  EVP_PKEY_free(rsa);
}

static void only_listed_algorithms_are_accepted(void **state) {
  struct jwt_keys *k = secret_keys();
  struct jwt_rules few = rules;
  struct jwt_claims claims;
  struct fault f;
  few.algorithms = jwt_bit(JWT_RS256) | jwt_bit(JWT_EDDSA);
  str token = hs256(secret, HS, good);
  assert_false(jwt_verify(k, &few, token, NOW, &arena, &claims, NULL, &f));
  assert_string_equal(f.message, "the token is signed with an algorithm that is not accepted");
  few.algorithms |= jwt_bit(JWT_HS256);
  assert_true(jwt_verify(k, &few, token, NOW, &arena, &claims, NULL, &f));
  assert_int_equal(jwt_keys_algorithms(k), jwt_bit(JWT_HS256));
  jwt_keys_unref(&k);
}

static void a_token_for_another_purpose_is_none(void **state) {
  struct jwt_keys *k = secret_keys();
  static const char *const fine[] = {"JWT", "jwt", "at+jwt", "application/at+jwt"};
  static const char *const others[] = {"dpop+jwt", "logout+jwt", "secevent+jwt", "JWS", ""};
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
    assert_good(k, hs256(secret, arena_printf(&arena, "{\"alg\":\"HS256\",\"typ\":\"%s\"}", fine[i]).p, good));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_bad(k, hs256(secret, arena_printf(&arena, "{\"alg\":\"HS256\",\"typ\":\"%s\"}", others[i]).p, good),
               "the token is not an access token (typ)");
  assert_bad(k, hs256(secret, "{\"alg\":\"HS256\",\"typ\":7}", good), "the token is not an access token (typ)");
  jwt_keys_unref(&k);
}

static void what_is_wrong_with_its_claims_is_told(void **state) {
  static const struct {
    const char *payload, *why;
  } cases[] = {
      {"{\"agent\":\"a\",\"iss\":\"https://id\",\"aud\":\"gw\"}", "the token has no valid expiry time"},
      {"{\"agent\":\"a\",\"exp\":\"1700000600\",\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token has no valid expiry time"},
      {"{\"agent\":\"a\",\"exp\":9223372036854775807,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token has no valid expiry time"},
      {"{\"agent\":\"a\",\"exp\":-1,\"iss\":\"https://id\",\"aud\":\"gw\"}", "the token has no valid expiry time"},
      {"{\"agent\":\"a\",\"exp\":1699999970,\"iss\":\"https://id\",\"aud\":\"gw\"}", "the token has expired"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"nbf\":1700000031,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token is not valid yet"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id/\",\"aud\":\"gw\"}",
       "the token is from another issuer"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"aud\":\"gw\"}", "the token is from another issuer"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":[\"x\",\"gwy\"]}",
       "the token is for another audience"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\"}", "the token is for another audience"},
      {"{\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}", "the token does not name an agent"},
      {"{\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token does not name its subject (sub)"},
      {"{\"sub\":\"\",\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token does not name its subject (sub)"},
      {"{\"sub\":\"u1\\u0000u2\",\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token does not name its subject (sub)"},
      {"{\"sub\":7,\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token does not name its subject (sub)"},
      {"{\"sub\":null,\"agent\":\"a\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token does not name its subject (sub)"},
      {"{\"agent\":7,\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}", "the token does not name an agent"},
      {"{\"agent\":\"a\",\"agent\":\"b\",\"exp\":1700000600,\"iss\":\"https://id\",\"aud\":\"gw\"}",
       "the token is not a JSON Web Token"},
      {"[]", "the token is not a JSON Web Token"},
  };
  struct jwt_keys *k = secret_keys();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_bad(k, hs256(secret, HS, cases[i].payload), cases[i].why);
  static const char nearly[] = "{\"sub\":\"u1\",\"agent\":\"team.ops\",\"exp\":1699999971.5,\"nbf\":1700000030,"
                               "\"iss\":\"https://id\",\"aud\":[\"x\",\"gw\"]}";
  assert_good(k, hs256(secret, HS, nearly));
  jwt_keys_unref(&k);
}

static void what_is_no_token_is_refused(void **state) {
  struct jwt_keys *k = secret_keys();
  str token = hs256(secret, HS, good);
  assert_bad(k, STR(""), "the token is not a JSON Web Token");
  assert_bad(k, STR("a.b"), "the token is not a JSON Web Token");
  assert_bad(k, STR("..."), "the token is not a JSON Web Token");
  assert_bad(k, arena_printf(&arena, "%s=", token.p), "the token is not a JSON Web Token");
  assert_bad(k, arena_printf(&arena, "%s.x", token.p), "the token is not a JSON Web Token");
  char *long_text = arena_alloc(&arena, 20000);
  memset(long_text, 'a', 20000);
  assert_bad(k, (str){long_text, 20000}, "the token is too long");
  jwt_keys_unref(&k);
}

static void every_altered_character_is_found(void **state) {
  struct jwt_keys *k = secret_keys();
  str token = hs256(secret, HS, good);
  for (size_t i = 0; i < token.n; i++) {
    struct jwt_claims claims;
    struct fault f;
    str altered = arena_str(&arena, token);
    ((char *)altered.p)[i] = token.p[i] == 'A' ? 'B' : 'A';
    if (jwt_verify(k, &rules, altered, NOW, &arena, &claims, NULL, &f)) fail_msg("character %zu", i);
  }
  jwt_keys_unref(&k);
}

static void a_key_is_found_by_its_id(void **state) {
  struct jwt_claims claims;
  struct fault f;
  enum jwt_flaw flaw;
  str k1 = encoded(str_of(secret)), k2 = encoded(STR("another secret of 32 bytes or more"));
  struct jwt_keys *k = set_of(
      arena_printf(&arena,
                   "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"1\",\"k\":\"%s\"},"
                   "{\"kty\":\"oct\",\"kid\":\"2\",\"k\":\"%s\",\"alg\":\"HS256\",\"use\":\"sig\"},"
                   "{\"kty\":\"oct\",\"kid\":\"3\",\"k\":\"%s\",\"use\":\"enc\"},"
                   "{\"kty\":\"oct\",\"kid\":\"4\",\"k\":\"%s\",\"alg\":\"HS512\"},"
                   "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AA\",\"y\":\"AA\"},{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}",
                   k1.p, k2.p, k1.p, k1.p)
          .p);
  assert_int_equal(jwt_keys_count(k), 2);
  assert_good(k, hs256(secret, HS, good));
  assert_good(k, hs256(secret, "{\"alg\":\"HS256\",\"kid\":\"1\"}", good));
  assert_bad(k, hs256(secret, "{\"alg\":\"HS256\",\"kid\":\"2\"}", good), "the token has a wrong signature");
  assert_false(
      jwt_verify(k, &rules, hs256(secret, "{\"alg\":\"HS256\",\"kid\":\"9\"}", good), NOW, &arena, &claims, &flaw, &f));
  assert_int_equal(flaw, JWT_UNKNOWN_KEY);
  static const char *const no_text[] = {"1", "null", "[\"1\"]", "true"};
  for (size_t i = 0; i < sizeof no_text / sizeof *no_text; i++) {
    str header = arena_printf(&arena, "{\"alg\":\"HS256\",\"kid\":%s}", no_text[i]);
    assert_bad(k, hs256(secret, header.p, good), "the token has a key id that is not a string");
  }
  jwt_keys_unref(&k);
  // A key whose id is no text would be one without an id, for every token.
  assert_null(set_of(arena_printf(&arena, "{\"keys\":[{\"kty\":\"oct\",\"kid\":1,\"k\":\"%s\"}]}", k1.p).p));
}

static void keys_that_are_too_weak_are_refused(void **state) {
  struct fault f;
  EVP_PKEY *small = EVP_RSA_gen(1024), *other = EVP_EC_gen("P-384");
  assert_null(jwt_keys_from_pem(pem_of(small), &f));
  assert_null(jwt_keys_from_pem(pem_of(other), &f));
  assert_null(jwt_keys_from_pem(STR("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), &f));
  assert_null(jwt_keys_from_secret(STR("short"), &f));
  assert_null(set_of("{\"keys\":[]}"));
  assert_null(set_of("{\"keys\":{}}"));
  EVP_PKEY_free(small);
  EVP_PKEY_free(other);
}

// What was read again is compared by what it is, not by where it lies.
static void keys_are_the_same_by_what_they_are(void **state) {
  EVP_PKEY *p256 = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
  str k1 = encoded(str_of(secret)), k2 = encoded(STR("another secret of 32 bytes or more"));
  struct fault f;
  struct jwt_keys *keys[] = {
      secret_keys(),
      jwt_keys_from_secret(STR("0123456789abcdef0123456789abcdeX"), &f),
      jwt_keys_from_pem(pem_of(p256), &f),
      jwt_keys_from_pem(pem_of(other), &f),
      set_of(arena_printf(&arena, "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"1\",\"k\":\"%s\"}]}", k1.p).p),
      set_of(arena_printf(&arena, "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"2\",\"k\":\"%s\"}]}", k1.p).p),
      set_of(arena_printf(&arena,
                          "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"1\",\"k\":\"%s\"},"
                          "{\"kty\":\"oct\",\"k\":\"%s\"}]}",
                          k1.p, k2.p)
                 .p),
  };
  enum { COUNT = sizeof keys / sizeof *keys };
  for (size_t i = 0; i < COUNT; i++)
    for (size_t k = 0; k < COUNT; k++) assert_int_equal(jwt_keys_same(keys[i], keys[k]), i == k);
  struct jwt_keys *again = secret_keys(), *pem = jwt_keys_from_pem(pem_of(p256), &f);
  assert_true(jwt_keys_same(keys[0], again));
  assert_true(jwt_keys_same(keys[2], pem));
  jwt_keys_unref(&again);
  jwt_keys_unref(&pem);
  for (size_t i = 0; i < COUNT; i++) jwt_keys_unref(&keys[i]);
  EVP_PKEY_free(p256);
  EVP_PKEY_free(other);
}

// RFC 8037, appendix A: the key, and the signature of a text that is no set of claims.
static void the_example_of_the_standard_is_understood(void **state) {
  struct jwt_keys *k = set_of(
      "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
  assert_non_null(k);
  assert_bad(
      k,
      STR("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhi"
          "jcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"),
      "the token is not a JSON Web Token");
  jwt_keys_unref(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_token_names_its_agent, begin, end),
      cmocka_unit_test_setup_teardown(each_algorithm_is_checked_with_its_own_keys, begin, end),
      cmocka_unit_test_setup_teardown(a_token_cannot_choose_the_algorithm_that_verifies_it, begin, end),
      cmocka_unit_test_setup_teardown(only_listed_algorithms_are_accepted, begin, end),
      cmocka_unit_test_setup_teardown(a_token_for_another_purpose_is_none, begin, end),
      cmocka_unit_test_setup_teardown(what_is_wrong_with_its_claims_is_told, begin, end),
      cmocka_unit_test_setup_teardown(what_is_no_token_is_refused, begin, end),
      cmocka_unit_test_setup_teardown(every_altered_character_is_found, begin, end),
      cmocka_unit_test_setup_teardown(a_key_is_found_by_its_id, begin, end),
      cmocka_unit_test_setup_teardown(keys_that_are_too_weak_are_refused, begin, end),
      cmocka_unit_test_setup_teardown(keys_are_the_same_by_what_they_are, begin, end),
      cmocka_unit_test_setup_teardown(the_example_of_the_standard_is_understood, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
