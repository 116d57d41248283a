// SPDX-License-Identifier: Apache-2.0
// io/http_server: requests over real sockets, answered now, later, in pieces or not at all.
#include "http_front.h"

#include <stdlib.h>

#include "http_probes.h"

// ---- what is no request

static void send_probe(struct front *f, const struct http_probe *p, size_t step) {
  struct client c;
  client_open(&c, &f->w);
  for (str rest = p->bytes; rest.n && !c.ended; rest = str_from(rest, step)) {
    client_send(&c, (str){rest.p, rest.n < step ? rest.n : step});
    client_read(&c);
  }
  expect_refusal(&c, p->status);
  client_close(&c);
}

static void what_two_parsers_could_read_in_two_ways_is_refused_before_the_handler_sees_it(void **state) {
  struct front f;
  front_open(&f, echo);
  for (size_t i = 0; i < sizeof http_probes / sizeof *http_probes; i++) {
    send_probe(&f, &http_probes[i], SIZE_MAX);
    send_probe(&f, &http_probes[i], 1);
    send_probe(&f, &http_probes[i], 7);
  }
  assert_int_equal(f.requests, 0);
  wait_connections(&f.w, 0);
  front_close(&f);
}

static void a_bad_request_behind_a_good_one_ends_the_connection_after_the_good_answer(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_text(&c, "GET /a ");
  expect_refusal(&c, 400);
  assert_int_equal(f.requests, 1);
  client_close(&c);
  front_close(&f);
}

// ---- one connection, many requests

static void a_connection_is_kept_for_further_requests(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  for (int i = 0; i < 50; i++) {
    client_says(&c, "POST /x?q=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    expect_text(&c, "POST /x?q=1 hello");
  }
  expect_silence(&c);
  assert_int_equal(http_server_connections(f.w.server), 1);
  client_says(&c, "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  expect_last_text(&c, "GET /last ");
  expect_end(&c);
  client_close(&c);
  wait_connections(&f.w, 0);
  front_close(&f);
}

static const char three[] = "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none"
                            "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
                            "POST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthree\r\n0\r\n\r\n";

static void pipelined_requests_are_answered_in_order_wherever_they_are_cut(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  for (size_t cut = 1; cut < sizeof three; cut++) {
    client_send(&c, (str){three, cut});
    client_send(&c, (str){three + cut, sizeof three - 1 - cut});
    expect_text(&c, "POST /1 one");
    expect_text(&c, "GET /2 ");
    expect_text(&c, "POST /3 three");
  }
  expect_silence(&c);
  client_close(&c);
  front_close(&f);
}

static void a_pipelined_request_waits_until_the_one_before_it_is_answered(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, three);
  for (int i = 1; i <= 3; i++) {
    expect_silence(&c);
    assert_int_equal(f.requests, i);
    reply_text(f.held[i - 1], STR("done"));
    expect_text(&c, "done");
  }
  expect_silence(&c);
  assert_int_equal(f.requests, 3);
  client_close(&c);
  wait_connections(&f.w, 0);
  assert_int_equal(f.aborts, 0);
  front_close(&f);
}

static void a_client_that_pipelines_without_end_is_cut_off(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  for (int i = 0; i < 5000 && !f.aborts; i++) client_says(&c, "GET /more HTTP/1.1\r\nHost: h\r\n\r\n");
  assert_int_equal(f.aborts, 1);
  assert_int_equal(f.requests, 1);
  expect_end(&c);
  client_close(&c);
  front_close(&f);
}

// ---- bodies

static const char chunked[] = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "3\r\nabc\r\n0a\r\n0123456789\r\n1\r\n!\r\n0\r\n\r\n";

static void a_chunked_body_arrives_whole_wherever_it_is_cut(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  for (size_t cut = 1; cut < sizeof chunked - 1; cut++) {
    client_send(&c, (str){chunked, cut});
    client_send(&c, (str){chunked + cut, sizeof chunked - 1 - cut});
    expect_text(&c, "POST /c abc0123456789!");
  }
  for (size_t i = 0; i < sizeof chunked - 1; i++) client_send(&c, (str){chunked + i, 1});
  expect_text(&c, "POST /c abc0123456789!");
  expect_silence(&c);
  client_close(&c);
  front_close(&f);
}

static void a_body_with_a_length_arrives_whole_byte_by_byte(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  const char *text =
      "POST /l HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nxyGET / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (size_t i = 0; text[i]; i++) client_send(&c, (str){text + i, 1});
  expect_text(&c, "POST /l hello\r\n\r\nxy");
  expect_text(&c, "GET / ");
  client_close(&c);
  front_close(&f);
}

static void put_large_chunked(struct buf *b, size_t n) {
  buf_printf(b, "POST /large HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", n);
  for (size_t i = 0; i < n; i++) buf_char(b, (char)('a' + i % 26));
  buf_str(b, STR("\r\n0\r\n\r\n"));
}

static void a_large_body_arrives_as_it_was_sent(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  struct buf b;
  buf_init(&b, 2 << 20);
  put_large_chunked(&b, 1 << 20);
  for (int i = 0; i < 3; i++) {
    client_send(&c, buf_view(&b));
    char head[128];
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\nPOST /large ",
             (1 << 20) + 12);
    expect(&c, head);
    struct buf body;
    buf_init(&body, 2 << 20);
    for (size_t k = 0; k < 1 << 20; k++) buf_char(&body, (char)('a' + k % 26));
    buf_char(&body, 0);
    expect(&c, body.p);
    buf_done(&body);
  }
  expect_silence(&c);
  buf_done(&b);
  client_close(&c);
  front_close(&f);
}

static void refuse_text(const char *text, int status) {
  struct front f;
  struct http_server_options opt = usual;
  opt.limits = (struct http_limits){256, 100};
  front_open_with(&f, echo, &opt);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, text);
  expect_refusal(&c, status);
  assert_int_equal(f.requests, 0);
  client_close(&c);
  front_close(&f);
}

static bool admit_ann(void *ctx, const struct http_head *head, str *out_principal) {
  *out_principal = STR("ann");
  return true;
}

static void bodies_that_come_in_pieces_are_refused_when_their_principal_holds_too_much(void **state) {
  static char piece[300000];
  struct front f;
  struct intake in;
  struct http_server_options opt = usual;
  opt.admit = admit_ann;
  opt.intake = &in;
  front_open_with(&f, echo, &opt);
  intake_init(&in, &f.w.loop, 0, 1000000);
  struct client c[3];
  const char *head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300001\r\n\r\n";
  for (int i = 0; i < 3; i++) {
    client_open(&c[i], &f.w);
    client_says(&c[i], head);
    client_send(&c[i], (str){piece, sizeof piece});
    if (i == 0)
      for (uint64_t until = real_ms() + DEADLINE_MS; in.used < sizeof piece;) turn(&f.w, -1, until);
  }
  // Small requests have room all the same.
  struct client other;
  client_open(&other, &f.w);
  client_says(&other, "GET /small HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_text(&other, "GET /small ");
  client_close(&other);
  for (int i = 1; i < 3; i++) {
    expect(&c[i], "HTTP/1.1 429 ");
    expect_later(&c[i], "Retry-After: 1\r\n");
  }
  assert_true(in.used >= sizeof piece && in.used <= 1000000);
  client_says(&c[0], "x");  // the first was there before them
  expect(&c[0], "HTTP/1.1 200 OK\r\n");
  for (int i = 0; i < 3; i++) client_close(&c[i]);
  wait_connections(&f.w, 0);
  assert_int_equal(in.used, 0);
  front_close(&f);
  intake_done(&in);
}

static void what_is_larger_than_the_limits_is_refused_by_name(void **state) {
  char long_head[600];
  snprintf(long_head, sizeof long_head, "GET / HTTP/1.1\r\nHost: h\r\nX: %0400d\r\n\r\n", 1);
  refuse_text(long_head, 431);
  snprintf(long_head, sizeof long_head, "GET /%0400d HTTP/1.1\r\nHost: h\r\n\r\n", 1);
  refuse_text(long_head, 414);
  refuse_text("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413);
  char chunk[600];
  const char *head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  snprintf(chunk, sizeof chunk, "%s64\r\n%0100d\r\n1\r\nx\r\n0\r\n\r\n", head, 1);  // one byte too many
  refuse_text(chunk, 413);
  snprintf(chunk, sizeof chunk, "%s5\r\nhello\r\nc8\r\n%0200d\r\n0\r\n\r\n", head, 1);  // far too many at once
  refuse_text(chunk, 413);
}

static void a_badly_chunked_body_is_refused(void **state) {
  static const char *const bad[] = {
      "x\r\n", "5;a=b\r\nhello\r\n",    "5\r\nhelloX\r\n", "0\r\nTrailer: x\r\n\r\n", "5\nhello\r\n", "-1\r\n",
      "\r\n",  "ffffffffffffffffff\r\n"};
  struct front f;
  front_open(&f, echo);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct client c;
    client_open(&c, &f.w);
    client_says(&c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_says(&c, bad[i]);
    expect_refusal(&c, 400);
    client_close(&c);
  }
  assert_int_equal(f.requests, 0);
  front_close(&f);
}

static void a_client_that_waits_for_a_go_ahead_gets_one(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  expect(&c, "HTTP/1.1 100 Continue\r\n\r\n");
  client_says(&c, "bo");
  expect_silence(&c);
  client_says(&c, "dy");
  expect_text(&c, "POST /e body");
  // With the body there already, there is nothing to wait for.
  client_says(&c, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  expect_text(&c, "POST /e body");
  client_says(&c, "POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  expect(&c, "HTTP/1.1 100 Continue\r\n\r\n");
  client_says(&c, "4\r\nbody\r\n0\r\n\r\n");
  expect_text(&c, "POST /e body");
  // So it is without any body.
  client_says(&c, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n");
  expect_text(&c, "POST /e ");
  // A body that is too large gets no go-ahead.
  client_says(&c, "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n");
  expect_refusal(&c, 413);
  client_close(&c);
  front_close(&f);
}

// ---- what the handler may do

static void look_after_answering(struct front *f, struct http_exchange *x) {
  reply_text(x, STR("ok"));
  // Valid until the handler returns, whatever became of the exchange.
  assert_true(str_eq(x->head->method, STR("POST")));
  assert_true(str_eq(x->head->path, STR("/large")));
  size_t sum = 0;
  for (size_t i = 0; i < x->body.n; i++) sum += x->body.p[i] == (char)('a' + i % 26);
  assert_int_equal(sum, 100000);
}

static void head_and_body_stay_readable_until_the_handler_returns(void **state) {
  struct front f;
  front_open(&f, look_after_answering);
  struct client c;
  client_open(&c, &f.w);
  struct buf b;
  buf_init(&b, 2 << 20);
  put_large_chunked(&b, 100000);
  client_send(&c, buf_view(&b));
  expect_text(&c, "ok");
  buf_reset(&b);
  buf_printf(&b, "POST /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n");
  for (size_t i = 0; i < 100000; i++) buf_char(&b, (char)('a' + i % 26));
  client_send(&c, (str){b.p, 1000});
  client_send(&c, str_from(buf_view(&b), 1000));
  expect_last_text(&c, "ok");
  expect_end(&c);
  assert_int_equal(f.requests, 2);
  buf_done(&b);
  client_close(&c);
  front_close(&f);
}

static void head_has_an_answer_without_a_body_now_or_later(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\nGET /g HTTP/1.1\r\nHost: h\r\n\r\n");
  expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\n");
  expect_text(&c, "GET /g ");
  f.handle = hold;
  client_says(&c, "HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n");
  reply_text(f.held[0], STR("not shown"));
  expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n");
  expect_silence(&c);
  client_says(&c, "GET /g HTTP/1.1\r\nHost: h\r\n\r\n");
  reply_text(f.held[1], STR("shown"));
  expect_text(&c, "shown");
  client_close(&c);
  front_close(&f);
}

static void answer_204(struct front *f, struct http_exchange *x) {
  http_reply(x, 204, STR("Allow: GET\r\nX: y\r\n"), STR_NONE, STR_NONE);
}

static void an_answer_has_the_headers_it_was_given(void **state) {
  struct front f;
  front_open(&f, answer_204);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  expect(&c, "HTTP/1.1 204 No Content\r\nAllow: GET\r\nX: y\r\n\r\n");
  expect_silence(&c);
  client_close(&c);
  front_close(&f);
}

static void http_1_0_is_answered_and_closed_unless_it_asks_otherwise(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET /old HTTP/1.0\r\nHost: h\r\n\r\n");
  expect_last_text(&c, "GET /old ");
  expect_end(&c);
  client_close(&c);
  client_open(&c, &f.w);
  for (int i = 0; i < 2; i++) {
    client_says(&c, "GET /old HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
    expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 9\r\n\r\n");
    expect(&c, "GET /old ");
  }
  client_close(&c);
  f.handle = hold;
  client_open(&c, &f.w);
  client_says(&c, "GET /old HTTP/1.0\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[0], 200, STR_NONE, STR("text/plain"));
  assert_true(http_stream_write(f.held[0], (struct payload){STR("one "), NULL}));
  assert_true(http_stream_write(f.held[0], (struct payload){STR("two"), NULL}));
  http_stream_end(f.held[0]);
  expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\none two");
  expect_end(&c);
  client_close(&c);
  front_close(&f);
}

static void drop(struct front *f, struct http_exchange *x) {
  http_exchange_drop(x);
}

static void a_dropped_exchange_is_a_closed_connection(void **state) {
  struct front f;
  front_open(&f, drop);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_end(&c);
  client_close(&c);
  f.handle = hold;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_exchange_drop(f.held[0]);
  expect_end(&c);
  client_close(&c);
  assert_int_equal(f.requests, 2);
  assert_int_equal(f.aborts, 0);
  assert_int_equal(http_server_connections(f.w.server), 0);
  front_close(&f);
}

// ---- streams

static void a_streamed_answer_goes_out_in_chunks_and_the_connection_stays(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET /s HTTP/1.1\r\nHost: h\r\n\r\nGET /t HTTP/1.1\r\nHost: h\r\n\r\n");
  struct http_exchange *x = f.held[0];
  http_stream_begin(x, 200, STR("X-A: b\r\n"), STR("text/event-stream"));
  expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n");
  assert_true(http_stream_write(x, (struct payload){STR("hello, world 123"), NULL}));
  expect(&c, "10\r\nhello, world 123\r\n");
  assert_true(http_stream_write(x, (struct payload){STR(""), NULL}));  // an empty chunk would be the end
  expect_silence(&c);
  assert_int_equal(http_stream_queued(x), 0);
  assert_true(http_stream_write(x, (struct payload){STR("x"), NULL}));
  http_stream_end(x);
  expect(&c, "1\r\nx\r\n0\r\n\r\n");
  wait_for(&f.w, &f.requests, 2);
  reply_text(f.held[1], STR("after"));
  expect_text(&c, "after");
  client_close(&c);
  front_close(&f);
}

// Writes until something is queued; gives how many bytes were written.
static size_t fill(struct http_exchange *x, size_t queued) {
  static char piece[65536];
  size_t n = 0;
  memset(piece, 'x', sizeof piece);
  for (; http_stream_queued(x) < queued; n += sizeof piece) {
    assert_true(n < 256 << 20);
    assert_true(http_stream_write(x, (struct payload){(str){piece, sizeof piece}, NULL}));
  }
  return n;
}

static void read_chunks(struct client *c, size_t total) {
  static char piece[65536 + 1];
  memset(piece, 'x', sizeof piece - 1);
  for (size_t n = 0; n < total; n += sizeof piece - 1) {
    expect(c, "10000\r\n");
    expect(c, piece);
    expect(c, "\r\n");
  }
}

static void the_handler_hears_when_a_slow_client_has_taken_everything(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open_narrow(&c, &f.w, 4096);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[0], 200, STR_NONE, STR_NONE);
  expect_later(&c, "\r\n\r\n");
  size_t total = fill(f.held[0], 1 << 20);
  assert_int_equal(f.drains, 0);
  read_chunks(&c, total);
  wait_for(&f.w, &f.drains, 1);
  assert_int_equal(http_stream_queued(f.held[0]), 0);
  advance(&f.w, 10 * WRITE_MS);  // nothing is queued, so no deadline runs
  assert_int_equal(f.aborts, 0);
  http_stream_end(f.held[0]);
  expect(&c, "0\r\n\r\n");
  client_close(&c);
  front_close(&f);
}

static void a_client_that_takes_too_little_is_cut_off(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open_narrow(&c, &f.w, 4096);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[0], 200, STR_NONE, STR_NONE);
  static char piece[65536];
  size_t n = 0;
  while (http_stream_write(f.held[0], (struct payload){(str){piece, sizeof piece}, NULL})) {
    assert_true(http_stream_queued(f.held[0]) <= MAX_QUEUED);
    assert_true(++n < 4096);
  }
  assert_int_equal(f.aborts, 0);  // the write said so
  wait_connections(&f.w, 0);
  client_close(&c);
  // In good time, but too late: the write deadline.
  client_open_narrow(&c, &f.w, 4096);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[1], 200, STR_NONE, STR_NONE);
  fill(f.held[1], 65536);
  advance(&f.w, WRITE_MS - 100);
  assert_int_equal(f.aborts, 0);
  advance(&f.w, 200);
  assert_int_equal(f.aborts, 1);
  wait_connections(&f.w, 0);
  client_close(&c);
  front_close(&f);
}

static void a_long_answer_reaches_a_slow_client_before_its_connection_closes(void **state) {
  enum { SIZE = 4000000 };
  struct front f;
  front_open(&f, answer_with_text);
  char *text = mem_alloc(SIZE + 1);
  memset(text, 'y', SIZE);
  text[SIZE] = 0;
  f.text = (str){text, SIZE};
  struct client c;
  client_open_narrow(&c, &f.w, 4096);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  advance(&f.w, WRITE_MS - 500);
  expect(&c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 4000000\r\n\r\n");
  expect(&c, text);
  expect_end(&c);
  client_close(&c);
  mem_free(text);
  front_close(&f);
}

// ---- clients that leave

static void the_handler_hears_when_its_client_leaves(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client_close(&c);
  wait_for(&f.w, &f.aborts, 1);
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[1], 200, STR_NONE, STR_NONE);
  assert_true(http_stream_write(f.held[1], (struct payload){STR("something"), NULL}));
  client_close(&c);
  wait_for(&f.w, &f.aborts, 2);
  // In the middle of a request there is nobody to tell.
  client_open(&c, &f.w);
  client_says(&c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel");
  client_close(&c);
  wait_connections(&f.w, 0);
  assert_int_equal(f.requests, 2);
  assert_int_equal(f.aborts, 2);
  front_close(&f);
}

static void freeing_the_server_aborts_what_is_under_way(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c[3];
  for (int i = 0; i < 3; i++) client_open(&c[i], &f.w);
  client_says(&c[0], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client_says(&c[1], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[1], 200, STR_NONE, STR_NONE);
  client_says(&c[2], "GET / HTTP/1.1\r\nHo");
  http_server_free(&f.w.server);
  assert_null(f.w.server);
  assert_int_equal(f.aborts, 2);
  for (int i = 0; i < 3; i++) {
    read_to_end(&c[i]);
    client_close(&c[i]);
  }
  front_close(&f);
}

// ---- deadlines

static void a_slow_request_is_cut_off_at_its_deadline(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "G");
  for (int i = 0; i < 9; i++) {  // drop by drop does not help
    advance(&f.w, HEAD_MS / 10);
    client_says(&c, "E");
    expect_silence(&c);
  }
  advance(&f.w, HEAD_MS / 10 + TIMER_TICK_MS);
  expect_end(&c);
  client_close(&c);
  client_open(&c, &f.w);
  client_says(&c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n");
  for (int i = 0; i < 9; i++) {
    advance(&f.w, BODY_MS / 10);
    client_says(&c, "x");
    expect_silence(&c);
  }
  advance(&f.w, BODY_MS / 10 + TIMER_TICK_MS);
  expect_end(&c);
  client_close(&c);
  assert_int_equal(f.requests, 0);
  front_close(&f);
}

static void an_idle_connection_is_closed_and_each_request_has_its_own_time(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  expect_text(&c, "GET / ");
  for (int i = 0; i < 4; i++) {
    advance(&f.w, IDLE_MS - 100);
    client_says(&c, "GET / HTTP/1.1\r\nHo");
    advance(&f.w, HEAD_MS - 100);
    client_says(&c, "st: h\r\n\r\n");
    expect_text(&c, "GET / ");
  }
  advance(&f.w, IDLE_MS - 100);
  expect_silence(&c);
  advance(&f.w, 200);
  expect_end(&c);
  client_close(&c);
  front_close(&f);
}

static void a_request_under_way_has_all_the_time_it_needs(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  advance(&f.w, 100 * IDLE_MS);
  expect_silence(&c);
  reply_text(f.held[0], STR("at last"));
  expect_text(&c, "at last");
  client_close(&c);
  front_close(&f);
}

static void a_refused_client_may_linger_only_for_a_moment(void **state) {
  struct front f;
  front_open(&f, echo);
  struct client c;
  client_open(&c, &f.w);
  client_says(&c, "nonsense\r\n\r\n");
  expect(&c, "HTTP/1.1 400 ");
  client_says(&c, "and more of it");  // is not looked at, and does not reset the connection under the answer
  assert_int_equal(http_server_connections(f.w.server), 1);
  advance(&f.w, 3000);
  assert_int_equal(http_server_connections(f.w.server), 0);
  client_close(&c);
  front_close(&f);
}

// ---- many connections

static void an_address_that_cannot_be_had_is_a_fault(void **state) {
  struct front f;
  front_open(&f, echo);
  struct http_server *other = http_server_new(&f.w.loop, &usual, on_request, &f);
  struct fault fault;
  uint16_t port = 7;
  assert_false(http_server_listen(other, STR("example.com"), 0, &port, &fault));
  assert_int_equal(fault.code, FAULT_INVALID);
  assert_false(http_server_listen(other, STR("127.0.0.1"), f.w.port, &port, &fault));
  assert_int_equal(fault.code, FAULT_IO);
  assert_int_equal(port, 7);
  assert_true(http_server_listen(other, STR("localhost"), 0, &port, &fault));
  assert_true(port != 7 && port != f.w.port);
  http_server_free(&other);
  http_server_free(&other);
  front_close(&f);
}

// ---- draining

static void count_drained(void *ctx) {
  ((struct front *)ctx)->drained++;
}

static bool refuses_connections(struct front *f) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(f->w.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int r = connect(fd, (struct sockaddr *)&a, sizeof a);
  close(fd);
  return r != 0;
}

static void draining_answers_what_is_under_way_and_closes_the_rest(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client busy, streaming, idle, late;
  client_open(&busy, &f.w);
  client_open(&streaming, &f.w);
  client_open(&idle, &f.w);
  client_open(&late, &f.w);
  client_says(&busy, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client_says(&streaming, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  http_stream_begin(f.held[1], 200, STR_NONE, STR_NONE);
  wait_connections(&f.w, 4);
  http_server_drain(f.w.server, count_drained, &f);
  some_turns(&f.w);
  assert_true(refuses_connections(&f));
  client_says(&late, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");  // was on its way: still answered
  reply_text(f.held[2], STR("late"));
  expect_last_text(&late, "late");
  expect_end(&late);
  client_close(&late);
  advance(&f.w, 500);
  expect_end(&idle);
  client_close(&idle);
  expect_silence(&busy);
  reply_text(f.held[0], STR("done"));
  expect_last_text(&busy, "done");
  expect_end(&busy);
  client_close(&busy);
  wait_connections(&f.w, 1);
  assert_int_equal(f.drained, 0);
  http_stream_end(f.held[1]);
  expect_later(&streaming, "0\r\n\r\n");
  client_close(&streaming);
  wait_connections(&f.w, 0);
  assert_int_equal(f.drained, 0);  // it is told from the loop, not from inside a connection
  advance(&f.w, TIMER_TICK_MS);
  assert_int_equal(f.drained, 1);
  advance(&f.w, 10000);
  front_close(&f);
  assert_int_equal(f.drained, 1);
  assert_int_equal(f.aborts, 0);
}

static void free_server(void *ctx) {
  struct front *f = ctx;
  f->drained++;
  http_server_free(&f->w.server);
}

static void the_server_may_be_freed_when_it_is_drained(void **state) {
  struct front f;
  front_open(&f, hold);
  struct client c[2];
  client_open(&c[0], &f.w);
  client_open(&c[1], &f.w);
  wait_connections(&f.w, 2);
  http_server_drain(f.w.server, free_server, &f);
  advance(&f.w, 500);
  advance(&f.w, TIMER_TICK_MS);
  assert_int_equal(f.drained, 1);
  for (int i = 0; i < 2; i++) {
    expect_end(&c[i]);
    client_close(&c[i]);
  }
  front_close(&f);
  front_open(&f, hold);
  http_server_drain(f.w.server, free_server, &f);  // there is nothing to wait for
  assert_int_equal(f.drained, 0);
  advance(&f.w, TIMER_TICK_MS);
  assert_int_equal(f.drained, 1);
  front_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_two_parsers_could_read_in_two_ways_is_refused_before_the_handler_sees_it),
      cmocka_unit_test(a_bad_request_behind_a_good_one_ends_the_connection_after_the_good_answer),
      cmocka_unit_test(a_connection_is_kept_for_further_requests),
      cmocka_unit_test(pipelined_requests_are_answered_in_order_wherever_they_are_cut),
      cmocka_unit_test(a_pipelined_request_waits_until_the_one_before_it_is_answered),
      cmocka_unit_test(a_client_that_pipelines_without_end_is_cut_off),
      cmocka_unit_test(a_chunked_body_arrives_whole_wherever_it_is_cut),
      cmocka_unit_test(a_body_with_a_length_arrives_whole_byte_by_byte),
      cmocka_unit_test(a_large_body_arrives_as_it_was_sent),
      cmocka_unit_test(bodies_that_come_in_pieces_are_refused_when_their_principal_holds_too_much),
      cmocka_unit_test(what_is_larger_than_the_limits_is_refused_by_name),
      cmocka_unit_test(a_badly_chunked_body_is_refused),
      cmocka_unit_test(a_client_that_waits_for_a_go_ahead_gets_one),
      cmocka_unit_test(head_and_body_stay_readable_until_the_handler_returns),
      cmocka_unit_test(head_has_an_answer_without_a_body_now_or_later),
      cmocka_unit_test(an_answer_has_the_headers_it_was_given),
      cmocka_unit_test(http_1_0_is_answered_and_closed_unless_it_asks_otherwise),
      cmocka_unit_test(a_dropped_exchange_is_a_closed_connection),
      cmocka_unit_test(a_streamed_answer_goes_out_in_chunks_and_the_connection_stays),
      cmocka_unit_test(the_handler_hears_when_a_slow_client_has_taken_everything),
      cmocka_unit_test(a_client_that_takes_too_little_is_cut_off),
      cmocka_unit_test(a_long_answer_reaches_a_slow_client_before_its_connection_closes),
      cmocka_unit_test(the_handler_hears_when_its_client_leaves),
      cmocka_unit_test(freeing_the_server_aborts_what_is_under_way),
      cmocka_unit_test(a_slow_request_is_cut_off_at_its_deadline),
      cmocka_unit_test(an_idle_connection_is_closed_and_each_request_has_its_own_time),
      cmocka_unit_test(a_request_under_way_has_all_the_time_it_needs),
      cmocka_unit_test(a_refused_client_may_linger_only_for_a_moment),
      cmocka_unit_test(an_address_that_cannot_be_had_is_a_fault),
      cmocka_unit_test(draining_answers_what_is_under_way_and_closes_the_rest),
      cmocka_unit_test(the_server_may_be_freed_when_it_is_drained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
