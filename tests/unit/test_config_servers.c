// SPDX-License-Identifier: Apache-2.0
// The servers of a configuration: what an entry may say, and what `check` shows of it.
#include "app/check.h"
#include "config_folder.h"
#include "json/json.h"

// A .mcp.json with this entry leaves out that server and keeps the other one.
static void drops(struct place *p, const char *entry, const char *pointer, const char *part) {
  char text[2048], at[128];
  snprintf(text, sizeof text, "{\"mcpServers\":{\"bad\":%s,\"good\":{\"command\":\"x\"}}}", entry);
  snprintf(at, sizeof at, "/mcpServers/bad%s", pointer);
  write_file(".mcp.json", text);
  p->options.strict = false;
  if (!load(p)) {
    print_problems(p);
    fail_msg("fatal: %s", entry);
  }
  expect(p, true, ".mcp.json", at, part);
  expect(p, true, ".mcp.json", "/mcpServers/bad", "left out");
  assert_int_equal(p->config.upstream_count, 1);
  assert_true(str_eq(p->config.upstreams[0].name, STR("good")));
  p->options.strict = true;
  assert_false(load(p));
  expect(p, false, ".mcp.json", at, part);
  p->options.strict = false;
}

static bool load_entry(struct place *p, const char *entry) {
  char text[4096];
  snprintf(text, sizeof text, "{\"mcpServers\":{\"s\":%s}}", entry);
  write_file(".mcp.json", text);
  return load(p);
}

static void a_program_is_described_by_command_args_env_and_cwd(void **state) {
  struct place *p = *state;
  load_entry(p, "{\"type\":\"stdio\",\"command\":\"npx\",\"args\":[\"-y\",\"\"],\"env\":{\"A\":\"1\",\"B\":\"\"},"
                "\"cwd\":\"/srv\",\"timeout\":2000,\"startTimeout\":3000,\"isolation\":\"shared\","
                "\"description\":\"d\"}");
  expect_ok(p);
  const struct upstream_spec *s = &p->config.upstreams[0];
  assert_true(str_eq(s->name, STR("s")));
  assert_int_equal(s->transport, UPSTREAM_STDIO);
  assert_int_equal(s->isolation, UPSTREAM_ISOLATE_SHARED);
  assert_true(str_eq(s->command, STR("npx")));
  assert_int_equal(s->arg_count, 2);
  assert_true(str_eq(s->args[1], STR("")));
  assert_int_equal(s->env_count, 2);
  assert_true(str_eq(s->env[0].name, STR("A")));
  assert_true(str_eq(s->env[0].value, STR("1")));
  assert_true(str_eq(s->cwd, STR("/srv")));
  assert_int_equal(s->timeout_ms, 2000);
  assert_int_equal(s->start_timeout_ms, 3000);
}

static void a_remote_server_is_described_by_url_and_headers(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry;
    enum upstream_transport transport;
  } cases[] = {
      {"{\"url\":\"https://h/mcp\"}", UPSTREAM_HTTP_AUTO},
      {"{\"url\":\"https://h/mcp\",\"type\":\"http\"}", UPSTREAM_HTTP},
      {"{\"url\":\"https://h/mcp\",\"type\":\"streamable-http\"}", UPSTREAM_HTTP},
      {"{\"url\":\"https://h/mcp\",\"transport\":\"streamableHttp\",\"type\":\"http\"}", UPSTREAM_HTTP},
      {"{\"url\":\"https://h/mcp\",\"transport\":\"sse\",\"headers\":{\"Authorization\":\"Bearer x\"}}", UPSTREAM_SSE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    load_entry(p, cases[i].entry);
    expect_ok(p);
    assert_int_equal(p->config.upstreams[0].transport, cases[i].transport);
    assert_true(str_eq(p->config.upstreams[0].url, STR("https://h/mcp")));
  }
  assert_int_equal(p->config.upstreams[0].header_count, 1);
  assert_true(str_eq(p->config.upstreams[0].headers[0].value, STR("Bearer x")));
}

static void a_wrong_entry_leaves_out_that_server_only(void **state) {
  struct place *p = *state;
  drops(p, "1", "", "must be an object");
  drops(p, "{}", "", "needs \"command\"");
  drops(p, "{\"command\":\"x\",\"url\":\"http://localhost/\"}", "", "both");
  drops(p, "{\"command\":\"\"}", "/command", "empty");
  drops(p, "{\"command\":1}", "/command", "text");
  drops(p, "{\"command\":\"a\\u0000b\"}", "/command", "NUL");
  drops(p, "{\"command\":\"x\",\"args\":\"-y\"}", "/args", "list");
  drops(p, "{\"command\":\"x\",\"args\":[\"a\",2]}", "/args/1", "text");
  drops(p, "{\"command\":\"x\",\"env\":{\"A=B\":\"\"}}", "/env/A=B", "variable");
  drops(p, "{\"command\":\"x\",\"env\":{\"A\\n\":\"\"}}", "/env/A?", "variable");
  drops(p, "{\"command\":\"x\",\"env\":{\"A\":1}}", "/env/A", "text");
  drops(p, "{\"command\":\"x\",\"env\":[]}", "/env", "object");
  drops(p, "{\"command\":\"x\",\"type\":\"http\"}", "", "needs \"url\"");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"stdio\"}", "", "needs \"command\"");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"http\",\"transport\":\"sse\"}", "/transport", "disagree");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"websocket\"}", "/type", "one of stdio");
  drops(p, "{\"url\":\"ftp://localhost/\"}", "/url", "URL");
  drops(p, "{\"url\":\"https://user:pw@host/\"}", "/url", "user");
  drops(p, "{\"command\":\"x\",\"timeout\":0}", "/timeout", "milliseconds");
  drops(p, "{\"command\":\"x\",\"timeout\":1.5}", "/timeout", "milliseconds");
  drops(p, "{\"command\":\"x\",\"isolation\":\"agent\"}", "/isolation", "auto, session, shared");
  drops(p, "{\"command\":\"x\",\"disabled\":\"yes\"}", "/disabled", "true or false");
}

static void headers_cannot_split_a_request_or_replace_our_own(void **state) {
  struct place *p = *state;
  static const char *const reserved[] = {"host",           "content-length",       "Transfer-Encoding", "connection",
                                         "mcp-session-id", "mcp-protocol-version", "accept",            "Content-Type"};
  char entry[256], pointer[64];
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
    snprintf(entry, sizeof entry, "{\"url\":\"https://h/\",\"headers\":{\"%s\":\"x\"}}", reserved[i]);
    snprintf(pointer, sizeof pointer, "/headers/%s", reserved[i]);
    drops(p, entry, pointer, "cannot be set");
  }
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\r\\nHost: b\"}}", "/headers/X", "line breaks");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\nb\"}}", "/headers/X", "line breaks");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\u0000b\"}}", "/headers/X", "NUL");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X Y\":\"a\"}}", "/headers/X Y", "name of a header");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"\":\"a\"}}", "/headers/", "name of a header");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"x-a\":\"1\",\"X-A\":\"2\"}}", "/headers", "twice");
}

static void when_no_server_is_left_nothing_is_served(void **state) {
  struct place *p = *state;
  assert_false(load_entry(p, "{\"command\":1}"));
  expect(p, false, ".mcp.json", "", "no server is left");
  write_file(".mcp.json", "{\"mcpServers\":{}}");
  assert_true(load(p));
  expect(p, true, ".mcp.json", "", "no server is configured");
}

static void variables_are_expanded_in_values(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"A=alpha", (char *)"B=", (char *)"AB=no", NULL};
  write_file(".mcp.json",
             "{\"mcpServers\":{\"s\":{\"command\":\"${A}\",\"args\":[\"<${A}${B}>\",\"${C:-x y}\",\"${B:-d}\","
             "\"${C:-}\","
             "\"$A $$ ${} ${A\",\"${A:-z}\",\"${C:-${A}}\"],\"env\":{\"${A}\":\"${A}\"},\"cwd\":\"/${A}\"},"
             "\"t\":{\"url\":\"https://${A}/\",\"headers\":{\"K\":\"${A}\"}}}}");
  assert_true(load_with(p, env));
  const struct upstream_spec *s = &p->config.upstreams[0], *t = &p->config.upstreams[1];
  assert_true(str_eq(s->command, STR("alpha")));
  assert_true(str_eq(s->args[0], STR("<alpha>")));
  assert_true(str_eq(s->args[1], STR("x y")));
  assert_true(str_eq(s->args[2], STR("d")));
  assert_true(str_eq(s->args[3], STR("")));
  assert_true(str_eq(s->args[4], STR("$A $$ ${} ${A")));
  assert_true(str_eq(s->args[5], STR("alpha")));
  expect(p, true, ".mcp.json", "/mcpServers/s/args/6", "only ${NAME} and ${NAME:-default}");
  assert_true(str_eq(s->env[0].name, STR("${A}")));
  assert_true(str_eq(s->env[0].value, STR("alpha")));
  assert_true(str_eq(s->cwd, STR("/alpha")));
  assert_true(str_eq(t->url, STR("https://alpha/")));
  assert_true(str_eq(t->headers[0].value, STR("alpha")));
  expect(p, true, ".mcp.json", "/mcpServers/s/args/4", "only ${NAME} and ${NAME:-default}");
  drops(p, "{\"command\":\"x\",\"env\":{\"K\":\"${NOT_THERE}\"}}", "/env/K", "${NOT_THERE}, which is not set");
}

static void a_value_is_not_expanded_past_the_limit_of_an_argument(void **state) {
  struct place *p = *state;
  char *large = mem_zero(70001);
  memset(large, 'x', 70000);
  memcpy(large, "A=", 2);
  char *const env[] = {large, NULL};
  write_file(".mcp.json", "{\"mcpServers\":{\"s\":{\"command\":\"${A}${A}\"},\"t\":{\"command\":\"${A}\"}}}");
  assert_true(load_with(p, env));
  expect(p, true, ".mcp.json", "/mcpServers/s/command", "too long");
  assert_int_equal(p->config.upstreams[0].command.n, 69998);
  mem_free(large);
}

static void relative_paths_start_at_the_folder_of_the_file(void **state) {
  struct place *p = *state;
  char want[128], *real = realpath(".", NULL);
  assert_int_equal(mkdir("sub", 0700), 0);
  write_file("sub/mcp.json", "{\"mcpServers\":{\"s\":{\"command\":\"./bin/x\",\"cwd\":\"data\"},"
                             "\"t\":{\"command\":\"plain\",\"cwd\":\"~/d\"}}}");
  p->options.mcp_config = "sub/mcp.json";
  char *const env[] = {(char *)"HOME=/h", NULL};
  load_with(p, env);
  expect_ok(p);
  snprintf(want, sizeof want, "%s/sub/./bin/x", real);
  assert_true(str_eq(p->config.upstreams[0].command, str_of(want)));
  snprintf(want, sizeof want, "%s/sub/data", real);
  assert_true(str_eq(p->config.upstreams[0].cwd, str_of(want)));
  assert_true(str_eq(p->config.upstreams[1].command, STR("plain")));
  assert_true(str_eq(p->config.upstreams[1].cwd, STR("/h/d")));
  free(real);
}

static void the_file_with_servers_can_be_named_in_three_ways(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_MCP_CONFIG=env.json", NULL};
  assert_int_equal(mkdir("etc", 0700), 0);
  write_file("option.json", TIME);
  write_file("env.json", TIME);
  write_file("etc/key.json", TIME);
  write_file("etc/t.yaml", "mcp_config: key.json");
  p->options = (struct config_options){.mcp_config = "option.json", .config = "etc/t.yaml"};
  load_with(p, env);
  expect_ok(p);
  assert_true(str_eq(p->config.mcp_config, STR("option.json")));
  p->options.mcp_config = NULL;
  load_with(p, env);
  assert_true(str_eq(p->config.mcp_config, STR("env.json")));
  load(p);
  expect_ok(p);
  assert_true(str_ends(p->config.mcp_config, STR("/etc/key.json")));
  write_file(".mcp.json", TIME);
  p->options.mcp_config = "missing.json";
  assert_false(load(p));
  expect(p, false, "missing.json", "", "No such file");
}

static void servers_inline_and_in_a_named_file_are_served_together(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  load_yaml(p, "servers: {own: {command: x}}");
  expect_ok(p);
  assert_int_equal(p->config.upstream_count, 1);
  load_yaml(p, "mcp_config: .mcp.json\nservers: {own: {command: x}}");
  expect_ok(p);
  assert_int_equal(p->config.upstream_count, 2);
  assert_true(load_yaml(p, "mcp_config: .mcp.json\nservers: {time: {command: x}}"));
  assert_int_equal(p->config.upstream_count, 1);
  assert_true(str_eq(p->config.upstreams[0].command, STR("x")));
  refuses(p, "servers: {own: {command: x, argz: []}}", "", "no server is left");
  expect(p, true, "toolgate.yaml", "/servers/own/argz", "did you mean \"args\"?");
}

static void what_clients_write_for_themselves_does_no_harm(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"$schema\":\"x\",\"inputs\":[],"
                          "\"servers\":{\"s\":{\"command\":\"x\",\"description\":\"d\","
                          "\"gallery\":true,\"disabledTools\":[\"t\"],\"alwaysAllow\":[],\"autoApprove\":[]}}}");
  assert_true(load(p));
  assert_int_equal(p->config.upstream_count, 1);
  expect(p, true, ".mcp.json", "/inputs", "ignored");
  expect(p, true, ".mcp.json", "/servers/s/gallery", "no known key");
  expect(p, true, ".mcp.json", "/servers/s/disabledTools", "not applied");
  expect(p, true, ".mcp.json", "/servers/s/alwaysAllow", "not applied");
  expect(p, true, ".mcp.json", "/servers/s/autoApprove", "not applied");
  assert_int_equal(p->problems.count, 5);
  write_file(".mcp.json", "{\"inputs\":[]}");
  assert_false(load(p));
  expect(p, false, ".mcp.json", "", "mcpServers");
}

static void a_server_that_is_switched_off_is_not_looked_at(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{\"disabled\":true,\"command\":\"${UNSET}\"},"
                          "\"b\":{\"enabled\":false},\"c\":{\"command\":\"x\",\"disabled\":false,\"enabled\":true}}}");
  load(p);
  expect_ok(p);
  assert_int_equal(p->config.upstream_count, 1);
  assert_true(str_eq(p->config.upstreams[0].name, STR("c")));
}

static void names_are_short_and_differ(void **state) {
  struct place *p = *state;
  char text[512], name[72], pointer[96];
  write_file(".mcp.json", "{\"mcpServers\":{\"My Server\":{\"command\":\"x\"},\"my_server\":{\"command\":\"x\"},"
                          "\"my-server\":{\"command\":\"x\"}}}");
  assert_true(load(p));
  assert_int_equal(p->config.upstream_count, 3);
  assert_int_equal(p->problems.count, 1);
  expect(p, true, ".mcp.json", "/mcpServers/my_server", "My Server");
  for (size_t n = 64; n <= 65; n++) {
    memset(name, 'n', n);
    name[n] = 0;
    snprintf(text, sizeof text,
             "{\"mcpServers\":{\"%s\":{\"command\":\"x\"},\"\":{\"command\":\"x\"},\"k\":{\"command\":\"x\"}}}", name);
    snprintf(pointer, sizeof pointer, "/mcpServers/%s", name);
    write_file(".mcp.json", text);
    assert_true(load(p));
    expect(p, true, ".mcp.json", "/mcpServers/", "1 to 64 characters");
    assert_int_equal(p->config.upstream_count, n == 64 ? 2 : 1);
    assert_int_equal(reported(p, true, ".mcp.json", pointer, "1 to 64 characters"), n == 65);
  }
}

static void names_have_no_control_characters(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\\u001b\":{\"command\":\"x\"},\"b\":{\"command\":\"x\"}}}");
  assert_true(load(p));
  expect(p, true, ".mcp.json", "/mcpServers/a?", "control characters");
  assert_int_equal(p->config.upstream_count, 1);
}

static void credentials_over_plain_http_are_a_warning(void **state) {
  struct place *p = *state;
  load_entry(p, "{\"url\":\"http://far.example/\",\"headers\":{\"X-Api-Key\":\"k\"}}");
  assert_true(p->ok);
  expect(p, true, ".mcp.json", "/mcpServers/s/url", "X-Api-Key travels unencrypted");
  load_entry(p, "{\"url\":\"http://127.0.0.1/\",\"headers\":{\"Authorization\":\"k\"}}");
  expect_ok(p);
  load_entry(p, "{\"url\":\"http://far.example/\",\"headers\":{\"X-Trace\":\"k\"}}");
  expect_ok(p);
}

static void doubtful_timeouts_are_a_warning(void **state) {
  struct place *p = *state;
  assert_true(load_entry(p, "{\"command\":\"x\",\"timeout\":60}"));
  expect(p, true, ".mcp.json", "/mcpServers/s/timeout", "milliseconds");
  assert_true(load_entry(p, "{\"command\":\"x\",\"timeout\":900000}"));
  expect(p, true, ".mcp.json", "/mcpServers/s/timeout", "request_max (600 s)");
  load_yaml(p, "timeouts: {request_max: 900}");
  expect_ok(p);
}

static void servers_and_arguments_are_limited_in_number(void **state) {
  struct place *p = *state;
  struct buf b;
  buf_init(&b, 1 << 20);
  for (int n = CONFIG_MAX_SERVERS; n <= CONFIG_MAX_SERVERS + 1; n++) {
    buf_reset(&b);
    buf_str(&b, STR("{\"mcpServers\":{"));
    for (int i = 0; i < n; i++) buf_printf(&b, "%s\"s%d\":{\"command\":\"x\"}", i ? "," : "", i);
    buf_str(&b, STR("}}"));
    buf_char(&b, 0);
    write_file(".mcp.json", b.p);
    assert_int_equal(load(p), n == CONFIG_MAX_SERVERS);
  }
  expect(p, false, ".mcp.json", "/mcpServers", "more than 256");
  buf_reset(&b);
  buf_str(&b, STR("{\"command\":\"x\",\"args\":[\"\""));
  for (int i = 0; i < CONFIG_MAX_ARGS; i++) buf_str(&b, STR(",\"\""));
  buf_str(&b, STR("]}"));
  buf_char(&b, 0);
  drops(p, b.p, "/args", "at most 256");
  buf_done(&b);
}

// ---- for people ----

static void what_is_shown_has_no_secrets(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry, *shown;
  } cases[] = {
      {"{\"command\":\"npx\",\"args\":[\"-y\",\"@scope/server-x\",\"/srv/data\"]}", "npx -y @scope/server-x /srv/data"},
      {"{\"command\":\"x\",\"args\":[\"--key\",\"abc\",\"next\"]}", "x --key *** next"},
      {"{\"command\":\"x\",\"args\":[\"--api-token=abc\",\"--dir=abc\"]}", "x --api-token=*** --dir=abc"},
      {"{\"command\":\"x\",\"args\":[\"--header\",\"Authorization: Bearer abc\"]}", "x --header ***"},
      {"{\"command\":\"x\",\"args\":[\"-H\",\"X-Api-Key: abc\"]}", "x -H X-Api-Key:***"},
      {"{\"command\":\"x\",\"args\":[\"postgres://me:pw@h/db?p=1\"]}", "x postgres://***@h/db?***"},
      {"{\"command\":\"x\",\"args\":[\"sk-abcdefghijklmnop1234\"]}", "x ***"},
      {"{\"command\":\"${HOME}/x\",\"args\":[\"${HOME}\"]}", "${HOME}/x ${HOME}"},
      {"{\"command\":\"x\",\"args\":[\"a\\u001b[2Jb\"]}", "x a?[2Jb"},
      {"{\"url\":\"https://h/a/mcp?key=1\"}", "https://h/a/mcp?***"},
      {"{\"url\":\"https://h/s/0123456789abcdef0123/mcp\"}", "https://h/s/***/mcp"},
      {"{\"url\":\"https://${HOME}/mcp?k=v\"}", "https://${HOME}/mcp?***"},
  };
  char *const env[] = {(char *)"HOME=h", NULL};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    load_entry(p, cases[i].entry);
    assert_true(load_with(p, env));
    str shown = p->config.upstreams[0].shown;
    if (!str_eq(shown, str_of(cases[i].shown))) fail_msg("%.*s, not %s", STR_ARG(shown), cases[i].shown);
  }
}

// Runs `check` and gives its output, for the caller to free.
static char *run_check(struct place *p, bool json, int want) {
  char *const env[] = {(char *)"SECRET=hidden-from-view", NULL};
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  int code = check_run(&p->options, json, env, f);
  fclose(f);
  if (code != want) fail_msg("exit code %d: %s", code, text);
  return text;
}

static void check_lists_problems_and_servers_without_secrets(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{"
                          "\"s\":{\"command\":\"x\",\"args\":[\"${SECRET}\"],\"env\":{\"K\":\"${SECRET}\"}},"
                          "\"t\":{\"url\":\"http://far.example/\",\"headers\":{\"Authorization\":\"${SECRET}\"}}}}");
  char *text = run_check(p, false, 0);
  assert_non_null(strstr(text, ".mcp.json:/mcpServers/t/url: warning: the header Authorization"));
  assert_non_null(strstr(text, "  s (stdio): x ${SECRET}; variables K\n"));
  assert_non_null(strstr(text, "  t (auto): http://far.example/; headers Authorization\n"));
  assert_non_null(strstr(text, "every caller of the loopback or authenticated endpoint may use everything"));
  assert_non_null(strstr(text, "ok: 0 errors, 1 warning\n"));
  assert_null(strstr(text, "hidden"));
  free(text);
}

static void check_says_how_agents_and_servers_connect(void **state) {
  struct place *p = *state;
  write_file("toolgate.yaml", "transport: http\nport: 9\nauth: {tokens: [" TOKEN "]}\n"
                              "servers:\n  a: {url: 'https://a/', type: http, headers: {X: y}}\n"
                              "  b: {url: 'https://b/', type: sse}\n");
  char *text = run_check(p, false, 0);
  assert_non_null(strstr(text, "agents: direct mode on http, 127.0.0.1 port 9, 1 token\n"));
  assert_non_null(strstr(text, "  a (http): https://a/; headers X\n  b (sse): https://b/\n"));
  free(text);
  text = run_check(p, true, 0);
  assert_non_null(strstr(text, "\"transport\":\"http\",\"url\":\"https://a/\",\"headers\":[\"X\"]}"));
  assert_null(strstr(text, TOKEN));
  free(text);
}

static void check_fails_when_one_entry_is_wrong(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{},\"b\":{\"command\":\"x\"}}}");
  char *text = run_check(p, false, 1);
  assert_non_null(strstr(text, ".mcp.json:/mcpServers/a: needs \"command\""));
  assert_non_null(strstr(text, "not usable: 1 error, 0 warnings\n"));
  free(text);
}

static void check_writes_json_for_machines(void **state) {
  struct place *p = *state;
  struct arena a;
  struct fault f;
  arena_init(&a);
  write_file(".mcp.json", TIME);
  write_file("toolgate.yaml", "transport: http\nport: 9");
  char *text = run_check(p, true, 0);
  struct json *v = json_parse(&a, (str){text, strlen(text)}, &json_default_limits, &f);
  assert_non_null(v);
  assert_true(json_is(json_get(v, STR("ok")), JSON_TRUE));
  assert_true(json_equals_str(json_get(v, STR("transport")), STR("http")));
  struct json *server = json_at(json_get(v, STR("servers")), 0);
  assert_true(json_equals_str(json_get(server, STR("command")), STR("uvx mcp-server-time")));
  free(text);
  write_file("toolgate.yaml", "prot: 9");
  text = run_check(p, true, 1);
  v = json_parse(&a, (str){text, strlen(text)}, &json_default_limits, &f);
  struct json *problem = json_at(json_get(v, STR("problems")), 0);
  assert_true(json_is(json_get(v, STR("ok")), JSON_FALSE));
  assert_true(json_equals_str(json_get(problem, STR("pointer")), STR("/prot")));
  assert_true(json_equals_str(json_get(problem, STR("level")), STR("error")));
  free(text);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(a_program_is_described_by_command_args_env_and_cwd),
      IN_A_FOLDER(a_remote_server_is_described_by_url_and_headers),
      IN_A_FOLDER(a_wrong_entry_leaves_out_that_server_only),
      IN_A_FOLDER(headers_cannot_split_a_request_or_replace_our_own),
      IN_A_FOLDER(when_no_server_is_left_nothing_is_served),
      IN_A_FOLDER(variables_are_expanded_in_values),
      IN_A_FOLDER(a_value_is_not_expanded_past_the_limit_of_an_argument),
      IN_A_FOLDER(relative_paths_start_at_the_folder_of_the_file),
      IN_A_FOLDER(the_file_with_servers_can_be_named_in_three_ways),
      IN_A_FOLDER(servers_inline_and_in_a_named_file_are_served_together),
      IN_A_FOLDER(what_clients_write_for_themselves_does_no_harm),
      IN_A_FOLDER(a_server_that_is_switched_off_is_not_looked_at),
      IN_A_FOLDER(names_are_short_and_differ),
      IN_A_FOLDER(names_have_no_control_characters),
      IN_A_FOLDER(credentials_over_plain_http_are_a_warning),
      IN_A_FOLDER(doubtful_timeouts_are_a_warning),
      IN_A_FOLDER(servers_and_arguments_are_limited_in_number),
      IN_A_FOLDER(what_is_shown_has_no_secrets),
      IN_A_FOLDER(check_lists_problems_and_servers_without_secrets),
      IN_A_FOLDER(check_says_how_agents_and_servers_connect),
      IN_A_FOLDER(check_fails_when_one_entry_is_wrong),
      IN_A_FOLDER(check_writes_json_for_machines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
