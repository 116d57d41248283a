// SPDX-License-Identifier: Apache-2.0
// call/failure_text: what the words of an error message tell of.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/failure_text.h"

static void assert_code(const char *text, enum fault_code expected) {
  enum fault_code code = failure_text_code(str_of(text));
  if (code != expected) fail_msg("\"%s\": %s, not %s", text, fault_name(code), fault_name(expected));
}

static void a_phrase_that_says_what_happened_is_that_failure(void **state) {
  static const struct {
    const char *text;
    enum fault_code code;
  } cases[] = {
      {"401 Unauthorized: invalid api key", FAULT_AUTH_FAILED},
      {"HTTP 401", FAULT_AUTH_FAILED},
      {"HTTP/1.1 401", FAULT_AUTH_FAILED},
      {"Request failed with status code 401", FAULT_AUTH_FAILED},
      {"Unauthorized", FAULT_AUTH_FAILED},
      {"Error: Unauthorized: the token has expired", FAULT_AUTH_FAILED},
      {"MCP error -32000: UNAUTHENTICATED", FAULT_AUTH_FAILED},
      {"Authentication failed for user x", FAULT_AUTH_FAILED},
      {"403 Client Error: Forbidden for url: https://example.com", FAULT_PERMISSION_DENIED},
      {"EACCES: permission denied, open '/etc/shadow'", FAULT_PERMISSION_DENIED},
      {"Forbidden", FAULT_PERMISSION_DENIED},
      {"Access to this project is forbidden", FAULT_PERMISSION_DENIED},
      {"429 Too Many Requests", FAULT_RATE_LIMITED},
      {"statusCode=429", FAULT_RATE_LIMITED},
      {"API rate limit exceeded for 10.0.0.1", FAULT_RATE_LIMITED},
      {"RATE_LIMIT_EXCEEDED", FAULT_RATE_LIMITED},
      {"you are being rate-limited", FAULT_RATE_LIMITED},
      {"the request timed out", FAULT_UPSTREAM_TIMEOUT},
      {"connect ETIMEDOUT 10.0.0.1:443", FAULT_UPSTREAM_TIMEOUT},
      {"rpc error: code = DeadlineExceeded desc = context deadline exceeded", FAULT_UPSTREAM_TIMEOUT},
      {"Timeout", FAULT_UPSTREAM_TIMEOUT},
      {"Error: timeout (5000 ms)", FAULT_UPSTREAM_TIMEOUT},
      {"HTTP 504", FAULT_UPSTREAM_TIMEOUT},
      {"503 Service Unavailable", FAULT_UPSTREAM_UNAVAILABLE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_code(cases[i].text, cases[i].code);
}

static void a_word_that_names_something_is_no_failure_of_its_kind(void **state) {
  static const char *const texts[] = {
      "",
      "invalid value for timeout",
      "invalid value for request timeout",
      "timeout must be a positive number",
      "timeout: must be a positive number",
      "unknown option 'timeout'",
      "got 401 rows",
      "expected 429 items, 403 are there",
      "error 401 rows",
      "row 403 is broken",
      "order 40123 failed",
      "port 4290 is in use",
      "the title has forbidden characters",
      "no column \"forbidden\"",
      "no label \"timed out\"",
      "unknown state 'permission denied'",
      "table unauthorized_users does not exist",
      "authentication is not a topic",
      "the argument rate limit is not a number",
      "invalid rate limit",
      "no such function: http_timeout",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_code(texts[i], FAULT_UPSTREAM_ERROR);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_phrase_that_says_what_happened_is_that_failure),
      cmocka_unit_test(a_word_that_names_something_is_no_failure_of_its_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
