// SPDX-License-Identifier: Apache-2.0
// result/artifacts: pieces of results under names that tell their kind, tool and content. What the store does with
// them is in test_store.c.
#include "result/artifacts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"

struct room {
  struct arena arena;
  struct store *store;  // in memory
};

static int enter(void **state) {
  static struct room r;
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  arena_init(&r.arena);
  r.store = store_new(&opt);
  *state = &r;
  return 0;
}

static int leave(void **state) {
  struct room *r = *state;
  store_close(&r->store, NULL, NULL);
  arena_done(&r->arena);
  return 0;
}

static struct artifact_name put(struct room *r, str owner, const struct artifact *piece, char *block) {
  struct artifact_name name;
  struct piece_batch *b = piece_batch_new(r->store, owner, (struct piece_origin){STR("gh"), STR("x")});
  assert_true(artifact_add(b, piece, block, &r->arena, &name));
  pieces_put(r->store, &b, NULL);
  return name;
}

static void a_handle_names_kind_tool_and_content(void **state) {
  struct room *r = *state;
  static const char *const begins[] = {"text:", "structured:", "image:", "audio:", "resource:"};
  for (int kind = ARTIFACT_TEXT; kind <= ARTIFACT_RESOURCE; kind++) {
    struct artifact piece = {(enum artifact_kind)kind, STR("gh:x#00000000"), STR("m/t"), STR("l"), STR("abc")};
    struct artifact_name name = put(r, STR("o"), &piece, NULL);
    char want[64];
    snprintf(want, sizeof want, "%sgh:x#00000000:ba7816bf8f01cfea", begins[kind]);
    assert_true(str_eq(name.handle, str_of(want)));
    assert_true(str_eq(name.content_hash, STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
  }
}

static bool find(struct room *r, str owner, str handle, struct found_artifact *out) {
  out->done = NULL;
  artifact_find(r->store, owner, handle, out);
  assert_true(out->find.read.over);
  return out->find.read.ok;
}

static void what_was_put_is_found_as_it_was(void **state) {
  struct room *r = *state;
  char bytes[] = {'a', 0, (char)0xff, 'b'};
  struct artifact piece = {ARTIFACT_AUDIO, STR("gh:x#00000000"), STR("audio/wav"), STR("label"), {bytes, sizeof bytes}};
  str handle = put(r, STR("o"), &piece, NULL).handle;
  bytes[0] = 'z';
  struct found_artifact found;
  assert_true(find(r, STR("o"), handle, &found));
  static const char want[] = {'a', 0, (char)0xff, 'b'};
  assert_true(str_eq(found.artifact.bytes, ((str){want, sizeof want})));
  assert_int_equal(found.artifact.kind, ARTIFACT_AUDIO);
  assert_true(str_eq(found.artifact.media_type, STR("audio/wav")));
  assert_true(str_eq(found.artifact.label, STR("label")));
  assert_true(str_eq(found.artifact.tool_id, STR("gh:x#00000000")));
  artifact_release(&found);
  artifact_release(&found);
  assert_false(find(r, STR("p"), handle, &found));
  assert_false(find(r, STR("o"), STR("text:gh:x#00000000:0000000000000000"), &found));
}

static void the_second_result_of_a_tool_does_not_hide_behind_the_first(void **state) {
  struct room *r = *state;
  struct artifact one = {ARTIFACT_TEXT, STR("t"), STR(""), STR(""), STR("{\"v\":1}")}, two = one;
  two.bytes = STR("{\"v\":2}");
  str first = put(r, STR("o"), &one, NULL).handle, second = put(r, STR("o"), &two, NULL).handle;
  assert_false(str_eq(first, second));
  struct found_artifact found;
  assert_true(find(r, STR("o"), first, &found));
  assert_true(str_eq(found.artifact.bytes, one.bytes));
  artifact_release(&found);
}

static void a_large_block_is_taken_over_and_shared_with_who_looks_at_it(void **state) {
  struct room *r = *state;
  char *block = mem_alloc(1 << 20);
  memset(block, 'b', 1 << 20);
  struct artifact piece = {ARTIFACT_TEXT, STR("t"), STR(""), STR(""), {block, 1 << 20}};
  str handle = put(r, STR("o"), &piece, block).handle;
  struct found_artifact found;
  assert_true(find(r, STR("o"), handle, &found));
  assert_ptr_equal(found.artifact.bytes.p, block);
  artifact_release(&found);
}

#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void) {
  const struct CMUnitTest tests[] = {
      T(a_handle_names_kind_tool_and_content),
      T(what_was_put_is_found_as_it_was),
      T(the_second_result_of_a_tool_does_not_hide_behind_the_first),
      T(a_large_block_is_taken_over_and_shared_with_who_looks_at_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
