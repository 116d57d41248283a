// SPDX-License-Identifier: Apache-2.0
// Versions of an adapter: which calls go to which server, what stays hidden, and which version gets no calls.
#include "governed_world.h"

#include "govern/versions.h"

#define TOOL(more) "{'name':'charge','inputSchema':{'type':'object'" more "}}"
#define FILE_WITH(versions) \
  "'adapters':[{'adapter_id':'adp','type':'MCP','server':'pay','versions':[" versions "]," \
  "'capabilities':[{'name':'charge','class':'act','approval_mode':'network'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'adp','capability':'charge','allow':true," \
  "'arg_constraints':{'n':{'max':5}}}]," \
  "'context':{'claims':{'run_id':'run'},'agents':{'ann':{'environment':'staging'},'bob':{'tenant':'acme'},'eve':{}}}"
#define NEXT "{'version':'2','server':'next','environments':['staging']}"
#define CANARY(share) "{'version':'2','server':'next','share':" share "}"

struct servers {
  struct server *pay, *next;
};

static struct servers two_versions(struct world *w, const char *members, const char *tool) {
  struct servers s = {serves(w, "pay", NULL), serves(w, "next", members)};
  has_tool(s.pay, TOOL(""));
  has_tool(s.next, tool);
  return s;
}

// The version that the server reports in its handshake.
static void reports_version(struct server *s, const char *version) {
  s->link->server_version = str_of(version);
}

static void calls_go_to_the_version_of_their_environment_or_tenant(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  governed_by(w, FILE_WITH(NEXT ",{'version':'3','server':'none','tenants':['acme']}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *eve = arrives_as(w, MODE_GATEWAY, "eve");
  reports_version(s.next, "2");
  expect_text(calls(ann, "pay:charge", "{'n':1}"), "ok");
  expect_called(s.next, "charge {'n':1}\n");
  expect_text(calls(eve, "pay:charge", "{'n':2}"), "ok");
  expect_called(s.pay, "charge {'n':2}\n");
  struct agent *bob = arrives_as(w, MODE_DIRECT, "bob");
  expect_text(calls(bob, "pay:charge", "{}"), "ok");  // the server of version 3 does not exist
  expect_called(s.pay, "charge {}\n");
}

static void the_decision_is_the_same_for_every_version_and_names_it(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  governed_by(w, FILE_WITH(NEXT));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const struct json *m = calls(ann, "pay:charge", "{'n':6}");
  expect_fault(m, "ARG_CONSTRAINT_VIOLATION");
  expect_part(m, "\\\"adapter_version\\\":\\\"2\\\"");
  expect_called(s.next, "");
}

static void a_version_is_not_listed_and_cannot_be_chosen_by_name(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  governed_by(w, FILE_WITH(NEXT));
  struct agent *eve = arrives_as(w, MODE_DIRECT, "eve");
  expect_no_part(asks(eve, "tools/list", "{}"), "next");
  struct agent *browser = arrives_as(w, MODE_GATEWAY, "eve");
  expect_no_part(uses(browser, "tool_browse", "{'query':'charge'}"), "next:");
  struct agent *named = arrives_as(w, MODE_SERVERS, "eve");
  expect_text(calls(named, "next:charge", "{}"), "ok");
  expect_called(s.pay, "charge {}\n");
  expect_called(s.next, "");
}

static void a_server_of_another_version_than_expected_is_not_called(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  governed_by(w, FILE_WITH(NEXT));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  reports_version(s.next, "2.1");
  const struct json *m = calls(ann, "pay:charge", "{}");
  expect_fault(m, "VERSION_MISMATCH");
  expect_part(m, "\\\"pointer\\\":\\\"/adapters/0/versions/0/version\\\"");
  expect_called(s.next, "");
}

static void incompatible(struct world *w, const char *members, const char *tool) {
  struct servers s = two_versions(w, members, tool);
  governed_by(w, FILE_WITH(NEXT));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  reports_version(s.next, "2");
  expect_text(calls(ann, "pay:charge", "{}"), "ok");
  expect_called(s.pay, "charge {}\n");
}

static void a_version_with_another_input_schema_gets_no_calls(void **state) {
  incompatible(*state, NULL, TOOL(",'required':['n']"));
}

static void a_version_with_an_output_schema_of_its_own_gets_no_calls(void **state) {
  incompatible(*state, NULL, "{'name':'charge','inputSchema':{'type':'object'},'outputSchema':{'type':'object'}}");
}

static void a_version_that_declares_more_effects_gets_no_calls(void **state) {
  incompatible(*state, NULL,
               "{'name':'charge','inputSchema':{'type':'object'},'annotations':{'destructiveHint':true}}");
}

static void a_version_that_needs_other_credentials_gets_no_calls(void **state) {
  incompatible(*state, "'env':{'TOKEN':'x'}", TOOL(""));
}

static void a_version_that_rules_forbid_gets_no_calls(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  given_rules(w, "{'agents':{'ann':{'allow':{'servers':['pay'],'tools':{'pay':['charge']}}}}}");
  given(w, "governance: governance.json\n");
  write_governance(w, FILE_WITH(NEXT));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_text(calls(ann, "pay:charge", "{}"), "ok");
  expect_called(s.pay, "charge {}\n");
}

static void a_run_keeps_its_version(void **state) {
  struct world *w = *state;
  struct servers s = two_versions(w, NULL, TOOL(""));
  governed_by(w, FILE_WITH(CANARY("50")));
  size_t canaries = 0;
  enum { RUNS = 7 };
  for (int i = 0; i < RUNS; i++) {
    str claims = arena_printf(&w->arena, "{\"sub\":\"eve\",\"run\":\"r%d\"}", i);
    struct client_identity who = {.mode = MODE_GATEWAY, .name = STR("eve"), .agent = STR("eve"), .claims = claims};
    struct agent *a = enters(w, who, "{}");
    reports_version(s.next, "2");
    for (int k = 0; k < 3; k++) expect_text(calls(a, "pay:charge", "{}"), "ok");
    bool canary = s.next->log.n;
    canaries += canary;
    expect_called(canary ? s.next : s.pay, "charge {}\ncharge {}\ncharge {}\n");
    expect_called(canary ? s.pay : s.next, "");
  }
  assert_in_range(canaries, 1, RUNS - 1);
}

static void a_share_is_a_percentage_of_the_runs(void **state) {
  struct governance_version v = {.version = STR("2"), .share = 10};
  struct governance_adapter a = {.adapter_id = STR("adp"), .versions = {&v, 1}};
  char run[16];
  size_t n = 0;
  for (int i = 0; i < 10000; i++) {
    snprintf(run, sizeof run, "run_%d", i);
    n += governance_choose_version(&a, STR_NONE, STR_NONE, str_of(run), 0) != NULL;
  }
  assert_in_range(n, 900, 1100);
  v.environments = (struct governance_names){(const str[]){STR("staging")}, 1};
  v.share = 100;
  assert_null(governance_choose_version(&a, STR_NONE, STR_NONE, STR("r"), 0));
  assert_null(governance_choose_version(&a, STR("prod"), STR_NONE, STR("r"), 0));
  assert_ptr_equal(governance_choose_version(&a, STR("staging"), STR_NONE, STR("r"), 0), &v);
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(calls_go_to_the_version_of_their_environment_or_tenant),
      TEST(the_decision_is_the_same_for_every_version_and_names_it),
      TEST(a_version_is_not_listed_and_cannot_be_chosen_by_name),
      TEST(a_server_of_another_version_than_expected_is_not_called),
      TEST(a_version_with_another_input_schema_gets_no_calls),
      TEST(a_version_with_an_output_schema_of_its_own_gets_no_calls),
      TEST(a_version_that_declares_more_effects_gets_no_calls),
      TEST(a_version_that_needs_other_credentials_gets_no_calls),
      TEST(a_version_that_rules_forbid_gets_no_calls),
      TEST(a_run_keeps_its_version),
      cmocka_unit_test(a_share_is_a_percentage_of_the_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
