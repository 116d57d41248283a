// SPDX-License-Identifier: Apache-2.0
// The gateway's own key, and Ed25519 keys and signatures as text.
#include "observe/gateway_key.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto/locked.h"

static char folder[64], file[80];

static int make_folder(void **state) {
  snprintf(folder, sizeof folder, "/tmp/gateway-key-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/gateway.pem", folder);
  return 0;
}

static int remove_folder(void **state) {
  unlink(file);
  return rmdir(folder);
}

static struct gateway_key *open_key(void) {
  struct fault f;
  struct gateway_key *k = gateway_key_open(str_of(folder), &rand_system, &f);
  if (!k) fail_msg("%s", f.message);
  return k;
}

static void a_key_is_created_once_and_used_from_then_on(void **state) {
  struct stat st;
  struct arena a;
  struct gateway_key *first = open_key(), *second = open_key();
  arena_init(&a);
  assert_int_equal(stat(file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_true(str_eq(gateway_key_id(first), gateway_key_id(second)));
  assert_int_equal(gateway_key_id(first).n, 43);
  struct ed25519 *public = ed25519_read_public(gateway_key_public(second));
  str signature = gateway_key_sign(first, STR("text"), &a);
  assert_true(ed25519_verify_text(public, STR("text"), signature));
  assert_false(ed25519_verify_text(public, STR("other"), signature));
  ed25519_free(&public);
  gateway_key_free(&first);
  gateway_key_free(&second);
  arena_done(&a);
}

static void a_key_that_other_users_can_read_is_refused(void **state) {
  struct fault f;
  struct gateway_key *k = open_key();
  gateway_key_free(&k);
  assert_int_equal(chmod(file, 0640), 0);
  assert_null(gateway_key_open(str_of(folder), &rand_system, &f));
  assert_int_equal(f.code, FAULT_IO);
}

static void a_file_without_a_private_key_is_refused_and_kept(void **state) {
  struct fault f;
  struct stat st;
  int fd = open(file, O_WRONLY | O_CREAT, 0600);
  assert_int_equal(write(fd, "x", 1), 1);
  close(fd);
  assert_null(gateway_key_open(str_of(folder), &rand_system, &f));
  assert_int_equal(stat(file, &st), 0);
  assert_int_equal(st.st_size, 1);
}

static void without_a_folder_each_process_has_its_own_key(void **state) {
  struct fault f;
  struct gateway_key *a = gateway_key_open(STR(""), &rand_system, &f);
  struct gateway_key *b = gateway_key_open(STR(""), &rand_system, &f);
  assert_false(str_eq(gateway_key_id(a), gateway_key_id(b)));
  gateway_key_free(&a);
  gateway_key_free(&b);
}

// The test vector of RFC 8037, appendix A.
static void keys_and_signatures_have_the_text_form_of_rfc_8037(void **state) {
  static const char x[] = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  static const char signature[] =
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  static const char text[] = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  struct buf b;
  struct ed25519 *key = ed25519_read_public(str_of(x));
  assert_non_null(key);
  assert_true(ed25519_verify_text(key, str_of(text), str_of(signature)));
  buf_init(&b, 256);
  ed25519_put_public(key, &b);
  assert_true(str_eq(buf_view(&b), str_of(x)));
  buf_reset(&b);
  ed25519_put_thumbprint(key, &b);
  assert_true(str_eq(buf_view(&b), STR("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")));
  buf_done(&b);
  ed25519_free(&key);
  assert_null(ed25519_read_public(STR("not a key")));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(a_key_is_created_once_and_used_from_then_on),
      WITH_FOLDER(a_key_that_other_users_can_read_is_refused),
      WITH_FOLDER(a_file_without_a_private_key_is_refused_and_kept),
      cmocka_unit_test(without_a_folder_each_process_has_its_own_key),
      cmocka_unit_test(keys_and_signatures_have_the_text_form_of_rfc_8037),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
