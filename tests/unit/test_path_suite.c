// SPDX-License-Identifier: Apache-2.0
// json/path against the compliance test suite of JSONPath: results, their order and their normalized paths, and queries
// that must be refused. The suite lies beside the repository (beside.h), or comes with a package of tests/e2e.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "beside.h"
#include "result/view/view.h"
#include "json/path/path.h"
#include "json/write.h"

enum { SUITE_MAX = 8 << 20, PATH_MAX_BYTES = 1 << 12 };

static const char *suite_file(void) {
  static char path[BESIDE_PATH_MAX];
  const char *packaged =
      "tests/e2e/node_modules/jsonpath-rfc9535/src/__tests__/jsonpath-compliance-test-suite/cts.json";
  return beside_or("data/suites/jsonpath/cts.json", packaged, path);
}

static str read_suite(void) {
  FILE *file = fopen(suite_file(), "rb");
  if (!file) fail_msg("cannot open %s", suite_file());
  char *text = mem_alloc(SUITE_MAX);
  size_t n = fread(text, 1, SUITE_MAX, file);
  fclose(file);
  return (str){text, n};
}

static bool is_same(str span, const struct json *want, struct arena *a) {
  struct fault f;
  struct json *v = json_parse(a, span, &json_default_limits, &f);
  return v && json_same(v, want);
}

// The nodes are the elements of one of these lists, in their order.
static bool nodes_are(const struct json_path_nodes *nodes, const struct json *list, struct arena *a) {
  if (!list || nodes->count != list->count) return false;
  size_t i = 0;
  JSON_EACH(want, list)
    if (!is_same(nodes->list[i++], want, a)) return false;
  return true;
}

static bool paths_are(const struct json_path_nodes *nodes, str root, const struct json *list) {
  if (!list || nodes->count != list->count) return false;
  size_t i = 0;
  bool ok = true;
  JSON_EACH(want, list) {
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    json_path_locate(&path, root, nodes->list[i++].p);
    ok = ok && json_equals_str(want, buf_view(&path));
    buf_done(&path);
  }
  return ok;
}

static bool agrees(const struct json *test, const struct json_path_nodes *nodes, str root, struct arena *a) {
  const struct json *results = json_get(test, STR("results"));
  if (!results)
    return nodes_are(nodes, json_get(test, STR("result")), a) &&
           paths_are(nodes, root, json_get(test, STR("result_paths")));
  const struct json *paths = json_get(test, STR("results_paths"));
  for (size_t i = 0; i < results->count; i++)
    if (nodes_are(nodes, json_at(results, i), a) && paths_are(nodes, root, json_at(paths, i))) return true;
  return false;
}

static bool check_case(const struct json *test, struct arena *a) {
  struct fault f = {0};
  struct json_path_nodes nodes;
  str query;
  assert_true(json_string(json_get(test, STR("selector")), a, &query));
  struct json_path *path = json_path_compile(a, query, &f);
  if (json_is(json_get(test, STR("invalid_selector")), JSON_TRUE)) return !path && f.code == FAULT_INVALID;
  // The document is a text of its own, as no document is part of a larger one.
  str text = json_span(json_get(test, STR("document")));
  if (path && json_path_find(path, text, &json_path_default_limits, a, &nodes, &f))
    return agrees(test, &nodes, text, a);
  print_message("# %s\n", f.message);
  return false;
}

// ---- the same through a view

// The values of a list as a view shows them: each on a line.
static str as_lines(struct arena *a, const struct json *list) {
  struct buf b;
  buf_init(&b, SUITE_MAX);
  JSON_EACH(v, list) {
    if (v != list->child) buf_char(&b, '\n');
    buf_str(&b, json_compacted(a, json_span(v)));
  }
  str lines = arena_str(a, buf_view(&b));
  buf_done(&b);
  return lines;
}

// That nothing matched is said.
static bool shows(struct arena *a, const struct json *list, str shown) {
  return str_eq(shown, list->child ? as_lines(a, list) : STR("… 0 matches"));
}

static bool is_one_of(struct arena *a, const struct json *test, str shown) {
  const struct json *results = json_get(test, STR("results"));
  if (!results) return shows(a, json_get(test, STR("result")), shown);
  JSON_EACH(list, results)
    if (shows(a, list, shown)) return true;
  return false;
}

// Values are shown as they are written in the document, those that are expected as they are in the suite: where these
// differ, what was shown is compared by what it means.
static bool means_the_same(struct arena *a, const struct json *test, str shown) {
  struct buf list;
  struct fault f;
  buf_init(&list, SUITE_MAX);
  buf_char(&list, '[');
  for (size_t i = 0; i < shown.n; i++) buf_char(&list, shown.p[i] == '\n' ? ',' : shown.p[i]);
  buf_char(&list, ']');
  struct json *v = json_parse(a, arena_str(a, buf_view(&list)), &json_default_limits, &f);
  buf_done(&list);
  const struct json *results = json_get(test, STR("results"));
  if (!v) return false;
  if (!results) return json_same(v, json_get(test, STR("result")));
  JSON_EACH(one, results)
    if (json_same(v, one)) return true;
  return false;
}

static bool check_view(const struct json *test, struct arena *a) {
  struct fault f = {0};
  struct buf selector, out;
  buf_init(&selector, SUITE_MAX);
  buf_init(&out, SUITE_MAX);
  buf_str(&selector, STR("{\"type\":\"path\",\"path\":"));
  buf_str(&selector, json_span(json_get(test, STR("selector"))));
  buf_char(&selector, '}');
  struct json *v = json_parse(a, buf_view(&selector), &json_default_limits, &f);
  const struct json *document = json_get(test, STR("document"));
  str text = document ? json_span(document) : STR("[]");
  bool shown = view_select(text, v, 0, STR("…"), &out, &f), ok;
  if (json_is(json_get(test, STR("invalid_selector")), JSON_TRUE)) ok = !shown;
  else if (!shown) ok = strstr(f.message, "I-Regexp");  // a pattern that never matches is told
  else ok = is_one_of(a, test, buf_view(&out)) || means_the_same(a, test, buf_view(&out));
  buf_done(&out);
  buf_done(&selector);
  return ok;
}

typedef bool check_fn(const struct json *test, struct arena *a);

static void run_suite(check_fn *check) {
  struct arena a, scratch;
  struct fault f;
  str text = read_suite();
  arena_init(&a);
  arena_init(&scratch);
  struct json *suite = json_parse(&a, text, &json_default_limits, &f), *tests = json_get(suite, STR("tests"));
  assert_true(tests && tests->count > 600);
  unsigned wrong = 0;
  JSON_EACH(test, tests) {
    arena_reset(&scratch);
    if (check(test, &scratch)) continue;
    wrong++;
    str name = json_span(json_get(test, STR("name"))), query = json_span(json_get(test, STR("selector")));
    print_message("# wrong: %.*s: %.*s\n", STR_ARG(name), STR_ARG(query));
  }
  print_message("# %u cases, %u wrong\n", tests->count, wrong);
  assert_int_equal(wrong, 0);
  arena_done(&scratch);
  arena_done(&a);
  mem_free((char *)text.p);
}

static void the_suite_agrees(void **state) {
  run_suite(check_case);
}

static void views_show_what_the_suite_says(void **state) {
  run_suite(check_view);
}

int main(void) {
  if (access(suite_file(), R_OK) != 0) {
    // Not skip(): the "not ok # SKIP" that cmocka prints for it counts as a failure.
    puts("1..0 # SKIP the suite is not there: scripts/node installs the package that has it");
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_suite_agrees),
                                     cmocka_unit_test(views_show_what_the_suite_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
