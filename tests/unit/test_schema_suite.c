// SPDX-License-Identifier: Apache-2.0
// schema/ against the JSON-Schema-Test-Suite, for each draft: all required tests, and how many of the optional ones.
// The suite lies beside the repository (beside.h). Without it, a package of tests/e2e has the tests of draft 4, and
// the other drafts are skipped.
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "beside.h"
#include "schema/schema.h"

enum { MOST_DOCUMENTS = 256, MOST_FILES = 256 };

struct suite {
  struct arena arena;
  struct schema_document documents[MOST_DOCUMENTS];
  size_t document_count;
};

struct tally {
  unsigned passed, failed;
};

// The walk of nftw takes no argument.
static struct {
  char *paths[MOST_FILES];
  size_t count;
} found;

static const char *suite_folder(void) {
  static char path[BESIDE_PATH_MAX];
  return beside_or("data/suites/json-schema", "tests/e2e/node_modules/json-schema-test-suite", path);
}

static int note_file(const char *path, const struct stat *st, int kind, struct FTW *at) {
  if (kind == FTW_F && str_ends(str_of(path), STR(".json")) && found.count < MOST_FILES)
    found.paths[found.count++] = strdup(path);
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_folder(const char *below) {
  char folder[BESIDE_PATH_MAX + 64];
  snprintf(folder, sizeof folder, "%s/%s", suite_folder(), below);
  return access(folder, R_OK) == 0;
}

static void find_files(const char *below) {
  char folder[BESIDE_PATH_MAX + 64];
  snprintf(folder, sizeof folder, "%s/%s", suite_folder(), below);
  found.count = 0;
  assert_int_equal(nftw(folder, note_file, 16, FTW_PHYS), 0);
  qsort(found.paths, found.count, sizeof *found.paths, by_name);
}

static void forget_files(void) {
  while (found.count) free(found.paths[--found.count]);
}

static struct json *read_json(struct arena *a, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  size_t n = (size_t)ftell(file);
  rewind(file);
  char *text = arena_alloc(a, n);
  assert_int_equal(fread(text, 1, n, file), n);
  fclose(file);
  struct fault f;
  struct json *v = json_parse(a, (str){text, n}, &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", path, f.message);
  return v;
}

// The suite wants its remotes at http://localhost:1234/.
static void load_remotes(struct suite *s) {
  find_files("remotes");
  size_t prefix = strlen(suite_folder()) + sizeof "/remotes/" - 1;
  for (size_t i = 0; i < found.count; i++) {
    assert_true(s->document_count < MOST_DOCUMENTS);
    s->documents[s->document_count++] = (struct schema_document){
        .uri = arena_printf(&s->arena, "http://localhost:1234/%s", found.paths[i] + prefix),
        .root = read_json(&s->arena, found.paths[i]),
    };
  }
  forget_files();
}

static int setup(void **state) {
  struct suite *s = MEM_NEW(struct suite);
  arena_init(&s->arena);
  load_remotes(s);
  *state = s;
  return 0;
}

static int teardown(void **state) {
  struct suite *s = *state;
  arena_done(&s->arena);
  mem_free(s);
  return 0;
}

static bool passes(const struct schema *s, const struct json *test, struct arena *scratch) {
  struct schema_result result;
  bool expected = json_is(json_get(test, STR("valid")), JSON_TRUE);
  bool valid = schema_validate(s, json_get(test, STR("data")), scratch, &result);
  if (result.undecided) return false;
  // A failure comes with errors, and success without.
  return valid == expected && valid == (result.count == 0);
}

static void run_group(const struct json *group, const struct schema_options *o, const char *draft, const char *file,
                      bool loud, struct tally *t) {
  struct fault f = {0};
  struct arena scratch;
  arena_init(&scratch);
  struct schema *s = schema_compile(json_get(group, STR("schema")), o, &f);
  const struct json *what = json_get(group, STR("description"));
  if (!s && loud) print_message("# %s %s: %.*s: %s at '%s'\n", draft, file, (int)what->n, what->p, f.message, f.path);
  JSON_EACH(test, json_get(group, STR("tests"))) {
    const struct json *name = json_get(test, STR("description"));
    bool ok = s && passes(s, test, &scratch);
    t->passed += ok;
    t->failed += !ok;
    if (!ok && s && loud)
      print_message("# %s %s: %.*s: %.*s\n", draft, file, (int)what->n, what->p, (int)name->n, name->p);
  }
  schema_free(&s);
  arena_done(&scratch);
}

static void run_file(const struct suite *s, const char *path, enum schema_draft draft, const char *name, bool optional,
                     struct tally *t) {
  struct arena arena;
  arena_init(&arena);
  const char *file = strrchr(path, '/') + 1;
  struct schema_options o = schema_default_options;
  o.draft = draft;
  o.documents = s->documents;
  o.document_count = s->document_count;
  o.assert_formats = strstr(path, "/optional/format/") != NULL;
  bool loud = !optional || getenv("SCHEMA_SUITE_ALL");
  JSON_EACH(group, read_json(&arena, path)) run_group(group, &o, name, file, loud, t);
  arena_done(&arena);
}

static void run_draft(const struct suite *s, enum schema_draft draft, const char *name) {
  char folder[64];
  struct tally required = {0}, optional = {0}, formats = {0};
  snprintf(folder, sizeof folder, "tests/%s", name);
  if (!has_folder(folder)) skip();
  find_files(folder);
  assert_true(found.count > 30);
  for (size_t i = 0; i < found.count; i++) {
    bool extra = strstr(found.paths[i], "/optional/") != NULL;
    struct tally *t = strstr(found.paths[i], "/optional/format/") ? &formats : extra ? &optional : &required;
    run_file(s, found.paths[i], draft, name, extra, t);
  }
  forget_files();
  print_message("# %s: required %u of %u; optional %u of %u; formats %u of %u\n", name, required.passed,
                required.passed + required.failed, optional.passed, optional.passed + optional.failed, formats.passed,
                formats.passed + formats.failed);
  assert_int_equal(required.failed, 0);
}

static void draft_4_agrees(void **state) {
  run_draft(*state, SCHEMA_DRAFT_4, "draft4");
}

static void draft_6_agrees(void **state) {
  run_draft(*state, SCHEMA_DRAFT_6, "draft6");
}

static void draft_7_agrees(void **state) {
  run_draft(*state, SCHEMA_DRAFT_7, "draft7");
}

static void draft_2019_09_agrees(void **state) {
  run_draft(*state, SCHEMA_DRAFT_2019_09, "draft2019-09");
}

static void draft_2020_12_agrees(void **state) {
  run_draft(*state, SCHEMA_DRAFT_2020_12, "draft2020-12");
}

int main(void) {
  if (access(suite_folder(), R_OK) != 0) {
    // Not skip(): the "not ok # SKIP" that cmocka prints for it counts as a failure.
    puts("1..0 # SKIP the suite is not there: scripts/node installs the package that has it");
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draft_4_agrees),       cmocka_unit_test(draft_6_agrees),       cmocka_unit_test(draft_7_agrees),
      cmocka_unit_test(draft_2019_09_agrees), cmocka_unit_test(draft_2020_12_agrees),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
