// SPDX-License-Identifier: Apache-2.0
// Signed decisions: keys, their published form, and the tokens that servers verify.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/crypto/ed25519.h"
#include "base/text/base64.h"
#include "govern/run.h"
#include "govern/signing.h"
#include "governance_world.h"
#include "json/write.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp','type':'MCP','server':'shop','sign_metadata':true,'capabilities':[" \
  "{'name':'order','class':'act','approval_mode':'destructive'}]},{'adapter_id':'other','type':'MCP','server':'s2'," \
  "'capabilities':[{'name':'look','class':'observe','approval_mode':'read_only'}]}]"
#define ONE_KEY "{" ADAPTERS ",'signing':{'key_file':'a.pem'}}"
#define TWO_KEYS \
  "{" ADAPTERS ",'signing':{'issuer':'https://gw','keys':[{'key_file':'a.pem','kid':'k2'}," \
  "{'key_file':'b.pem'}]}}"

// The key of RFC 8037, appendix A.
static const char seed_hex[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
static const char thumbprint[] = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
static const char public_x[] = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

static EVP_PKEY *rfc_key(void) {
  unsigned char seed[32];
  for (size_t i = 0; i < sizeof seed; i++) {
    unsigned byte;
    assert_int_equal(sscanf(seed_hex + 2 * i, "%2x", &byte), 1);
    seed[i] = (unsigned char)byte;
  }
  return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
}

static str pem_of(struct arena *a, EVP_PKEY *key, bool private, const char *password) {
  BIO *bio = BIO_new(BIO_s_mem());
  char *text;
  if (private)
    PEM_write_bio_PKCS8PrivateKey(bio, key, password ? EVP_aes_256_cbc() : NULL, password,
                                  password ? (int)strlen(password) : 0, NULL, NULL);
  else PEM_write_bio_PUBKEY(bio, key);
  long n = BIO_get_mem_data(bio, &text);
  str pem = arena_str(a, (str){text, (size_t)n});
  BIO_free(bio);
  return pem;
}

static str new_pem(struct arena *a, bool private) {
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  str pem = pem_of(a, key, private, NULL);
  EVP_PKEY_free(key);
  return pem;
}

struct place {
  struct arena arena;
  EVP_PKEY *key;
  str pem;
};

static int set_up(void **state) {
  struct place *p = calloc(1, sizeof *p);
  arena_init(&p->arena);
  p->key = rfc_key();
  p->pem = pem_of(&p->arena, p->key, true, NULL);
  *state = p;
  return 0;
}

static int tear_down(void **state) {
  struct place *p = *state;
  EVP_PKEY_free(p->key);
  arena_done(&p->arena);
  free(p);
  return 0;
}

static str decoded(struct arena *a, str text) {
  struct buf b;
  buf_init(&b, 1 << 16);
  assert_true(base64_decode(text, BASE64_URL, &b));
  str bytes = arena_str(a, buf_view(&b));
  buf_done(&b);
  return bytes;
}

static const struct json *parsed(struct arena *a, str text) {
  struct fault f;
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  if (!v) fail_msg("%s: %.*s", f.message, STR_ARG(text));
  return v;
}

static bool verifies(EVP_PKEY *key, str text, str signature) {
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key);
  bool ok = EVP_DigestVerify(ctx, (const unsigned char *)signature.p, signature.n, (const unsigned char *)text.p,
                             text.n) == 1;
  EVP_MD_CTX_free(ctx);
  return ok;
}

static const char context_text[] = "{'tenant':'acme','scopes':['shop','mail'],'principals':[{'kind':'user','id':'ada'},"
                                   "{'kind':'agent','id':'planner'},"
                                   "{'kind':'agent','id':'buyer'}]}";

// Signs a decision about an order, verifies the token with `key`, and returns its claims.
static const struct json *claims_of(struct place *p, struct governance *g, const char *context, const char *args,
                                    const struct json **out_head) {
  struct arena *a = &p->arena;
  struct fault f;
  struct signed_decision d = {
      .capability = governance_find(g, STR("adp.order")),
      .server = STR("shop"),
      .id = STR("pol_1"),
      .mode = APPROVAL_DELEGATED,
      .context = governance_parse(a, governance_quoted(a, context)),
      .args = args ? governance_parse(a, governance_quoted(a, args)) : NULL,
      .now = 1000,
  };
  str token = governance_sign(g, &d, a, &f), head, claims, signature, rest;
  if (!token.p) fail_msg("%s", f.message);
  assert_true(str_cut(token, '.', &head, &rest) && str_cut(rest, '.', &claims, &signature));
  str text = {head.p, head.n + 1 + claims.n};
  assert_true(verifies(p->key, text, decoded(a, signature)));
  assert_false(verifies(p->key, str_from(text, 1), decoded(a, signature)));
  if (out_head) *out_head = parsed(a, decoded(a, head));
  return parsed(a, decoded(a, claims));
}

static void assert_claim(struct place *p, const struct json *claims, const char *name, const char *expected) {
  const struct json *v = json_get(claims, str_of(name));
  if (!v) fail_msg("there is no claim %s", name);
  assert_string_equal(arena_cstr(&p->arena, json_span(v)), governance_quoted(&p->arena, expected));
}

static struct governance *signing(struct place *p, const char *text) {
  struct governance *g = governance_of(text);
  struct fault f;
  if (!governance_key_set(g, 0, p->pem, &f)) fail_msg("%s", f.message);
  return g;
}

static void a_token_says_who_may_call_what(void **state) {
  struct place *p = *state;
  struct governance *g = signing(p, ONE_KEY);
  const struct json *head, *claims = claims_of(p, g, context_text, "{'amount':1}", &head);
  assert_claim(p, head, "alg", "'EdDSA'");
  assert_claim(p, head, "typ", "'toolgate-decision+jwt'");
  assert_claim(p, head, "kid", arena_cstr(&p->arena, arena_printf(&p->arena, "'%s'", thumbprint)));
  static const char *const expected[][2] = {
      {"iss", "'toolgate'"},
      {"aud", "'shop'"},
      {"iat", "1000"},
      {"exp", "1060"},
      {"jti", "'pol_1'"},
      {"tenant", "'acme'"},
      {"sub", "'ada'"},
      {"capability", "'adp.order'"},
      {"mode", "'delegated'"},
      {"scopes", "['shop','mail']"},
      {"act", "{'sub':'buyer','act':{'sub':'planner'}}"},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_claim(p, claims, expected[i][0], expected[i][1]);
  governance_unref(&g);
}

static void a_digest_of_arguments_is_that_of_their_canonical_form(void **state) {
  struct place *p = *state;
  struct governance *g = signing(p, ONE_KEY);
  // sha256 of {"a":"é","n":100}
  static const char same[] = "'aa71a9292aac225b1fb3233d28d53da9c4cae9fa74d496166484a84d50e3e293'";
  static const char *const forms[] = {"{'n':1e2,'a':'\xc3\xa9'}", "{ 'a' : '\\u00e9', 'n' : 100.0 }"};
  const struct json *first = claims_of(p, g, "{}", forms[0], NULL), *second = claims_of(p, g, "{}", forms[1], NULL);
  assert_claim(p, first, "args_sha256", same);
  assert_claim(p, second, "args_sha256", same);
  // sha256 of {}
  assert_claim(p, claims_of(p, g, "{}", NULL, NULL), "args_sha256",
               "'44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'");
  governance_unref(&g);
}

static void members_that_a_context_lacks_are_absent(void **state) {
  struct place *p = *state;
  struct governance *g = signing(p, ONE_KEY);
  const struct json *claims = claims_of(p, g, "{'principals':[{'kind':'user','id':'local'}]}", "{}", NULL);
  assert_claim(p, claims, "sub", "'local'");
  assert_null(json_get(claims, STR("act")));
  assert_null(json_get(claims, STR("tenant")));
  assert_null(json_get(claims, STR("scopes")));
  governance_unref(&g);
}

static void arguments_without_a_canonical_form_are_not_signed(void **state) {
  struct place *p = *state;
  struct governance *g = signing(p, ONE_KEY);
  struct fault f = {0};
  struct signed_decision d = {.capability = governance_find(g, STR("adp.order")),
                              .server = STR("shop"),
                              .id = STR("pol_1"),
                              .context = &json_empty_object,
                              .args = governance_parse(&p->arena, "{\"n\":1e999}")};
  assert_null(governance_sign(g, &d, &p->arena, &f).p);
  assert_true(f.message[0]);
  governance_unref(&g);
}

static void all_keys_are_published_and_the_first_one_signs(void **state) {
  struct place *p = *state;
  struct governance *g = signing(p, TWO_KEYS);
  struct fault f;
  struct buf b;
  assert_true(governance_key_set(g, 1, new_pem(&p->arena, false), &f));  // a public key can be published
  assert_false(governance_key_signs(g, 1));
  buf_init(&b, 1 << 16);
  governance_put_keys(g, &b);
  const struct json *keys = json_get(parsed(&p->arena, arena_str(&p->arena, buf_view(&b))), STR("keys"));
  assert_int_equal(keys->count, 2);
  const struct json *first = json_at(keys, 0), *second = json_at(keys, 1);
  assert_claim(p, first, "kid", "'k2'");
  assert_claim(p, first, "kty", "'OKP'");
  assert_claim(p, first, "crv", "'Ed25519'");
  assert_string_equal(arena_cstr(&p->arena, json_span(json_get(first, STR("x")))),
                      arena_cstr(&p->arena, arena_printf(&p->arena, "\"%s\"", public_x)));
  assert_null(json_get(first, STR("d")));
  assert_int_equal(json_get(second, STR("kid"))->n, strlen(thumbprint) + 2);
  const struct json *head, *claims = claims_of(p, g, "{}", "{}", &head);
  assert_claim(p, head, "kid", "'k2'");
  assert_claim(p, claims, "iss", "'https://gw'");
  buf_done(&b);
  governance_unref(&g);
}

static void a_file_sets_the_issuer_for_good(void **state) {
  struct place *p = *state;
  struct governance *named = signing(p, TWO_KEYS), *other = signing(p, ONE_KEY);
  governance_issuer_set(named, STR("https://other"));
  governance_issuer_set(other, STR("https://other"));
  assert_claim(p, claims_of(p, named, "{}", "{}", NULL), "iss", "'https://gw'");
  assert_claim(p, claims_of(p, other, "{}", "{}", NULL), "iss", "'https://other'");
  governance_unref(&named);
  governance_unref(&other);
}

static void the_first_key_must_be_private_and_of_type_ed25519(void **state) {
  struct place *p = *state;
  struct arena *a = &p->arena;
  struct governance *g = governance_of(TWO_KEYS);
  EVP_PKEY *ec = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  str bad[] = {STR("x"), STR(""), pem_of(a, p->key, false, NULL), pem_of(a, p->key, true, "secret"),
               pem_of(a, ec, true, NULL)};
  struct fault f;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(governance_key_set(g, 0, bad[i], &f));
  assert_true(governance_key_set(g, 0, p->pem, &f));
  assert_false(governance_key_set(g, 1, p->pem, &f));  // the same key twice
  EVP_PKEY_free(ec);
  governance_unref(&g);
}

static void only_adapters_with_sign_metadata_sign(void **state) {
  struct governance *g = governance_of(ONE_KEY);
  assert_true(governance_signs(governance_find(g, STR("adp.order"))));
  assert_false(governance_signs(governance_find(g, STR("other.look"))));
  governance_unref(&g);
}

static void errors_in_the_member_signing_name_their_place(void **state) {
  static const struct {
    const char *file, *place;
  } cases[] = {
      {"{" ADAPTERS "}", "/adapters/0 "},
      {"{" ADAPTERS ",'signing':{}}", "/signing "},
      {"{" ADAPTERS ",'signing':{'key_file':'a','keys':[{'key_file':'b'}]}}", "/signing "},
      {"{" ADAPTERS ",'signing':{'kid':'x','keys':[{'key_file':'b'}]}}", "/signing "},
      {"{" ADAPTERS ",'signing':{'keys':[]}}", "/signing/keys "},
      {"{" ADAPTERS ",'signing':{'keys':[{'kid':'a'}]}}", "/signing/keys/0 "},
      {"{" ADAPTERS ",'signing':{'keys':[{'key_file':'a','kid':'k'},{'key_file':'b','kid':'k'}]}}", "/signing/keys/1 "},
      {"{" ADAPTERS ",'signing':{'key_file':'a','algorithm':'none'}}", "/signing/algorithm "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct buf b;
    buf_init(&b, 1 << 16);
    assert_null(governance_try(cases[i].file, &b));
    if (!str_starts(buf_view(&b), str_of(cases[i].place))) fail_msg("%s: %.*s", cases[i].file, STR_ARG(buf_view(&b)));
    buf_done(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_token_says_who_may_call_what, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_digest_of_arguments_is_that_of_their_canonical_form, set_up, tear_down),
      cmocka_unit_test_setup_teardown(members_that_a_context_lacks_are_absent, set_up, tear_down),
      cmocka_unit_test_setup_teardown(arguments_without_a_canonical_form_are_not_signed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(all_keys_are_published_and_the_first_one_signs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_file_sets_the_issuer_for_good, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_first_key_must_be_private_and_of_type_ed25519, set_up, tear_down),
      cmocka_unit_test(only_adapters_with_sign_metadata_sign),
      cmocka_unit_test(errors_in_the_member_signing_name_their_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
