// SPDX-License-Identifier: Apache-2.0
// One fault in the three forms in which surfaces tell it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/envelope/fault_forms.h"
#include "rpc/message.h"

static void assert_buf(struct buf *b, const char *want) {
  if (!str_eq(buf_view(b), str_of(want))) fail_msg("%.*s is not %s", STR_ARG(buf_view(b)), want);
  buf_reset(b);
}

static void a_fault_has_three_forms(void **state) {
  struct buf b;
  struct fault f;
  buf_init(&b, 4096);
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "no \"answer\"");
  fault_set_path(&f, STR("a:b#00000000"));
  fault_put_flat(&b, &f, STR_NONE);
  assert_buf(&b, "{\"error\":\"UPSTREAM_TIMEOUT\",\"message\":\"no \\\"answer\\\"\",\"path\":\"a:b#00000000\","
                 "\"retryable\":true}");
  fault_put_data(&b, &f, STR("{\"server\":\"s\"}"));
  assert_buf(&b, "{\"error\":\"UPSTREAM_TIMEOUT\",\"retryable\":true,\"details\":{\"server\":\"s\"}}");
  fault_put_ruled(&b, &f, STR_NONE, STR_NONE);
  assert_buf(&b, "{\"error\":{\"code\":\"TIMEOUT\",\"message\":\"no \\\"answer\\\"\",\"rule\":null}}");
  fault_set(&f, FAULT_DENIED_BY_POLICY, "no");
  fault_put_ruled(&b, &f, STR("agents.t.deny.tools.db[0]"), STR("{\"agent\":\"t\"}"));
  assert_buf(&b,
             "{\"error\":{\"code\":\"DENIED_BY_POLICY\",\"message\":\"no\",\"rule\":\"agents.t.deny.tools.db[0]\"}}");
  buf_done(&b);
}

static void a_tool_tells_it_as_text_and_for_programs(void **state) {
  struct buf b;
  struct fault f;
  buf_init(&b, 4096);
  fault_set(&f, FAULT_VIEW_FAILED, "m");
  fault_put_result(&b, &f, STR_NONE, false);
  assert_buf(&b,
             "{\"_meta\":{\"io.toolgate/fault\":\"VIEW_FAILED\"},"
             "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"VIEW_FAILED\\\",\\\"message\\\":\\\"m\\\","
             "\\\"path\\\":\\\"\\\",\\\"retryable\\\":false}\"}],\"isError\":true}");
  fault_put_result(&b, &f, STR_NONE, true);
  assert_non_null(memmem(b.p, b.n, "\"structuredContent\":{\"error\":\"VIEW_FAILED\"", 42));
  buf_done(&b);
}

static void what_a_caller_cannot_tell_apart_has_one_name(void **state) {
  assert_int_equal(fault_public_code(FAULT_INVALID), FAULT_ARGS_INVALID);
  assert_int_equal(fault_public_code(FAULT_SHUTTING_DOWN), FAULT_UPSTREAM_UNAVAILABLE);
  assert_int_equal(fault_public_code(FAULT_PROTOCOL), FAULT_UPSTREAM_ERROR);
  assert_int_equal(fault_public_code(FAULT_AUTH_FAILED), FAULT_AUTH_FAILED);
  assert_int_equal(fault_rpc_code(FAULT_ARGS_INVALID), RPC_INVALID_PARAMS);
  assert_int_equal(fault_rpc_code(FAULT_UPSTREAM_TIMEOUT), RPC_INTERNAL_ERROR);
}

static void what_may_pass_says_so_whatever_its_kind(void **state) {
  struct buf b;
  struct fault f;
  buf_init(&b, 4096);
  fault_set(&f, FAULT_HYDRATE_FAILED, "m");
  f.passes = true;
  fault_put_data(&b, &f, STR_NONE);
  assert_buf(&b, "{\"error\":\"HYDRATE_FAILED\",\"retryable\":true}");
  buf_done(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fault_has_three_forms),
      cmocka_unit_test(a_tool_tells_it_as_text_and_for_programs),
      cmocka_unit_test(what_a_caller_cannot_tell_apart_has_one_name),
      cmocka_unit_test(what_may_pass_says_so_whatever_its_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
