// SPDX-License-Identifier: Apache-2.0
// Files that are read again: everybody who takes something over does, or nobody does. The gateway is a real one, whose
// servers nobody asks for.
#include "app/reload.h"
#include "config_folder.h"

#define RULES(tools) "{\"agents\":{\"a\":{\"allow\":{\"servers\":[\"*\"],\"tools\":{\"*\":[" tools "]}}}}}"
#define SERVERS(more) "{\"mcpServers\":{\"one\":{\"command\":\"cat\"}" more "}}"

struct world {
  struct place *place;
  struct guard guard;
  struct gateway gateway;
  struct reload *reload;
  bool refuses;
  int prepared, taken, given_up;
  const struct policy *seen;  // the rules in force when it settled
};

static bool on_prepare(void *ctx, const struct config *before, const struct config *next, struct fault *f) {
  struct world *w = ctx;
  w->prepared++;
  if (w->refuses) fault_set(f, FAULT_IO, "there is no door");
  return !w->refuses;
}

static void on_settle(void *ctx, bool taken) {
  struct world *w = ctx;
  if (taken) w->taken++;
  else w->given_up++;
  w->seen = w->gateway.rules.policy;
}

static char *const environment[] = {(char *)"PATH=/bin", NULL};

static int set_up(void **state) {
  struct world *w = MEM_NEW(struct world);
  struct fault f;
  if (enter((void **)&w->place)) return -1;
  write_file(".mcp.json", SERVERS(""));
  write_file("rules.json", RULES("\"x\""));
  write_file("toolgate.yaml", "{state_dir: none, reload: signal, rules: rules.json, log: {level: off}}");
  assert_true(load(w->place));
  assert_true(guard_start(&w->guard, &f));
  assert_true(gateway_init(&w->gateway, &w->place->config, &w->guard, environment, &f));
  struct reload_options opt = {
      &w->gateway, &w->place->options, &w->place->problems, environment, on_prepare, on_settle, NULL, w};
  w->reload = reload_new(&opt);
  *state = w;
  return 0;
}

static void on_stopped(void *ctx) {
}

static int tear_down(void **state) {
  struct world *w = *state;
  reload_free(&w->reload);
  gateway_stop(&w->gateway, on_stopped, NULL);
  loop_run(&w->gateway.loop);
  gateway_done(&w->gateway);
  int failed = leave((void **)&w->place);
  mem_free(w);
  return failed;
}

static void read_again(struct world *w) {
  int64_t before = w->gateway.reload.servers.attempts;
  reload_now(w->reload);
  for (int i = 0; i < 1000 && w->gateway.reload.servers.attempts == (uint64_t)before; i++)
    uv_run(&w->gateway.loop.uv, UV_RUN_NOWAIT);
  assert_int_equal(w->gateway.reload.servers.attempts, before + 1);
}

static void an_entry_that_is_wrong_is_told_with_the_cause(void **state) {
  struct world *w = *state;
  write_file(".mcp.json", SERVERS(",\"two\":{\"command\":\"cat\",\"args\":[\"${NOT_SET}\"]}"));
  read_again(w);
  assert_false(w->gateway.reload.ok);
  assert_non_null(strstr(w->gateway.reload.message, "/mcpServers/two/args/0: uses ${NOT_SET}"));
}

static void what_somebody_cannot_make_ready_changes_nothing(void **state) {
  struct world *w = *state;
  const struct reload_status *status = &w->gateway.reload;
  const struct policy *rules = w->gateway.rules.policy;
  write_file(".mcp.json", SERVERS(",\"two\":{\"command\":\"cat\"}"));
  write_file("rules.json", RULES("\"y\""));
  w->refuses = true;
  read_again(w);
  assert_false(status->ok);
  assert_string_equal(status->message, "toolgate.yaml: there is no door");
  assert_int_equal(status->servers.successes, 0);
  assert_ptr_equal(w->gateway.rules.policy, rules);
  assert_int_equal(upstreams_count(w->gateway.upstreams), 1);
  assert_int_equal(w->taken + w->given_up, 0);
  w->refuses = false;
  read_again(w);
  assert_true(status->ok);
  assert_ptr_not_equal(w->gateway.rules.policy, rules);
  assert_int_equal(upstreams_count(w->gateway.upstreams), 2);
  assert_int_equal(w->taken, 1);
}

static void what_is_ready_is_given_up_when_the_servers_cannot_be_taken(void **state) {
  struct world *w = *state;
  struct buf servers;
  buf_init(&servers, 1 << 20);
  // Places of servers are never given to others, so that there is an end to them.
  for (int round = 0; w->gateway.reload.servers.successes == w->gateway.reload.servers.attempts; round++) {
    assert_true(round < 100);
    buf_reset(&servers);
    buf_str(&servers, STR("{\"mcpServers\":{"));
    for (int i = 0; i < 200; i++) buf_printf(&servers, "%s\"s%d-%d\":{\"command\":\"cat\"}", i ? "," : "", round, i);
    buf_str(&servers, STR("}}"));
    buf_char(&servers, 0);
    write_file(".mcp.json", servers.p);
    write_file("rules.json", round % 2 ? RULES("\"x\"") : RULES("\"y\""));
    const struct policy *rules = w->gateway.rules.policy;
    read_again(w);
    if (w->gateway.reload.ok) assert_ptr_not_equal(w->gateway.rules.policy, rules);
    else assert_ptr_equal(w->gateway.rules.policy, rules);
  }
  assert_int_equal(w->prepared, w->taken + 1);
  assert_int_equal(w->given_up, 1);
  buf_done(&servers);
}

static void who_is_ready_changes_when_the_gateway_has(void **state) {
  struct world *w = *state;
  write_file("rules.json", RULES("\"y\""));
  read_again(w);
  assert_int_equal(w->prepared, 1);
  assert_int_equal(w->taken, 1);
  assert_ptr_equal(w->seen, w->gateway.rules.policy);
}

static void nobody_is_asked_to_make_ready_what_is_wrong(void **state) {
  struct world *w = *state;
  write_file("rules.json", "{");
  read_again(w);
  assert_false(w->gateway.reload.ok);
  assert_int_equal(w->prepared, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(an_entry_that_is_wrong_is_told_with_the_cause, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_somebody_cannot_make_ready_changes_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_ready_is_given_up_when_the_servers_cannot_be_taken, set_up, tear_down),
      cmocka_unit_test_setup_teardown(who_is_ready_changes_when_the_gateway_has, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nobody_is_asked_to_make_ready_what_is_wrong, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
