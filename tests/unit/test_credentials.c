// SPDX-License-Identifier: Apache-2.0
// mcp/credentials, principals and challenge: who a bearer token is, and what those are told that have no good one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/hmac.h>

#include <cmocka.h>

#include "base/text/base64.h"
#include "mcp/auth/challenge.h"

enum { NOW = 1700000000 };

static const char secret[] = "0123456789abcdef0123456789abcdef";
static const struct jwt_rules issued = {
    .algorithms = 1 << JWT_HS256, .issuer = STR("https://id"), .audience = STR("gw"), .claim = STR("agent")};
static const str scopes[] = {STR("mcp"), STR("tools")};

struct fixture {
  int64_t wall;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct arena arena;
  struct principals *principals;
  struct jwt_keys *keys;
  struct credentials_token tokens[3];
  struct credentials *c;
  struct client_identity who;
  struct fault why;
};

static uint64_t mono(void *ctx) {
  return 1;
}
static int64_t wall(void *ctx) {
  return ((struct fixture *)ctx)->wall * 1000;
}

static struct credentials_options options_of(struct fixture *x) {
  return (struct credentials_options){
      .loop = &x->loop,
      .principals = x->principals,
      .tokens = x->tokens,
      .token_count = 3,
      .jwt = &issued,
      .keys = {.loop = &x->loop, .keys = x->keys},
      .scopes = scopes,
      .scope_count = 2,
  };
}

static int setup(void **state) {
  struct fixture *x = calloc(1, sizeof *x);
  x->wall = NOW;
  x->clock = (struct clock){mono, wall, x};
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  arena_init(&x->arena);
  x->principals = principals_new(&x->loop.seed, 4);
  x->keys = jwt_keys_from_secret(str_of(secret), &x->why);
  static const char *const texts[] = {"first-token", "second", "a=b/c+d~"}, *const agents[] = {"one", "two", ""};
  for (int i = 0; i < 3; i++) {
    hash_sha256(str_of(texts[i]), x->tokens[i].sha256);
    x->tokens[i].agent = str_of(agents[i]);
  }
  struct credentials_options opt = options_of(x);
  x->c = credentials_new(&opt, &x->why);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  credentials_free(&x->c);
  principals_free(&x->principals);
  jwt_keys_unref(&x->keys);
  arena_done(&x->arena);
  loop_run(&x->loop);
  loop_done(&x->loop);
  free(x);
  return 0;
}

// ---- asking

static enum credentials_verdict check_lines(struct fixture *x, const char *lines) {
  struct http_head head;
  struct http_error err;
  size_t seen = 0;
  str text = arena_printf(&x->arena, "POST /mcp HTTP/1.1\r\nHost: h\r\n%s\r\n", lines);
  assert_true(http_parse_request(text.p, text.n, &(struct http_limits){1 << 20, 1000}, &seen, &head, &err) > 0);
  x->who = (struct client_identity){.principal = 77};
  return credentials_check(x->c, &head, true, &x->who, &x->why);
}

static enum credentials_verdict check(struct fixture *x, str token) {
  return check_lines(x, arena_printf(&x->arena, "Authorization: Bearer %.*s\r\n", STR_ARG(token)).p);
}

static str encoded(struct fixture *x, str bytes) {
  struct buf b;
  buf_init(&b, 2 * bytes.n + 8);
  base64_encode(bytes, BASE64_URL, &b);
  str text = arena_str(&x->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static str token(struct fixture *x, const char *claims) {
  unsigned char mac[32];
  unsigned n = sizeof mac;
  str text = arena_printf(&x->arena, "%s.%s", encoded(x, STR("{\"alg\":\"HS256\"}")).p, encoded(x, str_of(claims)).p);
  HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)text.p, text.n, mac, &n);
  return arena_printf(&x->arena, "%s.%s", text.p, encoded(x, (str){(char *)mac, n}).p);
}

#define CLAIMS(more) "{\"iss\":\"https://id\",\"aud\":\"gw\",\"exp\":1700000600," more "}"
#define SCOPED "\"scope\":\"tools x mcp\""

// ---- configured tokens

static void a_configured_token_says_who_is_calling(void **state) {
  static const struct {
    const char *lines;
    enum credentials_verdict verdict;
    const char *agent;
  } table[] = {
      {"Authorization: Bearer first-token\r\n", CREDENTIALS_GOOD, "one"},
      {"authorization: bearer second\r\n", CREDENTIALS_GOOD, "two"},
      {"AUTHORIZATION: BEARER a=b/c+d~\r\n", CREDENTIALS_GOOD, ""},
      {"Authorization: Bearer   second  \r\n", CREDENTIALS_GOOD, "two"},
      {"", CREDENTIALS_MISSING, NULL},
      {"Authorization:\r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Bearer\r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Bearer \r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Bearer Second\r\n", CREDENTIALS_WRONG, NULL},
      {"Authorization: Bearer secon\r\n", CREDENTIALS_WRONG, NULL},
      {"Authorization: Bearer secondd\r\n", CREDENTIALS_WRONG, NULL},
      {"Authorization: Bearer second first-token\r\n", CREDENTIALS_WRONG, NULL},
      {"Authorization: Bearer \"second\"\r\n", CREDENTIALS_WRONG, NULL},
      {"Authorization: second\r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Bearersecond\r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Basic second\r\n", CREDENTIALS_MISSING, NULL},
      {"Authorization: Bearer second\r\nAuthorization: Bearer second\r\n", CREDENTIALS_MALFORMED, NULL},
      {"Authorization: Bearer second\r\nauthorization: Bearer x\r\n", CREDENTIALS_MALFORMED, NULL},
      {"Proxy-Authorization: Bearer second\r\n", CREDENTIALS_MISSING, NULL},
      {"X-Api-Key: second\r\n", CREDENTIALS_MISSING, NULL},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    enum credentials_verdict verdict = check_lines(x, table[i].lines);
    if (verdict != table[i].verdict) fail_msg("%s gives %d", table[i].lines, verdict);
    if (table[i].agent) assert_true(str_eq(x->who.agent, str_of(table[i].agent)));
    else assert_int_equal(x->who.principal, 77);
  }
}

// ---- workload tokens

#define WORKLOAD "spiffe://acme/ns/prod/sa/triage"
#define WORKLOAD_CLAIMS(sub, more) \
  "{\"iss\":\"https://spire\",\"aud\":\"gw\",\"exp\":1700000300,\"sub\":\"" sub "\"" more "}"
static const struct jwt_rules workloads = {.algorithms = 1 << JWT_HS256,
                                           .issuer = STR("https://spire"),
                                           .audience = STR("gw"),
                                           .claim = STR("sub"),
                                           .any_name = true};

// Replaces the credentials by some that accept workload tokens.
static void accept_workloads(struct fixture *x, bool needed) {
  struct credentials_options opt = options_of(x);
  opt.workload = &workloads;
  opt.workload_keys = (struct keyring_options){.loop = &x->loop, .keys = x->keys};
  opt.needs_workload = needed;
  credentials_free(&x->c);
  x->c = credentials_new(&opt, &x->why);
  assert_non_null(x->c);
}

// Checks a request with this bearer token and, unless it is NULL, with a workload token that has these claims.
static enum credentials_verdict check_both(struct fixture *x, const char *bearer, const char *claims) {
  str lines = arena_printf(&x->arena, "Authorization: Bearer %s\r\n", bearer);
  if (claims)
    lines = arena_printf(&x->arena, "%sToolgate-Workload: %s\r\n", arena_cstr(&x->arena, lines), token(x, claims).p);
  return check_lines(x, arena_cstr(&x->arena, lines));
}

static void a_workload_token_names_the_workload_of_the_client(void **state) {
  struct fixture *x = *state;
  accept_workloads(x, false);
  assert_int_equal(check_both(x, "first-token", WORKLOAD_CLAIMS(WORKLOAD, "")), CREDENTIALS_GOOD);
  assert_true(str_eq(x->who.workload, STR(WORKLOAD)));
  assert_true(str_eq(x->who.agent, STR("one")));
  assert_int_equal(x->who.until, 1700000300);
  assert_int_equal(check_both(x, "first-token", NULL), CREDENTIALS_GOOD);
  assert_null(x->who.workload.p);
  // It also works with a token of an issuer, and the session ends with the token that expires first.
  str user = token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"," SCOPED));
  assert_int_equal(check_both(x, arena_cstr(&x->arena, user), WORKLOAD_CLAIMS(WORKLOAD, "")), CREDENTIALS_GOOD);
  assert_true(str_eq(x->who.workload, STR(WORKLOAD)) && str_eq(x->who.agent, STR("ops")));
  assert_int_equal(x->who.until, 1700000300);
}

static void workloads_of_one_user_are_different_principals(void **state) {
  struct fixture *x = *state;
  int numbers[4];
  accept_workloads(x, false);
  check_both(x, "first-token", NULL);
  numbers[0] = x->who.principal;
  check_both(x, "first-token", WORKLOAD_CLAIMS("a", ""));
  numbers[1] = x->who.principal;
  check_both(x, "first-token", WORKLOAD_CLAIMS("b", ""));
  numbers[2] = x->who.principal;
  check_both(x, "first-token", WORKLOAD_CLAIMS("a", ",\"jti\":\"2\""));
  numbers[3] = x->who.principal;
  assert_int_not_equal(numbers[0], numbers[1]);
  assert_int_not_equal(numbers[1], numbers[2]);
  assert_int_not_equal(numbers[0], numbers[2]);
  check_both(x, "second", WORKLOAD_CLAIMS("a", ""));
  assert_int_not_equal(x->who.principal, numbers[3]);
  assert_true(str_eq(x->who.agent, STR("two")));
}

static void an_invalid_workload_token_is_refused_even_if_none_is_needed(void **state) {
  static const char *const bad[] = {
      "{\"iss\":\"https://id\",\"aud\":\"gw\",\"exp\":1700000300,\"sub\":\"w\"}",
      "{\"iss\":\"https://spire\",\"aud\":\"other\",\"exp\":1700000300,\"sub\":\"w\"}",
      "{\"iss\":\"https://spire\",\"aud\":\"gw\",\"exp\":1699999999,\"sub\":\"w\"}",
      "{\"iss\":\"https://spire\",\"aud\":\"gw\",\"exp\":1700000300}",
      WORKLOAD_CLAIMS("", ""),
      WORKLOAD_CLAIMS("a\\n", ""),
  };
  struct fixture *x = *state;
  accept_workloads(x, false);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (check_both(x, "first-token", bad[i]) != CREDENTIALS_WRONG) fail_msg("%s", bad[i]);
    assert_int_equal(x->who.principal, 77);
  }
  assert_int_equal(check_lines(x, "Authorization: Bearer second\r\nToolgate-Workload:\r\n"), CREDENTIALS_WRONG);
  assert_int_equal(check_lines(x, "Authorization: Bearer second\r\nToolgate-Workload: x\r\nToolgate-Workload: y\r\n"),
                   CREDENTIALS_MALFORMED);
}

static void a_workload_token_does_not_replace_the_credential(void **state) {
  struct fixture *x = *state;
  accept_workloads(x, true);
  str workload = token(x, WORKLOAD_CLAIMS("w", ""));
  str lines = arena_printf(&x->arena, "Toolgate-Workload: %s\r\n", workload.p);
  assert_int_equal(check_lines(x, lines.p), CREDENTIALS_MISSING);
  assert_int_equal(check_both(x, "third", WORKLOAD_CLAIMS("w", "")), CREDENTIALS_WRONG);
  assert_int_equal(check(x, workload), CREDENTIALS_WRONG);
}

static void a_required_workload_token_must_be_present(void **state) {
  struct fixture *x = *state;
  accept_workloads(x, true);
  assert_int_equal(check_both(x, "first-token", NULL), CREDENTIALS_WRONG);
  assert_int_equal(check_both(x, "first-token", WORKLOAD_CLAIMS("w", "")), CREDENTIALS_GOOD);
}

static void without_an_issuer_of_workload_tokens_the_header_has_no_meaning(void **state) {
  struct fixture *x = *state;
  assert_int_equal(check_both(x, "first-token", WORKLOAD_CLAIMS("w", "")), CREDENTIALS_GOOD);
  assert_null(x->who.workload.p);
}

// ---- tokens of the issuer

static void a_token_of_the_issuer_says_it_too(void **state) {
  struct fixture *x = *state;
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"," SCOPED))), CREDENTIALS_GOOD);
  assert_true(str_eq(x->who.agent, STR("ops")) && str_starts(x->who.name, STR("jwt-")));
  int number = x->who.principal;
  // The next token of the same subject is the same principal; another subject or another agent is not.
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\",\"jti\":\"2\"," SCOPED))), 0);
  assert_int_equal(x->who.principal, number);
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"v\",\"agent\":\"ops\"," SCOPED))), CREDENTIALS_GOOD);
  assert_int_not_equal(x->who.principal, number);
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops2\"," SCOPED))), CREDENTIALS_GOOD);
  assert_int_not_equal(x->who.principal, number);
}

static void words_that_run_together_are_kept_apart(void **state) {
  struct fixture *x = *state;
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ab\"," SCOPED))), CREDENTIALS_GOOD);
  int number = x->who.principal;
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"ua\",\"agent\":\"b\"," SCOPED))), CREDENTIALS_GOOD);
  assert_int_not_equal(x->who.principal, number);
}

static void a_token_that_was_good_is_not_good_for_ever(void **state) {
  struct fixture *x = *state;
  str t = token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"," SCOPED));
  for (int i = 0; i < 3; i++) assert_int_equal(check(x, t), CREDENTIALS_GOOD);
  x->wall = NOW + 599;
  assert_int_equal(check(x, t), CREDENTIALS_GOOD);
  x->wall = NOW + 600;
  assert_int_equal(check(x, t), CREDENTIALS_WRONG);
  assert_string_equal(x->why.message, "the token has expired");
}

static void an_altered_token_is_refused_after_the_valid_one(void **state) {
  struct fixture *x = *state;
  str t = token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"," SCOPED));
  assert_int_equal(check(x, t), CREDENTIALS_GOOD);
  for (size_t i = 0; i < t.n; i++) {
    str altered = arena_str(&x->arena, t);
    ((char *)altered.p)[i] = t.p[i] == 'A' ? 'B' : 'A';
    if (check(x, altered) == CREDENTIALS_GOOD) fail_msg("character %zu", i);
  }
}

static void every_scope_is_needed(void **state) {
  static const char *const lacking[] = {"\"scope\":\"mcp\"",      "\"scope\":\"\"",
                                        "\"scope\":\"mcptools\"", "\"scope\":\"MCP tools\"",
                                        "\"scp\":[\"mcp\"]",      "\"scope\":[\"mcp\",\"tools\"]"};
  static const char *const enough[] = {"\"scope\":\"mcp tools\"", "\"scp\":[\"tools\",\"mcp\"]",
                                       "\"scp\":\"mcp tools\""};
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
    str claims = arena_printf(&x->arena, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\",%s"), lacking[i]);
    for (int again = 0; again < 2; again++)
      if (check(x, token(x, claims.p)) != CREDENTIALS_SCOPE) fail_msg("%s", lacking[i]);
  }
  assert_int_equal(check(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\""))), CREDENTIALS_SCOPE);
  for (size_t i = 0; i < sizeof enough / sizeof *enough; i++) {
    str claims = arena_printf(&x->arena, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\",%s"), enough[i]);
    if (check(x, token(x, claims.p)) != CREDENTIALS_GOOD) fail_msg("%s", enough[i]);
  }
}

static void what_is_no_name_of_an_agent_is_none(void **state) {
  static const char *const names[] = {"", "a b", "a/b", "a..b", ".a", "a\\nb", "auth0|x", "*"};
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    str claims = arena_printf(&x->arena, CLAIMS("\"sub\":\"u\",\"agent\":\"%s\"," SCOPED), names[i]);
    if (check(x, token(x, claims.p)) != CREDENTIALS_WRONG) fail_msg("%s", names[i]);
  }
}

static void numbers_outlive_what_is_configured(void **state) {
  struct fixture *x = *state;
  assert_int_equal(check(x, STR("first-token")), CREDENTIALS_GOOD);
  int one = x->who.principal;
  credentials_free(&x->c);
  // The same token is another agent's now: whoever has it is somebody else, and the number of the first is nobody's.
  x->tokens[0].agent = STR("other");
  struct credentials_options opt = options_of(x);
  x->c = credentials_new(&opt, &x->why);
  assert_int_equal(check(x, STR("second")), CREDENTIALS_GOOD);
  assert_int_not_equal(x->who.principal, one);
  assert_int_equal(check(x, STR("first-token")), CREDENTIALS_GOOD);
  assert_int_not_equal(x->who.principal, one);
}

// ---- what is told of them in logs

static void assert_told(struct fixture *x, str token, const char *subject, const char *issuer) {
  assert_int_equal(check(x, token), CREDENTIALS_GOOD);
  if (!str_eq(x->who.subject, str_of(subject))) fail_msg("%.*s", STR_ARG(x->who.subject));
  assert_true(str_eq(x->who.issuer, str_of(issuer)));
}

static void one_that_is_good_says_who_it_is(void **state) {
  struct fixture *x = *state;
  x->tokens[0].name = STR("the first");
  assert_told(x, STR("first-token"), "the first", "");
  assert_told(x, STR("second"), "two", "");
  char hex[9], begins[16];
  hash_hex(x->tokens[2].sha256, 4, hex);
  snprintf(begins, sizeof begins, "sha256:%s", hex);
  assert_told(x, STR("a=b/c+d~"), begins, "");
  for (int again = 0; again < 2; again++)  // also of one that is remembered
    assert_told(x, token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"," SCOPED)), "u", "https://id");
}

static void one_that_is_not_says_why(void **state) {
  struct fixture *x = *state;
  struct {
    str token;
    enum rejection why;
  } table[] = {
      {STR("no such token"), REJECTION_UNKNOWN_TOKEN},
      {STR("a.b.c"), REJECTION_INVALID_TOKEN},
      {token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"a b\"," SCOPED)), REJECTION_NO_AGENT},
      {token(x, CLAIMS("\"agent\":\"ops\"," SCOPED)), REJECTION_INVALID_TOKEN},
      {token(x, CLAIMS("\"sub\":\"u\",\"agent\":\"ops\"")), REJECTION_SCOPE},
      {token(x, "{\"iss\":\"https://id\",\"aud\":\"gw\",\"exp\":1,\"agent\":\"ops\"}"), REJECTION_EXPIRED},
      {token(x, "{\"iss\":\"https://other\",\"aud\":\"gw\",\"exp\":1700000600,\"agent\":\"ops\"}"), REJECTION_ISSUER},
      {token(x, "{\"iss\":\"https://id\",\"aud\":\"x\",\"exp\":1700000600,\"agent\":\"ops\"}"), REJECTION_AUDIENCE},
      {token(x, CLAIMS("\"sub\":\"u\",\"nbf\":1700009999,\"agent\":\"ops\"")), REJECTION_NOT_YET_VALID},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_int_not_equal(check(x, table[i].token), CREDENTIALS_GOOD);
    assert_string_equal(rejection_word(credentials_rejection(x->c)), rejection_word(table[i].why));
  }
  check_lines(x, "");
  assert_int_equal(credentials_rejection(x->c), REJECTION_MISSING);
  check_lines(x, "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n");
  assert_int_equal(credentials_rejection(x->c), REJECTION_MALFORMED);
}

// ---- principals

static void a_number_is_never_anothers(void **state) {
  struct fixture *x = *state;
  struct principals *p = x->principals;  // remembers 4
  int a = principals_meet(p, STR("a"), STR("x"))->number;
  assert_int_equal(principals_meet(p, STR("a"), STR("x"))->number, a);
  assert_int_not_equal(principals_meet(p, STR("a"), STR(""))->number, a);
  principals_meet(p, STR("b"), STR("x"));
  principals_meet(p, STR("c"), STR("x"));
  assert_int_equal(principals_meet(p, STR("a"), STR("x"))->number, a);  // seen last
  for (int i = 0; i < 100; i++) {
    str name = arena_printf(&x->arena, "n%d", i);
    assert_int_not_equal(principals_meet(p, name, STR_NONE)->number, a);
    assert_int_equal(principals_count(p), 4);
  }
  assert_true(principals_meet(p, STR("a"), STR("x"))->number > a);
}

// ---- what others are told

static const char *const names[] = {"gateway", "direct"};
static const struct challenge full = {.names = names,
                                      .name_count = 2,
                                      .resource = STR("https://gw.example/tools/mcp"),
                                      .issuer = STR("https://id"),
                                      .scopes = scopes,
                                      .scope_count = 2};

static void assert_header_at(const struct challenge *c, const char *path, enum credentials_verdict verdict, int status,
                             const char *want) {
  struct fault why;
  struct buf b;
  fault_set(&why, FAULT_INVALID, "the token has expired");
  buf_init(&b, 4096);
  challenge_put_header(c, str_of(path), verdict, &why, &b);
  buf_char(&b, 0);
  assert_string_equal(b.p, want);
  assert_int_equal(challenge_status(verdict), status);
  buf_done(&b);
}

static void assert_header(const struct challenge *c, enum credentials_verdict verdict, int status, const char *want) {
  assert_header_at(c, "/mcp", verdict, status, want);
}

#define METADATA "resource_metadata=\"https://gw.example/.well-known/oauth-protected-resource/tools/mcp\""

static void a_refusal_says_where_tokens_are_given(void **state) {
  assert_header(&full, CREDENTIALS_MISSING, 401, "WWW-Authenticate: Bearer " METADATA ", scope=\"mcp tools\"\r\n");
  assert_header(&full, CREDENTIALS_WRONG, 401,
                "WWW-Authenticate: Bearer " METADATA
                ", error=\"invalid_token\", error_description=\"the token has expired\", scope=\"mcp tools\"\r\n");
  assert_header(&full, CREDENTIALS_SCOPE, 403,
                "WWW-Authenticate: Bearer " METADATA
                ", error=\"insufficient_scope\", error_description=\"the token has expired\", scope=\"mcp tools\"\r\n");
  assert_header(&full, CREDENTIALS_NO_KEYS, 503, "Retry-After: 5\r\n");
  static const struct challenge none = {0};
  assert_header(&none, CREDENTIALS_MISSING, 401, "WWW-Authenticate: Bearer realm=\"toolgate\"\r\n");
  assert_header(&none, CREDENTIALS_MALFORMED, 400,
                "WWW-Authenticate: Bearer realm=\"toolgate\", error=\"invalid_request\", "
                "error_description=\"the token has expired\"\r\n");
}

static void a_refusal_names_the_metadata_of_the_path_that_was_called(void **state) {
#define BEARER "WWW-Authenticate: Bearer resource_metadata=\"https://gw.example/.well-known/oauth-protected-resource"
  static const char *const cases[][2] = {{"/mcp/direct", "/tools/mcp/direct"},
                                         {"/mcp/gateway", "/tools/mcp/gateway"},
                                         {"/mcp/other", "/tools/mcp"},
                                         {"/mcpdirect", "/tools/mcp"},
                                         {"/sse", "/tools/mcp"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char want[300];
    snprintf(want, sizeof want, BEARER "%s\", scope=\"mcp tools\"\r\n", cases[i][1]);
    assert_header_at(&full, cases[i][0], CREDENTIALS_MISSING, 401, want);
  }
}

static void assert_resource(const struct challenge *c, const char *path, const char *want) {
  str part;
  struct buf b;
  bool there = challenge_is_metadata(c, str_of(path), &part);
  if (there != (want != NULL)) fail_msg("%s", path);
  if (!there) return;
  buf_init(&b, 4096);
  challenge_put_metadata(c, part, &b);
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, buf_view(&b), &json_default_limits, &f);
  if (!json_equals_str(json_get(v, STR("resource")), str_of(want))) fail_msg("%s: %.*s", path, STR_ARG(buf_view(&b)));
  arena_done(&a);
  buf_done(&b);
}

// By RFC 9728 a client refuses metadata whose resource is not the one into whose URL it put the well-known path.
static void metadata_is_that_of_the_path_behind_it(void **state) {
#define AT "/.well-known/oauth-protected-resource"
#define RESOURCE "https://gw.example/tools/mcp"
  static const struct {
    const char *path, *resource;
  } cases[] = {{AT, RESOURCE},
               {AT "/tools/mcp", RESOURCE},
               {AT "/mcp", RESOURCE},
               {AT "/tools/mcp/direct", RESOURCE "/direct"},
               {AT "/mcp/gateway", RESOURCE "/gateway"},
               {AT "/mcp/other", NULL},
               {AT "/mcp/", NULL},
               {AT "/tools", NULL},
               {AT "/", NULL},
               {AT "/other", NULL},
               {AT "x", NULL},
               {"/mcp", NULL}};
  static const struct challenge none = {.names = names, .name_count = 2};
  static const struct challenge bare = {.resource = STR("https://gw.example/"), .names = names, .name_count = 2};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_resource(&full, cases[i].path, cases[i].resource);
    assert_resource(&none, cases[i].path, NULL);
  }
  assert_resource(&bare, AT, "https://gw.example/");
  assert_resource(&bare, AT "/direct", "https://gw.example/direct");
  assert_resource(&bare, AT "/mcp/direct", "https://gw.example/direct");
  struct buf b;
  buf_init(&b, 4096);
  challenge_put_metadata(&full, STR(""), &b);
  buf_char(&b, 0);
  assert_string_equal(b.p, "{\"resource\":\"https://gw.example/tools/mcp\",\"authorization_servers\":[\"https://id\"],"
                           "\"scopes_supported\":[\"mcp\",\"tools\"],\"bearer_methods_supported\":[\"header\"],"
                           "\"resource_name\":\"Toolgate\"}");
  buf_done(&b);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_configured_token_says_who_is_calling),
      TEST(a_workload_token_names_the_workload_of_the_client),
      TEST(workloads_of_one_user_are_different_principals),
      TEST(an_invalid_workload_token_is_refused_even_if_none_is_needed),
      TEST(a_workload_token_does_not_replace_the_credential),
      TEST(a_required_workload_token_must_be_present),
      TEST(without_an_issuer_of_workload_tokens_the_header_has_no_meaning),
      TEST(a_token_of_the_issuer_says_it_too),
      TEST(words_that_run_together_are_kept_apart),
      TEST(a_token_that_was_good_is_not_good_for_ever),
      TEST(an_altered_token_is_refused_after_the_valid_one),
      TEST(every_scope_is_needed),
      TEST(what_is_no_name_of_an_agent_is_none),
      TEST(numbers_outlive_what_is_configured),
      TEST(a_number_is_never_anothers),
      TEST(one_that_is_good_says_who_it_is),
      TEST(one_that_is_not_says_why),
      cmocka_unit_test(a_refusal_says_where_tokens_are_given),
      cmocka_unit_test(a_refusal_names_the_metadata_of_the_path_that_was_called),
      cmocka_unit_test(metadata_is_that_of_the_path_behind_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
