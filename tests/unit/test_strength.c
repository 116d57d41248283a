// SPDX-License-Identifier: Apache-2.0
// auth/strength: secrets that somebody could guess.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "auth/strength.h"
#include "base/crypto/rand.h"

static void what_people_put_where_a_secret_should_be_is_weak(void **state) {
  static const char *const weak[] = {
      "",
      "aaaaaaaaaaaaaaaa",
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "abababababababab",
      "1234567812345678",
      "0123456789abcdef",
      "0123456789abcdef0123456789abcdef",
      "abcdefghijklmnopqrstuvwxyz",
      "zyxwvutsrqponmlk",
      "qwertyuiopasdfgh",
      "QWERTYqwerty123456",
      "changemechangeme",
      "ChangeMe-ChangeMe",
      "changeme12345678",
      "secretsecretsecret",
      "password-password",
      "your-secret-token",
      "test-token-test-token",
      "toolgate-example-token",
  };
  for (size_t i = 0; i < sizeof weak / sizeof *weak; i++)
    if (!strength_is_weak(str_of(weak[i]))) fail_msg("\"%s\" is said to be strong", weak[i]);
}

static void what_is_random_is_not(void **state) {
  static const char *const strong[] = {
      "3f9a1c07d2e85b64",
      "tg_5mJ8qWv2ZkR7xNcP",
      "correct-horse-battery-staple",
      "8e1b7c3d-52f0-4a96-b1d8-0c7e9f2a6b35",
  };
  for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
    if (strength_is_weak(str_of(strong[i]))) fail_msg("\"%s\" is said to be weak", strong[i]);
  for (int i = 0; i < 10000; i++) {
    char id[RAND_ID_SIZE];
    rand_id(&rand_system, id);
    assert_false(strength_is_weak(str_of(id)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_people_put_where_a_secret_should_be_is_weak),
      cmocka_unit_test(what_is_random_is_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
