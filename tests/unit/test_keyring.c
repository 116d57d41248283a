// SPDX-License-Identifier: Apache-2.0
// mcp/keyring: keys from a URL, when they are fetched and when not, over a server on loopback and a clock that the test
// moves.
#include "http_world.h"

#include "mcp/auth/keyring.h"

enum { HOUR_MS = 3600000, MINUTE_MS = 60000 };

#define KEY(id) \
  "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"" id "\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}"
#define ONE_KEY "{\"keys\":[" KEY("1") "]}"
#define SECRET "{\"kty\":\"oct\",\"kid\":\"s\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}"
#define TWO_KEYS "{\"keys\":[" KEY("1") "," KEY("2") "]}"

struct fixture {
  struct world w;
  struct keyring *k;
  struct arena arena;
  int asked, told;
  int status;
  const char *headers, *body;
  bool silent;                 // does not answer
  struct http_exchange *held;  // then
  struct keyring_waiter waiter;
};

static void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  f->asked++;
  assert_true(str_eq(x->head->target, STR("/keys?v=1")));
  if (f->silent) f->held = x;
  else http_reply(x, f->status, str_of(f->headers), STR("application/json"), str_of(f->body));
}

static void on_told(struct keyring_waiter *w) {
  CONTAINER_OF(w, struct fixture, waiter)->told++;
}

static int setup(void **state) {
  static const struct http_server_options opt = {
      .limits = {16384, 1 << 20},
      .max_connections = 8,
      .max_queued = 2 << 20,
      .head_ms = 1000,
      .body_ms = 1000,
      .idle_ms = 36000000,
      .write_ms = 30000,
  };
  struct fixture *f = MEM_NEW(struct fixture);
  struct fault why;
  world_open(&f->w, &opt, on_request, f);
  arena_init(&f->arena);
  f->status = 200;
  f->headers = "";
  f->body = ONE_KEY;
  f->waiter.ready = on_told;
  struct keyring_options keys = {.loop = &f->w.loop, .longest_ms = HOUR_MS};
  keys.url = arena_printf(&f->arena, "http://127.0.0.1:%u/keys?v=1", f->w.port);
  f->k = keyring_new(&keys, &why);
  assert_non_null(f->k);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  keyring_free(&f->k);
  world_close(&f->w);
  arena_done(&f->arena);
  mem_free(f);
  return 0;
}

// Waits for the end of the fetch that is under way.
static void wait_told(struct fixture *f) {
  int before = f->told;
  keyring_wait(f->k, &f->waiter);
  wait_for(&f->w, &f->told, before + 1);
}

static void fetch_first(struct fixture *f) {
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_told(f);
  assert_int_equal(keyring_look(f->k), KEYRING_READY);
  assert_int_equal(f->asked, 1);
}

static void assert_keys(struct fixture *f, size_t count) {
  assert_non_null(keyring_keys(f->k));
  assert_int_equal(jwt_keys_count(keyring_keys(f->k)), count);
}

static void they_are_fetched_when_first_needed(void **state) {
  struct fixture *f = *state;
  some_turns(&f->w);
  assert_int_equal(f->asked, 0);
  assert_null(keyring_keys(f->k));
  fetch_first(f);
  assert_keys(f, 1);
  for (int i = 0; i < 100; i++) assert_int_equal(keyring_look(f->k), KEYRING_READY);
  assert_int_equal(f->asked, 1);
}

static void all_who_wait_share_one_fetch(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < 10; i++) assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  assert_true(keyring_renew(f->k));
  wait_told(f);
  assert_int_equal(f->asked, 1);
}

static void they_are_good_for_as_long_as_the_answer_says_within_bounds(void **state) {
  static const struct {
    const char *header;
    uint64_t good_ms;
  } cases[] = {
      {"", HOUR_MS},
      {"Cache-Control: max-age=600\r\n", 600000},
      {"Cache-Control: public, MAX-AGE=600 , must-revalidate\r\n", 600000},
      {"Cache-Control: max-age=1\r\n", MINUTE_MS},
      {"Cache-Control: max-age=999999999999999\r\n", HOUR_MS},
      {"Cache-Control: max-age=99999999999999999999999\r\n", HOUR_MS},
      {"Cache-Control: no-store\r\n", MINUTE_MS},
      {"Cache-Control: max-age=x\r\n", HOUR_MS},
  };
  struct fixture *f = *state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    f->headers = cases[i].header;
    assert_int_equal(keyring_look(f->k), KEYRING_COMING);
    wait_told(f);
    advance(&f->w, cases[i].good_ms - 1);
    if (keyring_look(f->k) != KEYRING_READY) fail_msg("%s: too short", cases[i].header);
    advance(&f->w, 1);
  }
}

static void an_unknown_key_causes_at_most_one_fetch_a_minute(void **state) {
  struct fixture *f = *state;
  fetch_first(f);
  f->body = TWO_KEYS;
  uint64_t version = keyring_version(f->k);
  assert_true(keyring_renew(f->k));
  assert_int_equal(keyring_look(f->k), KEYRING_READY);  // for tokens of the keys that are known
  wait_told(f);
  assert_keys(f, 2);
  assert_true(keyring_version(f->k) != version);
  for (int i = 0; i < 100; i++) assert_false(keyring_renew(f->k));
  advance(&f->w, MINUTE_MS - 1);
  assert_false(keyring_renew(f->k));
  advance(&f->w, 1);
  assert_true(keyring_renew(f->k));
  wait_told(f);
  assert_int_equal(f->asked, 3);
}

static void the_last_good_ones_stay_when_the_url_fails(void **state) {
  static const struct {
    int status;
    const char *body;
  } cases[] = {{500, ONE_KEY},  {302, ONE_KEY}, {200, "{\"keys\":[]}"},
               {200, "<html>"}, {200, ""},      {200, "{\"keys\":[" SECRET "]}"}};
  struct fixture *f = *state;
  fetch_first(f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    f->status = cases[i].status;
    f->body = cases[i].body;
    advance(&f->w, HOUR_MS);
    assert_int_equal(keyring_look(f->k), KEYRING_COMING);
    wait_told(f);
    assert_keys(f, 1);
    // Not asked for again at once, and nobody waits meanwhile.
    int asked = f->asked;
    assert_int_equal(keyring_look(f->k), KEYRING_READY);
    assert_int_equal(f->asked, asked);
  }
  f->status = 200;
  f->body = TWO_KEYS;
  advance(&f->w, 5000);
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_told(f);
  assert_keys(f, 2);
}

static void without_any_there_are_none_and_it_is_tried_again(void **state) {
  struct fixture *f = *state;
  f->status = 503;
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_told(f);
  assert_int_equal(keyring_look(f->k), KEYRING_NONE);
  assert_null(keyring_keys(f->k));
  f->status = 200;
  advance(&f->w, 5000);
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_told(f);
  assert_keys(f, 1);
}

static void an_answer_that_is_too_large_or_late_is_none(void **state) {
  struct fixture *f = *state;
  char *large = mem_zero((300 << 10) + 1);
  memset(large, ' ', 300 << 10);
  f->body = large;
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_told(f);
  assert_int_equal(keyring_look(f->k), KEYRING_NONE);
  mem_free(large);
  f->silent = true;
  advance(&f->w, 5000);
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  wait_for(&f->w, &f->asked, 2);
  keyring_wait(f->k, &f->waiter);
  advance(&f->w, 10000);
  assert_int_equal(f->told, 2);
  assert_int_equal(keyring_look(f->k), KEYRING_NONE);
}

// What everybody can read is no secret.
static void a_secret_at_a_url_is_no_key(void **state) {
  struct fixture *f = *state;
  f->body = "{\"keys\":[" SECRET "," KEY("1") "]}";
  fetch_first(f);
  assert_keys(f, 1);
  assert_int_equal(jwt_keys_algorithms(keyring_keys(f->k)), jwt_bit(JWT_EDDSA));
}

static void whoever_leaves_is_not_told(void **state) {
  struct fixture *f = *state;
  struct keyring_waiter other = {.ready = on_told};
  assert_int_equal(keyring_look(f->k), KEYRING_COMING);
  keyring_wait(f->k, &other);
  keyring_leave(&other);
  wait_told(f);
  assert_int_equal(f->told, 1);
}

static void given_keys_are_never_fetched(void **state) {
  struct fixture *f = *state;
  struct fault why;
  struct jwt_keys *keys = jwt_keys_from_secret(STR("0123456789abcdef0123456789abcdef"), &why);
  struct keyring *k = keyring_new(&(struct keyring_options){.loop = &f->w.loop, .keys = keys}, &why);
  advance(&f->w, 100 * HOUR_MS);
  assert_int_equal(keyring_look(k), KEYRING_READY);
  assert_false(keyring_renew(k));
  assert_int_equal(jwt_keys_count(keyring_keys(k)), 1);
  keyring_free(&k);
  jwt_keys_unref(&keys);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(they_are_fetched_when_first_needed),
      TEST(all_who_wait_share_one_fetch),
      TEST(they_are_good_for_as_long_as_the_answer_says_within_bounds),
      TEST(an_unknown_key_causes_at_most_one_fetch_a_minute),
      TEST(the_last_good_ones_stay_when_the_url_fails),
      TEST(without_any_there_are_none_and_it_is_tried_again),
      TEST(an_answer_that_is_too_large_or_late_is_none),
      TEST(a_secret_at_a_url_is_no_key),
      TEST(whoever_leaves_is_not_told),
      TEST(given_keys_are_never_fetched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
