// SPDX-License-Identifier: Apache-2.0
// catalog/directory: what agents find of the definitions of all servers, and what a change of one of them costs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/directory/directory.h"
#include "catalog/directory/directory_part.h"
#include "catalog/naming/tool_id.h"

enum { MOST = 4 };

struct world {
  struct definitions *definition_sets[MOST];
  struct catalog_source sources[MOST];
  const struct definitions *lists[MOST][1];
  size_t count;
  struct catalog *catalog;
  struct directory *directory;
  struct arena scratch;
};

static const struct hash_key seed = {1, 2};

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

static void add_page(struct definitions *r, enum item_kind kind, const char *page) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, str_of(page), &json_default_limits, &f);
  assert_non_null(v);
  assert_true(definitions_add_page(r, kind, v));
  arena_done(&a);
}

// A server with these tools; its number.
static size_t serve(struct world *w, const char *server, const char *tools) {
  size_t i = w->count++;
  w->definition_sets[i] = definitions_new((struct definitions_origin){0});
  add_page(w->definition_sets[i], ITEM_TOOL, tools);
  w->lists[i][0] = w->definition_sets[i];
  w->sources[i] = (struct catalog_source){
      .server = str_of(server), .definition_sets = w->lists[i], .definitions_count = 1, .version = 100 + i};
  return i;
}

static void build(struct world *w) {
  struct catalog_options opt = {.generation = 1, .seed = &seed};
  struct catalog *c = catalog_build(w->sources, w->count, &opt);
  struct directory *old = w->directory;
  w->directory = directory_new(c, old, &(struct directory_options){&seed, &schema_default_options});
  directory_unref(&old);
  catalog_unref(&w->catalog);
  w->catalog = c;
}

static int setup(void **state) {
  static struct world w;
  w = (struct world){.count = 0};
  arena_init(&w.scratch);
  *state = &w;
  return 0;
}

static int teardown(void **state) {
  struct world *w = *state;
  directory_unref(&w->directory);
  catalog_unref(&w->catalog);
  for (size_t i = 0; i < w->count; i++) definitions_free(&w->definition_sets[i]);
  arena_done(&w->scratch);
  return 0;
}

#define TOOL(name, rest) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}" rest "}"
#define LIST(tools) "{\"tools\":[" tools "]}"

static const struct entry *entry(const struct world *w, const char *id) {
  const struct entry *e = directory_find(w->directory, DIRECTORY_TOOLS, str_of(id));
  if (!e) fail_msg("there is no %s", id);
  return e;
}

static void a_tool_is_found_by_its_id_and_leads_to_its_definition(void **state) {
  struct world *w = *state;
  serve(w, "GitHub",
        LIST(TOOL("create_issue", ",\"description\":\"Opens one.\",\"annotations\":{\"readOnlyHint\":true},"
                                  "\"_meta\":{\"version\":\"1.4.0\",\"tags\":[\"code\"]}")));
  build(w);
  const struct entry *e = entry(w, "github:create_issue@1.4.0");
  assert_str(e->item->name, "create_issue");
  assert_str(e->card.namespace, "github");
  assert_str(e->card.description, "Opens one.");
  assert_int_equal(e->card.safety, CARD_READ_ONLY);
  assert_false(e->card.side_effects);
  assert_string_equal(entry_class(e, DIRECTORY_TOOLS), "observe");
  const struct card *card = directory_card(w->directory, e);
  assert_int_equal(card->tag_count, 2);
  assert_ptr_equal(card, directory_card(w->directory, e));
  assert_null(directory_find(w->directory, DIRECTORY_TOOLS, STR("github:create_issue")));
}

// The hash is of the name as the server has it, even where another one makes clients see a longer name.
static void an_id_does_not_depend_on_other_servers(void **state) {
  struct world *w = *state;
  serve(w, "a", LIST(TOOL("read_file", "")));
  build(w);
  assert_non_null(entry(w, "a:read_file#559d82ea"));
  serve(w, "b", LIST(TOOL("read_file", "")));
  build(w);
  const struct entry *e = entry(w, "a:read_file#559d82ea");
  assert_str(e->item->shown, "a__read_file");
  assert_non_null(entry(w, "b:read_file#559d82ea"));
}

static void a_catalog_without_a_server_takes_namespaces_from_names(void **state) {
  struct world *w = *state;
  size_t i = serve(w, "catalog", LIST(TOOL("github.create_issue", "") "," TOOL("slack_send_message", "")));
  w->sources[i].anonymous = true;
  build(w);
  entry(w, "github:create_issue#678543c8");
  entry(w, "slack:slack_send_message#2fae1fd2");
}

static void a_change_of_one_server_keeps_the_work_done_for_others(void **state) {
  struct world *w = *state;
  serve(w, "a", LIST(TOOL("one", "")));
  size_t b = serve(w, "b", LIST(TOOL("two", "")));
  build(w);
  const struct directory_part *first = w->directory->parts[0], *second = w->directory->parts[1];
  definitions_free(&w->definition_sets[b]);
  w->lists[b][0] = w->definition_sets[b] = definitions_new((struct definitions_origin){0});
  add_page(w->definition_sets[b], ITEM_TOOL, LIST(TOOL("two", "") "," TOOL("three", "")));
  w->sources[b].version++;
  struct directory_part *kept = directory_part_ref((struct directory_part *)second);
  build(w);
  assert_ptr_equal(w->directory->parts[0], first);
  assert_ptr_not_equal(w->directory->parts[1], kept);
  assert_int_equal(w->directory->kind_indexes[DIRECTORY_TOOLS].count, 3);
  directory_part_unref(&kept);
}

static void of_two_tools_with_one_id_the_second_is_not_shown_and_told(void **state) {
  struct world *w = *state;
  serve(w, "a", LIST(TOOL("x", ",\"_meta\":{\"version\":\"1\"}")));
  size_t i = serve(w, "catalog", LIST(TOOL("a.x", ",\"_meta\":{\"version\":\"1\"}") "," TOOL("a.y", "")));
  w->sources[i].anonymous = true;
  build(w);
  assert_int_equal(entry(w, "a:x@1")->source, 0);
  assert_int_equal(w->directory->note_count, 1);
  assert_true(w->directory->notes[0].skipped);
  assert_str(w->directory->notes[0].server, "catalog");
  assert_str(w->directory->notes[0].name, "a.x");
  assert_true(w->directory->kind_indexes[DIRECTORY_TOOLS].entries[1].hidden);
}

static void resources_with_one_id_get_numbers(void **state) {
  struct world *w = *state;
  size_t i = serve(w, "a", LIST(""));
  add_page(w->definition_sets[i], ITEM_RESOURCE, "{\"resources\":[{\"uri\":\"file:///x\",\"name\":\"x\"}]}");
  i = serve(w, "b", LIST(""));
  add_page(w->definition_sets[i], ITEM_RESOURCE, "{\"resources\":[{\"uri\":\"file:///x\",\"name\":\"x\"}]}");
  w->sources[0].anonymous = w->sources[1].anonymous = true;
  build(w);
  const struct kind_index *kind_index = &w->directory->kind_indexes[DIRECTORY_RESOURCES];
  assert_int_equal(kind_index->count, 2);
  str id = kind_index->entries[0].card.id, other = kind_index->entries[1].card.id;
  assert_true(str_starts(id, STR("resource::")));
  assert_true(str_starts(other, id) && str_ends(other, STR("~2")));
  assert_ptr_equal(directory_find(w->directory, DIRECTORY_RESOURCES, other), &kind_index->entries[1]);
}

static void the_list_by_id_is_sorted(void **state) {
  struct world *w = *state;
  serve(w, "b", LIST(TOOL("z", "") "," TOOL("a", "")));
  serve(w, "a", LIST(TOOL("m", "")));
  build(w);
  const struct kind_index *kind_index = &w->directory->kind_indexes[DIRECTORY_TOOLS];
  for (size_t i = 1; i < kind_index->count; i++)
    assert_true(str_cmp(kind_index->sorted[i - 1]->card.id, kind_index->sorted[i]->card.id) < 0);
}

static void whoever_mistypes_an_id_is_told_what_looks_like_it(void **state) {
  struct world *w = *state;
  serve(w, "github", LIST(TOOL("create_issue", "") "," TOOL("list_repos", "")));
  build(w);
  const struct entry *like[DIRECTORY_SUGGESTIONS];
  size_t n =
      directory_suggest(w->directory, DIRECTORY_TOOLS, STR("github:create_isue#00000000"), NULL, &w->scratch, like);
  assert_true(n >= 1);
  assert_str(like[0]->item->name, "create_issue");
  uint64_t none = 0;
  assert_int_equal(
      directory_suggest(w->directory, DIRECTORY_TOOLS, STR("github:create_issue"), &none, &w->scratch, like), 0);
}

static bool sees_all_but(void *context, const struct entry *e) {
  return e != context;
}

static void an_id_without_version_and_hash_names_what_the_caller_sees(void **state) {
  struct world *w = *state;
  const struct entry *found[DIRECTORY_SUGGESTIONS];
  serve(w, "up",
        LIST(TOOL("one", "") "," TOOL("one.more", "") "," TOOL("a b", "") "," TOOL("a_b", "") "," TOOL(
            "v", ",\"_meta\":{\"version\":\"2.0\"}")));
  build(w);
  const struct directory *d = w->directory;
  static const struct {
    const char *id;
    size_t count;
  } cases[] = {{"up:one", 1}, {"up:a_b", 2}, {"up:v", 1}, {"up:v@2.0", 0},
               {"up:on", 0},  {"up:", 0},    {"", 0},     {"one", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(directory_find_short(d, DIRECTORY_TOOLS, str_of(cases[i].id), sees_all_but, NULL, found),
                     cases[i].count);
  assert_int_equal(directory_find_short(d, DIRECTORY_TOOLS, STR("up:v"), sees_all_but, NULL, found), 1);
  assert_str(found[0]->card.id, "up:v@2.0");
  assert_int_equal(directory_find_short(d, DIRECTORY_TOOLS, STR("up:a_b"), sees_all_but, NULL, found), 2);
  const struct entry *second = found[1];
  assert_int_equal(directory_find_short(d, DIRECTORY_TOOLS, STR("up:a_b"), sees_all_but, (void *)found[0], found), 1);
  assert_ptr_equal(found[0], second);
}

static void a_card_says_what_a_tool_takes(void **state) {
  struct world *w = *state;
  static const char *const schemas[] = {
      "{\"properties\":{\"x\":{},\"y\":{},\"z\":{}},\"required\":[\"z\",\"y\"]}",
      "{\"type\":\"object\"}",
      "{\"anyOf\":[{\"properties\":{\"x\":{}}}]}",
      "{\"required\":[\"q\"],\"properties\":5}",
      "null",
  };
  struct buf page;
  buf_init(&page, 4096);
  for (size_t i = 0; i < 5; i++)
    buf_printf(&page, "%s{\"name\":\"t%zu\",\"inputSchema\":%s}", i ? "," : "{\"tools\":[", i, schemas[i]);
  buf_str(&page, STR("]}"));
  buf_char(&page, 0);
  serve(w, "up", page.p);
  buf_done(&page);
  build(w);
  static const char *const want[] = {"z, y, x?", "{}", "", "q", ""};
  const struct kind_index *kind_index = &w->directory->kind_indexes[DIRECTORY_TOOLS];
  assert_int_equal(kind_index->count, 5);
  for (size_t i = 0; i < 5; i++) assert_str(directory_card(w->directory, &kind_index->entries[i])->signature, want[i]);
}

static void what_is_mistyped_by_little_comes_first(void **state) {
  struct world *w = *state;
  const struct entry *like[DIRECTORY_SUGGESTIONS];
  serve(w, "big", LIST(TOOL("typed_rows", "") "," TOOL("all_types", "") "," TOOL("typed", "")));
  serve(w, "other", LIST(TOOL("typed", "")));
  build(w);
  str id = w->directory->kind_indexes[DIRECTORY_TOOLS].entries[2].card.id;
  str mistyped = arena_printf(&w->scratch, "big:typd%.*s", STR_ARG(str_from(id, 9)));
  size_t n = directory_suggest(w->directory, DIRECTORY_TOOLS, mistyped, NULL, &w->scratch, like);
  assert_true(n >= 2);
  assert_str(like[0]->card.id, arena_cstr(&w->scratch, id));
  assert_str(like[1]->card.namespace, "other");
  uint64_t second = 1u << 3;
  n = directory_suggest(w->directory, DIRECTORY_TOOLS, mistyped, &second, &w->scratch, like);
  assert_int_equal(n, 1);
  assert_str(like[0]->card.namespace, "other");
}

// What a browse of the path shows.
static str shown(struct world *w, const struct outlook *o, const char *path) {
  struct fault f;
  const struct tree_node *node = tree_find(o->tree, str_of(path), &f);
  return node ? tree_describe(o->tree, node, STR("tool"), &w->scratch) : STR("nothing");
}

static void who_sees_less_finds_what_it_would_find_if_there_were_no_more(void **state) {
  struct world *w = *state;
  enum { ALL = 8 };
  serve(w, "hidden", LIST(TOOL("send_mail", "") "," TOOL("send_letter", "")));
  serve(w, "post", LIST(TOOL("send_letters", "") "," TOOL("weigh_letter", "") "," TOOL("drop_mail", "")));
  serve(w, "silent", LIST(""));
  serve(w, "mail", LIST(TOOL("send_mail", "") "," TOOL("read_mail", "") "," TOOL("find_stamp", "")));
  build(w);
  const uint64_t visible = 0xd8;  // weigh_letter, drop_mail, read_mail, find_stamp
  struct directory *all = directory_ref(w->directory);
  struct outlook some = directory_search(all, DIRECTORY_TOOLS, &visible);
  teardown(state), setup(state);
  serve(w, "post", LIST(TOOL("weigh_letter", "") "," TOOL("drop_mail", "")));
  serve(w, "mail", LIST(TOOL("read_mail", "") "," TOOL("find_stamp", "")));
  build(w);
  struct outlook alone = directory_search(w->directory, DIRECTORY_TOOLS, NULL);
  static const char *const asked[] = {"mail", "send a letter", "letters", "find the mail", "post"};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    struct search_hit hits[ALL], want[ALL];
    struct search_query q = {.text = str_of(asked[i]), .top_k = ALL};
    size_t n = search_run(alone.index, &q, &w->scratch, want);
    assert_int_equal(search_run(some.index, &q, &w->scratch, hits), n);
    for (size_t k = 0; k < n; k++) {
      assert_true(str_eq(outlook_entry(&some, hits[k].doc)->card.id, outlook_entry(&alone, want[k].doc)->card.id));
      assert_true(hits[k].score == want[k].score);
    }
  }
  directory_unref(&all);
}

static void paths_are_those_of_what_is_seen(void **state) {
  struct world *w = *state;
#define ABOUT(thing) \
  TOOL("add_" thing, "") "," TOOL("find_" thing, "") "," TOOL("list_" thing, "") "," TOOL("move_" thing, "")
  serve(w, "depot",
        LIST(ABOUT("crate") "," ABOUT("pallet") "," ABOUT("shelf") "," ABOUT("label") "," ABOUT("truck") "," ABOUT(
            "rack") "," TOOL("delete_crates", "")));
  build(w);
  uint64_t most = (1 << 24) - 1, few = 0x10001, none = 0;  // all but delete_crates; add_crate and add_truck; nothing
  struct outlook o = directory_paths(w->directory, DIRECTORY_TOOLS, NULL);
  assert_str(shown(w, &o, "/depot"), "25 tools: crates, label, pallet, rack, shelf, truck");
  o = directory_paths(w->directory, DIRECTORY_TOOLS, &few);
  assert_str(shown(w, &o, "/depot"), "2 tools: add_crate, add_truck");
  assert_str(outlook_entry(&o, 1)->item->name, "add_truck");
  o = directory_paths(w->directory, DIRECTORY_TOOLS, &none);
  assert_str(shown(w, &o, "/depot"), "nothing");
  o = directory_paths(w->directory, DIRECTORY_TOOLS, &most);
  assert_str(shown(w, &o, "/depot"), "24 tools: crate, label, pallet, rack, shelf, truck");
}

// There is room for few of them; one that was given up is made again.
static void any_number_of_views_may_be_asked_for(void **state) {
  struct world *w = *state;
  serve(w, "post", LIST(ABOUT("letter") "," ABOUT("stamp")));
  build(w);
  for (uint64_t round = 0; round < 2; round++)
    for (uint64_t visible = 1; visible < 1 << 8; visible++) {
      struct outlook o = directory_search(w->directory, DIRECTORY_TOOLS, &visible);
      assert_int_equal(search_index_count(o.index), __builtin_popcountll(visible));
    }
}

static void an_empty_catalog_has_nothing_and_breaks_nothing(void **state) {
  struct world *w = *state;
  build(w);
  struct fault f;
  for (int kind = 0; kind < DIRECTORY_KINDS; kind++) {
    const struct kind_index *kind_index = &w->directory->kind_indexes[kind];
    assert_int_equal(kind_index->count, 0);
    assert_non_null(tree_find(kind_index->tree, STR("/"), &f));
    struct search_hit hit;
    struct search_query q = {.text = STR("anything"), .top_k = 1};
    assert_int_equal(search_run(kind_index->index, &q, &w->scratch, &hit), 0);
  }
}

static void odd_definitions_still_get_an_id(void **state) {
  struct world *w = *state;
  serve(
      w, "a",
      LIST(TOOL("no description", "") "," TOOL(
          "\\u0000\\u202e", ",\"description\":7,\"annotations\":[]") ","
                                                                     "{\"name\":\"list\",\"inputSchema\":[1,2]}," TOOL(
                                                                         "tags", ",\"tags\":[1,null,\"\",\"ok\"]")));
  build(w);
  const struct kind_index *kind_index = &w->directory->kind_indexes[DIRECTORY_TOOLS];
  assert_int_equal(kind_index->count, 4);
  for (size_t i = 0; i < kind_index->count; i++) {
    struct tool_id_parts parts;
    struct fault f;
    assert_true(tool_id_parse(kind_index->entries[i].card.id, &parts, &f));
    assert_true(card_tokens(directory_card(w->directory, &kind_index->entries[i])) <= CARD_HARD);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      TEST(a_tool_is_found_by_its_id_and_leads_to_its_definition),
      TEST(an_id_does_not_depend_on_other_servers),
      TEST(a_catalog_without_a_server_takes_namespaces_from_names),
      TEST(a_change_of_one_server_keeps_the_work_done_for_others),
      TEST(of_two_tools_with_one_id_the_second_is_not_shown_and_told),
      TEST(resources_with_one_id_get_numbers),
      TEST(the_list_by_id_is_sorted),
      TEST(a_card_says_what_a_tool_takes),
      TEST(what_is_mistyped_by_little_comes_first),
      TEST(whoever_mistypes_an_id_is_told_what_looks_like_it),
      TEST(an_id_without_version_and_hash_names_what_the_caller_sees),
      TEST(who_sees_less_finds_what_it_would_find_if_there_were_no_more),
      TEST(paths_are_those_of_what_is_seen),
      TEST(any_number_of_views_may_be_asked_for),
      TEST(an_empty_catalog_has_nothing_and_breaks_nothing),
      TEST(odd_definitions_still_get_an_id),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
