// SPDX-License-Identifier: Apache-2.0
// text/secrets: what servers say, without what nobody else may read.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "text/secrets.h"

static int setup(void **state) {
  struct arena *a = malloc(sizeof *a);
  arena_init(a);
  *state = a;
  return 0;
}

static int teardown(void **state) {
  arena_done(*state);
  free(*state);
  return 0;
}

static void becomes(struct arena *a, const char *text, const char *want) {
  str got = secrets_mask(a, str_of(text), NULL);
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static void stays(struct arena *a, const char *text) {
  str s = str_of(text), got = secrets_mask(a, s, NULL);
  if (got.p != s.p || got.n != s.n) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), text);
}

#define M SECRETS_MASK

static void keys_and_tokens_are_known_by_their_form(void **state) {
  struct arena *a = *state;
  becomes(a, "id AKIAABCDEFGH12345678.", "id " M ".");
  becomes(a, "ASIAABCDEFGH12345678", M);
  becomes(a, "AIzaaB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zaB3d", M);
  becomes(a, "(ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zaB3dE5)", "(" M ")");
  becomes(a, "github_pat_aB3dE5gH7jK9mN1pQ2rS4t x", M " x");
  becomes(a, "xoxb-123456789012-abc", M);
  becomes(a, "xapp-1-A0123456789", M);
  becomes(a, "sk-ant-aB3dE5gH7jK9mN1pQ2rS", M);
  becomes(a, "sk-proj-aB3dE5gH7jK9mN1pQ2rS and sk-aB3dE5gH7jK9mN1pQ2rS", M " and " M);
  becomes(a, "sk_live_aB3dE5gH7jK9mN1p", M);
  becomes(a, "SG.aB3dE5gH7jK9mN1p.aB3dE5gH7jK9mN1p", M);
  becomes(a, "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln next", M " next");
  becomes(a, "npm_abcdefghijklmnopqrstuvwxyz0123456789 hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", M " " M);
}

static void what_only_looks_like_one_stays(void **state) {
  struct arena *a = *state;
  stays(a, "");
  stays(a, "task-management-of-a-long-name is full");
  stays(a, "ghp_short, AKIASHORT, sk-learn, eyJ.x, eyJhbGci");
  stays(a, "line 4, column 12: unexpected end; see https://example.com/a:b?c=d#e");
  stays(a, "Bearer authentication is needed");
  stays(a, "the token is gone; token: a");
  stays(a, "größer als 日本 🙂");
}

static void a_private_key_goes_as_a_whole(void **state) {
  struct arena *a = *state;
  becomes(a, "a -----BEGIN RSA PRIVATE KEY----- MIIE abc= -----END RSA PRIVATE KEY----- b", "a " M " b");
  becomes(a, "a -----BEGIN PRIVATE KEY-----\nMIIE\nabc", "a " M);
  stays(a, "-----BEGIN CERTIFICATE----- MIIE -----END CERTIFICATE-----");
}

static void of_a_name_and_its_value_only_the_value_goes(void **state) {
  struct arena *a = *state;
  becomes(a, "api_key=c2VjcmV0 failed", "api_key=" M " failed");
  becomes(a, "DB-PASSWORD : \"correct-horse\", x", "DB-PASSWORD : \"" M "\", x");
  becomes(a, "{\"access_token\":\"abcdefg\",\"n\":1}", "{\"access_token\":\"" M "\",\"n\":1}");
  becomes(a, "?secret=abcdefg&page=2", "?secret=" M "&page=2");
  becomes(a, "Authorization: bearer Zm9vYmFyYmF6", "Authorization: bearer " M);
  becomes(a, "token: Bearer Zm9vYmFyYmF6", "token: Bearer " M);
  becomes(a, "postgres://admin:hunter2@db/x", "postgres://admin:" M "@db/x");
  stays(a, "http://example.com:8080/a@b");
  becomes(a, "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "Authorization: Basic " M);
  becomes(a, "Cookie: session=abcdef0123456789; b=c\nnext", "Cookie: " M "\nnext");
  becomes(a, "Set-Cookie: sid=abcdef; Path=/", "Set-Cookie: " M);
  becomes(a, "AccountKey=abcdefghijkl==;x", "AccountKey=" M ";x");
  becomes(a, "{\\\"password\\\":\\\"hunter2secret\\\"}", "{\\\"password\\\":\\\"" M "\\\"}");
  becomes(a, "mysql --password hunter2secret -h x", "mysql --password " M " -h x");
  stays(a, "failed authorization: invalid scope");
  stays(a, "run it with --token --help, or --password x");
}

static void json_is_masked_in_its_strings_and_stays_json(void **state) {
  struct arena *a = *state;
  static const char text[] =
      "{\"n\":1.50,\"token\":12345678,\"password\":\"horse battery\",\"list\":[\"a\\u0067hp_\",\"Bearer "
      "Zm9vYmFyYmF6\"],\"deep\":{\"u\":\"x://a:b\\u0063defgh@c\"},\"t\":true}";
  struct fault f;
  str got = secrets_mask_json(a, json_parse(a, str_of(text), &json_default_limits, &f), NULL);
  const char *want = "{\"n\":1.50,\"token\":12345678,\"password\":\"" M "\",\"list\":[\"aghp_\",\"Bearer " M
                     "\"],\"deep\":{\"u\":\"x://a:" M "@c\"},\"t\":true}";
  if (!str_eq(got, str_of(want))) fail_msg("%.*s", STR_ARG(got));
}

static void names_that_are_secrets_are_masked_and_stay_apart(void **state) {
  struct arena *a = *state;
  static const char text[] = "{\"sk-aB3dE5gH7jK9mN1pQ2rS\":1,\"sk-aB3dE5gH7jK9mN1pQ2rX\":2,\"cookie\":\"sid=1234\"}";
  struct fault f;
  str got = secrets_mask_json(a, json_parse(a, str_of(text), &json_default_limits, &f), NULL);
  const char *want = "{\"" M " 1\":1,\"" M " 2\":2,\"cookie\":\"" M "\"}";
  if (!str_eq(got, str_of(want))) fail_msg("%.*s", STR_ARG(got));
}

static void no_name_can_be_that_of_a_masked_one(void **state) {
  struct arena *a = *state;
  static const char text[] = "{\"sk-aB3dE5gH7jK9mN1pQ2rS\":1,\"" M " 1\":2,\"" M "\":3}";
  struct fault f;
  str got = secrets_mask_json(a, json_parse(a, str_of(text), &json_default_limits, &f), NULL);
  assert_true(str_eq(got, STR("{\"" M " 1\":1,\"" M " 1 2\":2,\"" M " 3\":3}")));
  assert_non_null(json_parse(a, got, &json_default_limits, &f));
}

// Read once: in a multiple of its length this test would not end.
static void what_nearly_is_a_secret_again_and_again_is_read_once(void **state) {
  static const char *const parts[] = {
      "cookie:", "eyJ-",      "cookie: x ",  "bearer ",     "authorization:", "-----BEGIN ", "://a:b",       "bearer-",
      "bearer.", ".bearer\\", "--password.", "@--password", "--token/",       "sk-.",        "token=bearer "};
  struct arena *a = *state;
  enum { SIZE = 4 << 20 };
  char *text = arena_alloc(a, SIZE);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t n = strlen(parts[i]);
    for (size_t at = 0; at + n <= SIZE; at += n) memcpy(text + at, parts[i], n);
    str masked = secrets_mask(a, (str){text, SIZE / n * n}, NULL);
    assert_true(masked.n > 0);
  }
}

static void what_is_masked_in_results_is_masked_for_people_too(void **state) {
  struct arena *a = *state;
  static const char *const sure[] = {"apiKey", "X-Api-Key",  "client_secret", "token",       "password",
                                     "PASSWD", "AWS_PWD",    "access-key",    "private_key", "account_key",
                                     "cookie", "Set-Cookie", "Authorization"};
  static const char *const likely[] = {"--key", "pass", "PGPASS", "auth", "--header", "credentials"};
  for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) {
    str named = arena_printf(a, "{\"%s\":\"a=b-value-0123456789\"}", sure[i]);
    struct fault f;
    str masked = secrets_mask_json(a, json_parse(a, named, &json_default_limits, &f), NULL);
    if (!memmem(masked.p, masked.n, M, strlen(M))) fail_msg("%.*s", STR_ARG(masked));
    if (!secrets_may_name(str_of(sure[i]))) fail_msg("%s", sure[i]);
  }
  for (size_t i = 0; i < sizeof likely / sizeof *likely; i++)
    if (!secrets_may_name(str_of(likely[i]))) fail_msg("%s", likely[i]);
  stays(a, "key: sunflower, header: sunflower, pass: sunflower");
  assert_false(secrets_may_name(STR("--dir")));
}

// ---- what is known ----

static const str configured[] = {STR("s3cret-of-the-server"), STR("s3cret-of-the-server-and-more"),
                                 STR("p;w\"d&x/y=z")};
static const struct secrets_known known = {configured, 3, 0};

static void becomes_known(struct arena *a, const char *text, const char *want) {
  str got = secrets_mask(a, str_of(text), &known);
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static void values_that_are_known_are_masked_wherever_they_stand(void **state) {
  struct arena *a = *state;
  becomes_known(a, "you sent s3cret-of-the-server, twice: s3cret-of-the-server", "you sent " M ", twice: " M);
  becomes_known(a, "xs3cret-of-the-serverx", "x" M "x");
  becomes_known(a, "the longest counts: s3cret-of-the-server-and-more.", "the longest counts: " M ".");
  becomes_known(a, "password=p;w\"d&x/y=z !", "password=" M " !");
  becomes_known(a, "Bearer s3cret-of-the-server", "Bearer " M);
  becomes_known(a, "S3CRET-of-the-server, s3cret-of", "S3CRET-of-the-server, " M);
  becomes_known(a, "", "");
}

static void values_that_overlap_leave_nothing_of_each_other(void **state) {
  static const str values[] = {STR("abcdefgh1234"), STR("1234ijklmnop"), STR("efgh1234"), STR("mnopabcd")};
  static const struct secrets_known both = {values, 4, 0};
  static const char *const pairs[][2] = {
      {"x abcdefgh1234ijklmnop y", "x " M " y"},
      {"x abcdefgh1234ijklmnopabcdefgh1234 y", "x " M " y"},
      {"abcdefgh12341234ijklmnop", M M},
      {"abcdefgh1234ijkl", M},  // cut
      {"abcdefgh1234ijk", M "ijk"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    str got = secrets_mask(*state, str_of(pairs[i][0]), &both);
    if (!str_eq(got, str_of(pairs[i][1]))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), pairs[i][1]);
  }
}

static void the_beginning_of_a_secret_is_masked_at_the_end_of_a_cut_text(void **state) {
  struct arena *a = *state;
  becomes_known(a, "you sent s3cret-o", "you sent " M);
  becomes_known(a, "you sent s3cret-o…", "you sent " M "…");
  becomes_known(a, "you sent s3cret-", "you sent s3cret-");
  becomes_known(a, "you sent s3cret-o and more", "you sent s3cret-o and more");
}

static void a_value_may_end_as_a_text_does_that_was_cut(void **state) {
  static const str value = STR("secret…");
  str got = secrets_mask(*state, STR("it is secret…"), &(struct secrets_known){&value, 1, 0});
  assert_true(str_eq(got, STR("it is " M)));
}

static void known_values_are_found_in_json_however_they_are_written(void **state) {
  struct arena *a = *state;
  struct fault f;
  const char *text = "{\"p\":\"p;w\\\"d&x\\/y=z\",\"s3cret-of-the-server\":[\"\\u00733cret-of-the-server\",1]}";
  const struct json *v = json_parse(a, str_of(text), &json_default_limits, &f);
  assert_true(secrets_in_json(v, &known));
  assert_true(secrets_in_json(json_get(v, STR("p")), &known));
  assert_false(secrets_in_json(json_get(v, STR("p")), NULL));
  str got = secrets_mask_json(a, v, &known);
  assert_true(str_eq(got, STR("{\"p\":\"" M "\",\"" M " 2\":[\"" M "\",1]}")));
  v = json_parse(a, STR("{\"a\":[\"nothing\",\"of it\"]}"), &json_default_limits, &f);
  assert_false(secrets_in_json(v, &known));
  v = json_parse(a, STR("[\"nothing…\",\"you sent s3cret-o…\",1]"), &json_default_limits, &f);
  assert_true(secrets_in_json(v, &known));  // its beginning, where the text was cut
  // In a container without nodes too.
  static const struct json_fold fold = {.depth = 2, .values = 1};
  v = json_parse_folding(a, STR("{\"a\":[\"\\u00733cret-of-the-server\",2,3,4,5,6]}"), &json_default_limits, &fold, &f);
  assert_true(json_is_folded(json_get(v, STR("a"))));
  assert_true(secrets_in_json(v, &known));
}

// ---- addresses ----

#define ADDRESS SECRETS_ADDRESS

static const str places[] = {STR("s3cret-of-the-server"), STR("http://10.0.0.5:8080/mcp?t=s3cret-of-the-server"),
                             STR("http://10.0.0.5:8080"), STR("10.0.0.5:8080"), STR("10.0.0.5")};
static const struct secrets_known with_addresses = {places, 5, 4};

static void address_becomes(struct arena *a, const char *text, const char *want) {
  str got = secrets_mask(a, str_of(text), &with_addresses);
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static void addresses_are_masked_by_the_longest_spelling(void **state) {
  struct arena *a = *state;
  address_becomes(a, "POST http://10.0.0.5:8080/mcp?t=s3cret-of-the-server failed", "POST " ADDRESS " failed");
  address_becomes(a, "http://10.0.0.5:8080/other, HTTP://10.0.0.5:8080.", ADDRESS "/other, " ADDRESS ".");
  address_becomes(a, "(10.0.0.5:8080), 10.0.0.5:9090", "(" ADDRESS "), " ADDRESS ":9090");
  address_becomes(a, "s3cret-of-the-server at 10.0.0.5", M " at " ADDRESS);
  address_becomes(a, "http%3A%2F%2F10.0.0.5%3A8080", "http%3A%2F%2F" ADDRESS "%3A8080");
}

static void an_address_is_a_whole_word(void **state) {
  struct arena *a = *state;
  static const char *const others[] = {"110.0.0.5", "10.0.0.57 and v10.0.0.5", "see https://", "http://10", ""};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) address_becomes(a, others[i], others[i]);
  address_becomes(a, "10.0.0.5:80801", ADDRESS ":80801");
}

static void of_a_text_that_was_cut_the_beginning_of_an_address_counts(void **state) {
  struct arena *a = *state;
  address_becomes(a, "no answer of http://10.0.0", "no answer of " ADDRESS);
  address_becomes(a, "no answer of http://10.0.0.5:8080/mc…", "no answer of " ADDRESS "…");
  address_becomes(a, "http://10.0.0 is another", "http://10.0.0 is another");
}

static void no_name_can_be_that_of_a_masked_address(void **state) {
  struct arena *a = *state;
  struct fault f;
  const struct json *v =
      json_parse(a, STR("{\"10.0.0.5\":1,\"" ADDRESS " 1\":2,\"x\":\"10.0.0.5:8080\"}"), &json_default_limits, &f);
  assert_true(secrets_in_json(v, &with_addresses));
  str got = secrets_mask_json(a, v, &with_addresses);
  assert_true(str_eq(got, STR("{\"" ADDRESS " 1\":1,\"" ADDRESS " 1 2\":2,\"x\":\"" ADDRESS "\"}")));
}

static void a_bearer_token_may_stand_on_the_next_line(void **state) {
  struct arena *a = *state;
  becomes(a, "Authorization: Bearer\n abcDEF123456789", "Authorization: Bearer\n " M);
  becomes(a, "Authorization: Bearer\r\n\tabcDEF123456789", "Authorization: Bearer\r\n\t" M);
  becomes(a, "{\"h\":\"Bearer\\n abcDEF123456789\"}", "{\"h\":\"Bearer\\n " M "\"}");
  stays(a, "this is the bearer\nInternationalization comes next");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(keys_and_tokens_are_known_by_their_form, setup, teardown),
      cmocka_unit_test_setup_teardown(what_only_looks_like_one_stays, setup, teardown),
      cmocka_unit_test_setup_teardown(a_private_key_goes_as_a_whole, setup, teardown),
      cmocka_unit_test_setup_teardown(of_a_name_and_its_value_only_the_value_goes, setup, teardown),
      cmocka_unit_test_setup_teardown(json_is_masked_in_its_strings_and_stays_json, setup, teardown),
      cmocka_unit_test_setup_teardown(values_that_are_known_are_masked_wherever_they_stand, setup, teardown),
      cmocka_unit_test_setup_teardown(values_that_overlap_leave_nothing_of_each_other, setup, teardown),
      cmocka_unit_test_setup_teardown(the_beginning_of_a_secret_is_masked_at_the_end_of_a_cut_text, setup, teardown),
      cmocka_unit_test_setup_teardown(a_value_may_end_as_a_text_does_that_was_cut, setup, teardown),
      cmocka_unit_test_setup_teardown(known_values_are_found_in_json_however_they_are_written, setup, teardown),
      cmocka_unit_test_setup_teardown(addresses_are_masked_by_the_longest_spelling, setup, teardown),
      cmocka_unit_test_setup_teardown(an_address_is_a_whole_word, setup, teardown),
      cmocka_unit_test_setup_teardown(of_a_text_that_was_cut_the_beginning_of_an_address_counts, setup, teardown),
      cmocka_unit_test_setup_teardown(no_name_can_be_that_of_a_masked_address, setup, teardown),
      cmocka_unit_test_setup_teardown(a_bearer_token_may_stand_on_the_next_line, setup, teardown),
      cmocka_unit_test_setup_teardown(names_that_are_secrets_are_masked_and_stay_apart, setup, teardown),
      cmocka_unit_test_setup_teardown(no_name_can_be_that_of_a_masked_one, setup, teardown),
      cmocka_unit_test_setup_teardown(what_nearly_is_a_secret_again_and_again_is_read_once, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_masked_in_results_is_masked_for_people_too, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
