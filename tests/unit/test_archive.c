// SPDX-License-Identifier: Apache-2.0
// store/archive: records that are only ever added, documents that are replaced as a whole.
#include "store/archive.h"

#include "store_world.h"

static struct archive_record record(const char *context, const char *kind, const char *id, const char *text,
                                    int64_t time) {
  return (struct archive_record){str_of(context), str_of(kind), str_of(id), str_of(text), time, 0};
}

static enum store_kept add(struct world *x, const char *owner, const char *context, const char *text, int64_t time) {
  struct waiter w;
  struct archive_record r = record(context, "message", "m1", text, time);
  wait_init(&w);
  archive_add(x->store, str_of(owner), &r, 1, &w.wait);
  return await(x, &w);
}

// What is found, as "text text text".
struct found {
  char text[4096];
  uint64_t last;
};

static bool note(void *ctx, const struct archive_record *r) {
  struct found *f = ctx;
  size_t n = strlen(f->text);
  snprintf(f->text + n, sizeof f->text - n, "%s%.*s", n ? " " : "", STR_ARG(r->text));
  f->last = r->number;
  return true;
}

static const char *find(struct world *x, const char *owner, struct archive_query q) {
  static struct found found;
  struct archive_search search = {.query = q, .each = note, .ctx = &found};
  found = (struct found){.last = 0};
  archive_find(x->store, str_of(owner), &search);
  assert_true(await_read(x, &search.read));
  return found.text;
}

static void fill(struct world *x) {
  open_store(x);
  assert_int_equal(add(x, "o", "c1", "Alpha", 1000), STORE_KEPT);
  assert_int_equal(add(x, "o", "c2", "beta", 2000), STORE_KEPT);
  assert_int_equal(add(x, "o", "c1", "gamma", 3000), STORE_KEPT);
  assert_int_equal(add(x, "other", "c1", "foreign", 2000), STORE_KEPT);
}

static void records_are_found_in_the_order_they_were_added_also_after_a_restart(void **state) {
  struct world *x = *state;
  fill(x);
  reopen(x);
  assert_string_equal(find(x, "o", (struct archive_query){.context = STR("c1")}), "Alpha gamma");
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "Alpha beta gamma");
  assert_string_equal(find(x, "o", (struct archive_query){.newest_first = true}), "gamma beta Alpha");
  assert_string_equal(find(x, "o", (struct archive_query){.newest_first = true, .limit = 1}), "gamma");
  assert_string_equal(find(x, "other", (struct archive_query){.limit = 0}), "foreign");
  assert_string_equal(find(x, "nobody", (struct archive_query){.limit = 0}), "");
}

static void records_are_searched_by_time_text_kind_and_id(void **state) {
  struct world *x = *state;
  fill(x);
  assert_string_equal(find(x, "o", (struct archive_query){.from_ms = 2000}), "beta gamma");
  assert_string_equal(find(x, "o", (struct archive_query){.until_ms = 2000}), "Alpha");
  assert_string_equal(find(x, "o", (struct archive_query){.from_ms = 1000, .until_ms = 3000}), "Alpha beta");
  assert_string_equal(find(x, "o", (struct archive_query){.contains = STR("ALPH")}), "Alpha");
  assert_string_equal(find(x, "o", (struct archive_query){.contains = STR("mm")}), "gamma");
  assert_string_equal(find(x, "o", (struct archive_query){.contains = STR("%")}), "");
  assert_string_equal(find(x, "o", (struct archive_query){.kind = STR("event")}), "");
  assert_string_equal(find(x, "o", (struct archive_query){.kind = STR("message"), .message_id = STR("m1")}),
                      "Alpha beta gamma");
  assert_string_equal(find(x, "o", (struct archive_query){.message_id = STR("m2")}), "");
}

static void a_search_goes_on_behind_a_number(void **state) {
  struct world *x = *state;
  struct found first = {.last = 0};
  struct archive_search search = {.query = {.context = STR("c1"), .limit = 1}, .each = note, .ctx = &first};
  fill(x);
  archive_find(x->store, STR("o"), &search);
  assert_true(await_read(x, &search.read));
  assert_string_equal(first.text, "Alpha");
  search.query.after = first.last;
  assert_string_equal(find(x, "o", search.query), "gamma");
}

static void several_records_are_added_together_or_not_at_all(void **state) {
  struct world *x = *state;
  struct waiter w;
  open_store(x);
  struct archive_record two[] = {record("c", "a", "1", "one", 1), record("c", "b", "2", "two", 2)};
  wait_init(&w);
  archive_add(x->store, STR("o"), two, 2, &w.wait);
  assert_int_equal(await(x, &w), STORE_KEPT);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "one two");
  char *name = mem_zero(ARCHIVE_NAME_BYTES + 2);
  memset(name, 'n', ARCHIVE_NAME_BYTES + 1);
  two[1].context = str_of(name);
  wait_init(&w);
  archive_add(x->store, STR("o"), two, 2, &w.wait);
  assert_int_equal(await(x, &w), STORE_LOST);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "one two");
  mem_free(name);
}

static void a_record_without_a_time_has_that_of_its_adding(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_int_equal(add(x, "o", "c", "now", 0), STORE_KEPT);
  assert_string_equal(find(x, "o", (struct archive_query){.from_ms = x->wall, .until_ms = x->wall + 1}), "now");
}

static void old_records_go_and_a_full_archive_takes_no_more(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  limits.archive_bytes = 1000;
  x->store = open_with(x, limits, true);
  for (int i = 0; i < 4; i++) assert_int_equal(add(x, "o", "c", "x", 1), STORE_KEPT);
  assert_int_equal(add(x, "o", "c", "y", 1), STORE_LOST);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "x x x x");
  x->wall += (int64_t)limits.archive_ms;
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "");
  assert_int_equal(add(x, "o", "c", "z", 1), STORE_KEPT);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "z");
}

// ---- documents

static enum store_kept save(struct world *x, str name, str text) {
  struct waiter w;
  wait_init(&w);
  archive_save(x->store, STR("o"), name, text, &w.wait);
  return await(x, &w);
}

static bool loads(struct world *x, const char *owner, str name, str text) {
  struct arena a;
  struct archive_loading load = {.arena = NULL};
  arena_init(&a);
  archive_load(x->store, str_of(owner), name, &a, &load);
  bool ok = await_read(x, &load.read);
  if (!ok) assert_int_equal(load.read.fault.code, FAULT_NOT_FOUND);
  bool same = ok && str_eq(load.text, text);
  arena_done(&a);
  return same;
}

static void a_document_is_replaced_as_a_whole_and_removed(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_false(loads(x, "o", STR("contexts/1"), STR("")));
  assert_int_equal(save(x, STR("contexts/1"), STR("first")), STORE_KEPT);
  assert_int_equal(save(x, STR("contexts/1"), STR("second")), STORE_KEPT);
  reopen(x);
  assert_true(loads(x, "o", STR("contexts/1"), STR("second")));
  assert_false(loads(x, "other", STR("contexts/1"), STR("second")));
  assert_int_equal(save(x, STR("contexts/1"), STR("")), STORE_KEPT);
  assert_true(loads(x, "o", STR("contexts/1"), STR("")));
  assert_int_equal(save(x, STR("contexts/1"), STR_NONE), STORE_KEPT);
  assert_false(loads(x, "o", STR("contexts/1"), STR("")));
  assert_int_equal(save(x, STR(""), STR("x")), STORE_LOST);
}

static void names_are_listed_by_their_beginning(void **state) {
  struct world *x = *state;
  struct arena a;
  struct archive_listing list = {.prefix = STR_NONE};
  const struct names_found *n = &list.names;
  open_store(x);
  save(x, STR("contexts/b"), STR("1"));
  save(x, STR("contexts/a"), STR("1"));
  save(x, STR("contexts0"), STR("1"));
  save(x, STR("other/a"), STR("1"));
  arena_init(&a);
  archive_names(x->store, STR("o"), STR("contexts/"), 10, &a, &list);
  assert_true(await_read(x, &list.read));
  assert_int_equal(n->count, 2);
  assert_true(str_eq(n->list[0], STR("contexts/a")) && str_eq(n->list[1], STR("contexts/b")));
  archive_names(x->store, STR("o"), STR(""), 3, &a, &list);
  assert_true(await_read(x, &list.read));
  assert_int_equal(n->count, 3);
  assert_true(str_eq(n->list[2], STR("contexts0")));
  arena_done(&a);
}

static void without_a_usable_folder_it_is_all_in_memory_and_said(void **state) {
  struct world *x = *state;
  FILE *file = fopen(x->folder, "w");
  fclose(file);
  open_store(x);
  assert_int_equal(add(x, "o", "c", "passing", 1), STORE_PASSING);
  assert_int_equal(save(x, STR("d"), STR("old")), STORE_PASSING);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "passing");
  assert_true(loads(x, "o", STR("d"), STR("old")));
  assert_int_equal(unlink(x->folder), 0);
  x->wall += 60000;
  assert_int_equal(add(x, "o", "c", "lasting", 1), STORE_KEPT);
  assert_int_equal(save(x, STR("d"), STR("new")), STORE_KEPT);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "lasting passing");
  assert_true(loads(x, "o", STR("d"), STR("new")));
  reopen(x);
  assert_string_equal(find(x, "o", (struct archive_query){.limit = 0}), "lasting");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EACH(records_are_found_in_the_order_they_were_added_also_after_a_restart),
      EACH(records_are_searched_by_time_text_kind_and_id),
      EACH(a_search_goes_on_behind_a_number),
      EACH(several_records_are_added_together_or_not_at_all),
      EACH(a_record_without_a_time_has_that_of_its_adding),
      EACH(old_records_go_and_a_full_archive_takes_no_more),
      EACH(a_document_is_replaced_as_a_whole_and_removed),
      EACH(names_are_listed_by_their_beginning),
      T(without_a_usable_folder_it_is_all_in_memory_and_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
