// SPDX-License-Identifier: Apache-2.0
// result/artifacts: pieces of results, found again by their owner and within limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "result/artifacts.h"

static uint64_t fixed_mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t fixed_wall(void *ctx) {
  return 0;
}

struct room {
  uint64_t now;
  struct clock clock;
  struct arena arena;
  struct artifacts *store;
};

static void open_room(struct room *r, struct artifacts_limits limits) {
  r->now = 1000;
  r->clock = (struct clock){fixed_mono, fixed_wall, &r->now};
  arena_init(&r->arena);
  r->store = artifacts_new(&limits, &r->clock, &rand_system);
}

static void close_room(struct room *r) {
  artifacts_free(&r->store);
  assert_null(r->store);
  arena_done(&r->arena);
}

static struct artifact piece_of(str bytes) {
  return (struct artifact){ARTIFACT_TEXT, STR("gh:x#00000000"), STR("text/plain"), STR("label"), bytes};
}

static str put(struct room *r, str owner, str bytes) {
  struct artifact piece = piece_of(bytes);
  struct artifact_name name;
  assert_true(artifacts_put(r->store, owner, &piece, &r->arena, &name));
  return name.handle;
}

static bool holds(struct room *r, str owner, str handle) {
  return artifacts_holds(r->store, owner, handle);
}

static void a_handle_names_kind_tool_and_content(void **state) {
  struct room r;
  open_room(&r, artifacts_default_limits);
  static const char *const begins[] = {"text:", "structured:", "image:", "audio:", "resource:"};
  for (int kind = ARTIFACT_TEXT; kind <= ARTIFACT_RESOURCE; kind++) {
    struct artifact piece = {(enum artifact_kind)kind, STR("gh:x#00000000"), STR("m/t"), STR("l"), STR("abc")};
    struct artifact_name name;
    assert_true(artifacts_put(r.store, STR("o"), &piece, &r.arena, &name));
    char want[64];
    snprintf(want, sizeof want, "%sgh:x#00000000:ba7816bf8f01cfea", begins[kind]);
    assert_true(str_eq(name.handle, str_of(want)));
    assert_true(str_eq(name.content_hash, STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
  }
  close_room(&r);
}

static void what_was_put_is_found_as_it_was(void **state) {
  struct room r;
  open_room(&r, artifacts_default_limits);
  char bytes[] = {'a', 0, (char)0xff, 'b'};
  str handle = put(&r, STR("o"), (str){bytes, sizeof bytes});
  bytes[0] = 'z';
  const struct artifact *found = artifacts_find(r.store, STR("o"), handle);
  assert_non_null(found);
  assert_true(str_eq(found->bytes, ((str){"a\0\xff"
                                          "b",
                                          4})));
  assert_true(str_eq(found->media_type, STR("text/plain")));
  assert_true(str_eq(found->label, STR("label")));
  assert_true(str_eq(found->tool_id, STR("gh:x#00000000")));
  close_room(&r);
}

static void a_foreign_handle_looks_like_an_unknown_one(void **state) {
  struct room r;
  open_room(&r, artifacts_default_limits);
  str handle = put(&r, STR("alice"), STR("secret"));
  put(&r, STR("bob"), STR("other"));
  assert_null(artifacts_find(r.store, STR("bob"), handle));
  assert_null(artifacts_find(r.store, STR("alice2"), handle));
  assert_null(artifacts_find(r.store, STR(""), handle));
  assert_null(artifacts_find(r.store, STR("alice"), STR("text:gh:x#00000000:0000000000000000")));
  assert_non_null(artifacts_find(r.store, STR("alice"), handle));
  close_room(&r);
}

static void two_owners_of_the_same_bytes_do_not_share_them(void **state) {
  struct room r;
  open_room(&r, artifacts_default_limits);
  str a = put(&r, STR("alice"), STR("same")), b = put(&r, STR("bob"), STR("same"));
  assert_true(str_eq(a, b));
  assert_true(holds(&r, STR("alice"), a));
  assert_true(holds(&r, STR("bob"), b));
  assert_ptr_not_equal(artifacts_find(r.store, STR("alice"), a)->bytes.p,
                       artifacts_find(r.store, STR("bob"), b)->bytes.p);
  close_room(&r);
}

static void the_second_result_of_a_tool_does_not_hide_behind_the_first(void **state) {
  struct room r;
  open_room(&r, artifacts_default_limits);
  str first = put(&r, STR("o"), STR("{\"v\":1}")), second = put(&r, STR("o"), STR("{\"v\":2}"));
  assert_false(str_eq(first, second));
  assert_true(str_eq(artifacts_find(r.store, STR("o"), second)->bytes, STR("{\"v\":2}")));
  assert_true(str_eq(artifacts_find(r.store, STR("o"), first)->bytes, STR("{\"v\":1}")));
  close_room(&r);
}

static void what_was_not_used_for_longest_leaves_first(void **state) {
  struct room r;
  struct artifacts_limits limits = artifacts_default_limits;
  limits.owner_count = 3;
  open_room(&r, limits);
  str a = put(&r, STR("o"), STR("a")), b = put(&r, STR("o"), STR("b")), c = put(&r, STR("o"), STR("c"));
  assert_non_null(artifacts_find(r.store, STR("o"), a));
  assert_true(holds(&r, STR("o"), b));  // to ask is no use
  str d = put(&r, STR("o"), STR("d"));
  assert_false(holds(&r, STR("o"), b));
  assert_true(holds(&r, STR("o"), a) && holds(&r, STR("o"), c) && holds(&r, STR("o"), d));
  close_room(&r);
}

static void an_owner_who_keeps_much_pushes_out_only_his_own(void **state) {
  struct room r;
  struct artifacts_limits limits = artifacts_default_limits;
  limits.owner_bytes = 300;
  open_room(&r, limits);
  char large[200];
  memset(large, 'x', sizeof large);
  str other = put(&r, STR("other"), STR("small"));
  str first = put(&r, STR("o"), (str){large, sizeof large});
  large[0] = 'y';
  str second = put(&r, STR("o"), (str){large, sizeof large});
  assert_false(holds(&r, STR("o"), first));
  assert_true(holds(&r, STR("o"), second));
  assert_true(holds(&r, STR("other"), other));
  close_room(&r);
}

static void all_owners_together_are_bounded(void **state) {
  struct room r;
  struct artifacts_limits limits = artifacts_default_limits;
  limits.total_bytes = 4096;
  open_room(&r, limits);
  char large[900];
  memset(large, 'x', sizeof large);
  for (int i = 0; i < 100; i++) {
    char owner[8];
    int n = snprintf(owner, sizeof owner, "o%d", i % 7);
    large[0] = (char)('a' + i % 26);
    put(&r, (str){owner, (size_t)n}, (str){large, sizeof large});
    assert_true(artifacts_bytes(r.store) <= limits.total_bytes);
  }
  assert_true(artifacts_bytes(r.store) > 3 * sizeof large);
  close_room(&r);
}

static void a_piece_over_the_limits_is_refused_and_pushes_nothing_out(void **state) {
  struct room r;
  struct artifacts_limits limits = artifacts_default_limits;
  limits.owner_bytes = 300;
  open_room(&r, limits);
  str small = put(&r, STR("o"), STR("small"));
  char large[400] = {0};
  struct artifact piece = piece_of((str){large, sizeof large});
  struct artifact_name name;
  assert_false(artifacts_put(r.store, STR("o"), &piece, &r.arena, &name));
  assert_true(name.handle.n > 0);
  assert_false(holds(&r, STR("o"), name.handle));
  assert_true(holds(&r, STR("o"), small));
  close_room(&r);
}

static void what_is_too_old_is_gone_unless_it_was_put_again(void **state) {
  struct room r;
  struct artifacts_limits limits = artifacts_default_limits;
  limits.age_ms = 100;
  open_room(&r, limits);
  str a = put(&r, STR("o"), STR("a")), b = put(&r, STR("o"), STR("b"));
  r.now += 60;
  put(&r, STR("o"), STR("a"));
  r.now += 39;
  assert_true(holds(&r, STR("o"), a) && holds(&r, STR("o"), b));
  r.now += 1;
  assert_true(holds(&r, STR("o"), a));
  assert_false(holds(&r, STR("o"), b));
  r.now += 60;
  assert_null(artifacts_find(r.store, STR("o"), a));
  assert_int_equal(artifacts_bytes(r.store), 0);
  close_room(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_handle_names_kind_tool_and_content),
      cmocka_unit_test(what_was_put_is_found_as_it_was),
      cmocka_unit_test(a_foreign_handle_looks_like_an_unknown_one),
      cmocka_unit_test(two_owners_of_the_same_bytes_do_not_share_them),
      cmocka_unit_test(the_second_result_of_a_tool_does_not_hide_behind_the_first),
      cmocka_unit_test(what_was_not_used_for_longest_leaves_first),
      cmocka_unit_test(an_owner_who_keeps_much_pushes_out_only_his_own),
      cmocka_unit_test(all_owners_together_are_bounded),
      cmocka_unit_test(a_piece_over_the_limits_is_refused_and_pushes_nothing_out),
      cmocka_unit_test(what_is_too_old_is_gone_unless_it_was_put_again),
  };
  return cmocka_run_group_tests_name("artifacts", tests, NULL, NULL);
}
