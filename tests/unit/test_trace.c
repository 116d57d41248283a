// SPDX-License-Identifier: Apache-2.0
// observe/trace: spans on their way to a collector, over a server on loopback and a clock that the test moves.
#include "http_world.h"

#include "base/arena.h"
#include "observe/trace.h"

enum { FLUSH_MS = 2000, CLOSE_MS = 2000 };

struct fixture {
  struct world w;
  struct tracer *t;
  struct arena arena;
  int asked, spans, closed;
  bool silent;                 // does not answer
  struct http_exchange *held;  // then
  int status;
};

static int count_spans(str body) {
  int n = 0;
  for (size_t at = 0; at < body.n; at++) n += str_starts(str_from(body, at), STR("\"spanId\""));
  return n;
}

static void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  f->asked++;
  f->spans += count_spans(x->body);
  if (f->silent) f->held = x;
  else http_reply(x, f->status, STR_NONE, STR("application/json"), STR("{}"));
}

static int setup(void **state) {
  static const struct http_server_options opt = {
      .limits = {16384, 2 << 20},
      .max_connections = 8,
      .max_queued = 2 << 20,
      .head_ms = 100000,
      .body_ms = 100000,
      .idle_ms = 36000000,
      .write_ms = 100000,
  };
  struct fixture *f = MEM_NEW(struct fixture);
  struct fault why;
  world_open(&f->w, &opt, on_request, f);
  arena_init(&f->arena);
  f->status = 200;
  struct tracer_options traces = {.loop = &f->w.loop, .rand = &rand_system, .sample_permille = 1000};
  traces.url = arena_printf(&f->arena, "http://127.0.0.1:%u/v1/traces", f->w.port);
  f->t = tracer_new(&traces, &why);
  assert_non_null(f->t);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  tracer_free(&f->t);
  world_close(&f->w);
  arena_done(&f->arena);
  mem_free(f);
  return 0;
}

static void add_span(struct fixture *f) {
  struct trace_span span = {.self = tracer_begin(f->t, NULL), .method = STR("tools/call"), .tool = STR("add")};
  tracer_end(f->t, &span);
}

static void answer(struct fixture *f) {
  struct http_exchange *x = f->held;
  f->held = NULL;
  f->silent = false;
  http_reply(x, f->status, STR_NONE, STR("application/json"), STR("{}"));
}

static void on_closed(void *ctx) {
  ((struct fixture *)ctx)->closed++;
}

static void spans_are_gathered_and_sent_together(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < 3; i++) add_span(f);
  advance(&f->w, FLUSH_MS - 1);
  assert_int_equal(f->asked, 0);
  advance(&f->w, 1);
  wait_for(&f->w, &f->spans, 3);
  assert_int_equal(f->asked, 1);
}

static void closing_sends_what_there_is(void **state) {
  struct fixture *f = *state;
  add_span(f);
  tracer_close(&f->t, CLOSE_MS, on_closed, f);
  assert_null(f->t);
  wait_for(&f->w, &f->closed, 1);
  assert_int_equal(f->spans, 1);
}

static void closing_waits_for_what_is_under_way_and_sends_the_rest(void **state) {
  struct fixture *f = *state;
  f->silent = true;
  add_span(f);
  tracer_flush(f->t);
  wait_for(&f->w, &f->asked, 1);
  add_span(f);
  tracer_close(&f->t, CLOSE_MS, on_closed, f);
  advance(&f->w, CLOSE_MS - 1);
  assert_int_equal(f->closed, 0);
  answer(f);
  wait_for(&f->w, &f->closed, 1);
  assert_int_equal(f->spans, 2);
}

static void a_collector_that_does_not_answer_is_waited_for_so_long_and_no_longer(void **state) {
  struct fixture *f = *state;
  f->silent = true;
  add_span(f);
  tracer_close(&f->t, CLOSE_MS, on_closed, f);
  wait_for(&f->w, &f->asked, 1);
  advance(&f->w, CLOSE_MS - 1);
  assert_int_equal(f->closed, 0);
  advance(&f->w, 1);
  assert_int_equal(f->closed, 1);
}

static void one_that_refuses_gets_no_more(void **state) {
  struct fixture *f = *state;
  f->silent = true;
  f->status = 500;
  add_span(f);
  tracer_flush(f->t);
  wait_for(&f->w, &f->asked, 1);
  add_span(f);
  tracer_close(&f->t, CLOSE_MS, on_closed, f);
  answer(f);
  wait_for(&f->w, &f->closed, 1);
  assert_int_equal(f->asked, 1);
}

static void with_nothing_to_send_it_is_closed_at_once(void **state) {
  struct fixture *f = *state;
  tracer_close(&f->t, CLOSE_MS, on_closed, f);
  assert_int_equal(f->closed, 0);
  some_turns(&f->w);
  assert_int_equal(f->closed, 1);
  assert_int_equal(f->asked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(spans_are_gathered_and_sent_together),
      TEST(closing_sends_what_there_is),
      TEST(closing_waits_for_what_is_under_way_and_sends_the_rest),
      TEST(a_collector_that_does_not_answer_is_waited_for_so_long_and_no_longer),
      TEST(one_that_refuses_gets_no_more),
      TEST(with_nothing_to_send_it_is_closed_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
