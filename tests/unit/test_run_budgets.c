// SPDX-License-Identifier: Apache-2.0
// Budgets of runs: which calls share a budget, and that a client cannot get more than the run has. Single limits are
// tested in test_governed_calls.c.
#include "call/controls/run_budgets.h"
#include "governed_world.h"

// ---- the counts themselves

static const struct hash_key seed = {1, 2};

static const char *take(struct run_budgets *b, const struct run_call *call, const struct run_budget *limits) {
  uint64_t left;
  return run_budgets_take(b, call, limits, &left);
}

static void costs_are_decimal_numbers(void **state) {
  struct run_budgets *b = run_budgets_new(&seed);
  struct run_budget limits = {.max_cost = 0.3};
  struct run_call call = {.principal = STR("p"), .run = STR("r"), .cost = 0.1};
  for (int i = 0; i < 3; i++) assert_null(take(b, &call, &limits));
  assert_string_equal(take(b, &call, &limits), "max_cost");
  call.cost = 0;
  assert_null(take(b, &call, &limits));
  run_budgets_free(&b);
}

static void a_continued_call_counts_once_and_ends_with_its_run(void **state) {
  struct run_budgets *b = run_budgets_new(&seed);
  struct run_budget limits = {.max_calls = 1, .max_cost = 1, .max_wall_ms = 1000};
  struct run_call call = {.principal = STR("p"), .run = STR("r"), .cost = 1};
  assert_null(take(b, &call, &limits));
  assert_string_equal(take(b, &call, &limits), "max_calls");
  call.continued = true;
  call.now = 999;
  uint64_t left;
  assert_null(run_budgets_take(b, &call, &limits, &left));
  assert_int_equal(left, 1);
  call.now = 1000;
  assert_string_equal(take(b, &call, &limits), "max_wall_ms");
  run_budgets_free(&b);
}

static void a_run_is_forgotten_a_day_after_its_last_call(void **state) {
  enum { DAY = 24 * 3600 * 1000 };
  struct run_budgets *b = run_budgets_new(&seed);
  struct run_budget limits = {.max_calls = 1, .max_cost = -1};
  struct run_call call = {.principal = STR("p"), .run = STR("r")};
  assert_null(take(b, &call, &limits));
  call.now = DAY - 1;
  assert_string_equal(take(b, &call, &limits), "max_calls");
  call.now += DAY - 1;  // a refused call is a call, too
  assert_string_equal(take(b, &call, &limits), "max_calls");
  call.now += DAY;
  assert_null(take(b, &call, &limits));
  run_budgets_free(&b);
}

// ---- runs in a gateway

#define GOVERNANCE(limits) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}]," \
  "'context':{'defaults':{'budget':{" limits "}},'claims':{'run_id':'rid','tenant':'org'}}"

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  return s;
}

// An agent whose token has these claims.
static struct agent *with_claims(struct world *w, const char *name, const char *claims) {
  return enters(w,
                (struct client_identity){
                    .mode = MODE_DIRECT, .name = str_of(name), .agent = str_of(name), .claims = quoted(w, claims)},
                "{}");
}

static void expect_exceeded(struct agent *a, const char *more) {
  struct world *w = a->world;
  expect_fault(calls_with(a, "shop:find", "{}", more), "RUN_BUDGET_EXCEEDED");
}

static void callers_with_the_same_run_share_its_budget(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, GOVERNANCE("'max_calls':3"));
  struct agent *ann = with_claims(w, "ann", "{'sub':'u','org':'acme','rid':'r1'}");
  struct agent *bob = with_claims(w, "bob", "{'sub':'v','org':'acme','rid':'r1'}");
  struct agent *again = with_claims(w, "ann", "{'sub':'u','org':'acme','rid':'r1'}");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_text(calls(bob, "shop:find", "{}"), "ok");
  expect_text(calls(again, "shop:find", "{}"), "ok");
  expect_exceeded(ann, NULL);
  expect_exceeded(bob, NULL);
  expect_exceeded(again, NULL);
  expect_text(calls(with_claims(w, "ann", "{'sub':'u','org':'acme','rid':'r2'}"), "shop:find", "{}"), "ok");
}

static void a_run_of_another_tenant_is_another_run(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, GOVERNANCE("'max_calls':1"));
  struct agent *acme = with_claims(w, "ann", "{'sub':'u','org':'acme','rid':'r1'}");
  struct agent *globex = with_claims(w, "eve", "{'sub':'e','org':'globex','rid':'r1'}");
  // Names that would be the same text if they were only joined.
  struct agent *joined = with_claims(w, "eve", "{'sub':'e','org':'acme r1','rid':'x'}");
  struct agent *parted = with_claims(w, "eve", "{'sub':'e','org':'acme','rid':'r1 x'}");
  expect_text(calls(globex, "shop:find", "{}"), "ok");
  expect_text(calls(acme, "shop:find", "{}"), "ok");
  expect_text(calls(joined, "shop:find", "{}"), "ok");
  expect_text(calls(parted, "shop:find", "{}"), "ok");
  expect_exceeded(globex, NULL);
  expect_exceeded(acme, NULL);
}

static void calls_at_the_same_time_do_not_pass_a_budget(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, GOVERNANCE("'max_calls':2"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  holds(shop);
  uint64_t first = begins(ann, "shop:find", "{}"), second = begins(ann, "shop:find", "{}");
  expect_exceeded(ann, NULL);
  releases(shop, "one");
  releases(shop, "two");
  expect_text(hears(ann, first), "one");
  expect_text(hears(ann, second), "two");
  expect_called(shop, "find {}\nfind {}\n");
}

#define PART(members) "'_meta':{'toolgate/run':{" members "}}"

static void a_part_of_a_run_cannot_be_another_run(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, GOVERNANCE("'max_calls':2"));
  struct agent *ann = with_claims(w, "ann", "{'sub':'u','org':'acme','rid':'r1'}");
  struct agent *bob = with_claims(w, "bob", "{'sub':'v','org':'acme','rid':'r1'}");
  struct agent *other = with_claims(w, "eve", "{'sub':'e','org':'acme','rid':'r2'}");
  expect_text(calls_with(ann, "shop:find", "{}", PART("'id':'a','maxCalls':1")), "ok");
  expect_exceeded(ann, PART("'id':'a','maxCalls':1"));
  // The part of another caller has its own count, but the calls count for the run of both.
  expect_text(calls_with(bob, "shop:find", "{}", PART("'id':'a','maxCalls':1")), "ok");
  expect_exceeded(ann, PART("'id':'b','maxCalls':100,'maxCost':100,'maxMs':100000,'maxCallMs':100000"));
  expect_exceeded(bob, PART("'id':'r2','maxCalls':100"));
  expect_text(calls(other, "shop:find", "{}"), "ok");
}

static void the_time_of_an_adapter_can_only_shorten_a_call(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','timeout_ms':5000,'capabilities':["
                 "{'name':'find','class':'observe','approval_mode':'read_only'}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}],"
                 "'context':{'agents':{'ann':{'budget':{'max_call_ms':2000}},'bob':{'budget':{'max_call_ms':60000}}}}");
  static const struct {
    const char *agent;
    uint64_t ms;
  } cases[] = {{"ann", 2000}, {"bob", 5000}};
  for (size_t i = 0; i < 2; i++) {
    struct agent *a = arrives_as(w, MODE_DIRECT, cases[i].agent);
    holds(shop);
    uint64_t id = begins(a, "shop:find", "{}");
    pass(w, cases[i].ms - 100);
    assert_false(is_answered(a, id));
    pass(w, 200);
    expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
  }
}

// ---- what a request may change

#define RULES(rules) ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[" rules "]}}]"
#define ORDER(rules) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'act','approval_mode':'destructive'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}]" RULES(rules)

static void a_lower_ceiling_of_a_request_does_not_select_other_rules(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(
      w, ORDER("{'rule_id':'low','then':{'allow':true,'approval_mode':'network'}},"
               "{'rule_id':'no','if':{'and':[{'==':[{'var':'safety_mode'},'destructive']},{'>':[{'var':'args.n'},5]}]},"
               "'then':{'allow':false}}"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:find", "{'n':6}"), "POLICY_DENIED");
  expect_fault(calls_with(ann, "shop:find", "{'n':6}", "'_meta':{'toolgate/safetyMode':'delegated'}"), "POLICY_DENIED");
  expect_text(calls_with(ann, "shop:find", "{'n':5}", "'_meta':{'toolgate/safetyMode':'network'}"), "ok");
  expect_fault(calls_with(ann, "shop:find", "{'n':5}", "'_meta':{'toolgate/safetyMode':'local_write'}"),
               "MODE_ABOVE_RUN_CEILING");
  expect_called(shop, "find {'n':5}\n");
}

static void a_request_for_a_higher_mode_does_not_avoid_the_delegation(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(
      w, ORDER("{'rule_id':'low','if':{'<':[{'var':'args.n'},5]},'then':{'allow':true,'approval_mode':'delegated'}},"
               "{'rule_id':'any','then':{'allow':true}}"));
  struct agent *service = with_claims(w, "ann", "{'sub':'nightly','client_id':'nightly'}");
  struct agent *user = with_claims(w, "bob", "{'sub':'bob','client_id':'app'}");
  static const char *const destructive = "'_meta':{'toolgate/mode':'destructive'}";
  expect_fault(calls(service, "shop:find", "{'n':1}"), "DELEGATION_REQUIRED");
  expect_fault(calls_with(service, "shop:find", "{'n':1}", destructive), "DELEGATION_REQUIRED");
  expect_text(calls_with(user, "shop:find", "{'n':1}", destructive), "ok");
  expect_text(calls(service, "shop:find", "{'n':9}"), "ok");
  expect_called(shop, "find {'n':1}\nfind {'n':9}\n");
}

static void no_member_of_meta_changes_the_context(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
                 "{'name':'find','class':'act','approval_mode':'destructive'}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}],"
                 "'context':{'agents':{'ann':{'safety_mode':'network'}}}" RULES(
                     "{'rule_id':'r','if':{'or':[{'==':[{'var':'role'},'lead']},{'var':'args.any'}]},"
                     "'then':{'allow':true,'approval_mode':'network'}}"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  static const char *const tries[] = {
      "'toolgate/role':'lead'",
      "'role':'lead'",
      "'toolgate/context':{'role':'lead'}",
      "'io.toolgate/context':{'role':'lead','safety_mode':'destructive'}",
      "'toolgate/safetyMode':'destructive','toolgate/mode':'read_only'",
  };
  for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
    str more = arena_printf(&w->arena, "'_meta':{%s}", tries[i]);
    expect_fault(calls_with(ann, "shop:find", "{}", arena_cstr(&w->arena, more)), "POLICY_DENIED");
  }
  expect_fault(calls_with(ann, "shop:find", "{'any':1}",
                          "'_meta':{'toolgate/safetyMode':'destructive','toolgate/mode':'destructive'}"),
               "MODE_ABOVE_RUN_CEILING");
  expect_called(shop, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(costs_are_decimal_numbers),
      cmocka_unit_test(a_continued_call_counts_once_and_ends_with_its_run),
      cmocka_unit_test(a_run_is_forgotten_a_day_after_its_last_call),
      IN_A_WORLD(callers_with_the_same_run_share_its_budget),
      IN_A_WORLD(a_run_of_another_tenant_is_another_run),
      IN_A_WORLD(calls_at_the_same_time_do_not_pass_a_budget),
      IN_A_WORLD(a_part_of_a_run_cannot_be_another_run),
      IN_A_WORLD(the_time_of_an_adapter_can_only_shorten_a_call),
      IN_A_WORLD(a_lower_ceiling_of_a_request_does_not_select_other_rules),
      IN_A_WORLD(a_request_for_a_higher_mode_does_not_avoid_the_delegation),
      IN_A_WORLD(no_member_of_meta_changes_the_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
