// SPDX-License-Identifier: Apache-2.0
// The governance file of a configuration, adapters in server entries, and what `toolgate check` says about both.
#include "app/check/check.h"
#include "config_folder.h"
#include "govern/agents.h"
#include "govern/records.h"

#define HEAD "governance: governance.json\nstate_dir: none\n"
#define SERVERS(adapter) "servers:\n  shop: {command: cat, adapter: {" adapter "}}\n"
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ADAPTER "adapter_id: adp, type: MCP, capabilities: [" FIND "]"
#define FIND "{name: find, class: observe, approval_mode: read_only}"
#define PERMISSIONS \
  "\"permissions\":[{\"permission_id\":\"p\",\"adapter_id\":\"adp\",\"capability\":\"find\",\"allow\":true}]"

static void an_adapter_in_a_server_entry_counts_like_one_of_the_governance_file(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{" PERMISSIONS "}");
  assert_true(load_yaml(p, HEAD SERVERS(ADAPTER)));
  expect_ok(p);
  const struct governance_capability *c = governance_find_tool(p->config.governance, STR("shop"), STR("find"));
  assert_true(str_eq(c->id, STR("adp.find")));
  assert_true(str_eq(c->pointer, STR("/servers/shop/adapter/capabilities/0")));
}

static void its_server_is_the_entry(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{" PERMISSIONS "}");
  assert_true(load_yaml(p, HEAD SERVERS(ADAPTER ", server: shop")));
  refuses(p, HEAD SERVERS(ADAPTER ", server: other"), "/servers/shop/adapter/server", "must be \"shop\"");
}

static void the_adapter_of_a_disabled_server_is_read(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{" PERMISSIONS "}");
  assert_true(load_yaml(p, HEAD "servers:\n  shop: {command: cat, disabled: true, adapter: {" ADAPTER "}}\n"
                                "  docs: {command: cat}\n"));
  assert_true(governance_governs(p->config.governance, STR("shop")));
}

static void an_error_in_it_is_an_error_of_the_configuration_with_its_place(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{}");
  refuses(p,
          HEAD SERVERS("adapter_id: adp, type: MCP, capabilities: [{name: n, class: act, approval_mode: read_only}]"),
          "/servers/shop/adapter/capabilities/0", "CLASS_MODE_CONFLICT");
  refuses(p, HEAD SERVERS("adapter_id: adp, type: MCP"), "/servers/shop/adapter", "needs the member \"capabilities\"");
  refuses(p, HEAD "servers: {shop: {command: cat, adapter: adapter.yaml}}\n", "/servers/shop/adapter", "object");
  refuses(p, HEAD "servers: {\"a/b\": {command: cat, adapter: {adapter_id: 1}}}\n", "/servers/a~1b/adapter/adapter_id",
          "string");
}

static void an_error_in_the_file_does_not_mean_that_a_token_may_use_everything(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{\"oops\":1}");
  assert_false(load_yaml(p, HEAD "auth: {tokens: [{sha256: \"" DIGEST "\", agent: dev}]}\n"));
  assert_false(reported(p, true, "toolgate.yaml", "/auth/tokens/0/agent", ""));
}

static void a_server_has_only_one_adapter(void **state) {
  struct place *p = *state;
  write_file("governance.json",
             "{\"adapters\":[{\"adapter_id\":\"other\",\"type\":\"MCP\",\"server\":\"shop\",\"capabilities\":[]}]}");
  refuses(p, HEAD SERVERS(ADAPTER), "/servers/shop/adapter", "the server \"shop\" is used twice");
}

static void without_a_governance_file_it_is_an_error(void **state) {
  refuses(*state, SERVERS(ADAPTER), "/servers/shop/adapter", "needs the key \"governance\"");
}

static void other_files_with_servers_cannot_have_adapters(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{}");
  write_file("toolgate.yaml", HEAD);
  assert_false(load_entry(p, "{\"command\":\"cat\",\"adapter\":{\"adapter_id\":\"adp\"}}"));
  expect(p, true, ".mcp.json", "/mcpServers/s/adapter", "\"servers\" of toolgate.yaml");
  expect(p, true, ".mcp.json", "/mcpServers/s", "this server is left out");
}

static void a_governance_file_cannot_have_servers(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{\"servers\":{\"shop\":{\"adapter\":{\"adapter_id\":\"adp\"}}}}");
  write_file(".mcp.json", TIME);
  assert_false(load_yaml(p, HEAD));
  const struct config_problem *first = &p->problems.list[0];
  assert_true(str_ends(first->file, STR("/governance.json")) && str_eq(first->pointer, STR("/servers")));
}

static void a_changed_adapter_changes_the_digest_of_decisions(void **state) {
  struct place *p = *state;
  char before[128];
  write_file("governance.json", "{" PERMISSIONS "}");
  assert_true(load_yaml(p, HEAD SERVERS(ADAPTER)));
  snprintf(before, sizeof before, "%.*s", STR_ARG(governance_digest(p->config.governance)));
  assert_true(load_yaml(p, HEAD SERVERS(ADAPTER ", owner: me")));
  assert_string_not_equal(before, governance_digest(p->config.governance).p);
}

static void commands_accept_the_configuration_in_place_of_its_governance_file(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{" PERMISSIONS "}");
  assert_true(load_yaml(p, HEAD SERVERS(ADAPTER)));
  struct governance *g = config_load_governance("toolgate.yaml", STR("--governance"), &p->problems);
  expect_ok(p);
  assert_non_null(governance_find(g, STR("adp.find")));
  governance_unref(&g);
  assert_null(config_load_governance("governance.json", STR("--governance"), &p->problems));
  expect(p, false, "governance.json", "/permissions/0", "no adapter registers the capability \"adp.find\"");
}

// ---- toolgate check

// Runs `check` and returns its output. The caller must free it.
static char *checked(struct place *p, bool json) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  assert_int_equal(check_run(&p->options, json, env, f), 0);
  fclose(f);
  return text;
}

static void says(struct place *p, bool json, const char *part, bool wanted) {
  char *text = checked(p, json);
  if ((strstr(text, part) != NULL) != wanted) fail_msg("%s \"%s\": %s", wanted ? "no" : "there is", part, text);
  free(text);
}

static void check_says_what_the_governance_file_decides(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{" PERMISSIONS ",\"pins\":\"enforce\",\"context\":{\"unlisted_servers\":\"allow\"}}");
  write_file("toolgate.yaml", HEAD SERVERS("adapter_id: adp, type: MCP, capabilities: [" FIND
                                           ", {name: add, class: act, approval_mode: network, provisional: true}]"));
  says(p, false, "note: there are no access rules: the governance file decides about tools", true);
  says(p, false, "may use everything", false);
  says(p, false, "governance: 2 capabilities (1 provisional), from ", true);
  says(p, false, "; tools of servers without an adapter are allowed\n", true);
  says(p, false, "  tools without a capability are denied; pins: enforce; flow guard: off\n", true);
  says(p, true, "\"governed\":{\"capabilities\":2,\"provisional\":1,\"unlisted_servers\":\"allow\"", true);
}

static void check_names_the_rules_file_beside_the_governance_file(void **state) {
  struct place *p = *state;
  write_file("governance.json", "{}");
  write_file("rules.json", "{\"agents\":{\"ann\":{\"allow\":{\"servers\":[\"*\"]}}}}");
  write_file("toolgate.yaml", HEAD "rules: rules.json\naudit: {enabled: false}\nservers: {shop: {command: cat}}\n");
  says(p, false, "rules: 1 agent, from ", true);
  says(p, false, "governance: 0 capabilities, from ", true);
  says(p, false, "note:", false);
}

static void check_says_that_without_rules_and_governance_everything_is_allowed(void **state) {
  struct place *p = *state;
  write_file("toolgate.yaml", "state_dir: none\nservers: {shop: {command: cat}}\n");
  says(p, false, "note: there are no rules: every client that can connect may use everything\n", true);
  says(p, false, "governance", false);
  says(p, true, "\"governed\"", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(an_adapter_in_a_server_entry_counts_like_one_of_the_governance_file),
      IN_A_FOLDER(its_server_is_the_entry),
      IN_A_FOLDER(the_adapter_of_a_disabled_server_is_read),
      IN_A_FOLDER(an_error_in_it_is_an_error_of_the_configuration_with_its_place),
      IN_A_FOLDER(an_error_in_the_file_does_not_mean_that_a_token_may_use_everything),
      IN_A_FOLDER(a_server_has_only_one_adapter),
      IN_A_FOLDER(without_a_governance_file_it_is_an_error),
      IN_A_FOLDER(other_files_with_servers_cannot_have_adapters),
      IN_A_FOLDER(a_governance_file_cannot_have_servers),
      IN_A_FOLDER(a_changed_adapter_changes_the_digest_of_decisions),
      IN_A_FOLDER(commands_accept_the_configuration_in_place_of_its_governance_file),
      IN_A_FOLDER(check_says_what_the_governance_file_decides),
      IN_A_FOLDER(check_names_the_rules_file_beside_the_governance_file),
      IN_A_FOLDER(check_says_that_without_rules_and_governance_everything_is_allowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
