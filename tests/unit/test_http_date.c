// SPDX-License-Identifier: Apache-2.0
// io/http_date: dates in headers, and how long Retry-After asks to wait.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/http/http_date.h"

static void all_three_forms_of_a_date_are_read(void **state) {
  static const char *const texts[] = {"Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                                      "sun, 06 nov 1994 08:49:37 GMT"};
  int64_t ms;
  for (size_t i = 0; i < 3; i++) {
    assert_true(http_date(str_of(texts[i]), &ms));
    assert_int_equal(ms, 784111777000);
  }
  assert_true(http_date(STR("Thursday, 05-Nov-26 08:49:37 GMT"), &ms));
  assert_int_equal(ms, 1793868577000);
}

static void what_is_no_date_is_refused(void **state) {
  static const char *const texts[] = {"",
                                      "soon",
                                      "Sun, 06 Nov 1994 08:49:37 PST",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nix 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49 GMT",
                                      "Sun, 06 Nov 1994 08:49:37 GMT GMT",
                                      "Sun, 06 Nov 19945 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:37\xff GMT",
                                      "a b c d e f g h i j k l m",
                                      "Sun, -6 Nov 199 08:49:37 GMT"};
  int64_t ms;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (http_date(str_of(texts[i]), &ms)) fail_msg("%s is taken", texts[i]);
}

static int64_t sunday(void *ctx) {
  return 784111777000;
}

static void retry_after_is_seconds_or_a_date_and_at_most_a_day(void **state) {
  static const struct {
    const char *text;
    uint64_t want;
  } cases[] = {
      {"0", 0},
      {"7", 7000},
      {"99999999999", 86400000},
      {"99999999999999999999999", 0},
      {"-1", 0},
      {"", 0},
      {"Sun, 06 Nov 1994 08:49:40 GMT", 3000},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
      {"Sat, 05 Nov 1994 08:49:37 GMT", 0},
      {"Fri, 31 Dec 9999 23:59:59 GMT", 86400000},
  };
  struct clock clock = {.wall_ms = sunday};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(http_retry_after(str_of(cases[i].text), &clock), cases[i].want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_three_forms_of_a_date_are_read),
      cmocka_unit_test(what_is_no_date_is_refused),
      cmocka_unit_test(retry_after_is_seconds_or_a_date_and_at_most_a_day),
  };
  return cmocka_run_group_tests_name("http_date", tests, NULL, NULL);
}
