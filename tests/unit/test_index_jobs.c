// SPDX-License-Identifier: Apache-2.0
// The search index of an agent that sees a part of a large catalog is built on another thread.
#include "gateway_world.h"

#define RULES \
  "{'agents':{'buyer':{'allow':{'servers':['*'],'tools':{'*':['*']}},'deny':{'tools':{'shop':['secret_*']}}}," \
  "'clerk':{'allow':{'servers':['*'],'tools':{'*':['*']}},'deny':{'tools':{'shop':['secret_*','item_00*']}}}}}"
#define QUERY "{'name':'tool_browse','arguments':{'query':'amber item 321'}}"

static struct server *given_a_large_catalog(struct world *w) {
  given_rules(w, RULES);
  struct server *shop = serves(w, "shop", NULL);
  for (int i = 0; i < 700; i++) {
    str tool = arena_printf(&w->arena, "{'name':'%s_%03d','description':'%s item %d','inputSchema':{'type':'object'}}",
                            i < 10 ? "secret" : "item", i, i == 321 ? "amber" : "plain", i);
    has_tool(shop, tool.p);
  }
  return shop;
}

// The only thread of the pool (see main) waits until the test lets it go on.
static uv_sem_t held;
static uv_work_t holding;

static void wait_for_release(uv_work_t *work) {
  uv_sem_wait(&held);
}

static void on_released(uv_work_t *work, int status) {
  uv_sem_destroy(&held);
}

static void holds_the_pool(struct world *w) {
  uv_sem_init(&held, 0);
  assert_int_equal(uv_queue_work(&w->gateway.loop.uv, &holding, wait_for_release, on_released), 0);
}

static void releases_the_pool(void) {
  uv_sem_post(&held);
}

static void the_first_search_of_an_agent_waits_and_then_finds(void **state) {
  struct world *w = *state;
  given_a_large_catalog(w);
  struct agent *buyer = arrives_as(w, MODE_GATEWAY, "buyer");
  holds_the_pool(w);
  uint64_t first = sends(buyer, "tools/call", QUERY), second = sends(buyer, "tools/call", QUERY);
  assert_false(is_answered(buyer, first));
  assert_false(list_empty(&w->gateway.surface->index_jobs));
  assert_true(w->gateway.surface->index_jobs.next->next == &w->gateway.surface->index_jobs);  // one build for both
  releases_the_pool();
  expect_the_words(w, hears(buyer, first), "item_321");
  expect_the_words(w, hears(buyer, second), "item_321");
  uint64_t third = sends(buyer, "tools/call", QUERY);
  assert_true(is_answered(buyer, third));  // the index is kept
}

static void each_agent_finds_only_the_tools_it_may_use(void **state) {
  struct world *w = *state;
  given_a_large_catalog(w);
  struct agent *buyer = arrives_as(w, MODE_GATEWAY, "buyer"), *clerk = arrives_as(w, MODE_GATEWAY, "clerk");
  const char *query = "{'name':'tool_browse','arguments':{'query':'item_007 item_011 secret','top_k':50}}";
  uint64_t of_buyer = sends(buyer, "tools/call", query), of_clerk = sends(clerk, "tools/call", query);
  see(w, hears(buyer, of_buyer), "item_011", true);
  see(w, hears(buyer, of_buyer), "secret", false);
  see(w, hears(clerk, of_clerk), "secret", false);
  see(w, hears(clerk, of_clerk), "item_00", false);
}

static void a_cancelled_search_does_not_disturb_the_build(void **state) {
  struct world *w = *state;
  given_a_large_catalog(w);
  struct agent *buyer = arrives_as(w, MODE_GATEWAY, "buyer");
  holds_the_pool(w);
  uint64_t first = sends(buyer, "tools/call", QUERY), second = sends(buyer, "tools/call", QUERY);
  cancels(buyer, first);
  releases_the_pool();
  expect_the_words(w, hears(buyer, second), "item_321");
  assert_false(is_answered(buyer, first));
}

static void a_client_may_leave_while_its_index_is_built(void **state) {
  struct world *w = *state;
  given_a_large_catalog(w);
  struct agent *buyer = arrives_as(w, MODE_GATEWAY, "buyer");
  holds_the_pool(w);
  sends(buyer, "tools/call", QUERY);
  leaves(buyer);
  releases_the_pool();
}

static void the_catalog_may_change_while_an_index_is_built(void **state) {
  struct world *w = *state;
  struct server *shop = given_a_large_catalog(w);
  struct agent *buyer = arrives_as(w, MODE_GATEWAY, "buyer");
  holds_the_pool(w);
  uint64_t first = sends(buyer, "tools/call", QUERY);
  assert_false(is_answered(buyer, first));
  has_tool(shop, "{'name':'amber','description':'amber item 321','inputSchema':{'type':'object'}}");
  says(shop, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  releases_the_pool();
  expect_the_words(w, hears(buyer, first), "item_321");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_first_search_of_an_agent_waits_and_then_finds, begin_world, end_world),
      cmocka_unit_test_setup_teardown(each_agent_finds_only_the_tools_it_may_use, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_cancelled_search_does_not_disturb_the_build, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_client_may_leave_while_its_index_is_built, begin_world, end_world),
      cmocka_unit_test_setup_teardown(the_catalog_may_change_while_an_index_is_built, begin_world, end_world),
  };
  setenv("UV_THREADPOOL_SIZE", "1", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
