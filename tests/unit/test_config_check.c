// SPDX-License-Identifier: Apache-2.0
// `toolgate check`: what it shows of a configuration, what it looks for on the machine, how it ends.
#include "app/check/check.h"
#include "config_folder.h"
#include "json/json.h"

// ---- what is shown ----

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
      {"{\"command\":\"./a b\",\"args\":[\"c d\",\"\",\"it's\",\"e\"]}", "'./a b' 'c d' '' 'it'\\''s' e"},
      {"{\"command\":\"x\",\"args\":[\"--say\",\"a token b\",\"{\\\"k\\\": 1}\"]}", "x --say 'a token b' '{\"k\": 1}'"},
      {"{\"url\":\"https://h/\",\"args\":[\"a\"]}", "https://h/"},
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

static void check_fails_when_a_server_cannot_work(void **state) {
  struct place *p = *state;
  write_file(".mcp.json",
             "{\"mcpServers\":{\"well\":{\"command\":\"cat\"},\"gone\":{\"command\":\"no-such-program\"}}}");
  char *text = run_check(p, false, 1);
  assert_non_null(strstr(text, ".mcp.json:/mcpServers/gone/command: there is no such program in PATH"));
  assert_non_null(strstr(text, "  well (stdio): cat\n"));
  assert_non_null(strstr(text, "not every server can work: 1 error, 0 warnings\n"));
  free(text);
  write_file(".mcp.json", "{\"mcpServers\":{\"well\":{\"command\":\"cat\",\"cwd\":\"gone\"}}}");
  text = run_check(p, true, 1);
  assert_non_null(strstr(text, "{\"ok\":false,\"problems\":[{\"level\":\"error\""));
  free(text);
}

static void check_lists_problems_and_servers_without_secrets(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{"
                          "\"s\":{\"command\":\"cat\",\"args\":[\"${SECRET}\"],\"env\":{\"K\":\"${SECRET}\"}},"
                          "\"t\":{\"url\":\"http://far.example/\",\"headers\":{\"Authorization\":\"${SECRET}\"}}}}");
  char *text = run_check(p, false, 0);
  assert_non_null(strstr(text, ".mcp.json:/mcpServers/t/url: warning: the header Authorization"));
  assert_non_null(strstr(text, "  s (stdio): cat ${SECRET}; variables K\n"));
  assert_non_null(strstr(text, "  t (auto): http://far.example/; headers Authorization\n"));
  assert_non_null(strstr(text, "every client that can connect may use everything"));
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
  assert_non_null(strstr(text, "agents: gateway mode on http, 127.0.0.1 port 9, 1 token\n"));
  assert_non_null(strstr(text, "  a (http): https://a/; headers X\n  b (sse): https://b/\n"));
  free(text);
  text = run_check(p, true, 0);
  assert_non_null(strstr(text, "\"transport\":\"http\",\"url\":\"https://a/\",\"headers\":[\"X\"]}"));
  assert_null(strstr(text, TOKEN));
  free(text);
}

static void check_fails_when_one_entry_is_wrong(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{},\"b\":{\"command\":\"cat\"}}}");
  char *text = run_check(p, false, 1);
  assert_non_null(strstr(text, ".mcp.json:/mcpServers/a: needs \"command\""));
  assert_non_null(strstr(text, "\n1 of 2 servers is left out: 1 error, 0 warnings\n"));
  free(text);
  text = run_check(p, true, 1);
  assert_non_null(strstr(text, "{\"ok\":false,\"left_out\":1,"));
  free(text);
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{},\"b\":{}}}");
  text = run_check(p, false, 1);
  assert_non_null(strstr(text, "\nnot usable: "));
  free(text);
}

static void check_looks_at_what_is_kept(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"cat\"}}}");
  write_file("toolgate.yaml", "state_dir: kept");
  char *text = run_check(p, false, 0);
  assert_null(strstr(text, "state_dir"));
  free(text);
  write_file("kept", "");
  text = run_check(p, false, 0);
  assert_non_null(strstr(text, "toolgate.yaml:/state_dir: warning: "));
  assert_non_null(strstr(text, "Not a directory; results, the archive and definitions"));
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
  assert_true(json_equals_str(json_get(v, STR("config")), STR("toolgate.yaml")));
  assert_true(json_equals_str(json_get(v, STR("transport")), STR("http")));
  struct json *server = json_at(json_get(v, STR("servers")), 0);
  assert_true(json_equals_str(json_get(server, STR("command")), STR("cat mcp-server-time")));
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

static void check_writes_null_where_there_is_no_file(void **state) {
  struct place *p = *state;
  write_file("toolgate.yaml", "servers: {s: {command: cat}}");
  char *text = run_check(p, true, 0);
  assert_non_null(strstr(text, "\"config\":\"toolgate.yaml\",\"mcp_config\":null,"));
  free(text);
  unlink("toolgate.yaml");
  write_file(".mcp.json", TIME);
  text = run_check(p, true, 0);
  assert_non_null(strstr(text, "\"config\":null,\"mcp_config\":\".mcp.json\","));
  free(text);
}

static void check_lists_servers_that_are_switched_off(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"cat\"},\"b\\u001b\":{\"disabled\":true},"
                          "\"c\":{\"enabled\":false}}}");
  char *text = run_check(p, false, 0);
  assert_non_null(strstr(text, "servers: 1, from .mcp.json\n  a (stdio): cat\n  b? (disabled)\n  c (disabled)\n"));
  free(text);
  text = run_check(p, true, 0);
  assert_non_null(strstr(text, "\"disabled\":[\"b?\",\"c\"]"));
  free(text);
}

static void check_shows_what_has_an_effect(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", "{\"mcpServers\":{\"s\":{\"command\":\"cat\",\"headers\":{\"X\":\"y\"}},"
                          "\"t\":{\"url\":\"https://h/\",\"args\":[\"a\"],\"env\":{\"A\":\"1\"}}}}");
  char *text = run_check(p, false, 0);
  assert_non_null(strstr(text, "  s (stdio): cat\n  t (auto): https://h/\n"));
  assert_non_null(strstr(text, "ok: 0 errors, 3 warnings\n"));
  free(text);
}

static void the_exit_code_tells_the_command_line_from_the_files(void **state) {
  struct place *p = *state;
  static const struct config_options wrong[] = {
      {.listen = "8811"}, {.mode = "foo"}, {.transport = "htp"}, {.log_level = "loud"}};
  write_file(".mcp.json", TIME);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    p->options = wrong[i];
    free(run_check(p, false, 2));
    assert_false(load(p));
    assert_int_equal(config_problems_status(&p->problems), 2);
  }
  // Nothing is wrong with the option itself in these.
  p->options = (struct config_options){.listen = "0.0.0.0:1"};
  free(run_check(p, false, 1));
  p->options = (struct config_options){.mcp_config = "missing.json"};
  free(run_check(p, false, 1));
  p->options = (struct config_options){.log_level = "warn"};
  free(run_check(p, false, 0));
}

// ---- programs ----

// `check` warns of the only server, here, with these words; it can be served all the same.
static void warns(struct place *p, const char *entry, const char *member, const char *part) {
  char pointer[64];
  snprintf(pointer, sizeof pointer, "/mcpServers/s/%s", member);
  p->options.strict = true;
  if (!load_entry(p, entry)) {
    print_problems(p);
    fail_msg("fatal: %s", entry);
  }
  expect(p, true, ".mcp.json", pointer, part);
  assert_int_equal(p->problems.count, 1);
  p->options.strict = false;
  load(p);
  expect_ok(p);
}

static void make_program(const char *path) {
  write_file(path, "#!/bin/sh\n");
  assert_int_equal(chmod(path, 0700), 0);
}

static void finds(struct place *p, const char *entry) {
  p->options.strict = true;
  load_entry(p, entry);
  expect_ok(p);
}

static void check_looks_for_the_program_in_the_path_of_the_child(void **state) {
  struct place *p = *state;
  char entry[256];
  assert_int_equal(mkdir("bin", 0700), 0);
  make_program("bin/only-here");
  finds(p, "{\"command\":\"cat\"}");
  warns(p, "{\"command\":\"only-here\"}", "command", "no such program in PATH (/bin)");
  snprintf(entry, sizeof entry, "{\"command\":\"only-here\",\"env\":{\"PATH\":\"/nowhere::%s/bin\"}}", p->folder);
  finds(p, entry);
  snprintf(entry, sizeof entry, "{\"command\":\"cat\",\"env\":{\"PATH\":\"%s/bin\"}}", p->folder);
  warns(p, entry, "command", "no such program in the PATH that its \"env\" sets");
  finds(p, "{\"command\":\"only-here\",\"env\":{\"PATH\":\"bin\"},\"cwd\":\".\"}");
  warns(p, "{\"command\":\"only-here\",\"env\":{\"PATH\":\"bin\"},\"cwd\":\"/\"}", "command", "no such program");
  // Without any PATH, the usual folders; the current one is none of them.
  char *const env[] = {NULL};
  make_program("in-this-folder");
  finds(p, "{\"command\":\"cat\"}");
  load_with(p, env);
  expect_ok(p);
  warns(p, "{\"command\":\"in-this-folder\",\"env\":{\"PATH\":\"/nowhere:\"}}", "command", "no such program");
}

static void check_looks_for_the_file_that_a_path_names(void **state) {
  struct place *p = *state;
  make_program("run");
  write_file("data", "");
  finds(p, "{\"command\":\"./run\"}");
  finds(p, "{\"command\":\"/bin/cat\"}");
  warns(p, "{\"command\":\"./missing\"}", "command", "there is no such file (relative to /");
  warns(p, "{\"command\":\"/no/such\"}", "command", "there is no such file");
  warns(p, "{\"command\":\"./data\"}", "command", "not executable");
  warns(p, "{\"command\":\"/bin\"}", "command", "is not a program");
}

static void check_tells_a_command_with_arguments_from_one_that_is_missing(void **state) {
  struct place *p = *state;
  make_program("a program");
  finds(p, "{\"command\":\"./a program\"}");
  warns(p, "{\"command\":\"cat -u\"}", "command", "only the program \"cat\": write arguments in \"args\"");
  warns(p, "{\"command\":\"cat -y @scope/server\"}", "command", "write arguments in \"args\"");
  warns(p, "{\"command\":\"/bin/cat -u\"}", "command", "only the program \"/bin/cat\"");
  warns(p, "{\"command\":\"missing -u\"}", "command", "no such program");
  warns(p, "{\"command\":\" cat\"}", "command", "no such program");
}

static void check_looks_for_the_working_folder(void **state) {
  struct place *p = *state;
  assert_int_equal(mkdir("sub", 0700), 0);
  write_file("data", "");
  finds(p, "{\"command\":\"cat\",\"cwd\":\"sub\"}");
  warns(p, "{\"command\":\"cat\",\"cwd\":\"gone\"}", "cwd", "no such folder");
  warns(p, "{\"command\":\"cat\",\"cwd\":\"data\"}", "cwd", "cannot be entered: Not a directory");
}

static void check_looks_for_the_programs_of_inline_servers_too(void **state) {
  struct place *p = *state;
  p->options.strict = true;
  assert_true(load_yaml(p, "servers: {s: {command: not-here, cwd: /gone}, t: {command: cat}}"));
  expect(p, true, "toolgate.yaml", "/servers/s/command", "no such program");
  expect(p, true, "toolgate.yaml", "/servers/s/cwd", "no such folder");
  assert_int_equal(p->problems.count, 2);
  assert_int_equal(p->config.upstream_count, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(what_is_shown_has_no_secrets),
      IN_A_FOLDER(check_fails_when_a_server_cannot_work),
      IN_A_FOLDER(check_lists_problems_and_servers_without_secrets),
      IN_A_FOLDER(check_says_how_agents_and_servers_connect),
      IN_A_FOLDER(check_fails_when_one_entry_is_wrong),
      IN_A_FOLDER(check_looks_at_what_is_kept),
      IN_A_FOLDER(check_writes_json_for_machines),
      IN_A_FOLDER(check_writes_null_where_there_is_no_file),
      IN_A_FOLDER(check_lists_servers_that_are_switched_off),
      IN_A_FOLDER(check_shows_what_has_an_effect),
      IN_A_FOLDER(the_exit_code_tells_the_command_line_from_the_files),
      IN_A_FOLDER(check_looks_for_the_program_in_the_path_of_the_child),
      IN_A_FOLDER(check_looks_for_the_file_that_a_path_names),
      IN_A_FOLDER(check_tells_a_command_with_arguments_from_one_that_is_missing),
      IN_A_FOLDER(check_looks_for_the_working_folder),
      IN_A_FOLDER(check_looks_for_the_programs_of_inline_servers_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
