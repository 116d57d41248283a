// SPDX-License-Identifier: Apache-2.0
// The configuration: what is read from where, which values are refused, tokens and addresses.
#include "config_folder.h"

// ---- where it comes from ----

static void a_folder_with_only_a_mcp_json_is_enough(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  load(p);
  expect_ok(p);
  const struct config *c = &p->config;
  assert_int_equal(c->transport, CONFIG_STDIO);
  assert_true(str_eq(c->host, STR("127.0.0.1")));
  assert_int_equal(c->port, 8811);
  assert_false(c->lazy);
  assert_int_equal(c->prefix, CONFIG_PREFIX_AUTO);
  assert_int_equal(c->log_level, LOG_INFO);
  assert_int_equal(c->start_timeout_ms, 30000);
  assert_int_equal(c->start_wait_ms, 3000);
  assert_int_equal(c->request_timeout_ms, 60000);
  assert_int_equal(c->request_max_ms, 600000);
  assert_int_equal(c->session_idle_ms, 1800000);
  assert_int_equal(c->session_away_ms, 300000);
  assert_int_equal(c->drain_ms, 10000);
  assert_int_equal(c->keepalive_ms, 15000);
  assert_int_equal(c->max_request, 4 << 20);
  assert_int_equal(c->max_message, 64 << 20);
  assert_int_equal(c->max_head, 16 << 10);
  assert_int_equal(c->max_connections, 4096);
  assert_int_equal(c->max_sessions, 10000);
  assert_int_equal(c->principal_sessions, 0);
  assert_int_equal(c->max_values, 65536);
  assert_int_equal(c->max_held, 512 << 20);
  assert_int_equal(c->principal_held, 128 << 20);
  assert_int_equal(c->session_held, 64 << 20);
  assert_int_equal(c->controls.principal.in_flight, 2048);
  assert_int_equal(c->controls.principal.requests, 0);  // without credentials
  assert_int_equal(c->max_in_flight, 1024);
  assert_int_equal(c->max_own_lanes, 64);
  assert_int_equal(c->page_size, 500);
  assert_int_equal(c->upstream_count, 1);
  assert_true(str_eq(c->upstreams[0].command, STR("cat")));
  assert_true(str_eq(c->upstreams[0].args[0], STR("mcp-server-time")));
  assert_true(str_eq(c->mcp_config, STR(".mcp.json")));
  assert_int_equal(c->config_file.n, 0);
}

static void without_any_servers_it_says_where_it_looked_and_what_to_write(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"HOME=/nowhere", NULL};
  assert_false(load_with(p, env));
  assert_int_equal(p->problems.count, 1);
  assert_null(strstr(p->problems.list[0].message.p, "/nowhere"));
  expect(p, false, ".mcp.json", "", "{\"mcpServers\": {");
  expect(p, false, ".mcp.json", "", "toolgate.yaml");
}

static void the_home_folder_is_the_last_place_for_servers(void **state) {
  struct place *p = *state;
  char home[64];
  snprintf(home, sizeof home, "HOME=%s", p->folder);
  char *const env[] = {home, NULL};
  assert_int_equal(mkdir(".erasmus", 0700) | mkdir(".erasmus/mcp", 0700), 0);
  write_file(".erasmus/mcp/config.json", TIME);
  load_with(p, env);
  expect_ok(p);
  assert_true(str_ends(p->config.mcp_config, STR("/.erasmus/mcp/config.json")));
  write_file(".mcp.json", TIME);
  load_with(p, env);
  assert_true(str_eq(p->config.mcp_config, STR(".mcp.json")));
}

static void every_key_can_be_set_in_the_file(void **state) {
  struct place *p = *state;
  load_yaml(p, "mode: direct\ntransport: http\nhost: ::1\nport: 0\ninit_strategy: lazy\n"
               "direct: {prefix: always}\nallowed_hosts: [gate.example, 10.0.0.1]\nlog: {level: \"off\"}\n"
               "timeouts: {start: 0.25, start_wait: 0, request: 1, request_max: 7.5, session_idle: 60, "
               "session_away: 7, drain: 0.0019, keepalive: 5}\n"
               "limits: {request: 1024, message: 1GiB, head: 32 KiB, connections: 1, sessions: 2, in_flight: 3, "
               "own_connections: 4, page_size: 0}\n"
               "servers:\n  time: {command: uvx}\n");
  expect_ok(p);
  const struct config *c = &p->config;
  assert_int_equal(c->transport, CONFIG_HTTP);
  assert_true(str_eq(c->host, STR("::1")));
  assert_int_equal(c->port, 0);
  assert_true(c->lazy);
  assert_int_equal(c->prefix, CONFIG_PREFIX_ALWAYS);
  assert_int_equal(c->allowed_hosts.count, 2);
  assert_true(str_eq(c->allowed_hosts.names[1], STR("10.0.0.1")));
  assert_int_equal(c->log_level, LOG_OFF);
  assert_int_equal(c->start_timeout_ms, 250);
  assert_int_equal(c->start_wait_ms, 0);
  assert_int_equal(c->request_max_ms, 7500);
  assert_int_equal(c->session_away_ms, 7000);
  assert_int_equal(c->drain_ms, 1);
  assert_int_equal(c->max_request, 1024);
  assert_int_equal(c->max_message, 1 << 30);
  assert_int_equal(c->max_head, 32 << 10);
  assert_int_equal(c->max_connections, 1);
  assert_int_equal(c->max_in_flight, 3);
  assert_int_equal(c->max_own_lanes, 4);
  assert_int_equal(c->page_size, 0);
  assert_int_equal(c->upstream_count, 1);
  assert_int_equal(c->mcp_config.n, 0);
}

static void yaml_comes_before_yml_before_json(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  write_file("toolgate.json", "{\"port\": 3}");
  load(p);
  assert_int_equal(p->config.port, 3);
  write_file("toolgate.yml", "port: 2");
  load(p);
  assert_int_equal(p->config.port, 2);
  load_yaml(p, "port: 1");
  assert_int_equal(p->config.port, 1);
  write_file("other.yaml", "port: 4");
  p->options.config = "other.yaml";
  load(p);
  assert_int_equal(p->config.port, 4);
  p->options.config = "missing.yaml";
  assert_false(load(p));
  expect(p, false, "missing.yaml", "", "No such file");
}

static void an_empty_file_and_empty_groups_say_nothing(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  load_yaml(p, "");
  expect_ok(p);
  load_yaml(p, "timeouts:\n  # start: 5\nlimits:\n");
  expect_ok(p);
}

static void the_command_line_overrides_the_environment_which_overrides_the_file(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_TRANSPORT=stdio", (char *)"GATEWAY_INIT_STRATEGY=lazy",
                       (char *)"GATEWAY_DEBUG=true", NULL};
  write_file(".mcp.json", TIME);
  load_yaml(p, "transport: http\ninit_strategy: eager\nlog: {level: warn}\n");
  assert_int_equal(p->config.transport, CONFIG_HTTP);
  assert_int_equal(p->config.log_level, LOG_WARN);
  load_with(p, env);
  expect_ok(p);
  assert_int_equal(p->config.transport, CONFIG_STDIO);
  assert_true(p->config.lazy);
  assert_int_equal(p->config.log_level, LOG_DEBUG);
  p->options = (struct config_options){.transport = "sse", .log_level = "error", .mode = "direct"};
  load_with(p, env);
  expect_ok(p);
  assert_int_equal(p->config.transport, CONFIG_HTTP);
  assert_int_equal(p->config.log_level, LOG_ERROR);
}

static void wrong_values_outside_of_files_have_a_place_too(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_TRANSPORT=htpp", (char *)"GATEWAY_DEBUG=perhaps", NULL};
  write_file(".mcp.json", TIME);
  p->options = (struct config_options){.mode = "server", .log_level = "loud"};
  assert_false(load_with(p, env));
  expect(p, false, "environment", "GATEWAY_TRANSPORT", "did you mean \"http\"?");
  expect(p, false, "environment", "GATEWAY_DEBUG", "true or false");
  expect(p, false, "command line", "--mode", "did you mean \"servers\"?");
  expect(p, false, "command line", "--log-level", "must be one of debug, info");
}

static void the_audit_log_is_named_by_the_file_or_the_environment(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_AUDIT_LOG=/var/log/a.jsonl", NULL};
  write_file(".mcp.json", TIME);
  write_file("toolgate.yaml", "audit: {file: a.jsonl, on_failure: deny, max_bytes: 1MiB, keep: 3, arguments: true}");
  load(p);
  expect_ok(p);
  assert_true(str_ends(p->config.audit_file, STR("/a.jsonl")) && p->config.audit_file.p[0] == '/');
  assert_true(p->config.audit_required && p->config.audit_arguments);
  assert_int_equal(p->config.audit_bytes, 1 << 20);
  assert_int_equal(p->config.audit_keep, 3);
  load_with(p, env);
  assert_true(str_eq(p->config.audit_file, STR("/var/log/a.jsonl")));
  refuses(p, "audit: {on_failure: deny}", "/audit", "needs the key audit.file");
  refuses(p, "audit: {file: a, on_failure: ignore}", "/audit/on_failure", "must be one of continue, deny, allow");
  p->options.audits = true;
  refuses(p, "audit: {file: a, key_file: /proc/no/key}", "/audit/key_file", "cannot be created: No such file");
}

static void rules_are_read_with_the_agents_that_are_configured(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_DEFAULT_AGENT=dev", NULL};
  char *const other[] = {(char *)"GATEWAY_DEFAULT_AGENT=ghost", NULL};
  write_file(".mcp.json", TIME);
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"dev\":{\"allow\":{\"servers\":[\"time\",\"gone\"]}}}}");
  assert_true(load_with(p, env));
  assert_non_null(p->config.policy);
  assert_true(str_eq(p->config.default_agent, STR("dev")));
  expect(p, true, ".mcp-gateway-rules.json", "/agents/dev/allow/servers/1", "there is no server \"gone\"");
  assert_true(load_with(p, other));
  expect(p, true, "environment", "GATEWAY_DEFAULT_AGENT", "the rules do not name the agent \"ghost\"");
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"dev\":{\"deny\":{\"server\":[]}}}}");
  assert_false(load_with(p, env));
  expect(p, false, ".mcp-gateway-rules.json", "/agents/dev/deny/server", "is an unknown key");
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void an_agent_needs_rules(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"GATEWAY_DEFAULT_AGENT=dev", NULL};
  write_file(".mcp.json", TIME);
  assert_true(load_with(p, env));
  expect(p, true, "environment", "GATEWAY_DEFAULT_AGENT", "there are no rules");
  p->options.agent = "dev";
  assert_false(load(p));
  expect(p, false, "command line", "--agent", "needs rules: there is no .mcp-gateway-rules.json");
  p->options.agent = NULL;
  assert_true(load_yaml(p, "auth: {tokens: [{sha256: " DIGEST ", agent: dev}]}"));
  expect(p, true, "toolgate.yaml", "/auth/tokens/0/agent", "a client with this token may use everything");
}

static void the_controls_of_calls_are_read(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  load_yaml(p, "tolerant_args: true\n"
               "retry: {max_attempts: 3, base_delay: 0.5, max_delay: 2, jitter: 0.25, retryable_codes: [RATE_LIMITED], "
               "unsafe: false}\n"
               "cache: {read_only: true, ttl: 1.5, max_entries: 2, max_bytes: 1MiB, allow: [\"a:*\", \"b:c@1\"]}\n"
               "rate_limits:\n"
               "  tool_execute: {max_calls_per_minute: 60, max_calls_per_session: 1000}\n"
               "  tools: {\"github:create_issue@1.4.0\": {max_calls_per_minute: 5}}\n");
  expect_ok(p);
  const struct controls *c = &p->config.controls;
  assert_true(c->tolerant_args && c->cache && !c->retry.unsafe);
  assert_int_equal(c->retry.max_attempts, 3);
  assert_int_equal(c->retry.base_ms, 500);
  assert_int_equal(c->retry.max_ms, 2000);
  assert_int_equal(c->retry.jitter_permille, 250);
  assert_true(c->retry.codes == retry_bit(FAULT_RATE_LIMITED));
  assert_int_equal(c->cache_limits.ttl_ms, 1500);
  assert_int_equal(c->cache_limits.max_entries, 2);
  assert_int_equal(c->cache_limits.max_bytes, 1 << 20);
  assert_int_equal(c->cache_allow_count, 2);
  assert_int_equal(c->rule_count, 2);
  assert_true(str_eq(c->rules[0].name, STR("tool_execute")) && !c->rules[0].tools);
  assert_int_equal(c->rules[0].per_minute, 60);
  assert_int_equal(c->rules[0].per_session, 1000);
  assert_true(str_eq(c->rules[1].name, STR("github:create_issue@1.4.0")) && c->rules[1].tools);
  assert_int_equal(c->rules[1].per_session, 0);
}

static void the_controls_of_calls_are_off_by_default(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  load_yaml(p, "");
  expect_ok(p);
  const struct controls *c = &p->config.controls;
  assert_true(!c->tolerant_args && !c->cache && !c->rule_count && c->retry.max_attempts == 1);
  assert_int_equal(c->retry.base_ms, 100);
  assert_true(c->retry.codes == (retry_bit(FAULT_UPSTREAM_TIMEOUT) | retry_bit(FAULT_UPSTREAM_UNAVAILABLE)));
}

static void a_principal_is_limited_by_the_minute_where_there_are_credentials(void **state) {
  struct place *p = *state;
  const struct allowance_limits *limits = &p->config.controls.principal;
  write_file(".mcp.json", TIME);
  load_yaml(p, "auth: {tokens: [{sha256: " DIGEST "}]}");
  expect_ok(p);
  assert_int_equal(limits->in_flight, 2048);
  assert_int_equal(limits->requests, 60000);
  assert_int_equal(limits->bytes, 1 << 30);
  assert_int_equal(limits->tokens, 250000000);
  load_yaml(p, "rate_limits: {principal: {max_bytes_per_minute: 5MiB}}");
  expect_ok(p);
  assert_int_equal(limits->in_flight, 2048);
  assert_int_equal(limits->requests, 0);
  assert_int_equal(limits->bytes, 5 << 20);
  assert_int_equal(limits->tokens, 0);
}

static void what_is_wrong_with_the_controls_is_said_with_its_place(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "retry: {jitter: 1.5}", "/retry/jitter", "must be a number, 0 to 1");
  refuses(p, "retry: {max_attempts: 0}", "/retry/max_attempts", "must be a whole number, 1 to 100");
  refuses(p, "retry: {retryable_codes: [UPSTREAM_TIMEOUT, UPSTREAM_TIMEOT]}", "/retry/retryable_codes/1",
          "did you mean \"UPSTREAM_TIMEOUT\"?");
  refuses(p, "retry: {retryable_codes: UPSTREAM_TIMEOUT}", "/retry/retryable_codes", "must be a list");
  refuses(p, "cache: {allow: [7]}", "/cache/allow/0", "must be a tool_id");
  refuses(p, "cache: {allow: [\"a:b\"]}", "/cache/allow/0", "is not a valid tool_id");
  refuses(p, "cache: {max_byte: 1MiB}", "/cache/max_byte", "did you mean \"max_bytes\"?");
  refuses(p, "rate_limits: {tool_exec: {max_calls_per_minute: 1}}", "/rate_limits/tool_exec", "is not a known key");
  refuses(p, "rate_limits: {tools: {\"x:*\": {max_per_minute: 3}}}", "/rate_limits/tools/x:*/max_per_minute",
          "use max_calls_per_minute or max_calls_per_session");
  refuses(p, "rate_limits: {tool_browze: {max_calls_per_minute: 1}}", "/rate_limits/tool_browze",
          "did you mean \"tool_browse\"?");
  refuses(p, "rate_limits: {tool_view: {max_calls_per_minute: 0}}", "/rate_limits/tool_view/max_calls_per_minute",
          "must be a whole number, 1 to");
  refuses(p, "rate_limits: {tool_view: {max_calls_per_minut: 1}}", "/rate_limits/tool_view/max_calls_per_minut",
          "did you mean \"max_calls_per_minute\"?");
  refuses(p, "rate_limits: {tool_view: {}}", "/rate_limits/tool_view", "must have max_calls_per_minute");
  refuses(p, "rate_limits: {tool_view: 5}", "/rate_limits/tool_view", "must be an object");
  refuses(p, "rate_limits: {tools: {\"a:b@1\": 5}}", "/rate_limits/tools/a:b@1", "must be an object");
  refuses(p, "rate_limits: {tools: {nonsense: {max_calls_per_minute: 5}}}", "/rate_limits/tools/nonsense",
          "is not a valid tool_id");
}

static void what_could_be_meant_is_said(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "mode: directt", "/mode", "must be one of gateway, transparent, direct");
  refuses(p, "mode: gatewy", "/mode", "must be one of gateway, transparent, direct");
  refuses(p, "transport: htp", "/transport", "must be one of stdio, http, sse; did you mean \"http\"?");
}

static void listen_takes_a_host_and_a_port_and_means_http(void **state) {
  struct place *p = *state;
  static const struct {
    const char *listen, *host;
    unsigned port;
  } good[] = {{"127.0.0.1:9000", "127.0.0.1", 9000},
              {"[::1]:0", "::1", 0},
              {":7", "127.0.0.1", 7},
              {"localhost:65535", "localhost", 65535}};
  static const char *const bad[] = {"9000", "::1:80", "localhost:", "localhost:65536", "a b:1", "[::1]", "host:-1"};
  write_file(".mcp.json", TIME);
  write_file("toolgate.yaml", "transport: stdio\nport: 1\nhost: 127.0.0.2\n");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    p->options.listen = good[i].listen;
    load(p);
    expect_ok(p);
    assert_int_equal(p->config.transport, CONFIG_HTTP);
    assert_true(str_eq(p->config.host, str_of(good[i].host)));
    assert_int_equal(p->config.port, good[i].port);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    p->options.listen = bad[i];
    if (load(p)) fail_msg("accepted: %s", bad[i]);
    expect(p, false, "command line", "--listen", "must be");
  }
  p->options = (struct config_options){.listen = ":1", .transport = "stdio"};
  assert_false(load(p));
  expect(p, false, "command line", "--listen", "--transport stdio");
}

// ---- keys ----

static void an_unknown_key_is_an_error_with_a_suggestion(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "trasnport: http", "/trasnport", "did you mean \"transport\"?");
  refuses(p, "timeouts: {requst: 3}", "/timeouts/requst", "did you mean \"request\"?");
  refuses(p, "initStrategy: lazy", "/initStrategy", "did you mean \"init_strategy\"?");
  refuses(p, "rate_limits: {tool_exec: {max_calls_per_minute: 1}}", "/rate_limits/tool_exec",
          "did you mean \"tool_execute\"?");
  refuses(p, "rate_limits: {tool_execute: {per_minute: 1}}", "/rate_limits/tool_execute/per_minute",
          "did you mean \"max_calls_per_minute\"?");
  refuses(p, "retry: {retryable_codes: [TOO_BAD]}", "/retry/retryable_codes/0", "use UPSTREAM_TIMEOUT, ");
  refuses(p, "a/b~c: 1", "/a~1b~0c", "not a known key");
  refuses(p, "timeouts.start: 1", "/timeouts.start", "nested key, timeouts: {start: ...}");
  refuses(p, "nothing.start: 1", "/nothing.start", "not a known key");
  refuses(p, "entirely_else: 1", "/entirely_else", "not a known key");
  assert_null(memmem(p->problems.list[0].message.p, p->problems.list[0].message.n, "mean", 4));
}

static void wrong_types_and_values_out_of_range_are_errors(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "port: 65536", "/port", "a whole number, 0 to 65535");
  refuses(p, "port: -1", "/port", "whole number");
  refuses(p, "port: '80'", "/port", "whole number");
  refuses(p, "port: 80.5", "/port", "whole number");
  refuses(p, "transport: true", "/transport", "one of stdio, http, sse");
  refuses(p, "host: ''", "/host", "address");
  refuses(p, "host: http://x", "/host", "address");
  refuses(p, "host: \"127.0.0.1\\0x\"", "/host", "address");
  refuses(p, "mcp_config: ''", "/mcp_config", "must be a string");
  refuses(p, "timeouts: {start: 0.05}", "/timeouts/start", "0.1 to 3600");
  refuses(p, "timeouts: {start: 1e1}", "/timeouts/start", "seconds");
  refuses(p, "timeouts: {start: 0.1234567891e1}", "/timeouts/start", "seconds");
  refuses(p, "timeouts: {start: soon}", "/timeouts/start", "seconds");
  refuses(p, "timeouts: 5", "/timeouts", "object");
  refuses(p, "limits: {head: 2MiB}", "/limits/head", "1 KiB to 1 MiB");
  refuses(p, "limits: {head: 2MB}", "/limits/head", "4MiB");
  refuses(p, "limits: {message: 99999999999999999999GiB}", "/limits/message", "bytes");
  refuses(p, "allowed_hosts: x", "/allowed_hosts", "list");
  refuses(p, "allowed_hosts: [a.b, 'http://c']", "/allowed_hosts/1", "host name");
  refuses(p, "- a", "", "object");
  refuses(p, "timeouts: {request: 700}", "/timeouts/request", "request_max");
}

static void all_problems_are_reported_at_once(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\": 1}");
  refuses(p, "port: x\nnothing: 1\nlog: {level: x}\n", "/port", "");
  expect(p, false, "toolgate.yaml", "/nothing", "");
  expect(p, false, "toolgate.yaml", "/log/level", "");
  expect(p, false, ".mcp.json", "/mcpServers", "object");
  assert_int_equal(p->problems.count, 4);
}

static void mistakes_in_the_text_have_a_line(void **state) {
  struct place *p = *state;
  refuses(p, "port: 1\nport: 2\n", "", "line 2, column 1: the key \"port\" is defined twice");
  assert_int_equal(p->problems.count, 1);
  unlink("toolgate.yaml");
  write_file(".mcp.json", "{\n  \"mcpServers\": {},,\n}");
  assert_false(load(p));
  expect(p, false, ".mcp.json", "", "line 2, column");
  write_file("toolgate.json", "{\"port\": 1, \"port\": 2}");
  assert_false(load(p));
  expect(p, false, "toolgate.json", "", "line 1, column");
}

static void a_file_of_more_than_a_mebibyte_is_not_read(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "");
  assert_int_equal(truncate(".mcp.json", (1 << 20) + 1), 0);
  assert_false(load(p));
  expect(p, false, ".mcp.json", "", "larger than 1 MiB");
}

static void control_characters_do_not_reach_a_terminal(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "\"a\\e[2J\\x9b\": 1", "/a?[2J??", "not a known key");
}

// ---- tokens and the address ----

static void tokens_are_stored_as_their_sha256(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"T=" TOKEN, NULL};
  unsigned char want[SHA256_SIZE];
  char yaml[256], hex[2 * SHA256_SIZE + 1];
  hash_sha256(STR(TOKEN), want);
  hash_hex(want, sizeof want, hex);
  snprintf(yaml, sizeof yaml, "auth: {tokens: ['%s', '${T}', {sha256: %s}, \"\\x30%s\"]}", TOKEN, hex, &TOKEN[1]);
  write_file("toolgate.yaml", yaml);
  write_file(".mcp.json", TIME);
  load_with(p, env);
  expect_ok(p);
  assert_int_equal(p->config.token_count, 4);
  for (size_t i = 0; i < 4; i++) assert_memory_equal(p->config.tokens[i].sha256, want, sizeof want);
}

static void a_token_file_without_tokens_locks_every_http_client_out(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  write_file("tokens.json", "{\"tokens\":[]}");
  assert_true(load_yaml(p, "transport: http\nauth: {token_file: tokens.json}\n"));
  assert_true(str_ends(p->problems.list[0].file, STR("/tokens.json")) && p->problems.list[0].warning);
  assert_true(str_eq(p->problems.list[0].pointer, STR("/tokens")));
  assert_true(load_yaml(p, "transport: http\nauth: {token_file: tokens.json, tokens: [" TOKEN "]}\n"));
  assert_int_equal(p->problems.count, 0);
  assert_true(load_yaml(p, "transport: stdio\nauth: {token_file: tokens.json}\n"));
  assert_int_equal(p->problems.count, 0);
}

static void weak_and_unusable_tokens_are_refused(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  refuses(p, "auth: {tokens: [short]}", "/auth/tokens/0", "weak secret");
  refuses(p, "auth: {tokens: [aaaaaaaaaaaaaaaa]}", "/auth/tokens/0", "toolgate token new");
  refuses(p, "auth: {tokens: [changemechangeme]}", "/auth/tokens/0", "toolgate token new");
  refuses(p, "auth: {jwt: {issuer: us, secret: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}", "/auth/jwt/secret",
          "weak secret");
  refuses(p, "auth: {tokens: ['${UNSET}']}", "/auth/tokens/0", "${UNSET}, which is not set");
  refuses(p, "auth: {tokens: ['${UNSET:-}']}", "/auth/tokens/0", "weak secret");
  refuses(p, "auth: {tokens: ['${input:gateway-token}']}", "/auth/tokens/0", "unknown form of ${...}");
  refuses(p, "auth: {tokens: ['with blanks in the token']}", "/auth/tokens/0", "without blanks");
  refuses(p, "auth: {tokens: [12345678901234567890]}", "/auth/tokens/0", "must be a string");
  refuses(p, "auth: {tokens: [{sha256: '${UNSET}'}]}", "/auth/tokens/0/sha256", "${UNSET}");
  refuses(p, "auth: {tokens: [{sha256: abc}]}", "/auth/tokens/0/sha256", "64 hexadecimal digits");
  refuses(p, "auth: {tokens: [{sha256: abc, named: x}]}", "/auth/tokens/0", "an object with \"sha256\"");
  refuses(p, "auth: {tokens: " TOKEN "}", "/auth/tokens", "list");
  refuses(p, "auth: {token: " TOKEN "}", "/auth/token", "did you mean \"tokens\"?");
}

#define USERS "jwt: {issuer: 'https://us', audience: gw, jwks_url: 'https://us/keys'}"

static void workload_tokens_need_an_audience_keys_and_another_credential(void **state) {
  struct place *p = *state;
  char *const env[] = {NULL};
  write_file(".mcp.json", TIME);
  refuses(p, "auth: {" USERS ", workload: {issuer: w, jwks_url: 'https://w/keys'}}", "/auth/workload",
          "needs \"audience\"");
  refuses(p, "auth: {" USERS ", workload: {jwks_url: 'https://w/keys', audience: a}}", "/auth/workload",
          "needs \"issuer\"");
  refuses(p, "auth: {" USERS ", workload: {issuer: w, audience: a}}", "/auth/workload", "jwks_url and key_file");
  refuses(p, "auth: {" USERS ", workload: {issuer: w, audience: a, jwks_url: 'http://w/keys'}}",
          "/auth/workload/jwks_url", "https");
  refuses(p, "auth: {" USERS ", workload: {issuer: 'https://us', audience: gw, jwks_url: 'https://us/keys'}}",
          "/auth/workload/audience", "must differ");
  refuses(p, "auth: {workload: {issuer: w, audience: a, jwks_url: 'https://w/keys'}}", "/auth/workload",
          "does not replace");
  write_file("toolgate.yaml",
             "auth: {resource: 'https://gw/mcp', " USERS ", workload: {issuer: 'https://us', audience: w, jwks_url: "
             "'https://us/keys', required: true}}");
  load_with(p, env);
  expect_ok(p);
  assert_true(p->config.needs_workload);
}

static void a_plain_token_in_a_file_for_everybody_is_a_warning(void **state) {
  struct place *p = *state;
  char *const env[] = {(char *)"T=" TOKEN, NULL};
  write_file(".mcp.json", TIME);
  write_file("toolgate.yaml", "auth: {tokens: [" TOKEN "]}");
  assert_int_equal(chmod("toolgate.yaml", 0644), 0);
  assert_true(load(p));
  expect(p, true, "toolgate.yaml", "/auth/tokens/0", "every user of this machine can read");
  write_file("toolgate.yaml", "auth: {tokens: ['${T}']}");
  assert_int_equal(chmod("toolgate.yaml", 0644), 0);
  load_with(p, env);
  expect_ok(p);
}

static void a_file_that_everybody_can_change_is_not_used_unless_it_is_named(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  assert_int_equal(chmod(".mcp.json", 0602), 0);
  assert_false(load(p));
  expect(p, false, ".mcp.json", "", "refused, because another user");
  p->options.mcp_config = ".mcp.json";
  assert_true(load(p));
  expect(p, true, ".mcp.json", "", "can change it");
}

static void other_addresses_than_loopback_need_tokens(void **state) {
  struct place *p = *state;
  static const char *const open_to_others[] = {"0.0.0.0", "::", "192.168.1.1"};
  static const char *const names[] = {"127.1", "gate.example", "localhost.x"};
  static const char *const loopback[] = {"127.0.0.1", "127.8.9.10", "::1", "localhost", "LocalHost"};
  char yaml[256];
  write_file(".mcp.json", TIME);
  for (size_t i = 0; i < sizeof open_to_others / sizeof *open_to_others; i++) {
    snprintf(yaml, sizeof yaml, "transport: http\nhost: '%s'\n", open_to_others[i]);
    refuses(p, yaml, "/host", "auth.tokens");
    p->options.insecure_bind = true;
    assert_true(load(p));
    expect(p, true, "toolgate.yaml", "/host", "may use every tool");
    p->options.insecure_bind = false;
    snprintf(yaml, sizeof yaml, "transport: http\nhost: '%s'\nauth: {tokens: [" TOKEN "]}\n", open_to_others[i]);
    assert_true(load_yaml(p, yaml));
    expect(p, true, "toolgate.yaml", "/host", "without TLS");
    snprintf(yaml, sizeof yaml,
             "transport: http\nhost: '%s'\nauth: {tokens: [" TOKEN "], resource: 'https://gate.example/mcp'}\n",
             open_to_others[i]);
    load_yaml(p, yaml);
    expect_ok(p);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(yaml, sizeof yaml, "transport: http\nhost: '%s'\n", names[i]);
    refuses(p, yaml, "/host", "auth.tokens");
    refuses(p, yaml, "/host", "is not an IP address or localhost");
  }
  for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++) {
    snprintf(yaml, sizeof yaml, "transport: http\nhost: '%s'\n", loopback[i]);
    load_yaml(p, yaml);
    expect_ok(p);
  }
  load_yaml(p, "transport: stdio\nhost: 0.0.0.0\n");
  expect_ok(p);
  p->options.listen = "0.0.0.0:80";
  assert_false(load_yaml(p, ""));
  expect(p, false, "command line", "--listen", "auth.tokens");
}

// ---- what is another in another configuration ----

static void expect_restart(struct place *p, const char *yaml, const char *keys) {
  struct config before;
  struct config_problems problems;
  char *const env[] = {NULL};
  struct buf names;
  write_file("toolgate.yaml", "servers: {}\nrate_limits: {tool_view: {max_calls_per_minute: 5}}\n");
  config_problems_init(&problems);
  assert_true(config_load(&before, &p->options, env, &problems));
  write_file("toolgate.yaml", yaml);
  assert_true(load_with(p, env));
  buf_init(&names, 4096);
  config_put_restart_keys(&before, &before, &p->config, &names);
  buf_char(&names, 0);
  assert_string_equal(names.p, keys);
  buf_done(&names);
  config_done(&before);
  config_problems_done(&problems);
}

static void keys_that_need_a_restart_are_named(void **state) {
  struct place *p = *state;
#define SAME "rate_limits: {tool_view: {max_calls_per_minute: 5}}\n"
  expect_restart(p, "servers: {}\n" SAME, "");
  expect_restart(p, "servers: {x: {command: y}}\nlog: {level: debug}\n" SAME, "");
  expect_restart(p, "servers: {}\nport: 1\nhost: localhost\nstate_dir: here\n" SAME, "host, port, state_dir");
  expect_restart(p, "servers: {}\nallowed_hosts: [a.example]\n" SAME, "allowed_hosts");
  expect_restart(p, "servers: {}\ncache: {allow: [\"a:*\"]}\n" SAME, "cache.allow");
  expect_restart(p, "servers: {}\n", "rate_limits.tool_view");
  expect_restart(p, "servers: {}\nrate_limits: {tool_view: {max_calls_per_minute: 6}}\n", "rate_limits.tool_view");
  expect_restart(p,
                 "servers: {}\nrate_limits: {tool_view: {max_calls_per_minute: 5}, tools: {\"a:*\": "
                 "{max_calls_per_minute: 5}}}\n",
                 "rate_limits.tools");
}

static void files_that_were_looked_for_are_known(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  assert_true(load(p));
  const char *const expected[] = {"toolgate.yaml",           "toolgate.yml",
                                  "toolgate.json",           ".mcp.json",
                                  ".mcp-gateway-rules.json", "config/.mcp-gateway-rules.json"};
  assert_int_equal(p->config.file_count, 6);
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(p->config.files[i].path.p, expected[i]);
    assert_int_equal(p->config.files[i].state.there, i == 3);
  }
}

// ---- documentation ----

static void the_documentation_has_the_rows_of_the_table(void **state) {
  struct place *p = *state;
  struct buf want, have;
  char piece[4096];
  buf_init(&want, 65536);
  buf_init(&have, 1 << 20);
  config_print_keys(&want);
  assert_int_equal(fchdir(p->origin), 0);
  FILE *f = fopen("docs/reference/configuration.md", "r");
  assert_non_null(f);
  for (size_t n; (n = fread(piece, 1, sizeof piece, f));) buf_add(&have, piece, n);
  fclose(f);
  // Nothing stands between the head of the table and its rows, nor between them and an empty line.
  buf_char(&want, '\n');
  const char *at = memmem(have.p, have.n, want.p, want.n);
  if (!at) {
    fprintf(stderr, "%.*s", STR_ARG(buf_view(&want)));
    fail_msg("docs/reference/configuration.md lacks these rows; scripts/config-docs writes them");
  }
  assert_true(str_ends((str){have.p, (size_t)(at - have.p)}, STR("|---|\n")));
  buf_done(&want);
  buf_done(&have);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(a_folder_with_only_a_mcp_json_is_enough),
      IN_A_FOLDER(without_any_servers_it_says_where_it_looked_and_what_to_write),
      IN_A_FOLDER(the_home_folder_is_the_last_place_for_servers),
      IN_A_FOLDER(every_key_can_be_set_in_the_file),
      IN_A_FOLDER(yaml_comes_before_yml_before_json),
      IN_A_FOLDER(an_empty_file_and_empty_groups_say_nothing),
      IN_A_FOLDER(the_command_line_overrides_the_environment_which_overrides_the_file),
      IN_A_FOLDER(wrong_values_outside_of_files_have_a_place_too),
      IN_A_FOLDER(the_audit_log_is_named_by_the_file_or_the_environment),
      IN_A_FOLDER(rules_are_read_with_the_agents_that_are_configured),
      IN_A_FOLDER(an_agent_needs_rules),
      IN_A_FOLDER(the_controls_of_calls_are_read),
      IN_A_FOLDER(the_controls_of_calls_are_off_by_default),
      IN_A_FOLDER(a_principal_is_limited_by_the_minute_where_there_are_credentials),
      IN_A_FOLDER(what_is_wrong_with_the_controls_is_said_with_its_place),
      IN_A_FOLDER(what_could_be_meant_is_said),
      IN_A_FOLDER(listen_takes_a_host_and_a_port_and_means_http),
      IN_A_FOLDER(an_unknown_key_is_an_error_with_a_suggestion),
      IN_A_FOLDER(wrong_types_and_values_out_of_range_are_errors),
      IN_A_FOLDER(all_problems_are_reported_at_once),
      IN_A_FOLDER(mistakes_in_the_text_have_a_line),
      IN_A_FOLDER(a_file_of_more_than_a_mebibyte_is_not_read),
      IN_A_FOLDER(control_characters_do_not_reach_a_terminal),
      IN_A_FOLDER(tokens_are_stored_as_their_sha256),
      IN_A_FOLDER(a_token_file_without_tokens_locks_every_http_client_out),
      IN_A_FOLDER(weak_and_unusable_tokens_are_refused),
      IN_A_FOLDER(workload_tokens_need_an_audience_keys_and_another_credential),
      IN_A_FOLDER(a_plain_token_in_a_file_for_everybody_is_a_warning),
      IN_A_FOLDER(a_file_that_everybody_can_change_is_not_used_unless_it_is_named),
      IN_A_FOLDER(other_addresses_than_loopback_need_tokens),
      IN_A_FOLDER(keys_that_need_a_restart_are_named),
      IN_A_FOLDER(files_that_were_looked_for_are_known),
      IN_A_FOLDER(the_documentation_has_the_rows_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
