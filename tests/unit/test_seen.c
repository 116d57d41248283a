// SPDX-License-Identifier: Apache-2.0
// catalog/seen: browsing that repeats itself byte for byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "catalog/seen.h"

static const struct hash_key seed = {1, 2};

static struct card card_of(const char *id, double score) {
  return (struct card){.id = str_of(id),
                       .name = str_of(id),
                       .description = STR("Does something."),
                       .namespace = STR("a"),
                       .tags = {STR("mcp")},
                       .tag_count = 1,
                       .has_score = true,
                       .score = score};
}

// Browses the ids of a text like "c a b" with scores from `score` down; the answer as ids joined by blanks.
static void browse(struct seen *s, const char *text, double score, struct buf *out_ids, struct buf *out_json) {
  static char ids[16][32];
  struct card cards[16], shown[17];
  size_t n = 0;
  for (str rest = str_of(text), id; rest.n; n++) {
    str_cut(rest, ' ', &id, &rest);
    rest = id.p + id.n == text + strlen(text) ? STR_NONE : rest;
    snprintf(ids[n], sizeof ids[n], "%.*s", STR_ARG(id));
    cards[n] = card_of(ids[n], score - (double)n / 100);
  }
  size_t count = seen_arrange(s, cards, n, shown);
  buf_reset(out_ids);
  buf_reset(out_json);
  struct json_writer w = json_writer(out_json);
  for (size_t i = 0; i < count; i++) {
    bool is_marker = str_eq(shown[i].id, STR(SEEN_MARKER));
    buf_printf(out_ids, "%s%.*s", i ? " " : "", is_marker ? 1 : (int)shown[i].id.n, is_marker ? "|" : shown[i].id.p);
    card_write(&w, &shown[i]);
  }
}

static void assert_browse(struct seen *s, const char *text, double score, const char *want) {
  struct buf ids, json;
  buf_init(&ids, 10000);
  buf_init(&json, 100000);
  browse(s, text, score, &ids, &json);
  if (!str_eq(buf_view(&ids), str_of(want)))
    fail_msg("%s: '%.*s' instead of '%s'", text, STR_ARG(buf_view(&ids)), want);
  buf_done(&ids);
  buf_done(&json);
}

static void what_is_new_is_sorted_by_id_and_has_no_marker(void **state) {
  struct seen s;
  seen_init(&s, 1 << 20, &seed);
  assert_browse(&s, "c a b", .9, "a b c");
  assert_browse(&s, "z y", .9, "y z");
  assert_browse(&s, "", .9, "");
  seen_done(&s);
}

static void what_was_seen_comes_first_and_a_marker_after_it(void **state) {
  struct seen s;
  seen_init(&s, 1 << 20, &seed);
  assert_browse(&s, "c a", .9, "a c");
  assert_browse(&s, "x c b a", .9, "a c | b x");
  assert_browse(&s, "x c b a", .9, "a b c x");
  assert_browse(&s, "c", .9, "c");
  seen_done(&s);
}

static void the_marker_takes_no_place_and_nothing_is_hidden(void **state) {
  struct seen s;
  seen_init(&s, 1 << 20, &seed);
  assert_browse(&s, "b", .9, "b");
  // Two cards were asked for: two cards come, the best of them among them.
  assert_browse(&s, "best b", .9, "b | best");
  assert_browse(&s, "other", .9, "other");
  seen_done(&s);
}

static void the_same_browse_twice_is_the_same_bytes(void **state) {
  struct seen s;
  struct buf ids, first, again;
  seen_init(&s, 1 << 20, &seed);
  buf_init(&ids, 10000);
  buf_init(&first, 100000);
  buf_init(&again, 100000);
  browse(&s, "c a b", .9, &ids, &first);
  browse(&s, "b c a", .2, &ids, &again);  // another query ranks them otherwise
  assert_true(str_eq(buf_view(&first), buf_view(&again)));
  browse(&s, "a b c d", .2, &ids, &again);
  assert_true(str_starts(buf_view(&again), buf_view(&first)));
  buf_done(&ids);
  buf_done(&first);
  buf_done(&again);
  seen_done(&s);
}

static void what_was_used_is_seen_and_frozen_when_it_is_first_shown(void **state) {
  struct seen s;
  seen_init(&s, 1 << 20, &seed);
  seen_note(&s, STR("m"));
  seen_note(&s, STR("m"));
  assert_browse(&s, "a m z", .9, "m | a z");
  struct card c = card_of("m", .1), out[2];
  assert_int_equal(seen_arrange(&s, &c, 1, out), 1);
  assert_true(out[0].score == .9 - .01);
  seen_done(&s);
}

static void a_refresh_forgets_everything(void **state) {
  struct seen s;
  seen_init(&s, 1 << 20, &seed);
  assert_browse(&s, "a", .9, "a");
  seen_clear(&s);
  assert_browse(&s, "a b", .5, "a b");
  seen_done(&s);
}

static void the_marker_is_a_card(void **state) {
  struct seen s;
  struct card cards[2] = {card_of("a", 1), card_of("b", 1)}, out[3];
  seen_init(&s, 1 << 20, &seed);
  seen_arrange(&s, cards, 1, out);
  assert_int_equal(seen_arrange(&s, cards, 2, out), 3);
  struct buf b;
  buf_init(&b, 1000);
  struct json_writer w = json_writer(&b);
  card_write(&w, &out[1]);
  str want = STR("{\"id\":\"__cache_breakpoint__\",\"name\":\"cache_breakpoint\",\"description\":\"Cache-stable prefix "
                 "above; newly discovered items below; each by id, not by rank.\",\"kind\":\"internal\"}");
  assert_true(str_eq(buf_view(&b), want));
  assert_true(card_tokens(&out[1]) <= CARD_TARGET);
  buf_done(&b);
  seen_done(&s);
}

static void a_full_memory_grows_no_more_and_keeps_what_it_has(void **state) {
  struct seen s;
  enum { LIMIT = 256 << 10 };
  seen_init(&s, LIMIT, &seed);
  for (int i = 0; i < 20000; i++) {
    char id[32];
    snprintf(id, sizeof id, "a:tool_%d@1", i);
    struct card c = card_of(id, .5), out[2];
    assert_int_equal(seen_arrange(&s, &c, 1, out), 1);
    seen_note(&s, str_of(id));
  }
  assert_true(s.arena.total <= LIMIT + (128 << 10));
  assert_true(map_count(&s.by_id) < 5000);
  assert_browse(&s, "a:tool_0@1 a:tool_19999@1", .9, "a:tool_0@1 | a:tool_19999@1");
  assert_browse(&s, "a:tool_0@1 a:tool_19999@1", .9, "a:tool_0@1 | a:tool_19999@1");
  seen_done(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_new_is_sorted_by_id_and_has_no_marker),
      cmocka_unit_test(what_was_seen_comes_first_and_a_marker_after_it),
      cmocka_unit_test(the_marker_takes_no_place_and_nothing_is_hidden),
      cmocka_unit_test(the_same_browse_twice_is_the_same_bytes),
      cmocka_unit_test(what_was_used_is_seen_and_frozen_when_it_is_first_shown),
      cmocka_unit_test(a_refresh_forgets_everything),
      cmocka_unit_test(the_marker_is_a_card),
      cmocka_unit_test(a_full_memory_grows_no_more_and_keeps_what_it_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
