// SPDX-License-Identifier: Apache-2.0
// mcp/revision: which revisions there are, what each has, and which one two sides agree on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/revision.h"

static void the_revisions_are_the_five_that_were_published_oldest_first(void **state) {
  static const char *const names[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};
  assert_int_equal(mcp_revision_count, 5);
  for (size_t i = 0; i < mcp_revision_count; i++) {
    assert_string_equal(mcp_revisions[i].name, names[i]);
    assert_ptr_equal(mcp_revision_find(str_of(names[i])), &mcp_revisions[i]);
  }
  assert_ptr_equal(mcp_revision_latest(), &mcp_revisions[3]);
  assert_ptr_equal(mcp_revision_stateless(), &mcp_revisions[4]);
}

static void the_names_for_messages_are_those_of_the_table(void **state) {
  char want[128] = "";
  for (size_t i = 0; i < mcp_revision_count; i++) {
    size_t n = strlen(want);
    snprintf(want + n, sizeof want - n, "%s%s", i ? ", " : "", mcp_revisions[i].name);
  }
  assert_string_equal(mcp_revision_names, want);
}

static void each_revision_has_the_rules_of_its_time(void **state) {
  const struct mcp_revision *r = mcp_revisions;
  assert_true(r[0].batches && r[1].batches && !r[2].batches && !r[3].batches);
  assert_true(!r[0].version_header && !r[1].version_header && r[2].version_header && r[3].version_header);
  assert_true(!r[0].sse_priming && !r[1].sse_priming && !r[2].sse_priming && r[3].sse_priming);
  assert_true(!r[2].tasks && r[3].tasks && !r[4].tasks);
  assert_true(!r[3].stateless && r[4].stateless && r[4].version_header && !r[4].batches && !r[4].sse_priming);
}

static void a_name_that_is_not_exactly_one_of_them_is_unknown(void **state) {
  static const char *const unknown[] = {"", "2024-11-0", "2024-11-055", "2025-06-19", "DRAFT-2026-v1", "2025-11-25 ",
                                        "1"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    assert_null(mcp_revision_find(str_of(unknown[i])));
    assert_ptr_equal(mcp_revision_negotiate(str_of(unknown[i])), mcp_revision_latest());
  }
  assert_null(mcp_revision_find(STR_NONE));
  assert_null(mcp_revision_find(STR("2025-11-25\0")));
}

static void a_handshake_gives_the_revision_it_asks_for_when_we_speak_it_and_it_has_handshakes(void **state) {
  for (size_t i = 0; i < 4; i++)
    assert_ptr_equal(mcp_revision_negotiate(str_of(mcp_revisions[i].name)), &mcp_revisions[i]);
  assert_ptr_equal(mcp_revision_negotiate(STR("2026-07-28")), mcp_revision_latest());
}

static void a_request_without_a_version_is_of_the_revision_before_the_header(void **state) {
  assert_string_equal(mcp_revision_unstated()->name, "2025-03-26");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_revisions_are_the_five_that_were_published_oldest_first),
      cmocka_unit_test(the_names_for_messages_are_those_of_the_table),
      cmocka_unit_test(each_revision_has_the_rules_of_its_time),
      cmocka_unit_test(a_name_that_is_not_exactly_one_of_them_is_unknown),
      cmocka_unit_test(a_handshake_gives_the_revision_it_asks_for_when_we_speak_it_and_it_has_handshakes),
      cmocka_unit_test(a_request_without_a_version_is_of_the_revision_before_the_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
