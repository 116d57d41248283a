// SPDX-License-Identifier: Apache-2.0
// The configuration of servers that are files, and of the folder for what is kept.
#include "config_folder.h"

#include "app/config/config_load.h"
#include "upstream/kind.h"
#include "upstream/snapshot.h"

static size_t tools_of(const struct upstream_spec *s) {
  return ((const struct snapshot *)s->own)->count[ITEM_TOOL];
}

#define ONE "[{\"name\":\"a\"}]"
#define NAMED "{\"server\":\"docs\",\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}"

static const struct upstream_spec *only_server(struct place *p, const char *name) {
  assert_int_equal(p->config.upstream_count, 1);
  const struct upstream_spec *s = &p->config.upstreams[0];
  if (!str_eq(s->name, str_of(name))) fail_msg("'%.*s' instead of '%s'", STR_ARG(s->name), name);
  assert_ptr_equal(s->kind, &upstream_snapshot);
  assert_int_equal(s->isolation, UPSTREAM_ISOLATE_SHARED);
  assert_non_null(s->own);
  return s;
}

// ---- one file as a server of its own

static void a_catalog_on_the_command_line_is_all_that_is_needed(void **state) {
  struct place *p = *state;
  write_file("c.json", ONE);
  p->options.catalog = "c.json";
  load(p);
  expect_ok(p);
  assert_int_equal(tools_of(only_server(p, "catalog")), 1);
  write_file("c.json", NAMED);
  load(p);
  expect_ok(p);
  assert_int_equal(tools_of(only_server(p, "docs")), 2);
}

static void the_key_is_relative_to_its_file_and_the_option_goes_first(void **state) {
  struct place *p = *state;
  assert_int_equal(mkdir("d", 0700), 0);
  write_file("d/toolgate.yaml", "catalog: c.json\n");
  write_file("d/c.json", NAMED);
  write_file("e.json", ONE);
  p->options.config = "d/toolgate.yaml";
  load(p);
  expect_ok(p);
  only_server(p, "docs");
  p->options.catalog = "e.json";
  load(p);
  expect_ok(p);
  only_server(p, "catalog");
}

static void beside_a_catalog_a_file_of_servers_is_read_when_it_is_named(void **state) {
  struct place *p = *state;
  write_file(".mcp.json", TIME);
  write_file("c.json", ONE);
  p->options.catalog = "c.json";
  load(p);
  only_server(p, "catalog");
  p->options.mcp_config = ".mcp.json";
  load(p);
  expect_ok(p);
  assert_int_equal(p->config.upstream_count, 2);
  write_file("c.json", "{\"server\":\"time\",\"tools\":[{\"name\":\"a\"}]}");
  assert_false(load(p));
  expect(p, false, "c.json", "/server", "another server has this name");
  write_file("c.json", "{\"server\":\"a\\nb\",\"tools\":[{\"name\":\"a\"}]}");
  assert_false(load(p));
  expect(p, false, "c.json", "/server", "control characters");
}

static void a_catalog_that_cannot_be_used_is_an_error_at_its_place(void **state) {
  struct place *p = *state;
  p->options.catalog = "c.json";
  assert_false(load(p));
  expect(p, false, "c.json", "", "No such file or directory (named by --catalog)");
  write_file("c.json", "[\n1,]");
  assert_false(load(p));
  expect(p, false, "c.json", "", "line 2");
  write_file("c.json", "{\"tools\":{}}");
  assert_false(load(p));
  expect(p, false, "c.json", "/tools", "must be a list");
  write_file("c.json", "[5,{\"name\":\"a\"}]");
  assert_true(load(p));
  expect(p, true, "c.json", "/0", "left out");
  p->options.catalog = NULL;
  refuses(p, "catalog: 5\n", "/catalog", "must be a string");
  refuses(p, "catalog: ''\n", "/catalog", "must be a string");
}

static void a_catalog_of_more_than_64_mebibytes_is_not_read(void **state) {
  struct place *p = *state;
  write_file("c.json", ONE);
  assert_int_equal(truncate("c.json", KIND_FILE_MAX + 1), 0);
  p->options.catalog = "c.json";
  assert_false(load(p));
  expect(p, false, "c.json", "", "larger than 67108864 bytes");
}

// ---- entries

static void an_entry_may_be_a_catalog(void **state) {
  struct place *p = *state;
  assert_int_equal(mkdir("d", 0700), 0);
  write_file("d/c.json", NAMED);
  write_file("d/m.json", "{\"mcpServers\":{\"x\":{\"type\":\"snapshot\",\"catalog\":\"c.json\"},"
                         "\"y\":{\"catalog\":\"${D}/c.json\"}}}");
  char d[64];
  snprintf(d, sizeof d, "D=%s/d", p->folder);
  char *const env[] = {d, NULL};
  p->options.mcp_config = "d/m.json";
  load_with(p, env);
  expect_ok(p);
  assert_int_equal(p->config.upstream_count, 2);
  for (size_t i = 0; i < 2; i++) {
    assert_ptr_equal(p->config.upstreams[i].kind, &upstream_snapshot);
    assert_int_equal(tools_of(&p->config.upstreams[i]), 2);
  }
  assert_true(str_eq(p->config.upstreams[0].name, STR("x")));  // not what the file says
  assert_true(str_eq(p->config.upstreams[1].shown, STR("${D}/c.json")));
}

static void an_entry_has_one_place(void **state) {
  struct place *p = *state;
  static const struct {
    const char *entry, *message;
  } table[] = {
      {"{\"type\":\"snapshot\"}", "needs \"command\""},
      {"{\"type\":\"snapshot\",\"command\":\"x\"}", "needs the key \"catalog\""},
      {"{\"type\":\"http\",\"catalog\":\"c.json\"}", "needs the key \"url\""},
      {"{\"catalog\":\"c.json\",\"command\":\"x\"}", "another key that locates the server"},
      {"{\"catalog\":\"c.json\",\"url\":\"http://h/\"}", "another key that locates the server"},
  };
  write_file("c.json", ONE);
  p->options.strict = true;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_false(load_entry(p, table[i].entry));
    expect(p, false, ".mcp.json", "/mcpServers/s", table[i].message);
  }
  load_entry(p, "{\"catalog\":\"c.json\",\"args\":[\"x\"],\"isolation\":\"session\",\"protocol\":\"modern\"}");
  expect(p, true, ".mcp.json", "/mcpServers/s/args", "no effect on a server with \"catalog\"");
  expect(p, true, ".mcp.json", "/mcpServers/s/isolation", "no effect");
  expect(p, true, ".mcp.json", "/mcpServers/s/protocol", "no effect");
  only_server(p, "s");
  assert_int_equal(p->config.upstreams[0].protocol, UPSTREAM_PROTOCOL_HANDSHAKE);
}

static void a_wrong_catalog_leaves_out_that_server_only(void **state) {
  struct place *p = *state;
  write_file("good.json", ONE);
  write_file("bad.json", "{\"tools\":5}");
  write_file(".mcp.json", "{\"mcpServers\":{\"good\":{\"catalog\":\"good.json\"},\"bad\":{\"catalog\":\"bad.json\"},"
                          "\"none\":{\"catalog\":\"none.json\"}}}");
  char bad[96], none[96];
  snprintf(bad, sizeof bad, "%s/bad.json", p->folder);
  snprintf(none, sizeof none, "%s/none.json", p->folder);
  assert_true(load(p));
  only_server(p, "good");
  expect(p, true, bad, "/tools", "must be a list");
  expect(p, true, none, "", "(named by .mcp.json:/mcpServers/none/catalog)");
  expect(p, true, ".mcp.json", "/mcpServers/bad", "left out");
  p->options.strict = true;
  assert_false(load(p));
  expect(p, false, bad, "/tools", "must be a list");
}

// ---- the folder for what is kept

static void is_kept_in(struct place *p, char *const *env, const char *want) {
  load_with(p, env);
  expect_ok(p);
  if (!str_eq(p->config.state_dir, str_of(want)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(p->config.state_dir), want);
}

static void state_is_kept_where_the_environment_says_unless_the_file_does(void **state) {
  struct place *p = *state;
  char *const both[] = {(char *)"HOME=/h", (char *)"XDG_STATE_HOME=/x", NULL};
  char *const relative[] = {(char *)"HOME=/h", (char *)"XDG_STATE_HOME=x", NULL};
  char *const neither[] = {(char *)"PATH=/bin", NULL};
  char folder[64];
  snprintf(folder, sizeof folder, "%s/kept", p->folder);
  write_file(".mcp.json", TIME);
  is_kept_in(p, both, "/x/toolgate");
  is_kept_in(p, relative, "/h/.local/state/toolgate");
  is_kept_in(p, neither, "");
  write_file("toolgate.yaml", "state_dir: kept\n");
  is_kept_in(p, both, folder);
  write_file("toolgate.yaml", "state_dir: ~/kept\n");
  is_kept_in(p, both, "/h/kept");
  write_file("toolgate.yaml", "state_dir: none\n");
  is_kept_in(p, both, "");
}

// ---- secrets in the data of a kind

static void name_secrets(const struct upstream_own *own, kind_take *take, void *ctx) {
  take(ctx, STR("a long secret"));
  take(ctx, STR("short"));
  take(ctx, STR("first line\nsecond line"));
}

static void secrets_in_the_data_of_a_kind_are_known(void **state) {
  static const struct upstream_kind kind = {.name = "table", .place = "table", .secrets = name_secrets};
  static const char *const want[] = {"a long secret", "first line\nsecond line", "first line", "second line"};
  char *const env[] = {NULL};
  struct config_loader l = {.env = env};
  struct upstream_own own = {1};
  struct upstream_spec spec = {.name = STR("s"), .kind = &kind, .own = &own};
  struct arena a;
  struct fault f;
  arena_init(&a);
  arena_init(&l.work);
  config_secrets(&l, json_parse(&a, STR("{\"table\":{}}"), &json_default_limits, &f), &a, &spec);
  arena_done(&l.work);
  assert_int_equal(spec.secrets.count, 4);
  for (size_t i = 0; i < 4; i++) assert_true(str_eq(spec.secrets.values[i], str_of(want[i])));
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(a_catalog_on_the_command_line_is_all_that_is_needed),
      IN_A_FOLDER(the_key_is_relative_to_its_file_and_the_option_goes_first),
      IN_A_FOLDER(beside_a_catalog_a_file_of_servers_is_read_when_it_is_named),
      IN_A_FOLDER(a_catalog_that_cannot_be_used_is_an_error_at_its_place),
      IN_A_FOLDER(a_catalog_of_more_than_64_mebibytes_is_not_read),
      IN_A_FOLDER(an_entry_may_be_a_catalog),
      IN_A_FOLDER(an_entry_has_one_place),
      IN_A_FOLDER(a_wrong_catalog_leaves_out_that_server_only),
      cmocka_unit_test(secrets_in_the_data_of_a_kind_are_known),
      IN_A_FOLDER(state_is_kept_where_the_environment_says_unless_the_file_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
