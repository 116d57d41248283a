// SPDX-License-Identifier: Apache-2.0
// upstream/adapter: a kind of upstream that answers in this process, at once or later.
#include "link_world.h"

#include "upstream/adapter.h"

struct fixture {
  struct owner o;
  struct adapter_call *held;  // of the tool "later"
  unsigned cancelled;
};

static size_t count(void *own, enum item_kind kind) {
  return kind == ITEM_TOOL ? 2 : 0;
}

static str definition(void *own, enum item_kind kind, size_t index) {
  return index ? STR("{\"name\":\"later\"}") : STR("{\"name\":\"now\"}");
}

static void call(void *own, struct adapter_call *c) {
  struct fixture *x = own;
  str said = STR_NONE;
  assert_int_equal(c->kind, ITEM_TOOL);
  json_string(json_get(c->arguments, STR("say")), &c->arena, &said);
  if (str_eq(c->name, STR("later"))) x->held = c;
  else if (str_eq(c->name, STR("now"))) adapter_text(c, said, false);
  else adapter_not_found(c);
}

static void cancel(void *own, struct adapter_call *c) {
  struct fixture *x = own;
  assert_ptr_equal(c, x->held);
  x->held = NULL;
  x->cancelled++;
}

static int setup(void **state) {
  static const struct adapter_ops ops = {
      .count = count, .definition = definition, .call = call, .cancel = cancel, .too_large = "too large"};
  struct fixture *x = MEM_NEW(struct fixture);
  owner_open(&x->o, &(struct http_server_options){.max_connections = 1}, NULL);
  struct link_options opt = link_options(&x->o);
  x->o.link = adapter_link(&opt, &ops, x, &owner_events, &x->o);
  link_open(x->o.link);
  wait_ready(&x->o);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  owner_close(&x->o);
  world_close(&x->o.w);
  mem_free(x);
  return 0;
}

static void hold(struct fixture *x, struct ask *a) {
  ask_send(a, &x->o, 'a', STR("tools/call"), STR("{\"name\":\"later\"}"));
  for (uint64_t until = real_ms() + DEADLINE_MS; !x->held;) turn(&x->o.w, -1, until);
}

static void a_call_is_answered_at_once_or_later(void **state) {
  struct fixture *x = *state;
  struct ask a, b;
  hold(x, &a);
  ask_send(&b, &x->o, 'b', STR("tools/call"), STR("{\"name\":\"now\",\"arguments\":{\"say\":\"hi\"}}"));
  happens(&x->o, "b got {\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":false}\n");
  adapter_result(x->held, STR("{\"content\":[]}"));
  happens(&x->o, "a got {\"content\":[]}\n");
  ask_send(&b, &x->o, 'b', STR("tools/list"), STR_NONE);
  happens(&x->o, "b got {\"tools\":[{\"name\":\"now\"},{\"name\":\"later\"}]}\n");
}

static void a_call_that_nobody_waits_for_is_cancelled(void **state) {
  struct fixture *x = *state;
  struct ask a;
  hold(x, &a);
  link_call_cancel(&a.call, STR("no longer needed"));
  assert_int_equal(x->cancelled, 1);
  hold(x, &a);
  link_free(&x->o.link);
  assert_int_equal(x->cancelled, 2);
  happens(&x->o, "a failed SHUTTING_DOWN\n");
}

static void an_answer_may_free_the_link(void **state) {
  struct fixture *x = *state;
  struct ask a;
  hold(x, &a);
  a.free_link = true;
  adapter_error(x->held, RPC_INTERNAL_ERROR, "out of order", STR_NONE);
  happens(&x->o, "a got {\"code\":-32603,\"message\":\"out of order\"}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_call_is_answered_at_once_or_later),
      TEST(a_call_that_nobody_waits_for_is_cancelled),
      TEST(an_answer_may_free_the_link),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
