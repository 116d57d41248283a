// SPDX-License-Identifier: Apache-2.0
// store/shared: counters, leases, keys and entries, for each backend.
#include "store/shared.h"

#include "store_world.h"

enum { HOUR_MS = 3600 * 1000 };

// The result of an operation.
struct result {
  struct store_wait wait;
  bool told;
  enum store_kept kept;
  int64_t value;
  char bytes[64];
};

static void on_result(struct store_wait *w, enum store_kept kept) {
  struct result *r = CONTAINER_OF(w, struct result, wait);
  r->told = true;
  r->kept = kept;
  r->value = w->value;
  snprintf(r->bytes, sizeof r->bytes, "%.*s", STR_ARG(w->bytes));
}

static struct store_wait *begin(struct result *r) {
  *r = (struct result){.told = false};
  store_wait_init(&r->wait, on_result);
  return &r->wait;
}

static int64_t end(struct world *x, struct result *r) {
  while (!r->told) uv_run(&x->loop.uv, UV_RUN_ONCE);
  assert_int_equal(r->kept, STORE_KEPT);
  return r->value;
}

// Returns whether the write was stored.
static bool kept(struct world *x, struct result *r) {
  while (!r->told) uv_run(&x->loop.uv, UV_RUN_ONCE);
  return r->kept == STORE_KEPT;
}

static int64_t count(struct world *x, const char *name, int64_t delta) {
  struct result r;
  counter_add(x->store, str_of(name), delta, HOUR_MS, begin(&r));
  return end(x, &r);
}

static int64_t lease(struct world *x, const char *holder, uint64_t ms) {
  struct result r;
  lease_take(x->store, STR("job"), str_of(holder), ms, begin(&r));
  int64_t got = end(x, &r);
  if (!got) assert_string_equal(r.bytes, "first");
  return got;
}

static int64_t first(struct world *x, const char *key) {
  struct result r;
  once(x->store, str_of(key), HOUR_MS, begin(&r));
  return end(x, &r);
}

static void put(struct world *x, const char *kind, const char *id, const char *bytes) {
  struct result r;
  entry_put(x->store, str_of(kind), str_of(id), str_of(bytes), HOUR_MS, begin(&r));
  assert_true(end(x, &r) >= 1);
}

// The bytes, or "-".
static const char *take(struct world *x, const char *kind, const char *id) {
  static struct result r;
  entry_take(x->store, str_of(kind), str_of(id), begin(&r));
  return end(x, &r) ? r.bytes : "-";
}

struct listed {
  char text[256];
  uint64_t last;
  int most;
};

static bool note(void *ctx, const struct shared_entry *e) {
  struct listed *l = ctx;
  size_t n = strlen(l->text);
  snprintf(l->text + n, sizeof l->text - n, "%s%.*s=%.*s", n ? " " : "", STR_ARG(e->id), STR_ARG(e->bytes));
  l->last = e->number;
  return --l->most != 0;
}

static struct listed list(struct world *x, const char *kind, const char *id, uint64_t after, int most) {
  struct listed l = {.most = most};
  struct entry_search search = {.id = str_of(id), .after = after, .each = note, .ctx = &l};
  entry_find(x->store, str_of(kind), &search);
  assert_true(await_read(x, &search.read));
  return l;
}

// ---- counters

static void a_counter_adds_up_within_its_window(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_int_equal(count(x, "a", 2), 2);
  assert_int_equal(count(x, "a", 3), 5);
  assert_int_equal(count(x, "b", 7), 7);
  assert_int_equal(count(x, "a", -1), 4);
  x->wall += HOUR_MS - 1;
  reopen(x);
  assert_int_equal(count(x, "a", 1), 5);  // a window begins with its first addition
  x->wall += 1;
  assert_int_equal(count(x, "a", 1), 1);
}

static void a_counter_stops_at_the_largest_number(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_true(count(x, "a", INT64_MAX) == INT64_MAX);
  assert_true(count(x, "a", 1) == INT64_MAX);
}

// ---- leases

static void a_lease_has_one_holder_until_it_ends_or_is_given_back(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_int_equal(lease(x, "first", 1000), 1);
  assert_int_equal(lease(x, "second", 1000), 0);
  x->wall += 999;
  assert_int_equal(lease(x, "first", 1000), 1);  // renewed
  x->wall += 999;
  assert_int_equal(lease(x, "second", 0), 0);  // it cannot give back what it does not have
  assert_int_equal(lease(x, "second", 1000), 0);
  x->wall += 1;
  assert_int_equal(lease(x, "second", 1000), 1);
  assert_int_equal(lease(x, "second", 0), 1);
  assert_int_equal(lease(x, "first", 1000), 1);
}

// ---- keys

static void a_key_is_new_once(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_int_equal(first(x, "k"), 1);
  assert_int_equal(first(x, "k"), 0);
  assert_int_equal(first(x, "other"), 1);
  reopen(x);
  assert_int_equal(first(x, "k"), 0);
  x->wall += HOUR_MS;
  assert_int_equal(first(x, "k"), 1);
}

// ---- entries

static void entries_are_listed_in_the_order_in_which_they_were_first_put(void **state) {
  struct world *x = *state;
  open_store(x);
  assert_string_equal(list(x, "ticket", "", 0, 0).text, "");
  put(x, "ticket", "b", "1");
  put(x, "ticket", "a", "2");
  put(x, "approval", "b", "3");
  put(x, "ticket", "b", "4");
  reopen(x);
  assert_string_equal(list(x, "ticket", "", 0, 0).text, "b=4 a=2");
  assert_string_equal(list(x, "ticket", "a", 0, 0).text, "a=2");
  assert_string_equal(list(x, "ticket", "c", 0, 0).text, "");
  assert_string_equal(list(x, "approval", "", 0, 0).text, "b=3");
  struct listed one = list(x, "ticket", "", 0, 1);
  assert_string_equal(one.text, "b=4");
  assert_string_equal(list(x, "ticket", "", one.last, 0).text, "a=2");
  x->wall += HOUR_MS;
  assert_string_equal(list(x, "ticket", "", 0, 0).text, "");
}

// The result of entry_add or entry_replace, and the bytes that it answers with.
static int64_t add(struct world *x, const char *id, const char *bytes, struct result *r) {
  entry_add(x->store, STR("claim"), str_of(id), str_of(bytes), HOUR_MS, begin(r));
  return end(x, r);
}

static int64_t replace(struct world *x, const char *id, int64_t version, const char *bytes, struct result *r) {
  entry_replace(x->store, STR("claim"), str_of(id), version, str_of(bytes), HOUR_MS, begin(r));
  return end(x, r);
}

static void an_entry_is_added_only_if_there_is_none(void **state) {
  struct world *x = *state;
  struct result r;
  open_store(x);
  assert_int_equal(add(x, "a", "1", &r), 1);
  assert_int_equal(add(x, "a", "2", &r), 0);
  assert_string_equal(r.bytes, "1");
  reopen(x);
  assert_int_equal(add(x, "a", "2", &r), 0);
  x->wall += HOUR_MS;
  assert_int_equal(add(x, "a", "2", &r), 1);
}

static void an_entry_is_replaced_only_if_it_has_the_expected_version(void **state) {
  struct world *x = *state;
  struct result r;
  open_store(x);
  assert_int_equal(replace(x, "a", 1, "0", &r), 0);
  assert_string_equal(r.bytes, "");
  assert_int_equal(add(x, "a", "1", &r), 1);
  assert_int_equal(replace(x, "a", 1, "2", &r), 2);
  reopen(x);
  assert_int_equal(replace(x, "a", 1, "3", &r), 0);
  assert_string_equal(r.bytes, "2");
  assert_int_equal(replace(x, "a", 2, "3", &r), 3);
}

static void a_full_kind_leaves_room_for_other_kinds(void **state) {
  struct world *x = *state;
  struct store_limits limits = store_default_limits;
  struct result r;
  limits.kind_bytes = 3 * (SHARED_COST + 2);
  x->store = open_with(x, limits, true);
  put(x, "full", "a", "11");
  put(x, "full", "b", "22");
  put(x, "full", "c", "33");
  entry_put(x->store, STR("full"), STR("d"), STR("44"), HOUR_MS, begin(&r));
  assert_false(kept(x, &r));
  entry_put(x->store, STR("full"), STR("a"), STR("111"), HOUR_MS, begin(&r));
  assert_false(kept(x, &r));
  put(x, "other", "a", "1");
  assert_string_equal(take(x, "full", "a"), "11");
  put(x, "full", "b", "4");
  put(x, "full", "d", "555");
  assert_string_equal(list(x, "full", "", 0, 0).text, "b=4 c=33 d=555");
}

static void an_entry_is_taken_by_one_only(void **state) {
  struct world *x = *state;
  open_store(x);
  put(x, "ticket", "a", "1");
  put(x, "ticket", "b", "2");
  assert_string_equal(take(x, "ticket", "b"), "2");
  assert_string_equal(take(x, "ticket", "b"), "-");
  assert_string_equal(list(x, "ticket", "", 0, 0).text, "a=1");
}

static void a_queue_gives_its_oldest_entry_first(void **state) {
  struct world *x = *state;
  open_store(x);
  put(x, "queue", "z", "1");
  put(x, "queue", "y", "2");
  put(x, "other", "a", "3");
  assert_string_equal(take(x, "queue", ""), "1");
  put(x, "queue", "z", "4");
  assert_string_equal(take(x, "queue", ""), "2");
  assert_string_equal(take(x, "queue", ""), "4");
  assert_string_equal(take(x, "queue", ""), "-");
  put(x, "queue", "old", "5");
  x->wall += HOUR_MS;
  assert_string_equal(take(x, "queue", ""), "-");
}

static void names_that_break_the_rules_are_refused(void **state) {
  struct world *x = *state;
  static char name[SHARED_NAME_BYTES + 1];
  struct result r[4];
  open_store(x);
  memset(name, 'n', sizeof name);
  counter_add(x->store, (str){name, sizeof name}, 1, 1, begin(&r[0]));
  once(x->store, STR(""), 1, begin(&r[1]));
  entry_put(x->store, STR(".lease"), STR("job"), STR("x"), 1, begin(&r[2]));
  entry_put(x->store, STR(""), STR("job"), STR("x"), 1, begin(&r[3]));
  for (int i = 0; i < 4; i++) {
    while (!r[i].told) uv_run(&x->loop.uv, UV_RUN_ONCE);
    assert_int_equal(r[i].kept, STORE_LOST);
    assert_int_equal(r[i].value, 0);
  }
}

// ---- several processes

static void stores_in_one_folder_share_all_of_it(void **state) {
  struct world *x = *state;
  open_store(x);
  struct store *one = x->store, *other = open_with(x, store_default_limits, true);
  assert_int_equal(count(x, "a", 2), 2);
  assert_int_equal(lease(x, "first", 1000), 1);
  assert_int_equal(first(x, "k"), 1);
  put(x, "queue", "a", "1");
  x->store = other;
  assert_int_equal(count(x, "a", 2), 4);
  assert_int_equal(lease(x, "second", 1000), 0);
  assert_int_equal(first(x, "k"), 0);
  assert_string_equal(take(x, "queue", ""), "1");
  x->store = one;
  assert_string_equal(take(x, "queue", ""), "-");
  close_one(x, &other);
}

static void without_a_usable_folder_this_process_alone_knows(void **state) {
  struct world *x = *state;
  struct result r;
  fclose(fopen(x->folder, "w"));
  open_store(x);
  counter_add(x->store, STR("a"), 3, HOUR_MS, begin(&r));
  while (!r.told) uv_run(&x->loop.uv, UV_RUN_ONCE);
  assert_int_equal(r.kept, STORE_PASSING);
  assert_int_equal(r.value, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      EACH(a_counter_adds_up_within_its_window),
      EACH(a_counter_stops_at_the_largest_number),
      EACH(a_lease_has_one_holder_until_it_ends_or_is_given_back),
      EACH(a_key_is_new_once),
      EACH(entries_are_listed_in_the_order_in_which_they_were_first_put),
      EACH(an_entry_is_added_only_if_there_is_none),
      EACH(an_entry_is_replaced_only_if_it_has_the_expected_version),
      T(a_full_kind_leaves_room_for_other_kinds),
      EACH(an_entry_is_taken_by_one_only),
      EACH(a_queue_gives_its_oldest_entry_first),
      EACH(names_that_break_the_rules_are_refused),
      T(stores_in_one_folder_share_all_of_it),
      T(without_a_usable_folder_this_process_alone_knows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
