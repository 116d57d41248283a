// SPDX-License-Identifier: Apache-2.0
// io/http_client: fetches over a pool of connections, against a server on the same loop that does what it is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/http/http_client.h"
#include "io/stream/stream.h"

enum { QUEUE = 64 << 20, MAX_CONNS = 400 };

// --- the server

struct server_conn {
  struct server *server;
  struct stream *stream;
  struct buf in;
  str drip;      // still to be sent, a byte a turn
  int requests;  // answered on this connection
};

struct server {
  struct loop *loop;
  uv_tcp_t listener;
  uint16_t port;
  struct server_conn conns[MAX_CONNS];  // in order of acceptance, never reused
  int accepted, open, most_open, requests;
  struct buf seen;  // every byte that came
  void (*answer)(struct server_conn *c, str request);
  const char *text;  // for some of the answers
};

static void server_close(struct server_conn *c) {
  if (c->stream) c->server->open--;
  stream_close(&c->stream);
}

static void reply(struct server_conn *c, str text) {
  c->requests++;
  if (c->stream) assert_true(stream_write(c->stream, &text, 1));
}

// Length of the request at the front of s, 0 when it is not complete.
static size_t request_length(str s) {
  const char *end = memmem(s.p, s.n, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head = (size_t)(end - s.p) + 4;
  const char *length = memmem(s.p, head, "Content-Length: ", 16);
  size_t n = head + (length ? strtoul(length + 16, NULL, 10) : 0);
  return n <= s.n ? n : 0;
}

static void server_on_data(void *ctx, str bytes) {
  struct server_conn *c = ctx;
  buf_str(&c->in, bytes);
  buf_str(&c->server->seen, bytes);
  size_t n;
  while (c->stream && (n = request_length(buf_view(&c->in))) > 0) {
    char *copy = strndup(c->in.p, n);
    c->server->requests++;
    buf_drop(&c->in, n);
    c->server->answer(c, (str){copy, n});
    free(copy);
  }
}

static void server_on_end(void *ctx, const struct fault *f) {
  server_close(ctx);
}

static const struct stream_events server_events = {.on_data = server_on_data, .on_end = server_on_end};

static void server_on_connection(uv_stream_t *listener, int status) {
  struct server *s = listener->data;
  assert_true(s->accepted < MAX_CONNS);
  struct server_conn *c = &s->conns[s->accepted++];
  if (++s->open > s->most_open) s->most_open = s->open;
  c->server = s;
  buf_init(&c->in, QUEUE);
  c->stream = stream_accept(s->loop, listener, QUEUE);
  stream_start(c->stream, &server_events, c);
}

static void server_start(struct server *s, struct loop *l) {
  *s = (struct server){.loop = l};
  buf_init(&s->seen, QUEUE);
  struct sockaddr_in a;
  int n = sizeof a;
  uv_ip4_addr("127.0.0.1", 0, &a);
  uv_tcp_init(&l->uv, &s->listener);
  s->listener.data = s;
  assert_int_equal(uv_tcp_bind(&s->listener, (struct sockaddr *)&a, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 511, server_on_connection), 0);
  uv_tcp_getsockname(&s->listener, (struct sockaddr *)&a, &n);
  s->port = ntohs(a.sin_port);
}

static void server_stop(struct server *s) {
  for (int i = 0; i < s->accepted; i++) {
    server_close(&s->conns[i]);
    buf_done(&s->conns[i].in);
  }
  buf_done(&s->seen);
  uv_close((uv_handle_t *)&s->listener, NULL);
}

static void drip(struct server *s) {
  for (int i = 0; i < s->accepted; i++) {
    struct server_conn *c = &s->conns[i];
    if (!c->drip.n || !c->stream) continue;
    str one = {c->drip.p, 1};
    c->drip = str_from(c->drip, 1);
    stream_write(c->stream, &one, 1);
  }
}

// --- a fetch that writes down what it is told

struct probe;
struct fixture {
  struct loop loop;
  struct server server;
  struct http_origin *origin;
  int done;  // fetches that ended
  char trail[1024];
};

struct probe {
  struct http_fetch fetch;
  struct fixture *x;
  char name;
  int heads, dones, status;
  struct buf body;
  struct fault fault;
  bool failed;
  char type[64];
  // what to do in which callback
  bool cancel_in_head, cancel_in_body, free_in_head, free_in_body, free_in_done, pause_in_body;
  struct probe *start_in_body, *start_in_done;
  int rounds;  // start anew when done, so many times
  str start_head;
};

static void act(struct probe *p, bool cancel, bool free_origin) {
  if (cancel) http_fetch_cancel(&p->fetch);
  if (free_origin) http_origin_free(&p->x->origin);
}

static void probe_again(struct probe *p) {
  buf_reset(&p->body);
  p->heads = p->dones = 0;
}

static void go(struct probe *p);

static void on_head(struct http_fetch *f, const struct http_head *h) {
  struct probe *p = CONTAINER_OF(f, struct probe, fetch);
  p->heads++;
  p->status = h->status;
  snprintf(p->type, sizeof p->type, "%.*s", STR_ARG(http_value(h, STR("content-type"))));
  act(p, p->cancel_in_head, p->free_in_head);
}

static void on_body(struct http_fetch *f, str bytes) {
  struct probe *p = CONTAINER_OF(f, struct probe, fetch);
  assert_int_equal(p->heads, 1);
  assert_int_equal(p->dones, 0);
  assert_true(bytes.n > 0);
  buf_str(&p->body, bytes);
  if (p->pause_in_body) http_fetch_pause(f);
  struct probe *next = p->start_in_body;
  p->start_in_body = NULL;
  if (next) go(next);
  act(p, p->cancel_in_body, p->free_in_body);
}

static void on_done(struct http_fetch *f, const struct fault *fault) {
  struct probe *p = CONTAINER_OF(f, struct probe, fetch);
  assert_false(http_fetch_active(f));
  p->dones++;
  p->x->done++;
  p->failed = fault;
  if (fault) p->fault = *fault;
  size_t n = strlen(p->x->trail);
  if (n + 1 < sizeof p->x->trail) p->x->trail[n] = p->name;
  if (p->start_in_done) go(p->start_in_done);
  if (p->rounds-- > 0) {
    probe_again(p);
    go(p);
  }
  act(p, false, p->free_in_done);
}

static void probe_init(struct probe *p, struct fixture *x) {
  *p = (struct probe){.x = x,
                      .fetch = {.on_head = on_head, .on_body = on_body, .on_done = on_done, .replayable = true},
                      .start_head = STR("GET /x HTTP/1.1\r\nHost: h\r\n"),
                      .name = '.'};
  buf_init(&p->body, QUEUE);
}

static void probe_done(struct probe *p) {
  buf_done(&p->body);
}

static void go(struct probe *p) {
  http_fetch_start(p->x->origin, &p->fetch, p->start_head, STR_NONE);
}

static void setup_with(struct fixture *x, const struct http_origin_options *opt) {
  memset(x, 0, sizeof *x);
  loop_init(&x->loop, NULL, &clock_system, &rand_system);
  server_start(&x->server, &x->loop);
  struct http_url url = {.host = STR("127.0.0.1"), .port = x->server.port};
  x->origin = http_origin_new(&x->loop, &url, NULL, opt);
}

static struct fixture *setup(void (*answer)(struct server_conn *, str), const char *text) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, NULL);
  x->server.answer = answer;
  x->server.text = text;
  return x;
}

static void teardown(struct fixture *x) {
  http_origin_free(&x->origin);
  server_stop(&x->server);
  loop_run(&x->loop);
  loop_done(&x->loop);
  mem_free(x);
}

static void turn(struct fixture *x) {
  drip(&x->server);
  uv_run(&x->loop.uv, UV_RUN_NOWAIT);
}

static void wait_until(struct fixture *x, const int *counter, int value) {
  for (int i = 0; i < 50000 && *counter < value; i++) {
    turn(x);
    if (i > 5000) usleep(100);
  }
  assert_true(*counter >= value);
}

static void some_turns(struct fixture *x) {
  for (int i = 0; i < 30; i++) {
    turn(x);
    usleep(500);
  }
}

static void run(struct probe *p) {
  probe_again(p);
  go(p);
  wait_until(p->x, &p->dones, 1);
}

static void assert_body(const struct probe *p, const char *want) {
  assert_true(str_eq(buf_view(&p->body), str_of(want)));
}

// --- ways to answer

static void answer_text(struct server_conn *c, str request) {
  reply(c, str_of(c->server->text));
}
static void answer_text_and_close(struct server_conn *c, str request) {
  reply(c, str_of(c->server->text));
  server_close(c);
}
static void answer_by_bytes(struct server_conn *c, str request) {
  c->drip = str_of(c->server->text);
}
static void answer_nothing(struct server_conn *c, str request) {
}
static void answer_with_close(struct server_conn *c, str request) {
  server_close(c);
}
static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

// --- tests: requests

static void a_request_is_sent_with_its_length_and_the_response_handed_on(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  http_fetch_start(x->origin, &p.fetch, STR("POST /mcp HTTP/1.1\r\nHost: h\r\n"), STR("{\"a\":1}"));
  assert_true(http_fetch_active(&p.fetch));
  wait_until(x, &p.dones, 1);
  assert_false(p.failed);
  assert_int_equal(p.heads, 1);
  assert_int_equal(p.status, 200);
  assert_string_equal(p.type, "application/json");
  assert_body(&p, "{}");
  assert_true(
      str_eq(buf_view(&x->server.seen), STR("POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n{\"a\":1}")));
  buf_reset(&x->server.seen);
  run(&p);  // without a body
  assert_true(str_eq(buf_view(&x->server.seen), STR("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")));
  buf_reset(&x->server.seen);
  probe_again(&p);
  http_fetch_start(x->origin, &p.fetch, STR("POST / HTTP/1.1\r\nHost: h\r\n"), STR(""));  // with an empty one
  wait_until(x, &p.dones, 1);
  assert_true(str_eq(buf_view(&x->server.seen), STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")));
  assert_int_equal(x->server.accepted, 1);
  probe_done(&p);
  teardown(x);
}

static void a_large_request_and_a_large_response_arrive_whole(void **state) {
  enum { SIZE = 3 << 20 };
  char *text = mem_alloc(SIZE + 100);
  int head = snprintf(text, 100, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
  for (int i = 0; i < SIZE; i++) text[head + i] = (char)('a' + i * 7 % 26);
  text[head + SIZE] = 0;
  struct fixture *x = setup(answer_text, text);
  struct probe p;
  probe_init(&p, x);
  for (int i = 0; i < 2; i++) {
    probe_again(&p);
    http_fetch_start(x->origin, &p.fetch, STR("POST / HTTP/1.1\r\nHost: h\r\n"), (str){text + head, SIZE});
    wait_until(x, &p.dones, 1);
    assert_body(&p, text + head);
  }
  assert_true(str_ends(buf_view(&x->server.seen), (str){text + head, SIZE}));
  assert_int_equal(x->server.accepted, 1);
  mem_free(text);
  probe_done(&p);
  teardown(x);
}

// --- tests: framing of responses

struct sample {
  const char *response, *body;
  bool kept;  // the connection is used again
};

static void every_framing_is_understood_whole_and_byte_by_byte(void **state) {
  static const struct sample samples[] = {
      {ok, "{}", true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
      {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "", false},
      {"HTTP/1.1 204 No Content\r\n\r\n", "", true},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", "", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n",
       "hello world", true},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
       "yes", true},
      {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold", "old", false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nold", "old", true},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    for (int bytewise = 0; bytewise < 2; bytewise++) {
      struct fixture *x = setup(bytewise ? answer_by_bytes : answer_text, samples[i].response);
      struct probe p;
      probe_init(&p, x);
      run(&p);
      assert_false(p.failed);
      assert_body(&p, samples[i].body);
      run(&p);
      assert_false(p.failed);
      assert_body(&p, samples[i].body);
      assert_int_equal(x->server.accepted, samples[i].kept ? 1 : 2);
      probe_done(&p);
      teardown(x);
    }
  }
}

static void the_answer_to_a_head_request_has_no_body(void **state) {
  struct fixture *x = setup(answer_text, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
  struct probe p;
  probe_init(&p, x);
  p.start_head = STR("HEAD / HTTP/1.1\r\nHost: h\r\n");
  run(&p);
  assert_false(p.failed);
  run(&p);
  assert_false(p.failed);
  assert_int_equal(x->server.accepted, 1);
  probe_done(&p);
  teardown(x);
}

static void a_response_without_length_goes_on_until_the_end(void **state) {
  struct fixture *x = setup(answer_text_and_close, "HTTP/1.1 200 OK\r\n\r\nall there is");
  struct probe p;
  probe_init(&p, x);
  run(&p);
  assert_false(p.failed);
  assert_body(&p, "all there is");
  probe_done(&p);
  teardown(x);
}

static void events_are_handed_on_as_they_arrive(void **state) {
  struct fixture *x = setup(answer_text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
  struct probe p;
  probe_init(&p, x);
  go(&p);
  for (int i = 0; i < 1000 && p.body.n < 9; i++) turn(x);
  assert_body(&p, "data: 1\n\n");
  assert_int_equal(p.dones, 0);
  reply(&x->server.conns[0], STR("9\r\ndata: 2\n\n\r\n"));
  for (int i = 0; i < 1000 && p.body.n < 18; i++) turn(x);
  assert_body(&p, "data: 1\n\ndata: 2\n\n");
  reply(&x->server.conns[0], STR("0\r\n\r\n"));
  wait_until(x, &p.dones, 1);
  assert_false(p.failed);
  probe_done(&p);
  teardown(x);
}

static void fails(struct fixture *x, enum fault_code code, const char *text) {
  struct probe p;
  probe_init(&p, x);
  run(&p);
  assert_true(p.failed);
  assert_int_equal(p.fault.code, code);
  assert_non_null(strstr(p.fault.message, text));
  assert_int_equal(x->origin ? p.dones : 1, 1);
  probe_done(&p);
  teardown(x);
}

static void a_response_that_breaks_off_is_a_fault(void **state) {
  fails(setup(answer_text_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), FAULT_UPSTREAM_UNAVAILABLE,
        "closed in the middle of a response");
  fails(setup(answer_text_and_close, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        FAULT_UPSTREAM_UNAVAILABLE, "closed in the middle of a response");
  fails(setup(answer_text_and_close, "HTTP/1.1 200 OK\r\nConte"), FAULT_UPSTREAM_UNAVAILABLE,
        "closed in the middle of a response");
  fails(setup(answer_with_close, NULL), FAULT_UPSTREAM_UNAVAILABLE, "closed without a response");
}

static void a_response_that_is_not_http_is_a_fault(void **state) {
  fails(setup(answer_text, "SSH-2.0-OpenSSH_9.2\r\n"), FAULT_PROTOCOL, "");
  fails(setup(answer_text, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), FAULT_PROTOCOL, "");
  fails(setup(answer_text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), FAULT_PROTOCOL,
        "malformed chunk");
  fails(setup(answer_text, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), FAULT_PROTOCOL,
        "switching protocols");
}

static void a_response_over_the_limit_is_a_fault(void **state) {
  static const char *const samples[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\n01234567890",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n5\r\n67890\r\n0\r\n\r\n",
  };
  for (size_t i = 0; i < 3; i++) {
    struct fixture *x = MEM_NEW(struct fixture);
    setup_with(x, &(struct http_origin_options){.limits = {.max_head = 1000, .max_body = 10}});
    x->server.answer = answer_text;
    x->server.text = samples[i];
    fails(x, FAULT_LIMIT, "larger than the limit");
  }
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.limits = {.max_head = 100, .max_body = 10}});
  x->server.answer = answer_text;
  x->server.text = "HTTP/1.1 200 OK\r\nX: 0123456789012345678901234567890123456789012345678901234567890123456789"
                   "0123456789012345678901234567890123456789\r\n\r\n";
  fails(x, FAULT_PROTOCOL, "head is too large");
}

static void a_server_that_is_not_there_is_a_fault(void **state) {
  struct fixture *x = setup(answer_nothing, NULL);
  http_origin_free(&x->origin);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
  getsockname(fd, (struct sockaddr *)&a, &n);
  struct http_url url = {.host = STR("127.0.0.1"), .port = ntohs(a.sin_port)};
  x->origin = http_origin_new(&x->loop, &url, NULL, NULL);
  fails(x, FAULT_UPSTREAM_UNAVAILABLE, "connection refused");
  close(fd);
}

// A listener whose backlog is full takes no further connection, and says nothing.
static void connecting_takes_only_so_long(void **state) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  int listener = socket(AF_INET, SOCK_STREAM, 0), filler[4];
  assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(listener, 0), 0);
  getsockname(listener, (struct sockaddr *)&a, &n);
  for (int i = 0; i < 4; i++) {
    filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)!connect(filler[i], (struct sockaddr *)&a, sizeof a);
  }
  struct fixture *x = setup(answer_nothing, NULL);
  http_origin_free(&x->origin);
  struct http_url url = {.host = STR("127.0.0.1"), .port = ntohs(a.sin_port)};
  x->origin = http_origin_new(&x->loop, &url, NULL, &(struct http_origin_options){.connect_ms = 50});
  fails(x, FAULT_UPSTREAM_UNAVAILABLE, "no answer in 50 ms");
  for (int i = 0; i < 4; i++) close(filler[i]);
  close(listener);
}

// --- tests: the pool

static void many_fetches_share_a_few_connections_in_order(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 4});
  x->server.answer = answer_text;
  x->server.text = ok;
  struct probe *p = mem_zero(300 * sizeof *p);
  for (int i = 0; i < 300; i++) {
    probe_init(&p[i], x);
    p[i].name = (char)('A' + i % 60);
    go(&p[i]);
  }
  wait_until(x, &x->done, 300);
  for (int i = 0; i < 300; i++) {
    assert_false(p[i].failed);
    assert_int_equal(p[i].dones, 1);
    assert_body(&p[i], "{}");
    probe_done(&p[i]);
  }
  assert_int_equal(x->server.accepted, 4);
  assert_int_equal(x->server.requests, 300);
  // First come, first served: none ends more than a few places from where it was started.
  for (int i = 0; i < 300; i++) {
    bool near = false;
    for (int d = -4; d <= 4; d++) near |= i + d >= 0 && i + d < 300 && x->trail[i + d] == p[i].name;
    assert_true(near);
  }
  mem_free(p);
  teardown(x);
}

static void a_single_connection_serves_strictly_in_turn(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 1});
  x->server.answer = answer_by_bytes;
  x->server.text = ok;
  struct probe p[5];
  for (int i = 0; i < 5; i++) {
    probe_init(&p[i], x);
    p[i].name = (char)('a' + i);
    go(&p[i]);
  }
  wait_until(x, &x->done, 5);
  assert_string_equal(x->trail, "abcde");
  for (int i = 0; i < 5; i++) probe_done(&p[i]);
  teardown(x);
}

static void the_connection_used_last_is_used_next(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p[3];
  for (int i = 0; i < 3; i++) probe_init(&p[i], x);
  for (int i = 0; i < 3; i++) go(&p[i]);
  wait_until(x, &x->done, 3);
  assert_int_equal(x->server.accepted, 3);
  for (int i = 0; i < 10; i++) run(&p[0]);
  int most = 0;
  for (int i = 0; i < 3; i++)
    if (x->server.conns[i].requests > most) most = x->server.conns[i].requests;
  assert_int_equal(most, 11);
  for (int i = 0; i < 3; i++) probe_done(&p[i]);
  teardown(x);
}

static void a_connection_closed_while_idle_is_forgotten(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  p.fetch.replayable = false;
  run(&p);
  server_close(&x->server.conns[0]);
  some_turns(x);
  run(&p);
  assert_false(p.failed);
  assert_int_equal(x->server.accepted, 2);
  // Bytes that nobody asked for: what follows on that connection cannot be trusted.
  reply(&x->server.conns[1], str_of(ok));
  some_turns(x);
  run(&p);
  assert_false(p.failed);
  assert_int_equal(x->server.accepted, 3);
  http_origin_distrust(x->origin);  // an answer was wrong
  run(&p);
  assert_int_equal(x->server.accepted, 4);
  probe_done(&p);
  teardown(x);
}

static void a_connection_with_bytes_behind_the_response_is_not_kept(void **state) {
  struct fixture *x = setup(answer_text, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n");
  struct probe p;
  probe_init(&p, x);
  run(&p);
  assert_false(p.failed);
  run(&p);
  assert_false(p.failed);
  assert_int_equal(x->server.accepted, 2);
  probe_done(&p);
  teardown(x);
}

static void an_idle_connection_is_closed_after_a_while(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.idle_ms = 30});
  x->server.answer = answer_text;
  x->server.text = ok;
  struct probe p;
  probe_init(&p, x);
  run(&p);
  assert_int_equal(x->server.open, 1);
  for (int i = 0; i < 1000 && x->server.open; i++) {
    turn(x);
    usleep(1000);
  }
  assert_int_equal(x->server.open, 0);
  assert_int_equal(x->loop.timers, 0);
  probe_done(&p);
  teardown(x);
}

// Answers the first request of a connection, then closes it upon the second.
static void answer_once(struct server_conn *c, str request) {
  if (c->requests) server_close(c);
  else answer_text(c, request);
}

static void a_replayable_fetch_is_sent_again_when_the_kept_connection_broke(void **state) {
  struct fixture *x = setup(answer_once, ok);
  struct probe p;
  probe_init(&p, x);
  run(&p);
  buf_reset(&x->server.seen);
  probe_again(&p);
  http_fetch_start(x->origin, &p.fetch, STR("POST /r HTTP/1.1\r\nHost: h\r\n"), STR("body"));
  wait_until(x, &p.dones, 1);
  assert_false(p.failed);
  assert_body(&p, "{}");
  assert_int_equal(x->server.accepted, 2);
  const char request[] = "POST /r HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody";
  char twice[200];
  snprintf(twice, sizeof twice, "%s%s", request, request);
  assert_true(str_eq(buf_view(&x->server.seen), str_of(twice)));
  probe_done(&p);
  teardown(x);
}

static void a_fetch_that_must_not_be_repeated_fails_instead(void **state) {
  struct fixture *x = setup(answer_once, ok);
  struct probe p;
  probe_init(&p, x);
  p.fetch.replayable = false;
  run(&p);
  run(&p);
  assert_true(p.failed);
  assert_int_equal(p.fault.code, FAULT_UPSTREAM_UNAVAILABLE);
  assert_int_equal(x->server.requests, 2);
  probe_done(&p);
  teardown(x);
}

static void a_fetch_is_replayed_once_only(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  run(&p);
  x->server.answer = answer_with_close;
  x->server.requests = 0;
  run(&p);
  assert_true(p.failed);
  assert_int_equal(x->server.requests, 2);
  probe_done(&p);
  teardown(x);
}

static void a_replayed_fetch_keeps_its_turn(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 1});
  x->server.answer = answer_text;
  x->server.text = ok;
  struct probe p[3];
  for (int i = 0; i < 3; i++) {
    probe_init(&p[i], x);
    p[i].name = (char)('a' + i);
  }
  run(&p[0]);
  x->server.answer = answer_once;
  memset(x->trail, 0, sizeof x->trail);
  probe_again(&p[0]);
  for (int i = 0; i < 3; i++) go(&p[i]);  // one is on its way, two wait
  wait_until(x, &x->done, 4);
  assert_string_equal(x->trail, "abc");
  for (int i = 0; i < 3; i++) probe_done(&p[i]);
  teardown(x);
}

// The second request on the second connection breaks that, and frees the first one just then.
static void answer_first_when_second_breaks(struct server_conn *c, str request) {
  if (c == &c->server->conns[0] && c->server->requests == 1) return;
  if (c == &c->server->conns[1] && !c->requests) {
    reply(c, str_of(ok));
    return;
  }
  server_close(c);
  if (c == &c->server->conns[1]) reply(&c->server->conns[0], str_of(ok));
}

static void a_fetch_replayed_on_another_kept_connection_is_not_replayed_again(void **state) {
  struct fixture *x = setup(answer_first_when_second_breaks, NULL);
  struct probe p, q;
  probe_init(&p, x);
  probe_init(&q, x);
  go(&p);
  wait_until(x, &x->server.requests, 1);
  run(&q);
  run(&q);
  assert_int_equal(p.dones, 1);
  assert_false(p.failed);
  assert_true(q.failed);
  assert_int_equal(x->server.requests, 4);
  probe_done(&p);
  probe_done(&q);
  teardown(x);
}

static void an_answer_given_before_the_request_was_read_is_received(void **state) {
  struct fixture *x = setup(answer_nothing, NULL);
  struct probe p;
  probe_init(&p, x);
  enum { SIZE = 20 << 20 };
  char *body = mem_zero(SIZE);
  http_fetch_start(x->origin, &p.fetch, STR("POST / HTTP/1.1\r\nHost: h\r\n"), (str){body, SIZE});
  while (!x->server.accepted || !x->server.conns[0].in.n) turn(x);
  stream_pause(x->server.conns[0].stream);
  reply(&x->server.conns[0], STR("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"));
  wait_until(x, &p.dones, 1);
  assert_false(p.failed);
  assert_int_equal(p.status, 413);
  some_turns(x);
  stream_resume(x->server.conns[0].stream);
  for (int i = 0; i < 5000 && x->server.open; i++) {
    turn(x);
    usleep(1000);
  }
  assert_int_equal(x->server.open, 0);  // half a request is on it: not to be used again
  mem_free(body);
  probe_done(&p);
  teardown(x);
}

// --- tests: cancelling, pausing, and what callbacks may do

static void a_fetch_can_be_cancelled_while_it_waits(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 1});
  x->server.answer = answer_by_bytes;
  x->server.text = ok;
  struct probe p[3];
  for (int i = 0; i < 3; i++) {
    probe_init(&p[i], x);
    go(&p[i]);
  }
  http_fetch_cancel(&p[1].fetch);
  assert_false(http_fetch_active(&p[1].fetch));
  http_fetch_cancel(&p[1].fetch);
  wait_until(x, &x->done, 2);
  assert_int_equal(p[0].dones + p[2].dones, 2);
  assert_int_equal(p[1].dones + p[1].heads, 0);
  assert_int_equal(x->server.requests, 2);
  for (int i = 0; i < 3; i++) probe_done(&p[i]);
  teardown(x);
}

static void a_fetch_can_be_cancelled_before_it_is_connected(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  go(&p);
  http_fetch_cancel(&p.fetch);
  some_turns(x);
  assert_int_equal(x->server.requests, 0);
  run(&p);  // takes the connection that was opened for nobody
  assert_int_equal(x->server.accepted, 1);
  probe_done(&p);
  teardown(x);
}

static void a_fetch_cancelled_in_its_body_takes_its_connection_along(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 1});
  x->server.answer = answer_text;
  x->server.text = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe first half";
  struct probe p, q;
  probe_init(&p, x);
  probe_init(&q, x);
  go(&p);
  go(&q);
  while (!p.body.n) turn(x);
  http_fetch_cancel(&p.fetch);
  x->server.text = ok;
  wait_until(x, &q.dones, 1);
  assert_false(q.failed);
  assert_int_equal(p.dones, 0);
  assert_int_equal(x->server.accepted, 2);
  assert_int_equal(x->server.most_open, 1);
  probe_done(&p);
  probe_done(&q);
  teardown(x);
}

static void callbacks_may_cancel_their_fetch_or_free_the_origin(void **state) {
  static const char *const samples[] = {
      ok,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nuntil the end",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
  };
  for (int i = 0; i < 4 * 5 * 2; i++) {
    struct fixture *x = setup(i % 2 ? answer_by_bytes : answer_text, samples[i / 10]);
    struct probe p, q;
    probe_init(&p, x);
    probe_init(&q, x);
    int what = i / 2 % 5;
    p.cancel_in_head = what == 0;
    p.cancel_in_body = what == 1;
    p.free_in_head = what == 2;
    p.free_in_body = what == 3;
    p.free_in_done = what == 4;
    go(&p);
    some_turns(x);
    for (int t = 0; t < 300; t++) turn(x);
    assert_int_equal(p.heads, 1);
    bool ended = what == 4 && i / 10 != 2;
    assert_int_equal(p.dones, ended ? 1 : 0);
    assert_true(!x->origin == (what == 2 || what == 3 || ended));
    if (what < 2) assert_false(http_fetch_active(&p.fetch));
    probe_done(&p);
    probe_done(&q);
    teardown(x);
  }
}

static void callbacks_may_start_further_fetches(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p[3];
  for (int i = 0; i < 3; i++) {
    probe_init(&p[i], x);
    p[i].name = (char)('a' + i);
  }
  p[0].start_in_body = &p[1];
  p[0].start_in_done = &p[2];
  go(&p[0]);
  wait_until(x, &x->done, 3);
  assert_int_equal(strlen(x->trail), 3);
  assert_int_equal(x->trail[0], 'a');
  for (int i = 0; i < 3; i++) assert_false(p[i].failed);
  // The one started at the end found the connection free.
  assert_int_equal(x->server.accepted, 2);
  for (int i = 0; i < 3; i++) probe_done(&p[i]);
  teardown(x);
}

static void a_fetch_may_be_started_again_when_it_is_done(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  p.rounds = 5;
  go(&p);
  wait_until(x, &x->done, 6);
  assert_false(p.failed);
  assert_body(&p, "{}");
  assert_int_equal(x->server.accepted, 1);
  probe_done(&p);
  teardown(x);
}

static void freeing_the_origin_ends_all_fetches_without_a_word(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  setup_with(x, &(struct http_origin_options){.max_connections = 2});
  x->server.answer = answer_nothing;
  struct probe p[5];
  for (int i = 0; i < 5; i++) {
    probe_init(&p[i], x);
    go(&p[i]);
  }
  wait_until(x, &x->server.requests, 2);
  http_origin_free(&x->origin);
  some_turns(x);
  for (int i = 0; i < 5; i++) {
    assert_false(http_fetch_active(&p[i].fetch));
    assert_int_equal(p[i].dones, 0);
    probe_done(&p[i]);
  }
  assert_int_equal(x->server.open, 0);
  teardown(x);
}

static void a_paused_response_waits_in_the_network(void **state) {
  enum { SIZE = 16 << 20 };
  char *text = mem_alloc(SIZE + 100);
  int head = snprintf(text, 100, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SIZE);
  memset(text + head, 'x', SIZE);
  text[head + SIZE] = 0;
  struct fixture *x = setup(answer_text, text);
  struct probe p;
  probe_init(&p, x);
  p.pause_in_body = true;
  go(&p);
  while (!p.body.n) turn(x);
  some_turns(x);
  size_t held = p.body.n;
  assert_true(held <= LOOP_READ_SIZE);
  assert_true(stream_queued(x->server.conns[0].stream) > 0);  // the server feels it
  http_fetch_resume(&p.fetch);
  some_turns(x);
  assert_true(p.body.n > held);
  p.pause_in_body = false;
  http_fetch_resume(&p.fetch);
  wait_until(x, &p.dones, 1);
  assert_int_equal(p.body.n, SIZE);
  mem_free(text);
  probe_done(&p);
  teardown(x);
}

static void a_connection_paused_to_the_end_is_still_watched_when_idle(void **state) {
  struct fixture *x = setup(answer_text, ok);
  struct probe p;
  probe_init(&p, x);
  p.pause_in_body = true;  // which is all of it
  run(&p);
  server_close(&x->server.conns[0]);
  some_turns(x);
  p.pause_in_body = false;
  run(&p);
  assert_false(p.failed);
  assert_int_equal(x->server.accepted, 2);
  probe_done(&p);
  teardown(x);
}

static int ignore_sigpipe(void **state) {
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_is_sent_with_its_length_and_the_response_handed_on),
      cmocka_unit_test(a_large_request_and_a_large_response_arrive_whole),
      cmocka_unit_test(every_framing_is_understood_whole_and_byte_by_byte),
      cmocka_unit_test(the_answer_to_a_head_request_has_no_body),
      cmocka_unit_test(a_response_without_length_goes_on_until_the_end),
      cmocka_unit_test(events_are_handed_on_as_they_arrive),
      cmocka_unit_test(a_response_that_breaks_off_is_a_fault),
      cmocka_unit_test(a_response_that_is_not_http_is_a_fault),
      cmocka_unit_test(a_response_over_the_limit_is_a_fault),
      cmocka_unit_test(a_server_that_is_not_there_is_a_fault),
      cmocka_unit_test(connecting_takes_only_so_long),
      cmocka_unit_test(many_fetches_share_a_few_connections_in_order),
      cmocka_unit_test(a_single_connection_serves_strictly_in_turn),
      cmocka_unit_test(the_connection_used_last_is_used_next),
      cmocka_unit_test(a_connection_closed_while_idle_is_forgotten),
      cmocka_unit_test(a_connection_with_bytes_behind_the_response_is_not_kept),
      cmocka_unit_test(an_idle_connection_is_closed_after_a_while),
      cmocka_unit_test(a_replayable_fetch_is_sent_again_when_the_kept_connection_broke),
      cmocka_unit_test(a_fetch_that_must_not_be_repeated_fails_instead),
      cmocka_unit_test(a_fetch_is_replayed_once_only),
      cmocka_unit_test(a_replayed_fetch_keeps_its_turn),
      cmocka_unit_test(a_fetch_replayed_on_another_kept_connection_is_not_replayed_again),
      cmocka_unit_test(an_answer_given_before_the_request_was_read_is_received),
      cmocka_unit_test(a_fetch_can_be_cancelled_while_it_waits),
      cmocka_unit_test(a_fetch_can_be_cancelled_before_it_is_connected),
      cmocka_unit_test(a_fetch_cancelled_in_its_body_takes_its_connection_along),
      cmocka_unit_test(callbacks_may_cancel_their_fetch_or_free_the_origin),
      cmocka_unit_test(callbacks_may_start_further_fetches),
      cmocka_unit_test(a_fetch_may_be_started_again_when_it_is_done),
      cmocka_unit_test(freeing_the_origin_ends_all_fetches_without_a_word),
      cmocka_unit_test(a_paused_response_waits_in_the_network),
      cmocka_unit_test(a_connection_paused_to_the_end_is_still_watched_when_idle),
  };
  return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
