// SPDX-License-Identifier: Apache-2.0
// mcp/event_stream: messages to an HTTP client over a real server on loopback.
#include "http_world.h"

#include "mcp/server/event_stream.h"

enum { KEEPALIVE_MS = 15000, RESUME_MS = 60000, MAX_HELD = 16, MAX_QUEUED = 2 << 20 };

struct fixture {
  struct world w;
  struct buf scratch;
  struct http_exchange *held[MAX_HELD];
  int held_count;
  struct event_stream *es;
  int lost, over, stalls, goes;
  bool drop_on_next_request;  // a request that comes in frees the stream, as the end of a session would
};

// ---- the owner of the stream

static void on_lost(struct event_stream *es) {
  struct fixture *x = event_stream_owner(es);
  x->lost++;
  event_stream_free(&x->es);
}

static void on_over(struct event_stream *es) {
  struct fixture *x = event_stream_owner(es);
  x->over++;
  event_stream_free(&x->es);
}

static void on_flow(struct event_stream *es, bool go) {
  struct fixture *x = event_stream_owner(es);
  if (go) x->goes++;
  else x->stalls++;
}

static const struct event_stream_events events = {on_lost, on_over, on_flow};

static void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  if (f->drop_on_next_request) {
    event_stream_free(&f->es);
    http_reply(x, 200, STR_NONE, STR_NONE, STR_NONE);
    return;
  }
  assert_true(f->held_count < MAX_HELD);
  f->held[f->held_count++] = x;
}

// ---- set-up

static struct event_stream_options options(struct fixture *x) {
  return (struct event_stream_options){
      .loop = &x->w.loop, .scratch = &x->scratch, .keepalive_ms = KEEPALIVE_MS, .resume_ms = RESUME_MS, .ids = true};
}

static int setup(void **state) {
  static const struct http_server_options opt = {
      .limits = {16384, 1 << 20},
      .max_connections = 64,
      .max_queued = MAX_QUEUED,
      .head_ms = 1000,
      .body_ms = 1000,
      .idle_ms = 3600000,
      .write_ms = 30000,
  };
  struct fixture *x = MEM_NEW(struct fixture);
  world_open(&x->w, &opt, on_request, x);
  buf_init(&x->scratch, 4 << 20);
  struct event_stream_options es = options(x);
  x->es = event_stream_new(&es, &events, 7, x);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  event_stream_free(&x->es);
  world_close(&x->w);
  buf_done(&x->scratch);
  mem_free(x);
  return 0;
}

static void renew(struct fixture *x, bool ids, bool priming) {
  struct event_stream_options opt = options(x);
  opt.ids = ids;
  opt.priming = priming;
  event_stream_free(&x->es);
  x->es = event_stream_new(&opt, &events, 7, x);
}

// A client whose request has arrived; its exchange.
static struct http_exchange *request(struct fixture *x, struct client *c) {
  int n = x->held_count + 1;
  client_open(c, &x->w);
  client_says(c, "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}");
  wait_for(&x->w, &x->held_count, n);
  return x->held[n - 1];
}

// The same, from a client that takes no more than it must.
static struct http_exchange *narrow_request(struct fixture *x, struct client *c) {
  int n = x->held_count + 1;
  client_open_narrow(c, &x->w, 4096);
  client_says(c, "GET /mcp HTTP/1.1\r\nHost: h\r\n\r\n");
  wait_for(&x->w, &x->held_count, n);
  return x->held[n - 1];
}

static void attach(struct fixture *x, struct client *c) {
  event_stream_attach(x->es, request(x, c), STR("Mcp-Session-Id: s\r\n"));
}

#define EVENTS_HEAD \
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n" \
  "X-Accel-Buffering: no\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

// The next chunk is exactly this.
static void expect_chunk(struct client *c, const char *text) {
  char want[1024];
  snprintf(want, sizeof want, "%zx\r\n%s\r\n", strlen(text), text);
  expect(c, want);
}

static void expect_last_chunk(struct client *c) {
  expect(c, "0\r\n\r\n");
}

// ---- one answer

static void a_lone_answer_goes_out_as_plain_json(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  assert_true(event_stream_attached(x->es));
  assert_int_equal(*(const uint32_t *)event_stream_key(x->es).p, 7);
  event_stream_expect(x->es);
  expect_silence(&c);
  event_stream_answer(x->es, 200, (struct payload){STR("{\"id\":1}"), NULL});
  expect(
      &c,
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\nContent-Length: 8\r\n\r\n{\"id\":1}");
  assert_int_equal(x->over, 1);
  assert_int_equal(x->lost, 0);
  assert_null(x->es);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");  // the connection is kept
  wait_for(&x->w, &x->held_count, 2);
  client_close(&c);
}

static void any_other_message_turns_the_response_into_events(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_send(x->es, (struct payload){STR("{\"method\":\"progress\"}"), NULL});
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "event: message\nid: 7-1\ndata: {\"method\":\"progress\"}\n\n");
  event_stream_send(x->es, (struct payload){STR("two\nlines"), NULL});
  expect_chunk(&c, "event: message\nid: 7-2\ndata: two\ndata: lines\n\n");
  event_stream_answer(x->es, 200, (struct payload){STR("{\"id\":1}"), NULL});
  expect_chunk(&c, "event: message\nid: 7-3\ndata: {\"id\":1}\n\n");
  expect_last_chunk(&c);
  assert_false(event_stream_attached(x->es));
  assert_int_equal(x->over, 0);  // it stays for a client that did not get all of it
  advance(&x->w, RESUME_MS + 20);
  assert_int_equal(x->over, 1);
  client_close(&c);
}

static void several_answers_are_events_and_the_last_one_ends_the_response(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  for (int i = 0; i < 3; i++) event_stream_expect(x->es);
  event_stream_answer(x->es, 200, (struct payload){STR("1"), NULL});
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "event: message\nid: 7-1\ndata: 1\n\n");
  event_stream_answer(x->es, 200, (struct payload){STR_NONE, NULL});  // a cancelled one has none
  expect_silence(&c);
  event_stream_answer(x->es, 200, (struct payload){STR("3"), NULL});
  expect_chunk(&c, "event: message\nid: 7-2\ndata: 3\n\n");
  expect_last_chunk(&c);
  client_close(&c);
}

static void a_lone_request_that_was_cancelled_gets_an_empty_stream(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_answer(x->es, 200, (struct payload){STR_NONE, NULL});
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_last_chunk(&c);
  advance(&x->w, 20);  // there is nothing to come back for
  assert_int_equal(x->over, 1);
  client_close(&c);
}

static void a_stream_of_the_latest_revision_opens_with_a_priming_event(void **state) {
  struct fixture *x = *state;
  struct client c;
  renew(x, true, true);
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_send(x->es, (struct payload){STR("a"), NULL});
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "id: 7-0\nretry: 1000\ndata: \n\n");
  expect_chunk(&c, "event: message\nid: 7-1\ndata: a\n\n");
  event_stream_begin(x->es);  // once is enough
  expect_silence(&c);
  client_close(&c);
}

static void a_stream_without_ids_has_none_and_is_not_primed(void **state) {
  struct fixture *x = *state;
  struct client c;
  renew(x, false, true);
  attach(x, &c);
  event_stream_send_typed(x->es, STR("endpoint"), STR("/messages?sessionId=1"));
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "event: endpoint\ndata: /messages?sessionId=1\n\n");
  event_stream_send(x->es, (struct payload){STR("{}"), NULL});
  expect_chunk(&c, "event: message\ndata: {}\n\n");
  client_close(&c);
  wait_for(&x->w, &x->lost, 1);  // it cannot be taken up again
}

static void a_connection_on_which_nothing_was_said_can_be_had_back(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  struct http_exchange *own = event_stream_surrender(x->es);
  assert_ptr_equal(own, x->held[0]);
  assert_false(event_stream_attached(x->es));
  http_reply(own, 202, STR_NONE, STR_NONE, STR_NONE);
  expect(&c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
  client_close(&c);
  some_turns(&x->w);
  assert_int_equal(x->lost, 0);
}

// ---- time

static void a_slow_answer_is_kept_alive_by_comments(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  advance(&x->w, KEEPALIVE_MS - 100);
  expect_silence(&c);
  advance(&x->w, 200);
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  for (int i = 0; i < 3; i++) {
    advance(&x->w, KEEPALIVE_MS + 20);
    expect_chunk(&c, ":\n\n");
  }
  event_stream_answer(x->es, 200, (struct payload){STR("{}"), NULL});
  expect_chunk(&c, "event: message\nid: 7-1\ndata: {}\n\n");
  expect_last_chunk(&c);
  client_close(&c);
}

static void a_client_that_leaves_before_any_event_is_lost_at_once(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  client_close(&c);
  wait_for(&x->w, &x->lost, 1);
  assert_int_equal(x->over, 0);
}

static void a_client_that_leaves_a_stream_may_come_back_for_a_while(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_send(x->es, (struct payload){STR("a"), NULL});
  client_close(&c);
  wait_connections(&x->w, 0);
  assert_false(event_stream_attached(x->es));
  event_stream_send(x->es, (struct payload){STR("b"), NULL});  // goes nowhere, and is kept
  advance(&x->w, RESUME_MS - 100);
  assert_int_equal(x->lost, 0);
  advance(&x->w, 200);
  assert_int_equal(x->lost, 1);
}

// ---- taking a stream up again

static void a_stream_is_taken_up_behind_the_last_event_the_client_saw(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_expect(x->es);
  for (int i = 0; i < 4; i++) event_stream_send(x->es, (struct payload){STR("x"), NULL});
  client_close(&c);
  wait_connections(&x->w, 0);
  event_stream_send(x->es, (struct payload){STR("while away"), NULL});
  struct http_exchange *again = request(x, &c);
  assert_true(event_stream_resume(x->es, again, STR("Mcp-Session-Id: s\r\n"), 2));
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "event: message\nid: 7-3\ndata: x\n\n");
  expect_chunk(&c, "event: message\nid: 7-4\ndata: x\n\n");
  expect_chunk(&c, "event: message\nid: 7-5\ndata: while away\n\n");
  expect_silence(&c);
  event_stream_answer(x->es, 200, (struct payload){STR("{}"), NULL});
  expect_chunk(&c, "event: message\nid: 7-6\ndata: {}\n\n");
  expect_last_chunk(&c);
  client_close(&c);
}

static void an_answer_that_was_missed_can_be_had_again(void **state) {
  struct fixture *x = *state;
  struct client c, late;
  renew(x, true, true);
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_send(x->es, (struct payload){STR("progress"), NULL});
  client_close(&c);
  wait_connections(&x->w, 0);
  event_stream_answer(x->es, 200, (struct payload){STR("answer"), NULL});
  for (int i = 0; i < 2; i++) {  // as often as it takes
    assert_true(event_stream_resume(x->es, request(x, &late), STR_NONE, 0));
    expect(&late, EVENTS_HEAD CHUNKED);
    expect_chunk(&late, "event: message\nid: 7-1\ndata: progress\n\n");
    expect_chunk(&late, "event: message\nid: 7-2\ndata: answer\n\n");
    expect_last_chunk(&late);
    client_close(&late);
  }
  assert_true(event_stream_resume(x->es, request(x, &late), STR_NONE, 2));  // it has it all
  expect(&late, EVENTS_HEAD CHUNKED);
  expect_last_chunk(&late);
  client_close(&late);
  advance(&x->w, RESUME_MS + 20);
  assert_int_equal(x->over, 1);
}

static void a_stream_that_moved_to_a_new_connection_ends_the_old_one(void **state) {
  struct fixture *x = *state;
  struct client c, other;
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_send(x->es, (struct payload){STR("a"), NULL});
  expect_later(&c, "data: a\n\n\r\n");
  assert_true(event_stream_resume(x->es, request(x, &other), STR_NONE, 1));
  expect(&other, EVENTS_HEAD CHUNKED);
  expect_last_chunk(&c);
  client_close(&c);
  some_turns(&x->w);
  event_stream_send(x->es, (struct payload){STR("b"), NULL});
  expect_chunk(&other, "event: message\nid: 7-2\ndata: b\n\n");
  client_close(&other);
}

static void an_event_that_never_was_or_is_no_longer_kept_cannot_be_resumed_from(void **state) {
  enum { MANY = 1000 };
  struct fixture *x = *state;
  struct client c, other;
  attach(x, &c);
  event_stream_expect(x->es);
  struct http_exchange *again = request(x, &other);
  assert_false(event_stream_resume(x->es, again, STR_NONE, 1));  // nothing was said yet
  for (int i = 0; i < MANY; i++) event_stream_send(x->es, (struct payload){STR("x"), NULL});
  assert_false(event_stream_resume(x->es, again, STR_NONE, MANY + 1));
  assert_false(event_stream_resume(x->es, again, STR_NONE, UINT64_MAX));
  assert_false(event_stream_resume(x->es, again, STR_NONE, 0));
  uint64_t oldest = 0;
  while (!event_stream_resume(x->es, again, STR_NONE, oldest)) oldest++;
  assert_in_range(MANY - oldest, 100, 300);  // how many are kept
  for (uint64_t i = oldest + 1; i <= MANY; i++) {
    char text[64];
    snprintf(text, sizeof text, "id: 7-%llu\n", (unsigned long long)i);
    expect_later(&other, text);
  }
  client_close(&c);
  client_close(&other);
}

static void what_is_kept_is_bounded_by_its_bytes_too(void **state) {
  enum { LARGE = 300000 };
  struct fixture *x = *state;
  struct client c;
  char *text = mem_alloc(LARGE);
  memset(text, 'x', LARGE);
  attach(x, &c);
  event_stream_expect(x->es);
  for (int i = 0; i < 20; i++) {
    event_stream_send(x->es, (struct payload){(str){text, LARGE}, NULL});
    char id[16];
    snprintf(id, sizeof id, "id: 7-%d\n", i + 1);
    expect_later(&c, id);
  }
  struct client other;
  struct http_exchange *again = request(x, &other);
  uint64_t oldest = 0;
  while (!event_stream_resume(x->es, again, STR_NONE, oldest)) oldest++;
  assert_in_range(20 - oldest, 2, 5);  // about a megabyte
  mem_free(text);
  client_close(&c);
  client_close(&other);
}

static void a_client_that_is_sent_away_comes_back_for_its_answer(void **state) {
  struct fixture *x = *state;
  struct client c;
  renew(x, true, true);
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_suspend(x->es);
  expect(&c, EVENTS_HEAD "Mcp-Session-Id: s\r\n" CHUNKED);
  expect_chunk(&c, "id: 7-0\nretry: 1000\ndata: \n\n");
  expect_last_chunk(&c);
  client_close(&c);
  event_stream_suspend(x->es);  // it is away already
  assert_int_equal(x->lost, 0);
  event_stream_answer(x->es, 200, (struct payload){STR("{}"), NULL});
  assert_true(event_stream_resume(x->es, request(x, &c), STR_NONE, 0));
  expect(&c, EVENTS_HEAD CHUNKED);
  expect_chunk(&c, "event: message\nid: 7-1\ndata: {}\n\n");
  expect_last_chunk(&c);
  client_close(&c);
}

static void a_client_that_was_sent_away_and_does_not_come_back_is_lost(void **state) {
  struct fixture *x = *state;
  struct client c;
  renew(x, true, true);
  attach(x, &c);
  event_stream_expect(x->es);
  event_stream_suspend(x->es);
  advance(&x->w, RESUME_MS);
  assert_int_equal(x->lost, 0);
  advance(&x->w, 2000);
  assert_int_equal(x->lost, 1);
  client_close(&c);
}

// ---- a standing stream

static void a_standing_stream_hands_on_what_nobody_got(void **state) {
  struct fixture *x = *state;
  struct client c;
  event_stream_send(x->es, (struct payload){STR("before anyone came"), NULL});
  event_stream_take(x->es, request(x, &c), true);
  expect(&c, EVENTS_HEAD CHUNKED);
  expect_chunk(&c, "id: 7-0\nretry: 1000\ndata: \n\n");  // whoever got no further than this misses nothing
  expect_chunk(&c, "event: message\nid: 7-1\ndata: before anyone came\n\n");
  event_stream_send(x->es, (struct payload){STR("now"), NULL});
  expect_chunk(&c, "event: message\nid: 7-2\ndata: now\n\n");
  event_stream_release(x->es);
  expect_last_chunk(&c);
  client_close(&c);
  event_stream_release(x->es);  // there is none
  event_stream_send(x->es, (struct payload){STR("later"), NULL});
  event_stream_take(x->es, request(x, &c), false);
  expect(&c, EVENTS_HEAD CHUNKED);
  expect_chunk(&c, "event: message\nid: 7-3\ndata: later\n\n");
  expect_silence(&c);
  struct client other;
  event_stream_take(x->es, request(x, &other), false);
  expect_last_chunk(&c);
  expect(&other, EVENTS_HEAD CHUNKED);
  expect_silence(&other);
  assert_int_equal(x->lost + x->over, 0);
  client_close(&c);
  client_close(&other);
}

// ---- the end of a response lets in what the client sent behind its request

static struct http_exchange *pipelined_request(struct fixture *x, struct client *c) {
  int n = x->held_count + 1;
  client_open(c, &x->w);
  client_says(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\nDELETE / HTTP/1.1\r\nHost: h\r\n\r\n");
  wait_for(&x->w, &x->held_count, n);
  return x->held[n - 1];
}

static void the_end_of_a_response_may_be_the_end_of_the_stream(void **state) {
  struct fixture *x = *state;
  for (int way = 0; way < 6; way++) {
    struct client c, other;
    renew(x, true, true);
    x->drop_on_next_request = false;
    event_stream_attach(x->es, pipelined_request(x, &c), STR_NONE);
    event_stream_expect(x->es);
    struct http_exchange *next = way >= 4 ? request(x, &other) : NULL;
    event_stream_send(x->es, (struct payload){STR("a"), NULL});
    x->drop_on_next_request = true;
    if (way == 0) event_stream_answer(x->es, 200, (struct payload){STR("{}"), NULL});
    if (way == 1) event_stream_answer(x->es, 200, (struct payload){STR_NONE, NULL});
    if (way == 2) event_stream_release(x->es);
    if (way == 3) event_stream_suspend(x->es);
    if (way == 4) event_stream_take(x->es, next, true);
    if (way == 5) assert_true(event_stream_resume(x->es, next, STR_NONE, 0));
    some_turns(&x->w);
    assert_null(x->es);
    expect_later(&c, "0\r\n\r\nHTTP/1.1 200 OK\r\n");
    client_close(&c);
    if (next) client_close(&other);
    x->held_count = 0;
  }
}

// ---- slow readers

static void a_slow_reader_stops_the_flow_until_it_has_caught_up(void **state) {
  struct fixture *x = *state;
  struct client c;
  char *text = mem_alloc(10000);
  memset(text, 'x', 10000);
  event_stream_take(x->es, narrow_request(x, &c), false);
  int sent = 0;
  while (!x->stalls) {
    event_stream_send(x->es, (struct payload){(str){text, 10000}, NULL});
    assert_true(++sent < 10000);
    assert_true(http_stream_queued(x->held[0]) < 300000);
  }
  event_stream_send(x->es,
                    (struct payload){(str){text, 10000}, NULL});  // a few more do no harm, and are not told again
  assert_int_equal(x->stalls, 1);
  assert_int_equal(x->goes, 0);
  for (uint64_t until = real_ms() + DEADLINE_MS; !x->goes;) {
    if (client_read(&c)) buf_reset(&c.in);
    turn(&x->w, c.fd, until);
  }
  assert_int_equal(x->goes, 1);
  assert_int_equal(x->lost, 0);
  mem_free(text);
  client_close(&c);
}

static void a_reader_that_stopped_reading_is_given_up_and_may_come_back(void **state) {
  struct fixture *x = *state;
  struct client c;
  char *text = mem_alloc(10000);
  memset(text, 'x', 10000);
  event_stream_take(x->es, narrow_request(x, &c), false);
  int sent = 0;
  for (; event_stream_attached(x->es); sent++) {  // by someone who does not heed the flow
    event_stream_send(x->es, (struct payload){(str){text, 10000}, NULL});
    assert_true(sent < 10000);
    if (event_stream_attached(x->es)) assert_true(http_stream_queued(x->held[0]) <= MAX_QUEUED);
  }
  assert_int_equal(x->stalls, 1);
  assert_int_equal(x->goes, 1);  // nobody is held up by a connection that is gone
  assert_int_equal(x->lost, 0);
  struct client other;
  assert_true(event_stream_resume(x->es, request(x, &other), STR_NONE, (uint64_t)sent - 1));
  char id[32];
  snprintf(id, sizeof id, "id: 7-%d\n", sent);
  expect_later(&other, id);
  mem_free(text);
  client_close(&c);
  client_close(&other);
}

static void freeing_a_stream_ends_its_connection(void **state) {
  struct fixture *x = *state;
  struct client c;
  attach(x, &c);
  event_stream_free(&x->es);
  expect_end(&c);
  client_close(&c);
  renew(x, true, false);
  attach(x, &c);
  event_stream_send(x->es, (struct payload){STR("a"), NULL});
  event_stream_free(&x->es);
  expect_later(&c, "data: a\n\n\r\n0\r\n\r\n");
  client_close(&c);
  event_stream_free(&x->es);
  assert_int_equal(x->lost + x->over, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_lone_answer_goes_out_as_plain_json),
      TEST(any_other_message_turns_the_response_into_events),
      TEST(several_answers_are_events_and_the_last_one_ends_the_response),
      TEST(a_lone_request_that_was_cancelled_gets_an_empty_stream),
      TEST(a_stream_of_the_latest_revision_opens_with_a_priming_event),
      TEST(a_stream_without_ids_has_none_and_is_not_primed),
      TEST(a_connection_on_which_nothing_was_said_can_be_had_back),
      TEST(a_slow_answer_is_kept_alive_by_comments),
      TEST(a_client_that_leaves_before_any_event_is_lost_at_once),
      TEST(a_client_that_leaves_a_stream_may_come_back_for_a_while),
      TEST(a_stream_is_taken_up_behind_the_last_event_the_client_saw),
      TEST(an_answer_that_was_missed_can_be_had_again),
      TEST(a_stream_that_moved_to_a_new_connection_ends_the_old_one),
      TEST(an_event_that_never_was_or_is_no_longer_kept_cannot_be_resumed_from),
      TEST(what_is_kept_is_bounded_by_its_bytes_too),
      TEST(a_client_that_is_sent_away_comes_back_for_its_answer),
      TEST(a_client_that_was_sent_away_and_does_not_come_back_is_lost),
      TEST(a_standing_stream_hands_on_what_nobody_got),
      TEST(the_end_of_a_response_may_be_the_end_of_the_stream),
      TEST(a_slow_reader_stops_the_flow_until_it_has_caught_up),
      TEST(a_reader_that_stopped_reading_is_given_up_and_may_come_back),
      TEST(freeing_a_stream_ends_its_connection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
