// SPDX-License-Identifier: Apache-2.0
// call/scrub: messages of a server, masked before a client gets them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "call/call.h"
#include "upstream/upstream_impl.h"

static const str values[] = {STR("s3cret-of-the-server"), STR("10.0.0.5:8080")};

struct fixture {
  struct arena arena;
  struct upstream_spec spec;
  struct upstream upstream;
  struct lane lane;
  struct call_context context;
};

static int setup(void **state) {
  struct fixture *x = calloc(1, sizeof *x);
  arena_init(&x->arena);
  x->spec.kind = &upstream_http;
  x->spec.secrets = (struct secrets_known){values, 1, 0};
  x->spec.hidden = (struct secrets_known){values, 2, 1};
  x->upstream.spec = &x->spec;
  x->lane.magic = LANE_MAGIC;
  x->lane.upstream = &x->upstream;
  *state = x;
  return 0;
}

static int teardown(void **state) {
  arena_done(&((struct fixture *)*state)->arena);
  free(*state);
  return 0;
}

static struct rpc_message message(struct fixture *x, const char *text) {
  struct fault f;
  struct rpc_message m = {.kind = RPC_NOTIFICATION};
  m.root = json_parse(&x->arena, str_of(text), &json_default_limits, &f);
  m.params = json_get(m.root, STR("params"));
  assert_true(json_string(json_get(m.root, STR("method")), &x->arena, &m.method));
  return m;
}

static void becomes(struct fixture *x, const char *text, const char *want) {
  struct rpc_message m = message(x, text);
  const struct rpc_message *got = calls_scrub(&x->context, &x->lane, &m, &x->arena);
  assert_non_null(got);
  if (!str_eq(json_span(got->params), str_of(want)))
    fail_msg("%.*s instead of %s", STR_ARG(json_span(got->params)), want);
}

#define NOTE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}"
#define SAID "\"s3cret-of-the-server at 10.0.0.5:8080\""

static void a_failed_task_is_masked_but_for_its_id(void **state) {
  becomes(*state,
          NOTE("tasks/status", "{\"taskId\":\"10.0.0.5:8080\",\"status\":\"failed\",\"statusMessage\":" SAID "}"),
          "{\"taskId\":\"10.0.0.5:8080\",\"status\":\"failed\",\"statusMessage\":\"[REDACTED-SECRET] at [server "
          "address]\"}");
}

static void a_hidden_character_does_not_split_an_address(void **state) {
  becomes(*state,
          NOTE("tasks/status", "{\"taskId\":\"t\",\"status\":\"failed\",\"statusMessage\":\"10.0.\\u200b0.5:8080\"}"),
          "{\"taskId\":\"t\",\"status\":\"failed\",\"statusMessage\":\"[server address]\"}");
}

static void what_went_well_is_masked_with_scrub_only_and_keeps_addresses(void **state) {
  struct fixture *x = *state;
  becomes(x, NOTE("message", "{\"level\":\"info\",\"data\":" SAID "}"), "{\"level\":\"info\",\"data\":" SAID "}");
  x->context.results.scrub = true;
  becomes(x, NOTE("message", "{\"level\":\"info\",\"data\":" SAID "}"),
          "{\"level\":\"info\",\"data\":\"[REDACTED-SECRET] at 10.0.0.5:8080\"}");
}

// Such a message has no jsonrpc member: nobody can read the masked copy.
static void a_message_that_cannot_be_masked_is_not_passed_on(void **state) {
  struct fixture *x = *state;
  struct rpc_message m =
      message(x, "{\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":" SAID "}}");
  assert_null(calls_scrub(&x->context, &x->lane, &m, &x->arena));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_failed_task_is_masked_but_for_its_id, setup, teardown),
      cmocka_unit_test_setup_teardown(a_hidden_character_does_not_split_an_address, setup, teardown),
      cmocka_unit_test_setup_teardown(what_went_well_is_masked_with_scrub_only_and_keeps_addresses, setup, teardown),
      cmocka_unit_test_setup_teardown(a_message_that_cannot_be_masked_is_not_passed_on, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
