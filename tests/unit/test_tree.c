// SPDX-License-Identifier: Apache-2.0
// catalog/tree, catalog/name_words: paths through a catalog.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "beside.h"
#include "catalog/directory/card.h"
#include "catalog/directory/tree.h"
#include "catalog/naming/identify.h"
#include "catalog/naming/name_words.h"

static const struct hash_key seed = {1, 2};

static int setup(void **state) {
  struct arena *a = malloc(sizeof *a);
  arena_init(a);
  *state = a;
  return 0;
}

static int teardown(void **state) {
  arena_done(*state);
  free(*state);
  return 0;
}

static void assert_str(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(got), want);
}

static void assert_bad_path(const char *path, const char *part) {
  struct fault f = {0};
  if (tree_path_check(str_of(path), &f)) fail_msg("'%s' was taken", path);
  assert_int_equal(f.code, FAULT_INVALID);
  if (!strstr(f.message, part)) fail_msg("'%s' does not say '%s'", f.message, part);
}

static void a_path_is_slashes_and_lower_case_segments(void **state) {
  static const char *const good[] = {"/",  "/a/b-c/0_d", "/github",       "/github/issues", "/github/issues/*",
                                     "/*", "/a/0",       "/a/b/c/d/e/f/g"};
  struct fault f;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (!tree_path_check(str_of(good[i]), &f)) fail_msg("%s: %s", good[i], f.message);
}

static void a_malformed_path_is_refused_in_plain_words(void **state) {
  char long_segment[70] = "/a/";
  memset(long_segment + 3, 'x', 65);
  assert_bad_path("", "empty");
  assert_bad_path("github", "start with '/'");
  assert_bad_path("/github/", "end with");
  assert_bad_path("//", "end with");
  assert_bad_path("//foo", "empty segment at index 0");
  assert_bad_path("/a//b", "empty segment at index 1");
  assert_bad_path("/GitHub", "must start with");
  assert_bad_path("/0digit", "must start with");
  assert_bad_path("/a b", "must start with");
  assert_bad_path("/a/*/b", "final segment");
  assert_bad_path("/*/b", "final segment");
  assert_bad_path("/a/b!c", "grammar");
  assert_bad_path("/a/_b", "grammar");
  assert_bad_path("/a/b\n", "grammar");
  assert_bad_path("/a/**", "grammar");
  assert_bad_path(long_segment, "grammar");
}

static struct tree *build(struct arena *a, const char *const *ids, size_t count) {
  struct tree_item *items = ARENA_ARRAY(a, struct tree_item, count + 1);
  for (size_t i = 0; i < count; i++) {
    struct tool_id_parts p;
    struct fault f;
    if (!primitive_id_parse(str_of(ids[i]), &p, &f)) fail_msg("%s: %s", ids[i], f.message);
    items[i] = (struct tree_item){str_of(ids[i]), p.namespace, p.name};
  }
  return tree_build(items, count, &seed, a);
}

static const char *const few[] = {"github:create_issue@1.0#abcdef01", "weather:get@1", "slack:post@1",
                                  "github:close_issue@1.0#abcdef02"};

static const struct tree_node *find(const struct tree *t, const char *path) {
  struct fault f;
  const struct tree_node *n = tree_find(t, str_of(path), &f);
  if (!n) fail_msg("%s: %s", path, f.message);
  return n;
}

// The paths of what a browse shows, joined by blanks.
static void assert_shows(const struct tree *t, const char *path, const char *want) {
  struct buf b;
  struct fault f;
  const struct tree_node *node = tree_find(t, str_of(path), &f);
  if (!node) fail_msg("%s: %s", path, f.message);
  buf_init(&b, 65536);
  size_t n;
  const struct tree_node *shown = tree_list(t, node, &n);
  for (size_t i = 0; i < n; i++)
    buf_printf(&b, "%s%.*s=%zu", i ? " " : "", STR_ARG(shown[i].path), (size_t)shown[i].count);
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("%s: '%.*s' instead of '%s'", path, STR_ARG(buf_view(&b)), want);
  buf_done(&b);
}

static void assert_missing(const struct tree *t, const char *path) {
  struct fault f;
  assert_null(tree_find(t, str_of(path), &f));
  assert_int_equal(f.code, FAULT_NOT_FOUND);
  assert_non_null(strstr(f.message, "does not resolve in the catalog"));
}

static void the_root_lists_namespaces_however_few_tools_there_are(void **state) {
  struct tree *t = build(*state, few, 4);
  assert_shows(t, "/", "/github=2 /slack=1 /weather=1");
  assert_shows(t, "/*", "/github=2 /slack=1 /weather=1");
  assert_shows(t, "/github", "/github/close_issue=1 /github/create_issue=1");
  assert_shows(t, "/github/*", "/github/close_issue=1 /github/create_issue=1");
  assert_shows(t, "/github/create_issue", "/github/create_issue=1");
  assert_shows(t, "/github/create_issue/*", "/github/create_issue=1");
  assert_int_equal(tree_item_of(t, find(t, "/github/create_issue")), 0);
  assert_missing(t, "/missing");
  assert_missing(t, "/github/missing");
  assert_missing(t, "/github/create_issue/x");
}

static void an_empty_catalog_has_a_root_and_nothing_else(void **state) {
  struct tree *t = build(*state, NULL, 0);
  assert_shows(t, "/", "");
  assert_missing(t, "/a");
}

static void resources_and_prompts_are_addressed_like_tools(void **state) {
  static const char *const ids[] = {"resource::file:README.md#a8c506b1", "resource::file:__.md#2ed37000"};
  struct tree *t = build(*state, ids, 2);
  assert_shows(t, "/file", "/file/readme-md=1 /file/md=1");
}

static void leaves_whose_segments_are_alike_get_a_hash(void **state) {
  static const char *const ids[] = {"a:get.user@1", "a:getUser@1",  "a:get-user@1",
                                    "a:getuser@1",  "a:get-user@2", "a:___@1"};
  struct tree *t = build(*state, ids, 6);
  size_t n;
  const struct tree_node *e = tree_list(t, find(t, "/a"), &n);
  assert_int_equal(n, 6);
  for (size_t i = 0; i < 6; i++) {
    assert_ptr_equal(find(t, e[i].path.p), &e[i]);
    for (size_t k = 0; k < i; k++) assert_false(str_eq(e[i].path, e[k].path));
  }
  assert_int_equal(tree_item_of(t, find(t, "/a/get-user")), 2);
  assert_int_equal(tree_item_of(t, find(t, "/a/getuser")), 1);
  assert_int_equal(tree_item_of(t, find(t, "/a/item")), 5);
}

static const char *const hub[] = {
    "hub:create_issue@1",        "hub:list_issues@1",        "hub:getIssue@1",          "hub:close_issue@1",
    "hub:create_pull_request@1", "hub:list_pull_requests@1", "hub:get_pull_request@1",  "hub:search_code@1",
    "hub:list_repositories@1",   "hub:create_repository@1",  "hub:delete_repository@1", "hub:get_me@1",
    "hub:list_branches@1",       "hub:create_branch@1",      "hub:delete_branch@1",     "hub:fork@1",
    "hub:add_issue_comment@1",   "hub:list_workflow_runs@1", "hub:run_workflow@1",      "hub:cancel_workflow_run@1",
    "hub:merge_pull_request@1",
};

static void a_large_namespace_has_clusters_by_what_its_tools_are_about(void **state) {
  struct tree *t = build(*state, hub, sizeof hub / sizeof *hub);
  assert_shows(t, "/hub",
               "/hub/branches=3 /hub/issues=5 /hub/pull_requests=4 /hub/repositories=3 /hub/workflow=3 "
               "/hub/fork=1 /hub/get_me=1 /hub/search_code=1");
  assert_shows(t, "/hub/issues",
               "/hub/issues/add_issue_comment=1 /hub/issues/close_issue=1 /hub/issues/create_issue=1 "
               "/hub/issues/getissue=1 /hub/issues/list_issues=1");
}

static void the_order_of_items_does_not_matter(void **state) {
  enum { N = sizeof hub / sizeof *hub };
  const char *backwards[N];
  for (size_t i = 0; i < N; i++) backwards[i] = hub[N - 1 - i];
  struct tree *t = build(*state, hub, N), *u = build(*state, backwards, N);
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(t->order[i], N - 1 - u->order[i]);
  }
  assert_int_equal(t->root.children[0].child_count, u->root.children[0].child_count);
}

static void a_node_is_described_by_what_is_below_it(void **state) {
  struct tree *t = build(*state, hub, sizeof hub / sizeof *hub);
  assert_str(tree_describe(t, find(t, "/hub"), STR("tool"), *state),
             "21 tools: branches, issues, pull_requests, repositories, workflow, fork, …");
  assert_str(tree_describe(t, find(t, "/hub/branches"), STR("tool"), *state),
             "3 tools: create_branch, delete_branch, list_branches");
  assert_str(tree_describe(t, find(t, "/hub/fork"), STR("tool"), *state), "1 tool: fork");
}

// "other" and "part-1" say nothing about what is below them.
static void groups_without_a_name_of_their_own_are_described_by_their_contents(void **state) {
  enum { N = 32 };
  static const char *const verbs[] = {"click", "close", "drag", "drop", "find", "hover", "press", "type"};
  static const char *const nouns[] = {"ant", "bee", "cow", "dog"};
  const char *ids[N + 2] = {"web:get_request@1", "web:list_requests@1"};
  for (size_t i = 0; i < N; i++) ids[i + 2] = arena_printf(*state, "web:%s%s@1", verbs[i / 4], nouns[i % 4]).p;
  struct tree *t = build(*state, ids, N + 2);
  assert_shows(t, "/web", "/web/requests=2 /web/other=32");
  assert_str(tree_describe(t, find(t, "/web"), STR("tool"), *state),
             "34 tools: requests, clickant, clickbee, clickcow, clickdog, closeant, …");
}

// Every item is one leaf, whose path leads to it; lists are bounded.
static void assert_sound(const struct tree *t, const struct tree_node *node, size_t items, char *met) {
  struct fault f;
  if (node != &t->root) {
    assert_true(node->child_count <= TREE_WIDTH);
    assert_true(str_starts(node->path, STR("/")) && str_ends(node->path, node->segment));
    if (tree_find(t, node->path, &f) != node) fail_msg("%.*s leads elsewhere", STR_ARG(node->path));
  }
  size_t leaves = 0, below = 0;
  for (size_t i = 0; i < node->child_count; i++) {
    leaves += node->children[i].child_count == 0;
    below += node->children[i].count;
    assert_sound(t, &node->children[i], items, met);
  }
  assert_true(leaves <= TREE_LEAVES);
  if (node->child_count) assert_int_equal(below, node->count);
  if (node == &t->root || node->child_count) return;
  size_t item = tree_item_of(t, node);
  assert_true(item < items);
  met[item]++;
}

static void assert_reachable(const struct tree *t, size_t items) {
  char *met = calloc(items + 1, 1);
  assert_sound(t, &t->root, items, met);
  for (size_t i = 0; i < items; i++) assert_int_equal(met[i], 1);
  free(met);
}

// One namespace of tools that are called by `name`.
static struct tree *build_many(struct arena *a, size_t count, str (*name)(struct arena *a, size_t i)) {
  struct tree_item *items = ARENA_ARRAY(a, struct tree_item, count);
  for (size_t i = 0; i < count; i++) {
    str n = name(a, i);
    items[i] = (struct tree_item){arena_printf(a, "big:%.*s@1", STR_ARG(n)), STR("big"), n};
  }
  return tree_build(items, count, &seed, a);
}

static str numbered(struct arena *a, size_t i) {
  return arena_printf(a, "x%zu", i);
}
static str same(struct arena *a, size_t i) {
  return STR("get_thing");
}
static str wordless(struct arena *a, size_t i) {
  return arena_printf(a, "get_%.*s", (int)(i % 100),
                      "________________________________________________________________"
                      "____________________________________");
}
static str paired(struct arena *a, size_t i) {
  return arena_printf(a, "get_object%zu_part%zu", i / 2, i % 2);
}
static str deep(struct arena *a, size_t i) {
  return arena_printf(a, "a%zu_b%zu_c%zu_d%zu", i % 3, i / 3 % 3, i / 9 % 5, i / 45);
}

static void names_that_give_no_clusters_are_still_listed_in_bounds(void **state) {
  assert_reachable(build_many(*state, 415, numbered), 415);
  assert_reachable(build_many(*state, 9000, numbered), 9000);
  assert_reachable(build_many(*state, 300, same), 300);
  assert_reachable(build_many(*state, 300, wordless), 300);
  assert_reachable(build_many(*state, 5000, paired), 5000);
  assert_reachable(build_many(*state, 5000, deep), 5000);
  assert_reachable(build_many(*state, 21, numbered), 21);
  assert_reachable(build_many(*state, 20, numbered), 20);
}

static str hostile(struct arena *a, size_t i) {
  return arena_printf(a, "q1w2e3r4t5y6u7i8o9p0%zu_z9x8c7v6b5n4m3l2k1j0%zu_p1o2i3u4y5t6r7e8w9q0%zu_%zu", i % 2,
                      i / 2 % 3, i / 6 % 4, i);
}

static void assert_cards_fit(struct arena *a, const struct tree_node *node) {
  struct card_source s = {.id = node->path, .kind = CARD_INTERNAL, .description = STR("24 tools: a, b, c")};
  struct card c;
  struct fault f;
  if (!card_make(&s, a, &c, NULL, &f)) fail_msg("%s", f.message);
  for (size_t i = 0; i < node->child_count; i++)
    if (node->children[i].child_count) assert_cards_fit(a, &node->children[i]);
}

static void the_path_of_every_node_fits_on_a_card(void **state) {
  struct tree *t = build_many(*state, 1000, hostile);
  assert_reachable(t, 1000);
  assert_cards_fit(*state, &t->root.children[0]);
}

static void words_are_split_at_marks_and_in_camel_case(void **state) {
  static const char *const cases[][2] = {
      {"list_pull-requests.all", "list pull requests all"},
      {"listPullRequests", "list pull requests"},
      {"getURLForUser", "get url for user"},
      {"TwilioApiV2010--CreateAccount", "twilio api v2010 create account"},
      {"createOAuthApp", "create oauth app"},
      {"__x__", "x"},
      {"", ""},
      {"日本_Get", "日本 get"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    str words[NAME_WORDS_MAX];
    struct buf b;
    buf_init(&b, 1000);
    size_t n = name_words(*state, str_of(cases[i][0]), words, NAME_WORDS_MAX);
    for (size_t k = 0; k < n; k++) buf_printf(&b, "%s%.*s", k ? " " : "", STR_ARG(words[k]));
    if (!str_eq(buf_view(&b), str_of(cases[i][1]))) fail_msg("%s: '%.*s'", cases[i][0], STR_ARG(buf_view(&b)));
    buf_done(&b);
  }
}

static void singular_and_plural_are_one(void **state) {
  static const char *const pairs[][2] = {{"issue", "issues"},    {"branch", "branches"},         {"cache", "caches"},
                                         {"policy", "policies"}, {"address", "addresses"},       {"box", "boxes"},
                                         {"survey", "surveys"},  {"repository", "repositories"}, {"key", "keys"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    str one = name_word_key(str_of(pairs[i][0])), many = name_word_key(str_of(pairs[i][1]));
    if (!str_eq(one, many)) fail_msg("%s, %s: %.*s, %.*s", pairs[i][0], pairs[i][1], STR_ARG(one), STR_ARG(many));
  }
  assert_str(name_word_key(STR("status")), "status");
  assert_str(name_word_key(STR("dns")), "dns");
}

static void verbs_are_no_objects(void **state) {
  assert_false(name_word_is_object(STR("list"), false));
  assert_false(name_word_is_object(STR("a"), false));
  assert_false(name_word_is_object(STR("write"), false));
  assert_true(name_word_is_object(STR("issue"), true));
  assert_false(name_word_is_object(STR("filter"), true));
  assert_true(name_word_is_object(STR("filter"), false));
}

static str read_file(struct arena *a, const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  size_t n = (size_t)ftell(f);
  rewind(f);
  char *p = arena_alloc(a, n + 1);
  assert_int_equal(fread(p, 1, n, f), n);
  fclose(f);
  return (str){p, n};
}

static size_t read_catalog(struct arena *a, str text, struct tree_item *items) {
  struct fault f;
  str server, namespace;
  size_t n = 0;
  struct json *v = json_parse(a, text, &json_default_limits, &f);
  assert_true(json_string(json_get(v, STR("server")), a, &server));
  identify_namespaces(&server, 1, NULL, a, &namespace);
  struct identify_rules rules = {.namespace = namespace};
  JSON_EACH(tool, json_get(v, STR("tools"))) {
    struct identity id;
    assert_true(identify_tool(&rules, tool, a, &id, &f));
    items[n++] = (struct tree_item){id.id, id.parts.namespace, id.parts.name};
  }
  return n;
}

static size_t read_catalogs(struct arena *a, const char *folder, struct tree_item *items, size_t most) {
  size_t n = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *d; (d = readdir(dir));) {
    if (!str_ends(str_of(d->d_name), STR(".json"))) continue;
    char path[BESIDE_PATH_MAX + 256];
    snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
    n += read_catalog(a, read_file(a, path), items + n);
    assert_true(n < most - 1000);
  }
  closedir(dir);
  return n;
}

static void assert_all_reachable(struct arena *a, const char *folder, size_t at_least) {
  enum { MOST = 20000 };
  struct tree_item *items = ARENA_ARRAY(a, struct tree_item, MOST);
  size_t n = read_catalogs(a, folder, items, MOST);
  assert_true(n > at_least);
  struct tree *t = tree_build(items, n, &seed, a);
  assert_int_equal(t->root.count, n);
  assert_reachable(t, n);
}

static void every_tool_of_the_test_catalogs_is_reachable(void **state) {
  assert_all_reachable(*state, CATALOGS_IN_TREE, 50);
}

static void every_tool_of_real_servers_is_reachable(void **state) {
  char folder[BESIDE_PATH_MAX];
  if (access(beside(CATALOGS_BESIDE, folder), R_OK) != 0) skip();
  assert_all_reachable(*state, folder, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_path_is_slashes_and_lower_case_segments),
      TEST(a_malformed_path_is_refused_in_plain_words),
      TEST(the_root_lists_namespaces_however_few_tools_there_are),
      TEST(an_empty_catalog_has_a_root_and_nothing_else),
      TEST(resources_and_prompts_are_addressed_like_tools),
      TEST(leaves_whose_segments_are_alike_get_a_hash),
      TEST(a_large_namespace_has_clusters_by_what_its_tools_are_about),
      TEST(the_order_of_items_does_not_matter),
      TEST(a_node_is_described_by_what_is_below_it),
      TEST(groups_without_a_name_of_their_own_are_described_by_their_contents),
      TEST(names_that_give_no_clusters_are_still_listed_in_bounds),
      TEST(the_path_of_every_node_fits_on_a_card),
      TEST(words_are_split_at_marks_and_in_camel_case),
      TEST(singular_and_plural_are_one),
      TEST(verbs_are_no_objects),
      TEST(every_tool_of_the_test_catalogs_is_reachable),
      TEST(every_tool_of_real_servers_is_reachable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
