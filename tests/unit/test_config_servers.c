// SPDX-License-Identifier: Apache-2.0
// The servers of a configuration: what an entry may say.
#include "config_folder.h"
#include "upstream/kind.h"

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

static void a_program_is_described_by_command_args_env_and_cwd(void **state) {
  struct place *p = *state;
  load_entry(p, "{\"type\":\"stdio\",\"command\":\"npx\",\"args\":[\"-y\",\"\"],\"env\":{\"A\":\"1\",\"B\":\"\"},"
                "\"cwd\":\"/srv\",\"timeout\":2000,\"startTimeout\":3000,\"toolTimeouts\":{\"slow_*\":9000},"
                "\"resultBudget\":4000,\"toolResultBudgets\":{\"export_*\":8000},"
                "\"isolation\":\"shared\",\"maxInFlight\":8,\"idleTimeout\":60000,\"description\":\"d\"}");
  expect_ok(p);
  const struct upstream_spec *s = &p->config.upstreams[0];
  assert_true(str_eq(s->name, STR("s")));
  assert_ptr_equal(s->kind, &upstream_stdio);
  assert_int_equal(s->isolation, UPSTREAM_ISOLATE_SHARED);
  assert_int_equal(s->max_in_flight, 8);
  assert_true(s->has_idle && s->idle_ms == 60000);
  assert_true(str_eq(s->command, STR("npx")));
  assert_int_equal(s->arg_count, 2);
  assert_true(str_eq(s->args[1], STR("")));
  assert_int_equal(s->env_count, 2);
  assert_true(str_eq(s->env[0].name, STR("A")));
  assert_true(str_eq(s->env[0].value, STR("1")));
  assert_true(str_eq(s->cwd, STR("/srv")));
  assert_int_equal(s->timeout_ms, 2000);
  assert_int_equal(s->start_timeout_ms, 3000);
  assert_int_equal(s->result_tokens, 4000);
  assert_int_equal(s->tool_budget_count, 1);
  assert_true(str_eq(s->tool_budgets[0].tool, STR("export_*")) && s->tool_budgets[0].tokens == 8000);
  assert_int_equal(s->tool_timeout_count, 1);
  assert_true(str_eq(s->tool_timeouts[0].tool, STR("slow_*")) && s->tool_timeouts[0].ms == 9000);
}

static void who_shares_a_connection_is_a_word(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry;
    enum upstream_isolation isolation;
  } cases[] = {
      {"{\"command\":\"x\"}", UPSTREAM_ISOLATE_AGENT},
      {"{\"command\":\"x\",\"isolation\":\"agent\"}", UPSTREAM_ISOLATE_AGENT},
      {"{\"command\":\"x\",\"isolation\":\"auto\"}", UPSTREAM_ISOLATE_AGENT},  // as it was called before
      {"{\"command\":\"x\",\"isolation\":\"session\"}", UPSTREAM_ISOLATE_SESSION},
      {"{\"command\":\"x\",\"isolation\":\"shared\"}", UPSTREAM_ISOLATE_SHARED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    load_entry(p, cases[i].entry);
    expect_ok(p);
    assert_int_equal(p->config.upstreams[0].isolation, cases[i].isolation);
    assert_false(p->config.upstreams[0].has_idle);
    assert_int_equal(p->config.upstreams[0].max_in_flight, 0);
  }
  load_entry(p, "{\"command\":\"x\",\"idleTimeout\":0}");
  expect_ok(p);
  assert_true(p->config.upstreams[0].has_idle && !p->config.upstreams[0].idle_ms);
}

static void a_remote_server_is_described_by_url_and_headers(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry;
    const struct upstream_kind *kind;
  } cases[] = {
      {"{\"url\":\"https://h/mcp\"}", &upstream_http_auto},
      {"{\"url\":\"https://h/mcp\",\"type\":\"http\"}", &upstream_http},
      {"{\"url\":\"https://h/mcp\",\"type\":\"streamable-http\"}", &upstream_http},
      {"{\"url\":\"https://h/mcp\",\"transport\":\"streamableHttp\",\"type\":\"http\"}", &upstream_http},
      {"{\"url\":\"https://h/mcp\",\"transport\":\"sse\",\"headers\":{\"Authorization\":\"Bearer x\"}}", &upstream_sse},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    load_entry(p, cases[i].entry);
    expect_ok(p);
    assert_ptr_equal(p->config.upstreams[0].kind, cases[i].kind);
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
  drops(p, "{\"command\":1}", "/command", "string");
  drops(p, "{\"command\":\"a\\u0000b\"}", "/command", "NUL");
  drops(p, "{\"command\":\"x\",\"args\":\"-y\"}", "/args", "list");
  drops(p, "{\"command\":\"x\",\"args\":[\"a\",2]}", "/args/1", "string");
  drops(p, "{\"command\":\"x\",\"env\":{\"A=B\":\"\"}}", "/env/A=B", "variable");
  drops(p, "{\"command\":\"x\",\"env\":{\"A\\n\":\"\"}}", "/env/A?", "variable");
  drops(p, "{\"command\":\"x\",\"env\":{\"A\":1}}", "/env/A", "string");
  drops(p, "{\"command\":\"x\",\"env\":[]}", "/env", "object");
  drops(p, "{\"command\":\"x\",\"type\":\"http\"}", "", "needs the key \"url\"");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"stdio\"}", "", "needs the key \"command\"");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"http\",\"transport\":\"sse\"}", "/transport", "different");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"websocket\"}", "/type", "one of stdio");
  drops(p, "{\"url\":\"ftp://localhost/\"}", "/url", "URL");
  drops(p, "{\"url\":\"https://user:pw@host/\"}", "/url", "user");
  drops(p, "{\"command\":\"x\",\"timeout\":0}", "/timeout", "milliseconds");
  drops(p, "{\"command\":\"x\",\"timeout\":1.5}", "/timeout", "milliseconds");
  drops(p, "{\"command\":\"x\",\"resultBudget\":10}", "/resultBudget", "tokens, 50 to 1000000");
  drops(p, "{\"command\":\"x\",\"toolResultBudgets\":5}", "/toolResultBudgets", "{\"TOOL\": 2000}");
  drops(p, "{\"command\":\"x\",\"toolResultBudgets\":{\"a*\":\"5\"}}", "/toolResultBudgets/a*", "tokens");
  drops(p, "{\"command\":\"x\",\"toolTimeouts\":5}", "/toolTimeouts", "{\"TOOL\": 60000}");
  drops(p, "{\"command\":\"x\",\"toolTimeouts\":{\"a*\":\"5\"}}", "/toolTimeouts/a*", "milliseconds");
  drops(p, "{\"command\":\"x\",\"isolation\":\"agents\"}", "/isolation", "agent, session, shared");
  drops(p, "{\"command\":\"x\",\"maxInFlight\":0}", "/maxInFlight", "from 1 to 1000000");
  drops(p, "{\"command\":\"x\",\"maxInFlight\":\"8\"}", "/maxInFlight", "from 1 to 1000000");
  drops(p, "{\"command\":\"x\",\"idleTimeout\":-1}", "/idleTimeout", "milliseconds, 0 to 86400000");
  drops(p, "{\"command\":\"x\",\"protocol\":\"2026-07-28\"}", "/protocol", "auto, legacy, modern");
  drops(p, "{\"url\":\"http://localhost/\",\"type\":\"sse\",\"protocol\":\"modern\"}", "", "does not support");
  drops(p, "{\"command\":\"x\",\"disabled\":\"yes\"}", "/disabled", "true or false");
}

static void the_era_of_the_protocol_is_found_out_unless_it_is_named(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry;
    enum upstream_protocol protocol;
  } cases[] = {
      {"{\"command\":\"x\"}", UPSTREAM_PROTOCOL_AUTO},
      {"{\"command\":\"x\",\"protocol\":\"auto\"}", UPSTREAM_PROTOCOL_AUTO},
      {"{\"command\":\"x\",\"protocol\":\"legacy\"}", UPSTREAM_PROTOCOL_HANDSHAKE},
      {"{\"command\":\"x\",\"protocol\":\"modern\"}", UPSTREAM_PROTOCOL_STATELESS},
      {"{\"url\":\"https://h/\",\"type\":\"sse\",\"protocol\":\"legacy\"}", UPSTREAM_PROTOCOL_HANDSHAKE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    load_entry(p, cases[i].entry);
    expect_ok(p);
    assert_int_equal(p->config.upstreams[0].protocol, cases[i].protocol);
  }
}

static void headers_cannot_split_a_request_or_replace_our_own(void **state) {
  struct place *p = *state;
  static const char *const reserved[] = {"host",       "content-length", "Transfer-Encoding",
                                         "connection", "mcp-session-id", "mcp-protocol-version",
                                         "accept",     "Content-Type"};
  char entry[256], pointer[64];
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
    snprintf(entry, sizeof entry, "{\"url\":\"https://h/\",\"headers\":{\"%s\":\"x\"}}", reserved[i]);
    snprintf(pointer, sizeof pointer, "/headers/%s", reserved[i]);
    drops(p, entry, pointer, "cannot be configured");
  }
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\r\\nHost: b\"}}", "/headers/X", "line breaks");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\nb\"}}", "/headers/X", "line breaks");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X\":\"a\\u0000b\"}}", "/headers/X", "NUL");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"X Y\":\"a\"}}", "/headers/X Y", "valid header name");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"\":\"a\"}}", "/headers/", "valid header name");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"x-a\":\"1\",\"X-A\":\"2\"}}", "/headers", "twice");
}

static void when_no_server_is_left_nothing_is_served(void **state) {
  struct place *p = *state;
  assert_false(load_entry(p, "{\"command\":1}"));
  expect(p, false, ".mcp.json", "", "no server can be used");
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

static void variables_may_be_written_as_editors_do(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"A=alpha", (char *)"env=e", NULL};
  write_file(".mcp.json",
             "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"args\":[\"<${env:A}>\",\"${env:C:-d}\",\"${env}\","
             "\"${env:-d}\"]}}}");
  load_with(p, env);
  expect_ok(p);
  const struct upstream_spec *s = &p->config.upstreams[0];
  assert_true(str_eq(s->args[0], STR("<alpha>")));
  assert_true(str_eq(s->args[1], STR("d")));
  assert_true(str_eq(s->args[2], STR("e")));
  assert_true(str_eq(s->args[3], STR("e")));
  load_entry(p, "{\"command\":\"x\",\"args\":[\"${env:}\"]}");
  expect(p, true, ".mcp.json", "/mcpServers/s/args/0", "only ${NAME}");
  drops(p, "{\"command\":\"x\",\"env\":{\"K\":\"${env:NOT_THERE}\"}}", "/env/K", "${NOT_THERE}, which is not set");
}

static void has_secrets(const struct upstream_spec *s, const char *const *want, size_t count) {
  for (size_t i = 0; i < s->secrets.count && i < count; i++)
    if (!str_eq(s->secrets.values[i], str_of(want[i])))
      fail_msg("'%.*s' instead of '%s'", STR_ARG(s->secrets.values[i]), want[i]);
  assert_int_equal(s->secrets.count, count);
}

static void secrets_are_recognised_by_names_variables_and_urls(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"T=from-a-variable", (char *)"HOME=/srv/somebody", (char *)"USER=somebody", NULL};
  write_file(
      ".mcp.json",
      "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"env\":{\"API_KEY\":\"key-of-api\",\"MODE\":\"production\","
      "\"GIT_AUTHOR_NAME\":\"Jane Roe of X\",\"DB\":\"pg://me:pass-of-db@h/x?sslkey=key-of-ssl&a=1234567890\","
      "\"MIXED\":\"<${T}>\",\"WHERE\":\"${HOME}/x\",\"WHO\":\"${USER}\",\"PASSWORD\":\"short\"},"
      "\"args\":[\"--token\",\"token-by-option\",\"--secret=secret-by-option\",\"--header\","
      "\"Authorization: Bearer token-by-header\",\"--verbose-output\"]},"
      "\"t\":{\"url\":\"https://h/?token=token-of-url\",\"headers\":{\"Authorization\":\"Bearer token-of-header\","
      "\"Cookie\":\"a=b; c=d e\",\"X-Team\":\"everybody knows\"}}}}");
  assert_true(load_with(p, env));
  static const char *const of_s[] = {"key-of-api",      "key-of-ssl",       "pass-of-db",     "from-a-variable",
                                     "token-by-option", "secret-by-option", "token-by-header"};
  static const char *const of_t[] = {"token-of-header", "a=b; c=d e", "token-of-url"};
  has_secrets(&p->config.upstreams[0], of_s, 7);
  has_secrets(&p->config.upstreams[1], of_t, 3);
}

static void a_password_in_a_url_ends_at_the_last_at_and_is_known_decoded_too(void **state) {
  struct place *p = *state;
  assert_true(load_entry(p, "{\"command\":\"x\",\"env\":{\"A\":\"postgres://app:s%40cret-pw-99@db/x@y\","
                            "\"B\":\"postgres://app:pa@ssword-99@db\",\"C\":\"https://h/?token=100%25-of-it%2\","
                            "\"D\":\"https://h:8080/someone@example\"}}"));
  static const char *const want[] = {"s%40cret-pw-99", "s@cret-pw-99", "pa@ssword-99", "100%25-of-it%2",
                                     "100%-of-it%2"};
  has_secrets(&p->config.upstreams[0], want, 5);
}

static bool hides(const struct upstream_spec *s, str address) {
  size_t first = s->hidden.count - s->hidden.addresses;
  assert_int_equal(first, s->secrets.count);
  for (size_t i = first; i < s->hidden.count; i++)
    if (str_eq(s->hidden.values[i], address)) return true;
  return false;
}

static void the_address_of_a_server_is_hidden_in_every_spelling(void **state) {
  struct place *p = *state;
  load_entry(p, "{\"url\":\"http://10.0.0.5:8080/mcp?a=b\"}");
  const struct upstream_spec *s = &p->config.upstreams[0];
  static const char *const wanted[] = {"http://10.0.0.5:8080/mcp?a=b", "http://10.0.0.5:8080", "10.0.0.5:8080",
                                       "10.0.0.5 port 8080",           "10.0.0.5%3A8080",      "10.0.0.5"};
  for (size_t i = 0; i < 6; i++) assert_true(hides(s, str_of(wanted[i])));
  assert_int_equal(s->hidden.addresses, 6);
  load_entry(p, "{\"url\":\"https://[fd00::5]/mcp\"}");
  static const char *const v6[] = {"https://[fd00::5]", "https://[fd00::5]:443", "[fd00::5]:443", "fd00::5:443",
                                   "fd00::5"};
  for (size_t i = 0; i < 5; i++) assert_true(hides(s, str_of(v6[i])));
  load_entry(p, "{\"url\":\"http://localhost:8080/mcp\"}");
  static const char *const here[] = {"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "http://127.0.0.1:8080"};
  for (size_t i = 0; i < 4; i++) assert_true(hides(s, str_of(here[i])));
  load_entry(p, "{\"command\":\"x\"}");
  assert_int_equal(s->hidden.count, 0);
}

// Programs print an IP address in its shortest form, however the configuration writes it.
static void an_ip_address_is_hidden_in_its_usual_form_too(void **state) {
  struct place *p = *state;
  static const struct {
    const char *url, *hidden[3];
  } cases[] = {
      {"http://[FD00:0:0:0:0:0:0:5]:8080/", {"fd00::5", "fd00::5:8080", "http://[fd00::5]:8080"}},
      {"http://10.5:8080/", {"10.0.0.5", "10.0.0.5:8080", "http://10.0.0.5:8080"}},
      {"http://0x0a000005:8080/", {"10.0.0.5", "0x0a000005", "10.0.0.5 port 8080"}},
      {"http://[0:0:0:0:0:0:0:1]:8080/", {"::1:8080", "localhost:8080", "127.0.0.1%3A8080"}},
      {"http://127.1:8080/", {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char entry[128];
    snprintf(entry, sizeof entry, "{\"url\":\"%s\"}", cases[i].url);
    load_entry(p, entry);
    for (size_t k = 0; k < 3; k++)
      if (!hides(&p->config.upstreams[0], str_of(cases[i].hidden[k])))
        fail_msg("%s: %s", cases[i].url, cases[i].hidden[k]);
  }
}

static void a_host_alone_is_hidden_if_it_is_internal(void **state) {
  struct place *p = *state;
  static const struct {
    const char *host;
    bool hidden;
  } cases[] = {{"db-7.internal", true}, {"mcp.corp.example.com", true},
               {"files.lan", true},     {"mcp-1", true},
               {"192.0.2.7", true},     {"api.example.com", false},
               {"localhost", false},    {"127.0.0.1", false},
               {"search", false},       {"s", false},
               {"internal.x", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char entry[128];
    snprintf(entry, sizeof entry, "{\"url\":\"http://%s:8080/mcp\"}", cases[i].host);
    load_entry(p, entry);
    if (hides(&p->config.upstreams[0], str_of(cases[i].host)) != cases[i].hidden) fail_msg("%s", cases[i].host);
  }
  write_file(".mcp.json", "{\"mcpServers\":{\"mcp-1\":{\"url\":\"http://mcp-1:8080/\"}}}");
  load(p);
  assert_false(hides(&p->config.upstreams[0], STR("mcp-1")));  // agents know the server by this name
  assert_true(hides(&p->config.upstreams[0], STR("mcp-1:8080")));
}

static void what_an_editor_would_ask_for_is_not_sent_as_it_is(void **state) {
  struct place *p = *state;
  drops(p, "{\"command\":\"x\",\"env\":{\"K\":\"${input:key}\"}}", "/env/K", "${input:...}");
  drops(p, "{\"url\":\"https://h/\",\"headers\":{\"Authorization\":\"Bearer ${input:key}\"}}", "/headers/Authorization",
        "use an environment variable");
}

static void what_belongs_to_another_kind_of_server_has_no_effect(void **state) {
  struct place *p = *state;
  assert_true(load_entry(p, "{\"command\":\"x\",\"headers\":{\"X\":\"y\"}}"));
  expect(p, true, ".mcp.json", "/mcpServers/s/headers", "has no effect on a server with \"command\"");
  assert_true(load_entry(p, "{\"url\":\"https://h/\",\"args\":[\"a\"],\"env\":{\"A\":\"1\"},\"cwd\":\"/d\"}"));
  expect(p, true, ".mcp.json", "/mcpServers/s/args", "has no effect on a server with \"url\"");
  expect(p, true, ".mcp.json", "/mcpServers/s/env", "has no effect");
  expect(p, true, ".mcp.json", "/mcpServers/s/cwd", "has no effect");
  assert_int_equal(p->problems.count, 3);
  load_entry(p, "{\"url\":\"https://h/\",\"args\":[],\"env\":{},\"cwd\":\"\"}");
  expect_ok(p);
  load_entry(p, "{\"command\":\"x\",\"headers\":{}}");
  expect_ok(p);
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
  expect(p, false, "missing.json", "", "No such file or directory (named by --mcp-config)");
}

static void a_file_that_is_missing_is_reported_with_who_named_it(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_MCP_CONFIG=/no/such", NULL};
  assert_false(load_with(p, env));
  expect(p, false, "/no/such", "", "(named by GATEWAY_MCP_CONFIG)");
  assert_false(load_yaml(p, "mcp_config: /no/such"));
  expect(p, false, "/no/such", "", "(named by toolgate.yaml:/mcp_config)");
  p->options.config = "/no/such.yaml";
  assert_false(load(p));
  expect(p, false, "/no/such.yaml", "", "(named by --config)");
}

static void a_key_that_is_almost_right_is_pointed_at(void **state) {
  struct place *p = *state;
  static const char *const wrong[] = {"mcpServer", "mcpservers", "mcp_servers"};
  char text[128], pointer[32];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(text, sizeof text, "{\"inputs\":[],\"%s\":{\"s\":{\"command\":\"x\"}}}", wrong[i]);
    snprintf(pointer, sizeof pointer, "/%s", wrong[i]);
    write_file(".mcp.json", text);
    assert_false(load(p));
    expect(p, false, ".mcp.json", pointer, "did you mean \"mcpServers\"?");
    assert_int_equal(p->problems.count, 1);
  }
  write_file(".mcp.json", "[\"mcpServer\"]");
  assert_false(load(p));
  expect(p, false, ".mcp.json", "", "must be an object with the key \"mcpServers\"");
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
  expect(p, true, p->config.mcp_config.p, "/mcpServers/time", "toolgate.yaml already defines a server with this name");
  refuses(p, "servers: {own: {command: x, argz: []}}", "", "no server can be used");
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
  expect(p, true, ".mcp.json", "/servers/s/gallery", "not a known key");
  expect(p, true, ".mcp.json", "/servers/s/alwaysAllow", "is ignored");
  expect(p, true, ".mcp.json", "/servers/s/autoApprove", "is ignored");
  assert_int_equal(p->problems.count, 4);
  assert_true(str_eq(p->config.upstreams[0].off_tools[0], STR("t")));
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
  expect(p, true, ".mcp.json", "/mcpServers/s/url", "X-Api-Key is sent unencrypted");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(a_program_is_described_by_command_args_env_and_cwd),
      IN_A_FOLDER(who_shares_a_connection_is_a_word),
      IN_A_FOLDER(a_remote_server_is_described_by_url_and_headers),
      IN_A_FOLDER(a_wrong_entry_leaves_out_that_server_only),
      IN_A_FOLDER(the_era_of_the_protocol_is_found_out_unless_it_is_named),
      IN_A_FOLDER(headers_cannot_split_a_request_or_replace_our_own),
      IN_A_FOLDER(when_no_server_is_left_nothing_is_served),
      IN_A_FOLDER(variables_are_expanded_in_values),
      IN_A_FOLDER(variables_may_be_written_as_editors_do),
      IN_A_FOLDER(secrets_are_recognised_by_names_variables_and_urls),
      IN_A_FOLDER(the_address_of_a_server_is_hidden_in_every_spelling),
      IN_A_FOLDER(an_ip_address_is_hidden_in_its_usual_form_too),
      IN_A_FOLDER(a_host_alone_is_hidden_if_it_is_internal),
      IN_A_FOLDER(a_password_in_a_url_ends_at_the_last_at_and_is_known_decoded_too),
      IN_A_FOLDER(what_an_editor_would_ask_for_is_not_sent_as_it_is),
      IN_A_FOLDER(what_belongs_to_another_kind_of_server_has_no_effect),
      IN_A_FOLDER(a_value_is_not_expanded_past_the_limit_of_an_argument),
      IN_A_FOLDER(relative_paths_start_at_the_folder_of_the_file),
      IN_A_FOLDER(the_file_with_servers_can_be_named_in_three_ways),
      IN_A_FOLDER(a_file_that_is_missing_is_reported_with_who_named_it),
      IN_A_FOLDER(a_key_that_is_almost_right_is_pointed_at),
      IN_A_FOLDER(servers_inline_and_in_a_named_file_are_served_together),
      IN_A_FOLDER(what_clients_write_for_themselves_does_no_harm),
      IN_A_FOLDER(a_server_that_is_switched_off_is_not_looked_at),
      IN_A_FOLDER(names_are_short_and_differ),
      IN_A_FOLDER(names_have_no_control_characters),
      IN_A_FOLDER(credentials_over_plain_http_are_a_warning),
      IN_A_FOLDER(doubtful_timeouts_are_a_warning),
      IN_A_FOLDER(servers_and_arguments_are_limited_in_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
