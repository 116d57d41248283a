// SPDX-License-Identifier: Apache-2.0
// What `serve` would only find out when it begins: `check` says it before. And what is said of files that cannot be
// read.
#include "app/check/check.h"
#include "config_folder.h"

#define SERVER "servers: {s: {command: cat}}\n"
#define KEY "3f9a1c07d2e85b64"
#define SECRET KEY KEY

// As `check` reads it.
static bool check_yaml(struct place *p, const char *yaml) {
  p->options.strict = true;
  return load_yaml(p, yaml);
}

static void check_refuses(struct place *p, const char *yaml, const char *pointer, const char *part) {
  if (check_yaml(p, yaml)) fail_msg("accepted: %s", yaml);
  expect(p, false, "toolgate.yaml", pointer, part);
}

static void check_warns(struct place *p, const char *yaml, const char *pointer, const char *part) {
  if (!check_yaml(p, yaml)) print_problems(p);
  assert_true(p->ok);
  expect(p, true, "toolgate.yaml", pointer, part);
}

static void check_accepts(struct place *p, const char *yaml) {
  check_yaml(p, yaml);
  expect_ok(p);
}

// ---- audit

static void the_key_of_the_audit_log_must_be_one(void **state) {
  struct place *p = *state;
  const char *yaml = SERVER "audit: {file: audit.log, key_file: key}";
  write_file("key", "fifteen bytes..\n");
  check_refuses(p, yaml, "/audit/key_file", "key cannot be used: the key has fewer than 16 bytes");
  refuses(p, yaml, "/audit/key_file", "the key has fewer than 16 bytes");
  write_file("key", KEY "\n");
  check_accepts(p, yaml);
  assert_true(str_eq(p->config.audit_secret, STR(KEY)));
  assert_int_equal(chmod("key", 0644), 0);
  check_warns(p, yaml, "/audit/key_file", "every user of this machine can read");
  assert_int_equal(chmod("key", 0620), 0);
  check_warns(p, yaml, "/audit/key_file", "can replace the key");
  unlink("key");
  assert_int_equal(mkfifo("key", 0600), 0);
  check_refuses(p, yaml, "/audit/key_file", "fewer than 16 bytes");
}

static void the_key_of_a_new_audit_log_is_created(void **state) {
  struct place *p = *state;
  const char *yaml = SERVER "audit: {file: audit.log, key_file: key}";
  struct stat st;
  check_warns(p, yaml, "/audit/key_file", "toolgate serve creates it");
  assert_int_not_equal(access("key", F_OK), 0);  // check writes nothing
  p->options.strict = false;
  assert_true(load_yaml(p, yaml));
  assert_int_not_equal(access("key", F_OK), 0);  // nor does a command that writes no line
  p->options.audits = true;
  assert_true(load_yaml(p, yaml));
  expect(p, true, "toolgate.yaml", "/audit/key_file", "created");
  assert_int_equal(p->config.audit_secret.n, 64);
  assert_int_equal(stat("key", &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_true(load_yaml(p, yaml));
  expect_ok(p);
  // With a log, a key that is missing was lost.
  write_file("audit.log", "");
  unlink("key");
  refuses(p, yaml, "/audit/key_file", "restore the key, or create a new one with (umask 077; openssl rand -hex 32 > ");
  assert_int_not_equal(access("key", F_OK), 0);
}

static void an_audit_log_that_cannot_be_opened_is_told_before(void **state) {
  struct place *p = *state;
  check_accepts(p, SERVER "audit: {file: new/folders/audit.log, on_failure: deny}");
  assert_int_not_equal(access("new", F_OK), 0);
  check_accepts(p, SERVER "audit: {file: audit.log, on_failure: deny}");
  assert_int_not_equal(access("audit.log", F_OK), 0);
  write_file("file", "");
  check_refuses(p, SERVER "audit: {file: file/audit.log, on_failure: deny}", "/audit/file",
                "file/audit.log cannot be opened: Not a directory; audit.on_failure is deny");
  check_warns(p, SERVER "audit: {file: file/audit.log}", "/audit/file", "Not a directory; nothing is logged until");
  assert_int_equal(mkdir("folder", 0700), 0);
  check_refuses(p, SERVER "audit: {file: folder, on_failure: deny}", "/audit/file", "folder cannot be opened: Is a");
  assert_int_equal(symlink("file", "link"), 0);
  check_refuses(p, SERVER "audit: {file: link, on_failure: deny}", "/audit/file", "link cannot be opened: ");
  assert_int_equal(mkdir("audit.log.head", 0700), 0);
  check_refuses(p, SERVER "audit: {file: audit.log, on_failure: deny}", "/audit/file", "audit.log.head cannot be");
}

// ---- the others

static void traces_go_to_a_url(void **state) {
  struct place *p = *state;
  refuses(p, SERVER "traces: {endpoint: collector}", "/traces/endpoint", "must be the http or https URL");
  refuses(p, SERVER "traces: {endpoint: 'grpc://h:4317'}", "/traces/endpoint",
          "such as http://127.0.0.1:4318/v1/traces");
  check_accepts(p, SERVER "traces: {endpoint: 'https://h/v1/traces'}");
}

static void readiness_and_clients_have_an_address_each(void **state) {
  struct place *p = *state;
  static const char *const same[][2] = {
      {"127.0.0.1", "127.0.0.1:7"}, {"127.0.0.1", "localhost:7"}, {"localhost", ":7"}, {"127.0.0.1", "0.0.0.0:7"},
      {"'::1'", "[::1]:7"},         {"'::1'", "[0::1]:7"},        {"'::1'", "[::]:7"}, {"127.0.0.1", "[::]:7"},
  };
  char yaml[512];
  p->options.insecure_bind = true;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    snprintf(yaml, sizeof yaml, SERVER "transport: http\nport: 7\nhost: %s\nadmin: {listen: \"%s\"}", same[i][0],
             same[i][1]);
    refuses(p, yaml, "/admin/listen", "choose another port");
  }
  check_accepts(p, SERVER "transport: http\nport: 7\nadmin: {listen: ':8'}");
  check_accepts(p, SERVER "transport: http\nport: 0\nadmin: {listen: ':0'}");
  check_accepts(p, SERVER "transport: http\nport: 7\nadmin: {listen: '[::1]:7'}");
  check_accepts(p, SERVER "transport: stdio\nport: 7\nadmin: {listen: ':7'}");
}

static void names_are_not_listened_on(void **state) {
  struct place *p = *state;
  p->options.insecure_bind = true;
  refuses(p, SERVER "transport: http\nhost: gate.example", "/host", "gate.example is not an IP address or localhost");
  refuses(p, SERVER "admin: {listen: 'gate.example:7'}", "/admin/listen", "gate.example is not an IP address");
  check_accepts(p, SERVER "transport: http\nhost: localhost");
  check_accepts(p, SERVER "host: gate.example");  // nobody listens
}

static void one_agent_keeps_no_more_than_all(void **state) {
  struct place *p = *state;
  refuses(p, SERVER "artifacts: {max_bytes: 2MiB, max_owner_bytes: 3MiB}", "/artifacts/max_owner_bytes",
          "is more than artifacts.max_bytes");
  refuses(p, SERVER "artifacts: {max_owner_bytes: 2GiB}", "/artifacts/max_owner_bytes", "is more than");
  check_accepts(p, SERVER "artifacts: {max_bytes: 2MiB}");  // the default follows
  assert_int_equal(p->config.kept.kind_bytes, store_default_limits.kind_bytes);
  assert_int_equal(p->config.kept.piece_owner_bytes, 2 << 20);
}

static void an_issuer_that_is_no_url_is_told(void **state) {
  struct place *p = *state;
  check_warns(p, SERVER "transport: http\nauth: {jwt: {issuer: us, secret: " SECRET "}}", "/auth/jwt/issuer",
              "is not a URL: clients without a token do not learn where to get one");
  check_accepts(p, SERVER "transport: http\nauth: {jwt: {issuer: 'https://id.example', secret: " SECRET "}}");
}

static void a_file_with_a_secret_is_for_its_owner(void **state) {
  struct place *p = *state;
  const char *yaml = SERVER "transport: http\nauth: {jwt: {issuer: 'https://id.example', key_file: keys.json}}";
  write_file("keys.json",
             "\xef\xbb\xbf{\"keys\":[{\"kty\":\"oct\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}");
  check_accepts(p, yaml);
  assert_int_equal(chmod("keys.json", 0644), 0);
  assert_true(check_yaml(p, yaml));
  expect(p, true, p->problems.list[0].file.p, "", "holds a secret, and every user of this machine can read it");
  write_file(
      "keys.json",
      "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}");
  assert_int_equal(chmod("keys.json", 0644), 0);
  check_accepts(p, yaml);  // public keys are for everybody
}

static void a_token_without_an_agent_is_told_when_rules_want_one(void **state) {
  struct place *p = *state;
  const char *yaml = SERVER "transport: http\nauth: {tokens: [" TOKEN "]}";
  check_accepts(p, yaml);
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"a\":{}}}");
  check_warns(p, yaml, "/auth/tokens/0", "is bound to no agent, and the rules set deny_on_missing_agent");
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"a\":{}},\"defaults\":{\"deny_on_missing_agent\":false}}");
  check_accepts(p, yaml);
}

// ---- what is shown

static char *shown(struct place *p, bool json) {
  char *const env[] = {(char *)"SECRET=" SECRET, NULL};
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  p->options = (struct config_options){0};
  check_run(&p->options, json, env, f);
  fclose(f);
  assert_non_null(text);
  return text;
}

static void has(const char *text, const char *part) {
  assert_non_null(text);
  if (!strstr(text, part)) fail_msg("no '%s' in: %s", part, text);
}

static void check_shows_issuer_audit_readiness_and_traces(void **state) {
  struct place *p = *state;
  write_file("key", KEY);
  write_file("toolgate.yaml",
             SERVER "transport: http\n"
                    "auth: {jwt: {issuer: 'https://id.example', secret: '${SECRET}', scopes: [mcp, tools]}}\n"
                    "audit: {file: audit.log, key_file: key, on_failure: deny}\n"
                    "admin: {listen: '127.0.0.1:9464', token_sha256: " SECRET SECRET "}\n"
                    "traces: {endpoint: 'http://127.0.0.1:4318/v1/traces?key=hidden', sample: 0.25}\n");
  char *text = shown(p, false);
  has(text, "\nissuer: https://id.example; a secret; HS256; audience (the URL of the listener); agent in the claim "
            "agent; scopes mcp, tools\n");
  has(text, "/audit.log, signed; if it cannot be written, requests are refused\n");
  has(text, "\nreadiness and metrics: 127.0.0.1 port 9464, with a token\n");
  has(text, "\ntraces: http://127.0.0.1:4318/v1/traces?***, 25.0 % of the traces that start here\n");
  assert_null(strstr(text, KEY));
  assert_null(strstr(text, "hidden"));
  free(text);
  text = shown(p, true);
  has(text, "\"jwt\":{\"issuer\":\"https://id.example\",\"agent_claim\":\"agent\",\"keys\":\"secret\","
            "\"algorithms\":[\"HS256\"],\"scopes\":[\"mcp\",\"tools\"]}");
  has(text, "/audit.log\",\"on_failure\":\"deny\",\"signed\":true,\"arguments\":false}");
  has(text, "\"admin\":{\"host\":\"127.0.0.1\",\"port\":9464,"
            "\"token\":true,\"operator_token\":false,\"allowed_hosts\":[]}");
  has(text, "\"traces\":{\"endpoint\":\"http://127.0.0.1:4318/v1/traces?***\",\"sample_permille\":250}");
  assert_null(strstr(text, KEY));
  free(text);
}

static void check_shows_where_the_keys_of_an_issuer_are(void **state) {
  struct place *p = *state;
  write_file("toolgate.yaml", SERVER "transport: http\nauth: {resource: 'https://gate.example/mcp', jwt: {issuer: "
                                     "'https://id.example', jwks_url: 'https://id.example/keys?k=hidden'}}\n");
  char *text = shown(p, false);
  has(text, "\nissuer: https://id.example; keys from https://id.example/keys?***; RS256, ES256, EdDSA; audience "
            "https://gate.example/mcp; agent in the claim agent\n");
  free(text);
}

// ---- files that cannot be read

static void the_error_of_a_file_says_what_was_probably_meant(void **state) {
  struct place *p = *state;
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"{\n  /* mine\n}", "line 2, column 3: expected a key in quotes, not '/'; this comment does not end"},
      {"# mine\n{}", "line 1, column 1: expected a value, not '#'; JSON comments start with //, not with #"},
      {"{\"\xc3\xa4\": [1,,]}", "line 1, column 10: expected a value, not ','"},
      {"{'mcpServers': {}}", "line 1, column 2: expected a key in quotes, not '''; JSON strings need double quotes"},
      {"{mcpServers: {}}", "line 1, column 2: expected a key in quotes, not 'm'; JSON keys need double"},
      {"{\"a\": 1\n \"b\": 2}", "line 2, column 2: expected ',' or '}', not '\"'; a comma may be missing"},
      {"\xff\xfe{", "this is UTF-16: save it as UTF-8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file(".mcp.json", cases[i].text);
    assert_false(load(p));
    expect(p, false, ".mcp.json", "", cases[i].said);
  }
  unlink(".mcp.json");
  refuses(p, "log:\n\tlevel: info\n", "", "line 2, column 1: ");
  refuses(p, "log:\n\tlevel: info\n", "", "; this is a tab: indent YAML with spaces");
  refuses(p, "log:\n  level: info\n\tx: 1\n", "", "; this is a tab: indent YAML with spaces");
  refuses(p, "catalog: a: b\n", "", "; a string with \": \" in it needs quotes");
  refuses(p, "catalog: @x\n", "", "; a string that starts with this character needs quotes");
}

static void json_may_have_comments_and_trailing_commas(void **state) {
  struct place *p = *state;
  write_file(".mcp.json",
             "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"cat\", /* no */ \"args\": [\"//x\",],},},\n}");
  assert_true(load(p));
  assert_int_equal(p->config.upstream_count, 1);
  assert_true(str_eq(p->config.upstreams[0].args[0], STR("//x")));
  unlink(".mcp.json");
}

static void what_is_only_wrong_gets_no_hint(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\" {}}");
  load(p);
  assert_true(str_ends(p->problems.list[0].message, STR("expected ':' after a key, not '{'")));
  write_file(".mcp.json", "{\"mcpServers\": {}");
  load(p);
  assert_true(str_ends(p->problems.list[0].message, STR("expected ',' or '}', but the text ends")));
}

static void a_byte_order_mark_means_nothing(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "\xef\xbb\xbf" TIME);
  write_file("toolgate.json", "\xef\xbb\xbf{\"mode\":\"direct\"}");
  write_file(".mcp-gateway-rules.json", "\xef\xbb\xbf{\"agents\":{\"a\":{}}}");
  load(p);
  expect_ok(p);
  assert_int_equal(p->config.mode, MODE_DIRECT);
  assert_non_null(p->config.policy);
  unlink("toolgate.json");
  load_yaml(p, "\xef\xbb\xbfmode: direct");
  expect_ok(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(the_key_of_the_audit_log_must_be_one),
      IN_A_FOLDER(the_key_of_a_new_audit_log_is_created),
      IN_A_FOLDER(an_audit_log_that_cannot_be_opened_is_told_before),
      IN_A_FOLDER(traces_go_to_a_url),
      IN_A_FOLDER(readiness_and_clients_have_an_address_each),
      IN_A_FOLDER(names_are_not_listened_on),
      IN_A_FOLDER(one_agent_keeps_no_more_than_all),
      IN_A_FOLDER(an_issuer_that_is_no_url_is_told),
      IN_A_FOLDER(a_file_with_a_secret_is_for_its_owner),
      IN_A_FOLDER(a_token_without_an_agent_is_told_when_rules_want_one),
      IN_A_FOLDER(check_shows_issuer_audit_readiness_and_traces),
      IN_A_FOLDER(check_shows_where_the_keys_of_an_issuer_are),
      IN_A_FOLDER(the_error_of_a_file_says_what_was_probably_meant),
      IN_A_FOLDER(json_may_have_comments_and_trailing_commas),
      IN_A_FOLDER(what_is_only_wrong_gets_no_hint),
      IN_A_FOLDER(a_byte_order_mark_means_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
