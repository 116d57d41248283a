// SPDX-License-Identifier: Apache-2.0
// Counters of governed calls: outcomes, decisions, refusals of the flow guard, misclassified calls.
#include "governed_world.h"

#include "observe/govern_metrics.h"
#include "observe/metrics.h"

#define FILE_TEXT \
  "'adapters':[{'adapter_id':'adp','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only','flow':['reads_private','untrusted_input']}," \
  "{'name':'post','class':'act','approval_mode':'destructive','flow':['sends_out']}]}]," \
  "'permissions':[{'permission_id':'p1','adapter_id':'adp','capability':'find','allow':true," \
  "'arg_constraints':{'n':{'max':5}}},{'permission_id':'p2','adapter_id':'adp','capability':'post','allow':true}]"

static struct server *a_shop(struct world *w, const char *annotations) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(
      s, arena_printf(&w->arena, "{'name':'find','inputSchema':{'type':'object'},'annotations':{%s}}", annotations).p);
  has_tool(s, "{'name':'post','inputSchema':{'type':'object'}}");
  governed_by(w, FILE_TEXT);
  return s;
}

static const struct json *counters(struct world *w) {
  struct buf b;
  struct fault f;
  buf_init(&b, 1 << 20);
  struct json_writer j = json_writer(&b);
  json_begin_object(&j);
  govern_metrics_put(metrics_governed(w->gateway.metrics), &j);
  json_end_object(&j);
  const struct json *v = json_parse(&w->arena, arena_str(&w->arena, buf_view(&b)), &json_default_limits, &f);
  assert_non_null(v);
  buf_done(&b);
  return v;
}

#define expect_count(v, path, text) assert_string_equal(arena_cstr(&w->arena, member(w, v, path)), text)

static void calls_are_counted_by_capability_and_outcome(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'readOnlyHint':true");
  struct agent *a = arrives(w, MODE_DIRECT);
  w->tick = 1;
  expect_text(calls(a, "shop:find", "{}"), "ok");
  reports(shop, "broken");
  calls(a, "shop:find", "{}");
  fails(shop, -32000, "broken", NULL);
  calls(a, "shop:find", "{}");
  expect_fault(calls(a, "shop:find", "{'n':6}"), "ARG_CONSTRAINT_VIOLATION");
  expect_fault(calls(a, "shop:post", "{}"), "FLOW_DENIED");
  expect_part(calls_with(a, "shop:find", "{}", "'_meta':{'toolgate/dryRun':true}"), "dry_run");
  const struct json *v = counters(w), *find = json_at(json_get(v, STR("capabilities")), 0);
  const struct json *post = json_at(json_get(v, STR("capabilities")), 1),
                    *adapter = json_at(json_get(v, STR("adapters")), 0);
  expect_count(find, "capability", "find");
  expect_count(find, "calls", "4");
  expect_count(find, "completed", "1");
  expect_count(find, "failed", "2");
  expect_count(find, "denied", "1");
  expect_count(find, "success_rate", "0.333333");
  expect_count(post, "denied", "1");
  expect_count(post, "success_rate", "null");
  expect_count(adapter, "calls", "5");
  expect_count(adapter, "audited", "3");
  expect_count(adapter, "misclassified", "0");
  assert_string_not_equal(arena_cstr(&w->arena, member(w, adapter, "p99_us")), "0");
  expect_count(v, "decisions", "{\"ALLOWED\":3,\"ARG_CONSTRAINT_VIOLATION\":1,\"FLOW_DENIED\":1}");
  expect_count(v, "violations_per_thousand", "400");
  expect_count(v, "rejected_modes", "0");
  expect_count(v, "flow_denied", "1");
}

static void denied_calls_of_hidden_tools_are_counted_too(void **state) {
  struct world *w = *state;
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'post','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'wipe','inputSchema':{'type':'object'}}");
  governed_by(w, "'adapters':[{'adapter_id':'adp','type':'MCP','server':'shop','capabilities':["
                 "{'name':'find','class':'observe','approval_mode':'read_only'},"
                 "{'name':'post','class':'act','approval_mode':'destructive'}]}],"
                 "'permissions':[{'permission_id':'p1','adapter_id':'adp','capability':'find','allow':true}]");
  struct agent *direct = arrives(w, MODE_DIRECT), *servers = arrives(w, MODE_SERVERS);
  calls(direct, "shop:find", "{}");
  calls(direct, "shop:post", "{}");
  calls(servers, "shop:post", "{}");
  calls(servers, "shop:wipe", "{}");
  const struct json *v = counters(w), *post = json_at(json_get(v, STR("capabilities")), 1);
  expect_count(post, "capability", "post");
  expect_count(post, "denied", "2");
  expect_count(v, "decisions", "{\"ALLOWED\":1,\"CAPABILITY_UNKNOWN\":1,\"PERMISSION_DENIED\":2}");
  expect_count(v, "violations_per_thousand", "750");
}

static void a_call_counts_once_as_audited_by_an_operator(void **state) {
  static const struct hash_key seed = {1, 2};
  static const struct governed_audit said[] = {
      {STR("adp"), APPROVAL_READ_ONLY, APPROVAL_READ_ONLY, APPROVAL_NONE},
      {STR("adp"), APPROVAL_READ_ONLY, APPROVAL_DESTRUCTIVE, APPROVAL_NONE},
      {STR("adp"), APPROVAL_READ_ONLY, APPROVAL_NETWORK, APPROVAL_DESTRUCTIVE},     // the second call again
      {STR("adp"), APPROVAL_READ_ONLY, APPROVAL_LOCAL_WRITE, APPROVAL_READ_ONLY},   // the first call again
      {STR("adp"), APPROVAL_READ_ONLY, APPROVAL_READ_ONLY, APPROVAL_LOCAL_WRITE}};  // and once more
  struct world *w = *state;
  struct govern_metrics *m = govern_metrics_new(&seed);
  struct buf b;
  buf_init(&b, 1 << 20);
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) govern_metrics_audit(m, &said[i]);
  govern_metrics_write(m, &b);
  assert_true(contains(buf_view(&b), STR("toolgate_govern_audited_total{adapter=\"adp\",by=\"operator\"} 2\n")));
  assert_true(contains(buf_view(&b), STR("toolgate_govern_misclassified_total{adapter=\"adp\",by=\"operator\"} 2\n")));
  buf_done(&b);
  govern_metrics_free(&m);
  assert_false(w->open);
}

static void a_destructive_tool_of_a_reading_class_is_misclassified(void **state) {
  struct world *w = *state;
  a_shop(w, "'destructiveHint':true");
  struct agent *a = arrives(w, MODE_DIRECT);
  calls(a, "shop:find", "{}");
  calls(a, "shop:find", "{}");
  const struct json *adapter = json_at(json_get(counters(w), STR("adapters")), 0);
  expect_count(adapter, "audited", "2");
  expect_count(adapter, "misclassified", "2");
}

static void rejected_modes_are_counted(void **state) {
  struct world *w = *state;
  a_shop(w, "'readOnlyHint':true");
  struct agent *a = arrives(w, MODE_DIRECT);
  calls_with(a, "shop:find", "{}", "'_meta':{'toolgate/mode':'network'}");
  calls_with(a, "shop:find", "{}", "'_meta':{'toolgate/mode':'admin'}");
  calls(a, "shop:find", "{'n':9}");
  expect_count(counters(w), "rejected_modes", "2");
}

static void the_page_has_every_counter_and_bounded_labels(void **state) {
  struct world *w = *state;
  static const struct hash_key seed = {1, 2};
  struct govern_metrics *m = govern_metrics_new(&seed);
  struct governance_adapter adapter = {.adapter_id = STR("adp")};
  char id[32];
  for (int i = 0; i < GOVERN_METRICS_NAMES + 5; i++) {
    snprintf(id, sizeof id, "adp.c%d", i);
    struct governance_capability c = {.adapter = &adapter, .id = str_of(id)};
    govern_metrics_call(m, &(struct governed_call){.capability = &c, .answered = true, .us = 2000});
  }
  struct buf b;
  buf_init(&b, 1 << 20);
  govern_metrics_write(m, &b);
  str page = buf_view(&b);
  assert_true(
      contains(page, STR("toolgate_govern_calls_total{adapter=\"adp\",capability=\"c0\",outcome=\"completed\"} 1")));
  assert_true(contains(page, STR("{adapter=\"(others)\",capability=\"(others)\",outcome=\"completed\"} 5")));
  assert_true(contains(page, STR("toolgate_govern_call_seconds_bucket{adapter=\"adp\",le=\"0.0025\"} 1029")));
  assert_true(contains(page, STR("toolgate_govern_call_seconds_sum{adapter=\"adp\"} 2.058000")));
  assert_true(contains(page, STR("toolgate_govern_flow_total{result=\"denied\"} 0")));
  buf_done(&b);
  govern_metrics_free(&m);
  assert_false(w->open);
}

static void the_counters_of_a_provisional_capability_say_so(void **state) {
  static const struct hash_key seed = {1, 2};
  struct govern_metrics *m = govern_metrics_new(&seed);
  struct governance_adapter adapter = {.adapter_id = STR("mcp_example.com")};  // a server whose name has a dot
  struct governance_capability c = {.adapter = &adapter, .id = STR("mcp_example.com.get.page"), .provisional = true};
  govern_metrics_call(m, &(struct governed_call){.capability = &c});
  struct buf b;
  buf_init(&b, 1 << 16);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  govern_metrics_put(m, &w);
  json_end_object(&w);
  assert_true(
      contains(buf_view(&b),
               STR("{\"adapter\":\"mcp_example.com\",\"capability\":\"get.page\",\"provisional\":true,\"calls\":1")));
  assert_true(contains(buf_view(&b), STR("{\"adapter\":\"mcp_example.com\",\"calls\":1")));
  buf_done(&b);
  govern_metrics_free(&m);
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(calls_are_counted_by_capability_and_outcome),
      TEST(denied_calls_of_hidden_tools_are_counted_too),
      TEST(a_call_counts_once_as_audited_by_an_operator),
      TEST(a_destructive_tool_of_a_reading_class_is_misclassified),
      TEST(rejected_modes_are_counted),
      TEST(the_page_has_every_counter_and_bounded_labels),
      cmocka_unit_test(the_counters_of_a_provisional_capability_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
