// SPDX-License-Identifier: Apache-2.0
// call/result_cache: results of tools that only read.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/controls/result_cache.h"

static uint64_t now;
static uint64_t mono(void *ctx) {
  return now;
}
static const struct clock hand = {mono, NULL, NULL};
static const struct hash_key seed = {1, 2};

static struct result_cache *cache_of(uint64_t ttl_ms, size_t entries, size_t bytes) {
  now = 1000;
  return result_cache_new(&(struct result_cache_limits){ttl_ms, entries, bytes}, &hand, &seed);
}

static struct result_cache_key key_in(const char *scope, const char *tool, const char *args) {
  struct arena a;
  struct fault f;
  struct result_cache_key key;
  arena_init(&a);
  const struct json *v = args ? json_parse(&a, str_of(args), &json_default_limits, &f) : NULL;
  if (args) assert_non_null(v);
  assert_true(result_cache_key(str_of(scope), STR("server"), str_of(tool), v, &key));
  arena_done(&a);
  return key;
}

static struct result_cache_key key_of(const char *name) {
  return key_in("p", name, "{}");
}

static void put(struct result_cache *c, const char *name, const char *bytes) {
  struct result_cache_key key = key_of(name);
  result_cache_put(c, &key, 1, &(struct cached_result){str_of(bytes), false});
}

static const char *find_at(struct result_cache *c, const char *name, uint64_t generation) {
  static char text[256];
  struct result_cache_key key = key_of(name);
  struct cached_result found;
  if (!result_cache_find(c, &key, generation, &found)) return NULL;
  snprintf(text, sizeof text, "%.*s", STR_ARG(found.bytes));
  return text;
}

static const char *find(struct result_cache *c, const char *name) {
  return find_at(c, name, 1);
}

static void what_was_put_is_found(void **state) {
  struct result_cache *c = cache_of(60000, 10, 10000);
  assert_null(find(c, "a"));
  put(c, "a", "{\"content\":[]}");
  put(c, "b", "{}");
  assert_string_equal(find(c, "a"), "{\"content\":[]}");
  assert_string_equal(find(c, "b"), "{}");
  put(c, "a", "{\"new\":1}");
  assert_string_equal(find(c, "a"), "{\"new\":1}");
  assert_int_equal(result_cache_count(c), 2);
  result_cache_free(&c);
}

static void an_entry_is_gone_exactly_when_its_time_is_up(void **state) {
  struct result_cache *c = cache_of(60000, 10, 10000);
  put(c, "a", "{}");
  now += 59999;
  assert_non_null(find(c, "a"));
  now += 1;
  assert_null(find(c, "a"));
  result_cache_free(&c);
}

static void an_expired_entry_is_found_only_when_asked_for(void **state) {
  struct result_cache *c = cache_of(60000, 10, 10000);
  struct cached_result got;
  struct result_cache_key key = key_of("a");
  put(c, "a", "{}");
  now += 60000;
  assert_null(find(c, "a"));
  assert_true(result_cache_find_expired(c, &key, 1, 5000, &got));
  now += 4999;
  assert_true(result_cache_find_expired(c, &key, 1, 5000, &got));
  now += 1;
  assert_false(result_cache_find_expired(c, &key, 1, 5000, &got));
  put(c, "a", "{}");
  assert_false(result_cache_find_expired(c, &key, 2, 5000, &got));  // the catalog has changed
  result_cache_free(&c);
}

static void what_was_not_used_for_the_longest_time_leaves_first(void **state) {
  struct result_cache *c = cache_of(60000, 2, 10000);
  put(c, "a", "1");
  put(c, "b", "2");
  assert_non_null(find(c, "a"));
  put(c, "c", "3");
  assert_null(find(c, "b"));
  assert_non_null(find(c, "a"));
  assert_non_null(find(c, "c"));
  result_cache_free(&c);
}

static void it_never_holds_more_bytes_than_it_may(void **state) {
  enum { BYTES = 2000 };
  struct result_cache *c = cache_of(60000, 1000, BYTES);
  char text[201] = {0};
  memset(text, 'x', 200);
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    put(c, name, text);
    assert_true(result_cache_bytes(c) <= BYTES);
    assert_non_null(find(c, name));
  }
  char large[BYTES + 1] = {0};
  memset(large, 'x', BYTES);
  put(c, "large", large);
  assert_null(find(c, "large"));
  assert_non_null(find(c, "t99"));
  result_cache_free(&c);
}

static void another_catalog_empties_it(void **state) {
  struct result_cache *c = cache_of(60000, 10, 10000);
  put(c, "a", "{}");
  assert_null(find_at(c, "a", 2));
  assert_int_equal(result_cache_count(c), 0);
  // What was called by the catalog before comes too late.
  put(c, "a", "{}");
  assert_int_equal(result_cache_count(c), 0);
  result_cache_free(&c);
}

static void without_room_for_entries_nothing_is_kept(void **state) {
  struct result_cache *c = cache_of(60000, 0, 10000);
  put(c, "a", "{}");
  assert_null(find(c, "a"));
  result_cache_free(&c);
}

static bool same(struct result_cache_key a, struct result_cache_key b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

static void arguments_are_the_same_in_any_order_and_spelling_of_text(void **state) {
  struct result_cache_key key = key_in("p", "t", "{\"a\":1,\"b\":{\"c\":[1,2],\"d\":\"é\"}}");
  assert_true(same(key, key_in("p", "t", "{ \"b\":{\"d\":\"\\u00e9\", \"c\":[1, 2]}, \"a\":1 }")));
  assert_false(same(key, key_in("p", "t", "{\"a\":1,\"b\":{\"c\":[2,1],\"d\":\"é\"}}")));
  assert_true(same(key_in("p", "t", NULL), key_in("p", "t", "{}")));
}

static void numbers_differ_in_every_digit(void **state) {
  assert_false(same(key_in("p", "t", "{\"i\":9007199254740993}"), key_in("p", "t", "{\"i\":9007199254740992}")));
  assert_false(same(key_in("p", "t", "{\"i\":1}"), key_in("p", "t", "{\"i\":\"1\"}")));
}

static void results_of_different_scopes_and_tools_are_separate(void **state) {
  assert_false(same(key_in("p1", "t", "{}"), key_in("p2", "t", "{}")));
  assert_false(same(key_in("p", "t", "{}"), key_in("p", "u", "{}")));
  assert_false(same(key_in("p", "1:t", "{}"), key_in("p1:", "t", "{}")));
}

static void arguments_that_are_too_large_have_no_key(void **state) {
  struct arena a;
  struct fault f;
  struct result_cache_key key;
  arena_init(&a);
  enum { SIZE = RESULT_CACHE_ARGS + 1000 };
  char *text = arena_alloc(&a, SIZE);
  memset(text, 'x', SIZE);
  memcpy(text, "{\"a\":\"", 6);
  memcpy(text + SIZE - 2, "\"}", 2);
  const struct json *args = json_parse(&a, (str){text, SIZE}, &json_default_limits, &f);
  assert_non_null(args);
  assert_false(result_cache_key(STR("p"), STR("s"), STR("t"), args, &key));
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_put_is_found),
      cmocka_unit_test(an_entry_is_gone_exactly_when_its_time_is_up),
      cmocka_unit_test(an_expired_entry_is_found_only_when_asked_for),
      cmocka_unit_test(what_was_not_used_for_the_longest_time_leaves_first),
      cmocka_unit_test(it_never_holds_more_bytes_than_it_may),
      cmocka_unit_test(another_catalog_empties_it),
      cmocka_unit_test(without_room_for_entries_nothing_is_kept),
      cmocka_unit_test(arguments_are_the_same_in_any_order_and_spelling_of_text),
      cmocka_unit_test(numbers_differ_in_every_digit),
      cmocka_unit_test(results_of_different_scopes_and_tools_are_separate),
      cmocka_unit_test(arguments_that_are_too_large_have_no_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
