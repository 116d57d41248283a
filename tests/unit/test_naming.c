// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/naming/naming.h"

static const struct hash_key seed = {3, 4};
static const char *const servers[] = {"a", "b", "a b", "a_b"};
// Such as clash as they are, with a prefix, and with the hashes of others.
static const char *const names[] = {"x", "y", "a__x", "b__x", "a_b__x", "x.y", "x_y_00000000", "a__a__x"};
enum { SERVERS = 4, NAMES = 8 };

// Which server has which names, as tools and as URIs.
struct world {
  struct definitions *definition_sets[SERVERS];
  struct catalog *catalog;
};

static void add_page(struct definitions *r, enum item_kind kind, const struct buf *items) {
  struct arena a;
  struct fault f;
  struct buf page;
  arena_init(&a);
  buf_init(&page, 1 << 16);
  buf_printf(&page, "{\"%s\":[%.*s]}", item_kind_rules[kind].list_key, STR_ARG(buf_view(items)));
  const struct json *result = json_parse(&a, buf_view(&page), &json_default_limits, &f);
  assert_non_null(result);
  assert_true(definitions_add_page(r, kind, result));
  buf_done(&page);
  arena_done(&a);
}

static void add_kind(struct definitions *r, enum item_kind kind, unsigned server, unsigned has) {
  struct buf items;
  buf_init(&items, 1 << 16);
  for (unsigned i = 0; i < NAMES; i++)
    if (has >> i & 1)
      buf_printf(&items, "%s{\"_\":{\"name\":1},\"%s\":\"%s\",\"of\":%u}", items.n ? "," : "",
                 item_kind_rules[kind].name_key, names[i], server);
  add_page(r, kind, &items);
  buf_done(&items);
}

static struct world world_of(const unsigned has[SERVERS], bool prefix) {
  struct world w = {0};
  struct catalog_source sources[SERVERS] = {0};
  for (unsigned i = 0; i < SERVERS; i++) {
    w.definition_sets[i] = definitions_new((struct definitions_origin){0});
    add_kind(w.definition_sets[i], ITEM_TOOL, i, has[i]);
    add_kind(w.definition_sets[i], ITEM_RESOURCE, i, has[i]);
    sources[i] = (struct catalog_source){.server = str_of(servers[i]),
                                         .definition_sets = (const struct definitions *const *)&w.definition_sets[i],
                                         .definitions_count = 1};
  }
  w.catalog = catalog_build(sources, SERVERS, &(struct catalog_options){prefix, 1, &seed});
  return w;
}

static void world_done(struct world *w) {
  for (unsigned i = 0; i < SERVERS; i++) definitions_free(&w->definition_sets[i]);
  catalog_unref(&w->catalog);
}

static unsigned name_index(str name) {
  for (unsigned i = 0; i < NAMES; i++)
    if (str_eq(name, str_of(names[i]))) return i;
  fail();
  return 0;
}

// The bits of what is left of a catalog in which only these are seen.
static void look(const struct catalog *c, const unsigned sees[SERVERS], uint64_t *bits[ITEM_KINDS]) {
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    for (size_t i = 0; i < c->count[kind]; i++) {
      const struct item *item = &c->items[kind][i];
      if (sees[item->source] >> name_index(item->name) & 1) *bits[kind] |= UINT64_C(1) << i;
    }
}

// The next that is seen, from *at on.
static const struct item *next(const struct naming *n, enum item_kind kind, size_t *at) {
  while (*at < n->catalog->count[kind]) {
    const struct item *item = &n->catalog->items[kind][(*at)++];
    if (naming_sees(n, item)) return item;
  }
  return NULL;
}

static void assert_text(const struct naming *n, const struct item *item, str want) {
  struct buf b;
  buf_init(&b, 4096);
  naming_put(n, item, true, &b);
  if (!str_eq(buf_view(&b), want)) fail_msg("%.*s, not %.*s", STR_ARG(buf_view(&b)), STR_ARG(want));
  buf_done(&b);
}

// What is seen is the same as a catalog in which there is nothing else.
static void assert_as_if_alone(const struct naming *n, const struct catalog *alone, enum item_kind kind) {
  struct naming other = naming_of_all(alone);
  size_t i = 0, k = 0;
  for (;;) {
    const struct item *a = next(n, kind, &i), *b = next(&other, kind, &k);
    if (!a || !b) {
      assert_ptr_equal(a, b);
      return;
    }
    assert_int_equal(a->source, b->source);
    str shown = naming_shown(n, a);
    if (!str_eq(shown, b->shown)) fail_msg("%.*s, not %.*s", STR_ARG(shown), STR_ARG(b->shown));
    assert_ptr_equal(naming_find(n, kind, shown), a);
    assert_text(n, a, b->text);
    assert_true(naming_same_item(n, a, &other, b));
  }
}

// No name leads further than it would there.
static void assert_found_as_if_alone(const struct naming *n, const struct catalog *alone, enum item_kind kind) {
  for (size_t i = 0; i < n->catalog->count[kind]; i++) {
    str shown = n->catalog->items[kind][i].shown;
    const struct item *a = naming_find(n, kind, shown), *b = catalog_find(alone, kind, shown);
    assert_int_equal(a != NULL, b != NULL);
    if (a) assert_true(a->source == b->source && str_eq(a->name, b->name));
  }
}

static uint32_t next_random(uint32_t *x) {
  *x = *x * 1664525 + 1013904223;
  return *x >> 8;
}

static void names_depend_on_what_is_seen_and_on_nothing_else(void **state) {
  uint32_t x = 7;
  size_t own = 0;
  for (int round = 0; round < 3000; round++) {
    unsigned has[SERVERS], sees[SERVERS];
    bool prefix = next_random(&x) % 8 == 0;
    for (int i = 0; i < SERVERS; i++) {
      has[i] = next_random(&x) & ((1u << NAMES) - 1);
      sees[i] = has[i] & next_random(&x) & (next_random(&x) % 3 ? UINT_MAX : 0);
    }
    struct world w = world_of(has, prefix), alone = world_of(sees, prefix);
    uint64_t room[ITEM_KINDS] = {0}, *bits[ITEM_KINDS];
    for (int kind = 0; kind < ITEM_KINDS; kind++) bits[kind] = &room[kind];
    look(w.catalog, sees, bits);
    struct naming_own *made = naming_own_new(w.catalog, bits);
    struct naming n = {w.catalog, {bits[0], bits[1], bits[2], bits[3]}, made, NULL, NULL};
    own += made != NULL;
    assert_as_if_alone(&n, alone.catalog, ITEM_TOOL);
    assert_as_if_alone(&n, alone.catalog, ITEM_RESOURCE);
    assert_found_as_if_alone(&n, alone.catalog, ITEM_TOOL);
    assert_found_as_if_alone(&n, alone.catalog, ITEM_RESOURCE);
    naming_own_free(&made);
    world_done(&w);
    world_done(&alone);
  }
  assert_true(own > 1000);
}

static void what_is_hidden_has_no_name_leads_nowhere_and_is_not_suggested(void **state) {
  struct world w = world_of((unsigned[]){1, 1, 2, 0}, false);  // a: x, b: x, "a b": y
  uint64_t room[ITEM_KINDS] = {2, 2, 0, 0}, *bits[] = {&room[0], &room[1], &room[2], &room[3]};
  struct naming_own *made = naming_own_new(w.catalog, bits);
  struct naming n = {w.catalog, {bits[0], bits[1], bits[2], bits[3]}, made, NULL, NULL};
  struct catalog_route routes[4];
  struct buf b;
  buf_init(&b, 100);
  assert_int_equal(naming_find(&n, ITEM_TOOL, STR("x"))->source, 1);
  assert_null(naming_find(&n, ITEM_TOOL, STR("a__x")));
  assert_null(naming_find(&n, ITEM_TOOL, STR("b__x")));
  assert_null(naming_find(&n, ITEM_TOOL, STR("y")));
  assert_int_equal(naming_route(&n, STR("x"), routes, 4), 1);
  assert_int_equal(routes[0].source, 1);
  assert_int_equal(naming_route(&n, STR("a__x"), routes, 4), 1);
  assert_false(routes[0].listed);  // at most by a guess, and at who is seen
  assert_int_equal(routes[0].source, 1);
  naming_suggest(&n, ITEM_TOOL, STR("x"), &b);
  assert_true(str_eq(buf_view(&b), STR("x")));
  buf_done(&b);
  naming_own_free(&made);
  world_done(&w);
}

static bool is_of_a(const void *who, const struct item *item, str server) {
  return str_eq(server, STR("a"));
}

static void who_sees_everything_or_a_catalog_without_a_clash_needs_no_names_of_its_own(void **state) {
  struct world clash = world_of((unsigned[]){1, 1, 0, 0}, false), none = world_of((unsigned[]){1, 2, 0, 0}, false);
  uint64_t all[ITEM_KINDS] = {3, 3, 0, 0}, some[ITEM_KINDS] = {1, 0, 0, 0};
  uint64_t *all_bits[] = {&all[0], &all[1], &all[2], &all[3]}, *some_bits[] = {&some[0], &some[1], &some[2], &some[3]};
  assert_null(naming_own_new(clash.catalog, all_bits));
  assert_null(naming_own_new(none.catalog, some_bits));
  struct naming n = {none.catalog, {&some[0], &some[1], &some[2], &some[3]}, NULL, NULL, NULL};
  assert_non_null(naming_find(&n, ITEM_TOOL, STR("x")));
  assert_null(naming_find(&n, ITEM_TOOL, STR("y")));  // hidden all the same
  assert_null(naming_find(&n, ITEM_RESOURCE, STR("x")));
  // The same of who asks for one thing only.
  struct naming one = {.catalog = none.catalog, .lets = is_of_a};
  assert_non_null(naming_find(&one, ITEM_TOOL, STR("x")));
  assert_null(naming_find(&one, ITEM_TOOL, STR("y")));
  world_done(&clash);
  world_done(&none);
}

static void an_item_is_the_same_to_who_sees_the_same_of_it(void **state) {
  struct world w = world_of((unsigned[]){1, 1, 0, 0}, false), later = world_of((unsigned[]){1, 0, 0, 0}, false);
  uint64_t room[ITEM_KINDS] = {1, 1, 0, 0}, *bits[] = {&room[0], &room[1], &room[2], &room[3]};
  struct naming_own *made = naming_own_new(w.catalog, bits);
  struct naming some = {w.catalog, {bits[0], bits[1], bits[2], bits[3]}, made, NULL, NULL},
                all = naming_of_all(w.catalog), then = naming_of_all(later.catalog);
  const struct item *x = &w.catalog->items[ITEM_TOOL][0], *y = &later.catalog->items[ITEM_TOOL][0];
  assert_true(naming_same_item(&some, x, &then, y));  // the server that clashed with it was hidden before it went
  assert_false(naming_same_item(&all, x, &then, y));  // and was not, to others
  assert_false(naming_same_item(&some, x, &all, x));  // its name is another
  naming_own_free(&made);
  world_done(&w);
  world_done(&later);
}

// A gateway has many agents, and keeps the names of each.
static void names_of_who_sees_less_take_room_for_those_that_differ_only(void **state) {
  enum { MANY = 1000 };
  struct world w = {0};
  struct catalog_source sources[2] = {0};
  struct buf items;
  buf_init(&items, 1 << 16);
  buf_str(&items, STR("{\"name\":\"x\"}"));
  for (unsigned i = 0; i < 2; i++) {
    w.definition_sets[i] = definitions_new((struct definitions_origin){0});
    add_page(w.definition_sets[i], ITEM_TOOL, &items);
    sources[i] = (struct catalog_source){.server = str_of(servers[i]),
                                         .definition_sets = (const struct definitions *const *)&w.definition_sets[i],
                                         .definitions_count = 1};
    for (int k = 0; k < MANY; k++) buf_printf(&items, ",{\"name\":\"tool-%d\"}", k);
  }
  w.catalog = catalog_build(sources, 2, &(struct catalog_options){false, 1, &seed});
  uint64_t tools[MANY / 64 + 1], none[1] = {0}, *bits[ITEM_KINDS] = {none, none, none, none};
  memset(tools, 0xff, sizeof tools);
  tools[0] &= ~UINT64_C(1);  // all but the x of a
  bits[ITEM_TOOL] = tools;
  struct naming_own *made = naming_own_new(w.catalog, bits);
  struct naming n = {w.catalog, {bits[0], bits[1], bits[2], bits[3]}, made, NULL, NULL};
  assert_int_equal(naming_find(&n, ITEM_TOOL, STR("x"))->source, 1);
  assert_null(naming_find(&n, ITEM_TOOL, STR("b__x")));
  assert_non_null(naming_find(&n, ITEM_TOOL, STR("tool-999")));
  assert_true(naming_own_bytes(made) < MANY * sizeof(str));
  naming_own_free(&made);
  buf_done(&items);
  world_done(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_depend_on_what_is_seen_and_on_nothing_else),
      cmocka_unit_test(what_is_hidden_has_no_name_leads_nowhere_and_is_not_suggested),
      cmocka_unit_test(who_sees_everything_or_a_catalog_without_a_clash_needs_no_names_of_its_own),
      cmocka_unit_test(names_of_who_sees_less_take_room_for_those_that_differ_only),
      cmocka_unit_test(an_item_is_the_same_to_who_sees_the_same_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
