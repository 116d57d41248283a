// SPDX-License-Identifier: Apache-2.0
// catalog/: the names that clients see, the catalog of all that upstreams list, and where a URI leads.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "catalog/naming/names.h"
#include "catalog/naming/naming.h"
#include "catalog/naming/uri_key.h"

static void assert_str(str have, const char *want) {
  if (!str_eq(have, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(have), want);
}

// ---- names

#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void a_safe_name_has_letters_digits_and_two_signs(void **state) {
  static const char *const safe[] = {"a", "Z", "0", "_", "-", "read_file", "a-b-C-9", SIXTY "aaaa"};
  static const char *const unsafe[] = {"",    "a b", "a.b",         "a/b", "a:b", "\xc3\xa9",
                                       "a\n", " a",  SIXTY "aaaaa", "a@b", "[",   "`"};
  for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) assert_true(names_is_safe(str_of(safe[i])));
  for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) assert_false(names_is_safe(str_of(unsafe[i])));
  assert_false(names_is_safe(STR("a\0b")));
}

// The digits are the first of SHA-256("server" NUL "name" NUL "salt"): clients keep these names, so they never change.
static void names_are_shortened_with_a_hash_that_never_changes(void **state) {
  static const struct {
    str server, name;
    bool prefix;
    unsigned salt;
    const char *want;
  } table[] = {
      {STR("git"), STR("status"), false, 0, "status"},
      {STR("git"), STR("status"), true, 0, "git__status"},
      {STR("my server"), STR("ok"), true, 0, "my_server__ok"},
      {STR("git"), STR("read file"), false, 0, "read_file_8a177963"},
      {STR("git"), STR("read file"), true, 0, "git__read_file_8a177963"},
      {STR("git"), STR("a.b"), false, 0, "a_b_244c9523"},
      {STR("git"), STR("a/b"), false, 0, "a_b_921b84a0"},
      {STR("git"), STR("caf\xc3\xa9"), false, 0, "caf___3a0c63ff"},
      {STR("git"), STR(""), false, 0, "_7af434f8"},
      {STR("git"), STR(SIXTY "aaaaa"), false, 0, TEN TEN TEN TEN TEN "aaaaa_4e2b5b48"},
      {STR("git"), STR(SIXTY "aaaaa"), false, 1, TEN TEN TEN TEN TEN "aaaaa_da9ba7ed"},
      {STR("git"), STR("ok"), false, 1, "ok_b50059c0"},
      {STR("ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"), STR("toolname"), true, 0,
       "sssssssssssssssssssssssssssssssssssssssssssssssssssssss_ca05038e"},
      {STR("git"), STR("a\0b"), false, 0, "a_b_c221ee64"},
      {STR("git"), STR("a\0c"), false, 0, "a_c_355f49ad"},
      {STR("git"), STR("a\0b"), true, 0, "git__a_b_c221ee64"},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    str shown = names_safe(&a, table[i].server, table[i].name, table[i].prefix, table[i].salt);
    assert_str(shown, table[i].want);
    assert_true(names_is_safe(shown));
  }
  arena_done(&a);
}

static void the_prefix_of_a_server_begins_a_legal_scheme(void **state) {
  static const str servers[] = {STR("git"), STR("my_files"), STR("My Files"), STR("9p"), STR("GIT")};
  str prefixes[5];
  struct arena a;
  arena_init(&a);
  names_prefixes(&a, servers, 5, prefixes);
  assert_str(prefixes[0], "git+");
  assert_str(prefixes[1], "my.files+");
  for (size_t i = 0; i < 5; i++) {
    for (size_t k = 0; k < i; k++) assert_false(str_eq(prefixes[i], prefixes[k]));
    assert_in_range(prefixes[i].p[0], 'a', 'z');
    assert_true(str_ends(prefixes[i], STR("+")));
    assert_int_equal(strspn(prefixes[i].p, "abcdefghijklmnopqrstuvwxyz0123456789-."), prefixes[i].n - 1);
  }
  assert_str(names_uri(&a, prefixes[0], STR("file:///a b")), "git+file:///a b");
  assert_str(names_uri(&a, STR(""), STR("file:///a b")), "file:///a b");
  assert_str(names_uri(&a, STR("g+"), STR("x:\0y")), "g+x:%00y");
  arena_done(&a);
}

// ---- catalogs

static bool add_page(struct definitions *r, enum item_kind kind, str text) {
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *result = json_parse(&a, text, &json_default_limits, &f);
  if (!result) fail_msg("%.*s: %s", STR_ARG(text), f.message);
  bool ok = definitions_add_page(r, kind, result);
  arena_done(&a);
  return ok;
}

static struct definitions *definitions_of(enum item_kind kind, const char *page) {
  struct definitions *r = definitions_new((struct definitions_origin){0});
  assert_true(add_page(r, kind, str_of(page)));
  return r;
}

static const struct hash_key seed = {1, 2};

enum { MAX_SOURCES = 4, MAX_DEFINITION_SETS = 2 };

struct world {
  struct definitions *definition_sets[MAX_SOURCES][MAX_DEFINITION_SETS];
  struct catalog_source sources[MAX_SOURCES];
  size_t count;
};

static struct catalog_source source_of(const char *server, struct definitions **definition_sets, size_t count) {
  return (struct catalog_source){.server = str_of(server),
                                 .definition_sets = (const struct definitions *const *)definition_sets,
                                 .definitions_count = count};
}

static void add_source(struct world *w, const char *server, enum item_kind kind, const char *first,
                       const char *second) {
  struct definitions **r = w->definition_sets[w->count];
  r[0] = definitions_of(kind, first);
  if (second) r[1] = definitions_of(kind, second);
  w->sources[w->count++] = source_of(server, r, second ? 2 : 1);
}

static struct catalog *build(const struct world *w, bool prefix_always) {
  return catalog_build(w->sources, w->count, &(struct catalog_options){prefix_always, 5, &seed});
}

static void world_done(struct world *w) {
  for (size_t i = 0; i < w->count; i++)
    for (int k = 0; k < MAX_DEFINITION_SETS; k++) definitions_free(&w->definition_sets[i][k]);
}

// "shown shown …", in the order of the list.
static void assert_shown(const struct catalog *c, enum item_kind kind, const char *want) {
  struct buf b;
  buf_init(&b, 65536);
  for (size_t i = 0; i < c->count[kind]; i++) {
    const struct item *item = &c->items[kind][i];
    buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(item->shown));
    assert_ptr_equal(catalog_find(c, kind, item->shown), item);
  }
  assert_str(buf_view(&b), want);
  buf_done(&b);
}

static void names_that_no_two_servers_have_stay_and_the_others_say_whose_they_are(void **state) {
  struct world w = {0};
  add_source(&w, "git", ITEM_TOOL, "{\"tools\":[{\"name\":\"status\"},{\"name\":\"search\"},{\"name\":\"log\"}]}",
             NULL);
  add_source(&w, "web", ITEM_TOOL, "{\"tools\":[{\"name\":\"search\"},{\"name\":\"fetch\"}]}", NULL);
  add_source(&w, "kb", ITEM_TOOL, "{\"tools\":[{\"name\":\"search\"}]}", NULL);
  struct catalog *c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "status git__search log web__search fetch kb__search");
  assert_int_equal(c->generation, 5);
  assert_int_equal(c->parts[0].twice_count, 0);
  assert_int_equal(c->contested, 3);
  struct buf b;
  buf_init(&b, 1000);
  struct naming all = naming_of_all(c);
  naming_suggest(&all, ITEM_TOOL, STR("search"), &b);
  assert_str(buf_view(&b), "git__search, web__search, kb__search");
  buf_reset(&b);
  naming_suggest(&all, ITEM_TOOL, STR("no such"), &b);
  assert_int_equal(b.n, 0);
  buf_done(&b);
  assert_null(catalog_find(c, ITEM_TOOL, STR("search")));
  assert_null(catalog_find(c, ITEM_PROMPT, STR("status")));
  const struct item *item = catalog_find(c, ITEM_TOOL, STR("web__search"));
  assert_int_equal(item->source, 1);
  assert_str(item->name, "search");
  catalog_unref(&c);
  c = build(&w, true);
  assert_shown(c, ITEM_TOOL, "git__status git__search git__log web__search web__fetch kb__search");
  catalog_unref(&c);
  world_done(&w);
}

static void a_catalog_says_which_items_are_whose(void **state) {
  struct world w = {0};
  add_source(&w, "git", ITEM_TOOL, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]}", NULL);
  add_source(&w, "mute", ITEM_PROMPT, "{\"prompts\":[{\"name\":\"p\"}]}", NULL);
  add_source(&w, "web", ITEM_TOOL, "{\"tools\":[{\"name\":\"a\"}]}", "{\"tools\":[{\"name\":\"a\"},{\"name\":\"c\"}]}");
  char said[] = "Ask git first.";
  w.sources[0].instructions = str_of(said);
  w.sources[0].version = 7;
  w.sources[2].version = UINT64_MAX;
  struct catalog *c = build(&w, false);
  world_done(&w);
  memset(said, 'x', sizeof said - 1);  // the catalog has its own copy
  assert_int_equal(c->part_count, 3);
  assert_str(c->parts[0].server, "git");
  assert_str(c->parts[0].instructions, "Ask git first.");
  assert_str(c->parts[1].instructions, "");
  assert_int_equal(c->parts[0].version, 7);
  assert_true(c->parts[2].version == UINT64_MAX);
  static const size_t first[] = {0, 2, 2}, count[] = {2, 0, 2};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(c->parts[i].first[ITEM_TOOL], first[i]);
    assert_int_equal(c->parts[i].count[ITEM_TOOL], count[i]);
  }
  assert_int_equal(c->parts[1].first[ITEM_PROMPT], 0);
  assert_int_equal(c->parts[1].count[ITEM_PROMPT], 1);
  assert_int_equal(c->parts[2].first[ITEM_PROMPT], 1);
  catalog_unref(&c);
}

static void a_definition_changes_only_in_its_name(void **state) {
  struct world w = {0};
  add_source(&w, "a", ITEM_TOOL, "{\"tools\":[{ \"x\" : {\"name\":\"s\"} , \"name\" : \"\\u0073\",\"n\":1.0 }]}", NULL);
  add_source(&w, "b", ITEM_TOOL, "{\"tools\":[{\"name\":\"s\"},{ \"name\" :  \"kept\" , \"n\" : 1e2 }]}", NULL);
  struct catalog *c = build(&w, false);
  assert_str(c->items[ITEM_TOOL][0].text, "{ \"x\" : {\"name\":\"s\"} , \"name\" : \"a__s\",\"n\":1.0 }");
  assert_str(c->items[ITEM_TOOL][1].text, "{\"name\":\"b__s\"}");
  assert_str(c->items[ITEM_TOOL][2].text, "{ \"name\" :  \"kept\" , \"n\" : 1e2 }");
  world_done(&w);  // the catalog has its own copy
  assert_str(c->items[ITEM_TOOL][0].name, "s");
  assert_str(c->items[ITEM_TOOL][2].text, "{ \"name\" :  \"kept\" , \"n\" : 1e2 }");
  catalog_unref(&c);
}

static void unsafe_names_do_not_clash_even_when_they_look_alike(void **state) {
  struct world w = {0};
  add_source(&w, "git", ITEM_TOOL, "{\"tools\":[{\"name\":\"a.b\"},{\"name\":\"a/b\"},{\"name\":\"a_b\"}]}", NULL);
  struct catalog *c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "a_b_244c9523 a_b_921b84a0 a_b");
  catalog_unref(&c);
  world_done(&w);
  w = (struct world){0};
  add_source(&w, "one", ITEM_TOOL, "{\"tools\":[{\"name\":\"a.b\"}]}", NULL);
  add_source(&w, "two", ITEM_TOOL, "{\"tools\":[{\"name\":\"a.b\"}]}", NULL);
  c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "one__a_b_ca34cf42 two__a_b_645b87b6");
  catalog_unref(&c);
  world_done(&w);
}

static void a_name_that_is_taken_by_a_prefixed_one_is_hashed(void **state) {
  struct world w = {0};
  add_source(&w, "a", ITEM_TOOL, "{\"tools\":[{\"name\":\"b\"}]}", NULL);
  add_source(&w, "x", ITEM_TOOL, "{\"tools\":[{\"name\":\"b\"}]}", NULL);
  add_source(&w, "c", ITEM_TOOL, "{\"tools\":[{\"name\":\"a__b\"}]}", NULL);
  struct catalog *c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "a__b x__b c__a__b_cf0f60b7");
  catalog_unref(&c);
  world_done(&w);
  w = (struct world){0};
  add_source(&w, "my server", ITEM_TOOL, "{\"tools\":[{\"name\":\"ok\"}]}", NULL);  // two servers with one safe name
  add_source(&w, "my_server", ITEM_TOOL, "{\"tools\":[{\"name\":\"ok\"}]}", NULL);
  c = build(&w, false);
  assert_int_equal(c->count[ITEM_TOOL], 2);
  assert_str(c->items[ITEM_TOOL][0].shown, "my_server__ok");
  assert_true(names_is_safe(c->items[ITEM_TOOL][1].shown));
  assert_false(str_eq(c->items[ITEM_TOOL][0].shown, c->items[ITEM_TOOL][1].shown));
  catalog_unref(&c);
  world_done(&w);
}

static void of_a_name_that_a_server_has_twice_the_first_counts(void **state) {
  struct world w = {0};
  add_source(&w, "git", ITEM_TOOL,
             "{\"tools\":[{\"name\":\"a\",\"v\":1},{\"name\":\"b\"},{\"name\":\"\\u0061\",\"v\":2}]}",
             "{\"tools\":[{\"name\":\"a\",\"v\":3},{\"name\":\"c\"},{\"name\":\"c\",\"v\":2}]}");
  struct catalog *c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "a b c");
  assert_str(c->items[ITEM_TOOL][0].text, "{\"name\":\"a\",\"v\":1}");
  assert_int_equal(c->parts[0].twice_count, 2);  // that a later roster repeats the first is no mistake
  catalog_unref(&c);
  world_done(&w);
}

static void the_catalog_does_not_depend_on_the_seed(void **state) {
  struct world w = {0};
  add_source(&w, "a", ITEM_TOOL, "{\"tools\":[{\"name\":\"1\"},{\"name\":\"2\"},{\"name\":\"3\"},{\"name\":\"4 \"}]}",
             NULL);
  add_source(&w, "b", ITEM_TOOL,
             "{\"tools\":[{\"name\":\"4 \"},{\"name\":\"3\"},{\"name\":\"5\"},{\"name\":\"a__3\"}]}", NULL);
  struct catalog *c = build(&w, false);
  for (uint64_t i = 0; i < 50; i++) {
    struct hash_key other = {i * 77, i};
    struct catalog *d = catalog_build(w.sources, w.count, &(struct catalog_options){false, i, &other});
    assert_true(catalog_same(c, d, ITEM_TOOL));
    catalog_unref(&d);
  }
  catalog_unref(&c);
  world_done(&w);
}

static void two_catalogs_are_the_same_when_clients_see_the_same_list(void **state) {
  struct world w = {0}, other = {0};
  add_source(&w, "a", ITEM_TOOL, "{\"tools\":[{\"name\":\"x\"},{\"name\":\"y\"}]}", NULL);
  add_source(&other, "b", ITEM_TOOL, "{\"tools\":[{\"name\":\"x\"},{\"name\":\"y\"}]}", NULL);
  struct catalog *c = build(&w, false), *d = build(&other, false);
  assert_true(catalog_same(c, d, ITEM_TOOL));
  assert_true(catalog_same(c, d, ITEM_PROMPT));
  catalog_unref(&d);
  add_source(&other, "c", ITEM_TOOL, "{\"tools\":[{\"name\":\"z\"}]}", NULL);
  d = build(&other, false);
  assert_false(catalog_same(c, d, ITEM_TOOL));
  catalog_unref(&d);
  d = build(&w, true);
  assert_false(catalog_same(c, d, ITEM_TOOL));
  catalog_unref(&d);
  catalog_unref(&c);
  world_done(&w);
  world_done(&other);
}

static void a_catalog_lives_as_long_as_someone_holds_it(void **state) {
  struct world w = {0};
  add_source(&w, "a", ITEM_PROMPT, "{\"prompts\":[{\"name\":\"p\"}]}", NULL);
  struct catalog *c = build(&w, false), *held = catalog_ref(c);
  catalog_unref(&c);
  assert_null(c);
  assert_shown(held, ITEM_PROMPT, "p");
  catalog_unref(&held);
  catalog_unref(&held);
  world_done(&w);
  c = catalog_build(NULL, 0, &(struct catalog_options){.seed = &seed});  // of nothing
  assert_int_equal(c->count[ITEM_TOOL], 0);
  assert_null(catalog_find(c, ITEM_TOOL, STR("")));
  catalog_unref(&c);
}

// Tools that a stateless server (or one with a handshake) lists with this lifetime and scope.
static struct definitions *kept_definitions(bool stateless, uint64_t ttl_ms, const char *scope) {
  char page[200];
  snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"t\"}],\"ttlMs\":%llu,\"cacheScope\":\"%s\"}",
           (unsigned long long)ttl_ms, scope);
  struct definitions *r = definitions_new((struct definitions_origin){.stateless = stateless});
  assert_true(add_page(r, ITEM_TOOL, str_of(page)));
  return r;
}

static void assert_kept(const struct world *w, uint64_t ttl_ms, bool is_public) {
  struct catalog *c = build(w, false);
  struct catalog_keeping tools = catalog_keeping(c, ITEM_TOOL, NULL), prompts = catalog_keeping(c, ITEM_PROMPT, NULL);
  assert_true(tools.ttl_ms == ttl_ms);
  assert_int_equal(tools.is_public, is_public);
  assert_true(prompts.ttl_ms == 0);  // which nobody lists
  assert_false(prompts.is_public);
  catalog_unref(&c);
}

static void a_list_may_be_kept_as_long_as_all_servers_allow(void **state) {
  struct world w = {0};
  assert_kept(&w, 0, false);  // of nothing
  for (int i = 0; i < 3; i++) {
    w.sources[i] = source_of("s", w.definition_sets[i], 1);
    w.count = (size_t)i + 1;
    w.definition_sets[i][0] = kept_definitions(true, 9000 - 1000 * (uint64_t)i, "public");
    assert_kept(&w, 9000 - 1000 * (uint64_t)i, true);
  }
  w.definition_sets[1][1] = kept_definitions(true, 500, "private");  // what it shows to other clients counts too
  w.sources[1].definitions_count = 2;
  assert_kept(&w, 500, false);
  w.sources[1].definitions_count = 0;  // it has not been listed yet
  assert_kept(&w, 0, false);
  w.sources[1].definitions_count = 1;
  assert_kept(&w, 7000, true);
  w.count = 4;
  w.sources[3] = source_of("h", w.definition_sets[3], 1);
  w.definition_sets[3][0] = definitions_of(ITEM_TOOL, "{\"tools\":[]}");  // with a handshake: its pages say nothing
  assert_kept(&w, 0, false);
  world_done(&w);
}

static void the_first_roster_that_has_a_name_says_all_about_it(void **state) {
  struct world w = {0};
  struct definitions *first = definitions_new((struct definitions_origin){0}),
                     *second = definitions_new((struct definitions_origin){.stateless = true});
  assert_true(
      add_page(first, ITEM_TOOL, STR("{\"tools\":[{\"name\":\"a\",\"execution\":{\"taskSupport\":\"required\"}}]}")));
  assert_true(add_page(second, ITEM_TOOL,
                       STR("{\"tools\":[{\"name\":\"b\",\"outputSchema\":{}},{\"name\":\"a\",\"outputSchema\":{}}]}")));
  w.definition_sets[0][0] = first;
  w.definition_sets[0][1] = second;
  w.sources[0] = source_of("s", w.definition_sets[0], 2);
  w.count = 1;
  struct catalog *c = build(&w, false);
  assert_shown(c, ITEM_TOOL, "a b");
  const struct item *a = &c->items[ITEM_TOOL][0], *b = &c->items[ITEM_TOOL][1];
  assert_true(!a->stateless && a->task_required && !a->wraps_output);
  assert_true(b->stateless && !b->task_required && b->wraps_output);
  assert_int_equal(a->seen, 3);
  assert_int_equal(b->seen, 2);
  catalog_unref(&c);
  world_done(&w);
}

static void two_catalogs_differ_when_only_clients_with_a_handshake_see_it(void **state) {
  struct world w = {0}, other = {0};
  for (int i = 0; i < 2; i++) {
    struct world *one = i ? &other : &w;
    one->definition_sets[0][0] = definitions_new((struct definitions_origin){.stateless = true, .tasks = i == 1});
    assert_true(add_page(one->definition_sets[0][0], ITEM_TOOL, STR("{\"tools\":[{\"name\":\"t\"}]}")));
    one->sources[0] = source_of("s", one->definition_sets[0], 1);
    one->count = 1;
  }
  struct catalog *c = build(&w, false), *d = build(&other, false), *e = build(&other, false);
  assert_true(str_eq(c->items[ITEM_TOOL][0].text, d->items[ITEM_TOOL][0].text));
  assert_false(catalog_same(c, d, ITEM_TOOL));
  assert_true(catalog_same(d, e, ITEM_TOOL));
  catalog_unref(&c);
  catalog_unref(&d);
  catalog_unref(&e);
  world_done(&w);
  world_done(&other);
}

// ---- URIs

// "source:uri[?] …"; '?' marks a guess.
static void assert_routes(const struct catalog *c, const char *uri, const char *want) {
  struct catalog_route routes[8];
  struct buf b;
  buf_init(&b, 4096);
  struct naming all = naming_of_all(c);
  size_t n = naming_route(&all, str_of(uri), routes, 8);
  for (size_t i = 0; i < n; i++)
    buf_printf(&b, "%s%u:%.*s%s", i ? " " : "", routes[i].source, STR_ARG(routes[i].uri), routes[i].listed ? "" : "?");
  assert_str(buf_view(&b), want);
  buf_done(&b);
}

static void add_resources(struct world *w, const char *server, const char *resources, const char *templates) {
  size_t i = w->count;
  add_source(w, server, ITEM_RESOURCE, resources, NULL);
  assert_true(add_page(w->definition_sets[i][0], ITEM_TEMPLATE, str_of(templates)));
}

static void a_uri_leads_to_its_entry_then_to_templates_then_to_its_scheme(void **state) {
  struct world w = {0};
  add_resources(&w, "fs", "{\"resources\":[{\"uri\":\"file:///a\"},{\"uri\":\"file:///both\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"file:///logs/{day}\"}]}");
  add_resources(&w, "db", "{\"resources\":[{\"uri\":\"db://t/1\"},{\"uri\":\"file:///both\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"db://{table}/{id}\"},{\"uriTemplate\":\"db://{+any}\"}]}");
  add_resources(
      &w, "x", "{\"resources\":[]}",
      "{\"resourceTemplates\":[{\"uriTemplate\":\"db://{table}/{id}\"},{\"uriTemplate\":\"file:///logs/{+all}\"}]}");
  struct catalog *c = build(&w, true);
  assert_shown(c, ITEM_RESOURCE, "file:///a file:///both db://t/1 db+file:///both");
  assert_shown(c, ITEM_TEMPLATE,
               "file:///logs/{day} db://{table}/{id} db://{+any} x+db://{table}/{id} x+file:///logs/{+all}");
  assert_routes(c, "file:///a", "0:file:///a");
  assert_routes(c, "file:///both", "0:file:///both");
  assert_routes(c, "db+file:///both", "1:file:///both");
  assert_routes(c, "file:///logs/monday", "0:file:///logs/monday");
  assert_routes(c, "x+file:///logs/monday", "2:file:///logs/monday");
  assert_routes(c, "file:///logs/2/3", "2:file:///logs/2/3");
  assert_routes(c, "x+file:///logs/{+all}", "2:file:///logs/{+all}");  // a completion names the template itself
  assert_routes(c, "x+db://{table}/{id}", "2:db://{table}/{id}");
  assert_routes(c, "x+db://t/7", "2:db://t/7");
  assert_routes(c, "db+db://t/7", "1:db://t/7");
  assert_routes(c, "fs+file:///a", "0:file:///a");  // the long form of what needs none
  assert_routes(c, "db://t/7", "1:db://t/7");
  assert_routes(c, "file:///elsewhere", "0:file:///elsewhere? 1:file:///elsewhere? 2:file:///elsewhere?");
  assert_routes(c, "db+file:///elsewhere", "1:file:///elsewhere?");
  assert_routes(c, "http://nowhere", "");
  assert_routes(c, "", "");
  struct catalog_route one;
  struct naming all = naming_of_all(c);
  assert_int_equal(naming_route(&all, STR("file:///elsewhere"), &one, 1), 1);
  assert_int_equal(one.source, 0);
  catalog_unref(&c);
  world_done(&w);
}

// Each request would cost the loop the time to bring it into its normal form.
static void a_long_uri_is_only_found_as_an_entry(void **state) {
  static char uri[URI_BYTES_MAX + 2], listed[URI_BYTES_MAX + 64];
  struct world w = {0};
  memset(uri, 'a', URI_BYTES_MAX + 1);
  memcpy(uri, "long://", 7);
  snprintf(listed, sizeof listed, "{\"resources\":[{\"uri\":\"%s\"}]}", uri);
  add_resources(&w, "s", listed, "{\"resourceTemplates\":[{\"uriTemplate\":\"long://{+any}\"}]}");
  struct catalog *c = build(&w, true);
  struct naming all = naming_of_all(c);
  struct catalog_route route;
  assert_int_equal(naming_route(&all, str_of(uri), &route, 1), 1);
  uri[URI_BYTES_MAX] = 'b';
  assert_int_equal(naming_route(&all, str_of(uri), &route, 1), 0);
  uri[URI_BYTES_MAX] = 0;
  assert_int_equal(naming_route(&all, str_of(uri), &route, 1), 1);
  catalog_unref(&c);
  world_done(&w);
}

static void a_uri_belongs_to_the_server_that_is_configured_first(void **state) {
  struct world w = {0};
  add_resources(&w, "late", "{\"resources\":[{\"uri\":\"note://b\"},{\"uri\":\"doc://wiki/Home\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"note://{id}\"}]}");
  add_resources(&w, "early", "{\"resources\":[{\"uri\":\"note://a\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"doc://{space}/{page}\"}]}");
  w.sources[0].order = 1;  // added to the configuration before the other, which arrived first
  struct catalog *c = build(&w, true);
  assert_shown(c, ITEM_RESOURCE, "note://b late+doc://wiki/Home note://a");
  assert_shown(c, ITEM_TEMPLATE, "note://{id} doc://{space}/{page}");
  assert_int_equal(c->shadowed, 1);
  assert_routes(c, "doc://wiki/Home", "1:doc://wiki/Home");
  assert_routes(c, "late+doc://wiki/Home", "0:doc://wiki/Home");
  assert_routes(c, "note://a", "1:note://a");
  assert_routes(c, "late+note://a", "0:note://a");
  assert_routes(c, "note://x", "0:note://x");
  assert_routes(c, "note://x/y", "1:note://x/y? 0:note://x/y?");
  catalog_unref(&c);
  world_done(&w);
}

static void another_spelling_of_a_uri_is_the_same_uri(void **state) {
  struct world w = {0};
  add_resources(&w, "a",
                "{\"resources\":[{\"uri\":\"file:///notes/a~b\"},{\"uri\":\"https://docs.example/x\"},"
                "{\"uri\":\"https://web.example:443\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"doc://Wiki/{page}\"}]}");
  add_resources(&w, "b",
                "{\"resources\":[{\"uri\":\"FILE:///notes/a%7eb\"},{\"uri\":\"https://DOCS.example.:443/x\"},"
                "{\"uri\":\"https://web.example/\"},{\"uri\":\"file:///notes/./x/../a~b\"},{\"uri\":\"doc://wiki/p\"},"
                "{\"uri\":\"file:///\\tnotes/a~b\"},{\"uri\":\"file:///notes/A~b\"}]}",
                "{\"resourceTemplates\":[{\"uriTemplate\":\"file:///notes/%61~b\"}]}");
  struct catalog *c = build(&w, true);
  for (size_t i = 3; i < 9; i++) assert_int_equal(c->items[ITEM_RESOURCE][i].owner, 1);
  assert_int_equal(c->items[ITEM_RESOURCE][9].owner, 0);  // paths are case-sensitive
  assert_int_equal(c->items[ITEM_TEMPLATE][1].owner, 1);
  assert_routes(c, "FILE:///notes/a%7Eb", "0:file:///notes/a~b");
  assert_routes(c, "https://web.example/", "0:https://web.example:443");
  assert_routes(c, "doc://WIKI/p", "0:doc://WIKI/p");
  assert_routes(c, "B+FILE:///notes/a%7eb", "1:FILE:///notes/a%7eb");
  assert_routes(c, "ht\ttps://DOCS.example/x", "0:https://docs.example/x");
  assert_routes(c, "https:/\n/DOCS.example/x", "0:https://docs.example/x");
  assert_routes(c, "https://docs.example:44\r3/x", "0:https://docs.example/x");
  assert_routes(c, "file:///notes/a%7\tEb", "0:file:///notes/a~b");
  assert_routes(c, " b+file:///new", "1:file:///new?");
  assert_routes(c, "\x01\nb\t+\rfile:///ne\tw", "1:\rfile:///ne\tw?");
  catalog_unref(&c);
  world_done(&w);
}

// A server cannot take the place of another one's prefixed resource by listing that very URI.
static void a_prefix_belongs_to_its_server(void **state) {
  struct world w = {0};
  add_resources(&w, "a", "{\"resources\":[{\"uri\":\"x://1\"},{\"uri\":\"b+x://1\"}]}", "{\"resourceTemplates\":[]}");
  add_resources(&w, "b", "{\"resources\":[{\"uri\":\"x://1\"},{\"uri\":\"b+x://1\"}]}", "{\"resourceTemplates\":[]}");
  struct catalog *c = build(&w, true);
  assert_shown(c, ITEM_RESOURCE, "x://1 a+b+x://1 b+x://1 b+b+x://1");
  assert_routes(c, "b+x://1", "1:x://1");
  assert_routes(c, "a+b+x://1", "0:b+x://1");
  assert_routes(c, "b+b+x://1", "1:b+x://1");
  catalog_unref(&c);
  world_done(&w);
}

static void a_template_matches_the_uris_that_it_can_produce(void **state) {
  static const struct {
    const char *template, *uri;
    bool match;
  } table[] = {
      {"a", "a", true},
      {"a", "b", false},
      {"a", "ab", false},
      {"ab", "a", false},
      {"", "", true},
      {"", "a", false},
      {"f:///{x}", "f:///a", true},
      {"f:///{x}", "f:///a.b-c%20", true},
      {"f:///{x}", "f:///", true},
      {"f:///{x}", "f:///a/b", false},
      {"f:///{x}", "g:///a", false},
      {"f:///{x}/b", "f:///a/b", true},
      {"f:///{x}/b", "f:///a/c", false},
      {"f:///{x}/{y}", "f:///a/b", true},
      {"f:///{x}/{y}", "f:///a/b/c", false},
      {"f:///{+x}", "f:///a/b/c", true},
      {"f:///{+x}.txt", "f:///a/b.txt/c.txt", true},
      {"f:///{+x}.txt", "f:///a/b.txt/c", false},
      {"f://{#x}", "f://#frag/ment", true},
      {"f://h{/x,y}", "f://h/a/b", true},
      {"f://h{?q,r}", "f://h?q=1/2&r=3", true},
      {"f://h{?q}", "f://h", true},
      {"f://h{&q}", "f://h&q=1", true},
      {"f://h{;q}", "f://h;q=a/b", true},
      {"f://h{.ext}", "f://h.json", true},
      {"{x}", "abc", true},
      {"{x}", "a/c", false},
      {"{+x}", "", true},
      {"{x}{y}", "ab", true},
      {"{x}-{y}", "a-b-c", true},
      {"{x}-{y}", "ab", false},
      {"a{x}a", "aa", true},
      {"a{x}a", "a", false},
      {"{x", "a", false},
      {"{", "{", true},
      {"a}", "a}", true},
      {"{}", "a/b", true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (naming_template_match(str_of(table[i].template), str_of(table[i].uri)) != table[i].match)
      fail_msg("%s and %s", table[i].template, table[i].uri);
}

static void repeat(struct buf *b, const char *text, int count) {
  for (int i = 0; i < count; i++) buf_str(b, str_of(text));
}

static void a_hostile_template_costs_little_time_and_stack(void **state) {
  struct buf t, u;
  buf_init(&t, 64 << 20);
  buf_init(&u, 64 << 20);
  clock_t began = clock();
  // Ways to split the run grow with every expression.
  repeat(&t, "{a}", 40);
  buf_char(&t, '!');
  repeat(&u, "a", 200);
  assert_false(naming_template_match(buf_view(&t), buf_view(&u)));
  // As many expressions as a definition may hold.
  buf_reset(&t);
  repeat(&t, "{+a}", 1000000);
  naming_template_match(buf_view(&t), buf_view(&u));
  naming_template_match(buf_view(&t), STR(""));
  // Every try reads far before it fails.
  buf_reset(&t);
  buf_reset(&u);
  repeat(&t, "{+a}", 1);
  repeat(&t, "aaaaaaaaaa", 100000);
  buf_char(&t, 'b');
  repeat(&u, "aaaaaaaaaa", 200000);
  assert_false(naming_template_match(buf_view(&t), buf_view(&u)));
  assert_in_range((clock() - began) * 1000 / CLOCKS_PER_SEC, 0, 5000);  // of our own time
  buf_done(&t);
  buf_done(&u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_safe_name_has_letters_digits_and_two_signs),
      cmocka_unit_test(the_prefix_of_a_server_begins_a_legal_scheme),
      cmocka_unit_test(names_are_shortened_with_a_hash_that_never_changes),
      cmocka_unit_test(names_that_no_two_servers_have_stay_and_the_others_say_whose_they_are),
      cmocka_unit_test(a_catalog_says_which_items_are_whose),
      cmocka_unit_test(a_definition_changes_only_in_its_name),
      cmocka_unit_test(unsafe_names_do_not_clash_even_when_they_look_alike),
      cmocka_unit_test(a_name_that_is_taken_by_a_prefixed_one_is_hashed),
      cmocka_unit_test(of_a_name_that_a_server_has_twice_the_first_counts),
      cmocka_unit_test(the_catalog_does_not_depend_on_the_seed),
      cmocka_unit_test(two_catalogs_are_the_same_when_clients_see_the_same_list),
      cmocka_unit_test(a_catalog_lives_as_long_as_someone_holds_it),
      cmocka_unit_test(a_list_may_be_kept_as_long_as_all_servers_allow),
      cmocka_unit_test(the_first_roster_that_has_a_name_says_all_about_it),
      cmocka_unit_test(two_catalogs_differ_when_only_clients_with_a_handshake_see_it),
      cmocka_unit_test(a_uri_leads_to_its_entry_then_to_templates_then_to_its_scheme),
      cmocka_unit_test(a_long_uri_is_only_found_as_an_entry),
      cmocka_unit_test(a_uri_belongs_to_the_server_that_is_configured_first),
      cmocka_unit_test(another_spelling_of_a_uri_is_the_same_uri),
      cmocka_unit_test(a_prefix_belongs_to_its_server),
      cmocka_unit_test(a_template_matches_the_uris_that_it_can_produce),
      cmocka_unit_test(a_hostile_template_costs_little_time_and_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
