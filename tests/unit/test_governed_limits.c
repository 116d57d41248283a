// SPDX-License-Identifier: Apache-2.0
// Circuit breakers and egress budgets of governed calls, with a gateway and a scripted server.
#include "governed_world.h"

#define SHOP(members) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop'," members "'capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'list','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[{'permission_id':'p1','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p2','adapter_id':'adp_shop','capability':'list','allow':true," \
  "'arg_constraints':{'n':{'max':10}}}]," \
  "'context':{'agents':{'ann':{'tenant':'acme'},'bob':{'tenant':'globex'}}}"

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'},"
              "'annotations':{'readOnlyHint':true}}");
  has_tool(s, "{'name':'list','description':'List goods.','inputSchema':{'type':'object'}}");
  return s;
}

static void fail_five_times(struct world *w, struct server *shop, struct agent *a) {
  for (int i = 0; i < 5; i++) fails(shop, -32603, "out of memory", NULL);
  for (int i = 0; i < 5; i++) expect_fault(calls(a, "shop:find", "{'i':1}"), "UPSTREAM_ERROR");
}

// B02
static void after_five_failures_the_server_is_not_called_until_a_probe_succeeds(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, SHOP(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  fail_five_times(w, shop, ann);
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "CIRCUIT_OPEN");
  expect_part(m, "\\\"retryable\\\":true");
  expect_part(m, "\\\"retry_after_ms\\\":30000");
  expect_called(shop, "find {\"i\":1}\nfind {\"i\":1}\nfind {\"i\":1}\nfind {\"i\":1}\nfind {\"i\":1}\n");
  expect_text(calls(ann, "shop:list", "{}"), "ok");  // another capability
  expect_text(calls(bob, "shop:find", "{}"), "ok");  // another tenant
  pass(w, 30000);
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
}

// B03
static void refusals_and_errors_of_the_request_do_not_open_a_breaker(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, SHOP(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  for (int i = 0; i < 10; i++) expect_fault(calls(ann, "shop:list", "{'n':11}"), "ARG_CONSTRAINT_VIOLATION");
  for (int i = 0; i < 3; i++) {
    fails(shop, -32602, "no such thing", NULL);
    reports(shop, "nothing found");
    expect_fault(calls(ann, "shop:list", "{}"), "UPSTREAM_ERROR");
    calls(ann, "shop:list", "{}");
  }
  expect_text(calls(ann, "shop:list", "{}"), "ok");
}

static void a_breaker_can_be_switched_off(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, SHOP("'breaker':{'enabled':false},"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  fail_five_times(w, shop, ann);
  expect_text(calls(ann, "shop:find", "{}"), "ok");
}

static void an_expired_result_from_the_cache_is_used_while_a_breaker_is_open(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  given(w, "cache: {read_only: true, ttl: 1}\n");
  governed_by(w, SHOP("'breaker':{'consecutive':2,'degraded_s':60},"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  answers(shop, "ten bolts");
  expect_text(calls(ann, "shop:find", "{'q':'bolt'}"), "ten bolts");
  pass(w, 2000);
  fails(shop, -32603, "out of memory", NULL);
  fails(shop, -32603, "out of memory", NULL);
  for (int i = 0; i < 2; i++) expect_fault(calls(ann, "shop:find", "{'q':'bolt'}"), "UPSTREAM_ERROR");
  const struct json *m = calls(ann, "shop:find", "{'q':'bolt'}");
  expect_text(m, "ten bolts");
  expect_part(m, "\"degraded\":true");
  expect_fault(calls(ann, "shop:find", "{'q':'nut'}"), "CIRCUIT_OPEN");
  expect_text(calls(bob, "shop:find", "{'q':'bolt'}"), "ok");  // not the result of another caller
}

// B01
static void a_tenant_that_sends_too_many_calls_waits_for_the_time_that_the_fault_states(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, SHOP("'egress':{'rate':2,'burst':2},"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *second = arrives_as(w, MODE_DIRECT, "ann");
  struct agent *bob = arrives_as(w, MODE_GATEWAY, "bob");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_text(calls(second, "shop:find", "{}"), "ok");  // the tenant's connections share the budget
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "EGRESS_BUDGET_EXCEEDED");
  expect_part(m, "\\\"retry_after_ms\\\":500");
  expect_text(calls(bob, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\nfind {}\nfind {}\n");
  pass(w, 500);
  expect_text(calls(ann, "shop:find", "{}"), "ok");
}

static void a_server_that_answers_429_gets_no_calls_for_a_while(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, SHOP("'egress':{'daily':100},"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  fails(shop, 429, "too many requests", NULL);
  expect_fault(calls(ann, "shop:find", "{}"), "RATE_LIMITED");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "EGRESS_BUDGET_EXCEEDED");
  expect_part(m, "\\\"limit\\\":\\\"upstream\\\"");
  pass(w, 1000);
  expect_text(calls(ann, "shop:find", "{}"), "ok");
}

#define TEST(name) IN_A_WORLD(name)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(after_five_failures_the_server_is_not_called_until_a_probe_succeeds),
      TEST(refusals_and_errors_of_the_request_do_not_open_a_breaker),
      TEST(a_breaker_can_be_switched_off),
      TEST(an_expired_result_from_the_cache_is_used_while_a_breaker_is_open),
      TEST(a_tenant_that_sends_too_many_calls_waits_for_the_time_that_the_fault_states),
      TEST(a_server_that_answers_429_gets_no_calls_for_a_while),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
