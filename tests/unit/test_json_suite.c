// SPDX-License-Identifier: Apache-2.0
// json/ against the files of JSONTestSuite: y_ must be accepted, n_ refused, i_ may go either way.
// The suite lies beside the repository (beside.h); without it the test is skipped.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "beside.h"
#include "json/json.h"

// RFC 8259 lets a parser refuse what it cannot forward without doubt.
static const char *const refused_on_purpose[] = {"y_object_duplicated_key.json",
                                                 "y_object_duplicated_key_and_value.json"};

static bool on_purpose(const char *name) {
  for (size_t i = 0; i < sizeof refused_on_purpose / sizeof *refused_on_purpose; i++)
    if (strcmp(name, refused_on_purpose[i]) == 0) return true;
  return false;
}

static const char *suite_folder(void) {
  static char path[BESIDE_PATH_MAX];
  return beside("data/suites/json/test_parsing", path);
}

static bool accepts_file(const char *name) {
  char path[BESIDE_PATH_MAX + 256];
  snprintf(path, sizeof path, "%s/%s", suite_folder(), name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  char *text = mem_alloc(1 << 20);
  size_t n = fread(text, 1, 1 << 20, file);
  fclose(file);
  text = mem_grow(text, n);  // no byte more, for the address sanitizer
  struct arena arena;
  struct fault fault;
  arena_init(&arena);
  bool accepted = json_parse(&arena, (str){text, n}, &json_default_limits, &fault);
  for (unsigned depth = 1; depth < 4; depth++) {
    const struct json_fold all = {.depth = depth};
    assert_true(accepted == (json_parse_folding(&arena, (str){text, n}, &json_default_limits, &all, &fault) != NULL));
  }
  arena_done(&arena);
  mem_free(text);
  return accepted;
}

static int is_case(const struct dirent *e) {
  return strchr("yni", e->d_name[0]) && e->d_name[1] == '_';
}

static unsigned check_file(const char *name) {
  bool accepted = accepts_file(name);
  if (name[0] == 'i') {
    print_message("# %s: %s\n", name, accepted ? "accepted" : "refused");
    return 0;
  }
  if (accepted == (name[0] == 'y' && !on_purpose(name))) return 0;
  print_message("# %s: wrongly %s\n", name, accepted ? "accepted" : "refused");
  return 1;
}

static void the_suite_agrees(void **state) {
  struct dirent **files;
  int count = scandir(suite_folder(), &files, is_case, alphasort);
  assert_true(count > 300);
  unsigned wrong = 0;
  for (int i = 0; i < count; i++) {
    wrong += check_file(files[i]->d_name);
    free(files[i]);
  }
  free(files);
  assert_int_equal(wrong, 0);
}

int main(void) {
  if (access(suite_folder(), R_OK) != 0) {
    // Not skip(): the "not ok # SKIP" that cmocka prints for it counts as a failure.
    puts("1..0 # SKIP the folder of the suite is not there");
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_suite_agrees)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
