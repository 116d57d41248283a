// SPDX-License-Identifier: Apache-2.0
// json/number: numbers that are short enough to be read at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/number.h"

static size_t digits_from(const char *text, size_t at) {
  size_t n = 0;
  while (text[at + n] >= '0' && text[at + n] <= '9') n++;
  return n;
}

// An optional sign, digits, and perhaps a point with more digits; fifteen of them at the most.
static bool is_short(const char *text) {
  size_t at = text[0] == '-', whole = digits_from(text, at), behind = 0;
  at += whole;
  if (text[at] == '.') {
    behind = digits_from(text, at + 1);
    if (!behind) return false;
    at += 1 + behind;
  }
  return whole && !text[at] && whole + behind <= 15;
}

// In memory that ends with it.
static void expect(const char *text) {
  str exact = {mem_alloc(strlen(text) + !*text), strlen(text)};
  double number = 0;
  memcpy((char *)exact.p, text, exact.n);
  bool taken = json_number_short(exact, &number);
  if (taken != is_short(text)) fail_msg("\"%s\" is %s", text, taken ? "taken" : "refused");
  double want = strtod(text, NULL);
  if (taken && memcmp(&number, &want, sizeof want) != 0) fail_msg("\"%s\" is read as %.17g", text, number);
  mem_free((char *)exact.p);
}

// Every text of up to six of these bytes, with digits in front of it so that it has every length.
static void short_numbers_are_read_as_the_nearest_double(void **state) {
  static const char bytes[] = "059.-e:";
  static const char *const fronts[] = {"", "12", "-9876", "12345.6", "100200300"};
  for (unsigned i = 0; i < 7 * 7 * 7 * 7 * 7 * 7; i++) {
    char text[32];
    int n = snprintf(text, sizeof text, "%s", fronts[i % 5]);
    for (unsigned left = i; left; left /= 7) text[n++] = bytes[left % 7];
    text[n] = 0;
    expect(text);
  }
}

static void longer_ones_are_left_to_others(void **state) {
  static const char *const texts[] = {"",
                                      "-",
                                      "123456789012345",
                                      "1234567890123456",
                                      "-12345678.9012345",
                                      "0.00000000000001",
                                      "0.000000000000001",
                                      "99999999",
                                      "9999999.9",
                                      " 1",
                                      "1 "};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect(texts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_numbers_are_read_as_the_nearest_double),
      cmocka_unit_test(longer_ones_are_left_to_others),
  };
  return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
