// SPDX-License-Identifier: Apache-2.0
// io/bulk: large messages that are under way share a limit. rpc/parcel: one of them, read by another thread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/large_message.h"

enum { MIB = 1 << 20 };

static uint64_t fake_mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

struct world {
  struct loop loop;
  struct clock clock;
  uint64_t now;
};

static void setup(struct world *x, size_t limit) {
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, &x->now};
  loop_init(&x->loop, NULL, &x->clock, &rand_system);
  x->loop.bulk.limit = limit;
}

static void advance(struct world *x, uint64_t ms) {
  x->now += ms;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
}

struct reader {
  struct bulk_hold hold;
  bool reads, dropped;
};

static void on_flow(struct bulk_hold *h, bool go) {
  CONTAINER_OF(h, struct reader, hold)->reads = go;
}

static void on_given_up(struct bulk_hold *h) {
  CONTAINER_OF(h, struct reader, hold)->dropped = true;
  bulk_set(h, 0);
}

static void reader_init(struct reader *r, struct world *x) {
  *r = (struct reader){.reads = true};
  bulk_hold_init(&r->hold, &x->loop.bulk, on_flow, on_given_up);
}

static void small_messages_do_not_count(void **state) {
  struct world x;
  struct reader r;
  setup(&x, 0);
  reader_init(&r, &x);
  bulk_set(&r.hold, BULK_LEAST - 1);
  assert_int_equal(x.loop.bulk.used, 0);
  bulk_set(&r.hold, 0);
  loop_done(&x.loop);
}

static void the_one_that_began_first_goes_on_and_others_wait(void **state) {
  struct world x;
  struct reader a, b;
  setup(&x, 4 * MIB);
  reader_init(&a, &x);
  reader_init(&b, &x);
  bulk_set(&a.hold, 2 * MIB);
  bulk_set(&b.hold, 2 * MIB);
  assert_true(a.reads && b.reads);
  bulk_set(&b.hold, 2 * MIB + 1);
  assert_false(b.reads);
  bulk_set(&a.hold, 50 * MIB);
  assert_true(a.reads);
  bulk_set(&a.hold, 0);
  assert_true(b.reads);
  assert_int_equal(x.loop.bulk.used, 2 * MIB + 1);
  bulk_set(&b.hold, 0);
  loop_done(&x.loop);
}

// What is whole and being worked on comes to its end by itself: nobody reads more until then.
static void readers_wait_for_what_is_held(void **state) {
  struct world x;
  struct reader held, a, b;
  setup(&x, 4 * MIB);
  reader_init(&held, &x);
  held.hold.flow = NULL;
  reader_init(&a, &x);
  reader_init(&b, &x);
  bulk_set(&held.hold, 10 * MIB);
  bulk_set(&a.hold, 2 * MIB);
  bulk_set(&b.hold, 2 * MIB);
  assert_false(a.reads || b.reads);
  advance(&x, 10 * BULK_STALL_MS);
  assert_false(a.dropped || b.dropped);
  bulk_set(&held.hold, 0);
  assert_true(a.reads && b.reads);
  bulk_set(&a.hold, 0);
  bulk_set(&b.hold, 0);
  loop_done(&x.loop);
}

static void one_that_brings_nothing_while_others_wait_is_given_up(void **state) {
  struct world x;
  struct reader a, b;
  setup(&x, 4 * MIB);
  reader_init(&a, &x);
  reader_init(&b, &x);
  bulk_set(&a.hold, 4 * MIB);
  advance(&x, 10 * BULK_STALL_MS);
  assert_false(a.dropped);  // nobody waits
  bulk_set(&b.hold, MIB);
  assert_false(b.reads);
  bulk_set(&a.hold, 5 * MIB);
  advance(&x, BULK_STALL_MS + TIMER_TICK_MS);
  assert_false(a.dropped);  // it went on since
  advance(&x, BULK_STALL_MS + TIMER_TICK_MS);
  assert_true(a.dropped);
  assert_true(b.reads);
  bulk_set(&b.hold, 0);
  loop_done(&x.loop);
}

static void unread_init(struct reader *r, struct world *x) {
  reader_init(r, x);
  r->hold.flow = NULL;
  r->hold.unread = true;
}

// Clients that do not read cannot keep the memory that the answers of others need.
static void what_is_not_read_is_given_up_when_others_wait(void **state) {
  struct world x;
  struct reader old, young, waits;
  setup(&x, 4 * MIB);
  unread_init(&old, &x);
  unread_init(&young, &x);
  reader_init(&waits, &x);
  bulk_set(&old.hold, 3 * MIB);
  advance(&x, 10 * BULK_STALL_MS);
  assert_false(old.dropped);  // nobody waits
  bulk_set(&waits.hold, 2 * MIB);
  assert_false(waits.reads);
  advance(&x, BULK_STALL_MS / 2);
  bulk_set(&young.hold, MIB);
  advance(&x, BULK_STALL_MS / 2 + TIMER_TICK_MS);
  assert_true(old.dropped && !young.dropped && waits.reads);
  bulk_set(&young.hold, 0);
  bulk_set(&waits.hold, 0);
  loop_done(&x.loop);
}

static void of_what_is_not_read_the_oldest_goes_first_and_the_last_stays(void **state) {
  struct world x;
  struct reader a, b, c;
  setup(&x, 4 * MIB);
  unread_init(&a, &x);
  unread_init(&b, &x);
  unread_init(&c, &x);
  bulk_set(&a.hold, 2 * MIB);
  bulk_set(&b.hold, 2 * MIB);
  advance(&x, TIMER_TICK_MS);
  assert_false(a.dropped || b.dropped);
  bulk_set(&b.hold, 3 * MIB);
  assert_false(a.dropped);  // not out of a function that sends
  advance(&x, 2 * TIMER_TICK_MS);
  assert_true(a.dropped && !b.dropped);
  bulk_set(&c.hold, 10 * MIB);
  advance(&x, 2 * TIMER_TICK_MS);
  assert_true(b.dropped && !c.dropped);
  assert_int_equal(x.loop.bulk.unread, 10 * MIB);
  bulk_set(&c.hold, 0);
  assert_int_equal(x.loop.bulk.unread, 0);
  loop_done(&x.loop);
}

static void what_is_not_read_counts_however_small_it_is(void **state) {
  enum { COUNT = 20 };
  struct world x;
  struct reader r[COUNT];
  setup(&x, 4 * MIB);
  for (int i = 0; i < COUNT; i++) {
    unread_init(&r[i], &x);
    bulk_set(&r[i].hold, MIB / 4);
    advance(&x, 2 * TIMER_TICK_MS);
  }
  for (int i = 0; i < COUNT; i++) assert_int_equal(r[i].dropped, i < COUNT - 16);
  assert_int_equal(x.loop.bulk.unread, 4 * MIB);
  for (int i = 0; i < COUNT; i++) bulk_set(&r[i].hold, 0);
  assert_int_equal(x.loop.bulk.used, 0);
  loop_done(&x.loop);
}

// A slow client with a few bytes left does not keep the first reader from going on.
static void readers_do_not_wait_for_small_answers_to_be_read(void **state) {
  struct world x;
  struct reader slow, a, b;
  setup(&x, 4 * MIB);
  unread_init(&slow, &x);
  reader_init(&a, &x);
  reader_init(&b, &x);
  bulk_set(&slow.hold, 3 * MIB);
  bulk_set(&a.hold, 2 * MIB);
  bulk_set(&b.hold, 2 * MIB);
  assert_false(a.reads || b.reads);
  bulk_set(&slow.hold, MIB / 2);
  assert_true(a.reads && !b.reads);
  bulk_set(&slow.hold, 0);
  assert_true(b.reads);
  bulk_set(&a.hold, 0);
  bulk_set(&b.hold, 0);
  loop_done(&x.loop);
}

// ---- parcels

static void the_request_that_a_text_answers_is_told_without_reading_it(void **state) {
  uint64_t id = 0;
  assert_true(large_message_answers(STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":[nonsense"), &id));
  assert_int_equal(id, 7);
  assert_true(large_message_answers(STR("{\"error\":{\"id\":1,\"method\":2},\"id\":8}"), &id));
  assert_int_equal(id, 8);
  assert_false(large_message_answers(STR("{\"id\":7,\"method\":\"ping\",\"result\":1}"), &id));
  assert_false(large_message_answers(STR("{\"id\":\"7\",\"result\":{}}"), &id));
  assert_false(large_message_answers(STR("{\"result\":{}}"), &id));
  assert_false(large_message_answers(STR("[{\"id\":7,\"result\":{}}]"), &id));
  assert_false(large_message_answers(STR(""), &id));
  assert_int_equal(id, 8);
}

static void on_opened(void *ctx, struct large_message *p) {
  ++*(int *)ctx;
}

static struct large_message *make_large_message_for(struct world *x, uint64_t id, str text) {
  struct buf b;
  buf_init(&b, 64 << 20);
  buf_str(&b, text);
  struct large_message *p = large_message_new(&x->loop, &b, buf_view(&b), id, 64 << 20);
  assert_int_equal(b.n, 0);
  return p;
}

static struct large_message *make_large_message(struct world *x, str text) {
  return make_large_message_for(x, 7, text);
}

// Opened; the caller's to unref.
static struct large_message *open_large_message(struct world *x, str text) {
  int opened = 0;
  struct large_message *p = make_large_message(x, text);
  large_message_open(p, on_opened, &opened);
  loop_run(&x->loop);
  assert_int_equal(opened, 1);
  return p;
}

static void a_large_message_is_read_and_lives_as_long_as_somebody_has_it(void **state) {
  struct world x;
  setup(&x, 0);
  struct large_message *p =
      open_large_message(&x, STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"text\":\"a\"}]}}"));
  assert_true(p->good);
  assert_int_equal(p->message.kind, RPC_RESULT);
  struct large_message *mine = large_message_ref(p);
  large_message_unref(&p);
  assert_null(p);
  assert_true(json_is(json_get(mine->message.result, STR("content")), JSON_ARRAY));
  large_message_unref(&mine);
  loop_done(&x.loop);
}

static void a_reply_gets_another_id_where_it_is_if_there_is_room(void **state) {
  struct world x;
  str got;
  setup(&x, 0);
  struct large_message *p = make_large_message(&x, STR(" {\"jsonrpc\":\"2.0\", \"id\":7,\"result\":{\"a\":[1]} } "));
  int opened = 0;
  large_message_open(p, on_opened, &opened);
  loop_run(&x.loop);
  assert_false(large_message_rename(p, STR("12"), &got));
  assert_true(large_message_rename(p, STR("9"), &got));
  assert_true(str_eq(got, STR("{\"jsonrpc\":\"2.0\", \"id\":9,\"result\":{\"a\":[1]} }")));
  large_message_unref(&p);
  p = make_large_message_for(&x, 1234567, STR("{\"result\":{},\"id\":1234567,\"jsonrpc\":\"2.0\"}"));
  large_message_open(p, on_opened, &opened);
  loop_run(&x.loop);
  assert_true(large_message_rename(p, STR("\"x\""), &got));
  assert_true(str_eq(got, STR("{\"result\":{},\"id\":\"x\",\"jsonrpc\":\"2.0\"}")));
  large_message_unref(&p);
  loop_done(&x.loop);
}

static void a_large_message_that_is_forgotten_is_not_told_of(void **state) {
  struct world x;
  int opened = 0;
  setup(&x, 0);
  struct large_message *p = make_large_message(&x, STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"));
  large_message_open(p, on_opened, &opened);
  large_message_forget(p);
  large_message_unref(&p);
  loop_run(&x.loop);
  assert_int_equal(opened, 0);
  loop_done(&x.loop);
}

static void what_is_no_reply_to_the_request_is_a_fault(void **state) {
  static const char *const texts[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":[nonsense",     "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}",
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{},\"method\":\"x\"}", "{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":{}}",
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1,\"a\":2}}",
  };
  struct world x;
  setup(&x, 0);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct large_message *p = open_large_message(&x, str_of(texts[i]));
    assert_false(p->good);
    assert_int_equal(p->fault.code, FAULT_PROTOCOL);
    large_message_unref(&p);
  }
  loop_done(&x.loop);
}

// {…"result":{"before":[1],NAME:[0,0,…]}}, or the same in the result of a task.
static struct large_message *open_many(struct world *x, const char *name, bool task) {
  struct buf b;
  buf_init(&b, 64 << 20);
  buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{%s\"before\":[1],\"%s\":[0",
             task ? "\"status\":\"completed\",\"result\":{" : "", name);
  for (size_t i = 0; i < 100000; i++) buf_str(&b, STR(",0"));
  buf_str(&b, task ? STR("]}}}") : STR("]}}"));
  struct large_message *p = open_large_message(x, buf_view(&b));
  buf_done(&b);
  return p;
}

static void what_nobody_looks_into_is_folded(void **state) {
  struct world x;
  setup(&x, 0);
  for (int task = 0; task < 2; task++) {
    struct large_message *p = open_many(&x, "structuredContent", task);
    assert_true(p->good);
    const struct json *result = task ? json_get(p->message.result, STR("result")) : p->message.result;
    assert_true(json_is_folded(json_get(result, STR("structuredContent"))));
    assert_false(json_is_folded(json_get(result, STR("before"))));
    large_message_unref(&p);
  }
  loop_done(&x.loop);
}

static void what_the_gateway_looks_into_may_not_be_that_large(void **state) {
  struct world x;
  setup(&x, 0);
  for (int task = 0; task < 2; task++) {
    struct large_message *p = open_many(&x, "_meta", task);
    assert_false(p->good);
    assert_string_equal(p->fault.message, "answered with too many JSON values in \"_meta\"");
    large_message_unref(&p);
  }
  loop_done(&x.loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_messages_do_not_count),
      cmocka_unit_test(the_one_that_began_first_goes_on_and_others_wait),
      cmocka_unit_test(readers_wait_for_what_is_held),
      cmocka_unit_test(one_that_brings_nothing_while_others_wait_is_given_up),
      cmocka_unit_test(what_is_not_read_is_given_up_when_others_wait),
      cmocka_unit_test(of_what_is_not_read_the_oldest_goes_first_and_the_last_stays),
      cmocka_unit_test(what_is_not_read_counts_however_small_it_is),
      cmocka_unit_test(readers_do_not_wait_for_small_answers_to_be_read),
      cmocka_unit_test(the_request_that_a_text_answers_is_told_without_reading_it),
      cmocka_unit_test(a_large_message_is_read_and_lives_as_long_as_somebody_has_it),
      cmocka_unit_test(a_reply_gets_another_id_where_it_is_if_there_is_room),
      cmocka_unit_test(a_large_message_that_is_forgotten_is_not_told_of),
      cmocka_unit_test(what_is_no_reply_to_the_request_is_a_fault),
      cmocka_unit_test(what_nobody_looks_into_is_folded),
      cmocka_unit_test(what_the_gateway_looks_into_may_not_be_that_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
