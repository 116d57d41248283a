// SPDX-License-Identifier: Apache-2.0
#include "io/http/http_server.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/http/http_conn.h"
#include "io/http/listener.h"

// ---- opening and closing connections

// Stops counting the memory of a request, because the handler now gets the request or because the request is dropped.
// The handler itself counts the bytes that it copies.
static void stop_counting(struct conn *c) {
  if (!c->account) return;
  intake_set(c->server->opt.intake, c->account, &c->held, 0);
  intake_leave(c->server->opt.intake, &c->account);
}

static void conn_free(struct conn *c) {
  struct http_server *s = c->server;
  ASSERT_MAGIC(c, CONN_MAGIC);
  ASSERT(!c->stream && !c->working && s->count > 0);
  stop_counting(c);
  timer_stop(&c->timer);
  deferred_cancel(&c->resume);
  list_remove(&c->node);
  peers_leave(&s->peers, &c->peer);
  s->count--;
  buf_done(&c->in);
  buf_done(&c->body);
  c->magic = 0;
  mem_free(c);
  // The callback s->drained may free the server. So the timer calls `drained` later from the loop, when no function
  // uses the connection any more.
  if (s->draining && s->count == 0) timer_start(s->loop, &s->drain_timer, 0);
}

void conn_close(struct conn *c) {
  stream_close(&c->stream);
  timer_stop(&c->timer);
  if (!c->working) conn_free(c);
}

static void conn_abort(struct conn *c) {
  if (conn_answering(c) && c->x.on_abort) {
    bool outer = c->working;
    c->working = true;
    c->x.on_abort(&c->x);
    c->working = outer;
  }
  conn_close(c);
}

void conn_linger(struct conn *c) {
  uint64_t ms = stream_queued(c->stream) ? c->server->opt.write_ms : LINGER_MS;
  c->state = CONN_LINGER;
  if (!c->working) buf_done(&c->in);  // if c->working, the handler may still read its request
  stream_finish(c->stream);
  timer_start(c->server->loop, &c->timer, ms);
}

static void on_timer(struct timer *t) {
  struct conn *c = CONTAINER_OF(t, struct conn, timer);
  ASSERT_MAGIC(c, CONN_MAGIC);
  conn_abort(c);
}

// Sets the time limit for an idle connection. While the client is still reading the last response, uses the time limit
// write_ms.
static void set_idle_timer(struct conn *c) {
  const struct http_server *s = c->server;
  uint64_t ms = s->draining ? DRAIN_IDLE_MS : c->used ? s->opt.idle_ms : s->opt.head_ms;
  timer_start(s->loop, &c->timer, stream_queued(c->stream) ? s->opt.write_ms : ms);
}

void conn_wait_for_request(struct conn *c) {
  c->state = CONN_IDLE;
  c->seen = 0;
  buf_trim(&c->in, KEEP_BUFFER);
  if (c->known) {
    list_remove(&c->node);
    list_push(&c->server->conns[true], &c->node);
  }
  set_idle_timer(c);
}

// ---- requests

static void refuse(struct conn *c, int status, str headers, const char *text) {
  c->keep_alive = c->head_only = false;
  c->state = CONN_ANSWER;
  c->x = (struct http_exchange){0};
  char body[256];
  int n = snprintf(body, sizeof body, "%s\n", text);
  http_reply(&c->x, status, headers, STR("text/plain; charset=utf-8"), (str){body, (size_t)n});
}

static void hand_over(struct conn *c, const struct http_head *head, str body) {
  ASSERT(c->working && !conn_answering(c));
  timer_stop(&c->timer);
  c->state = CONN_ANSWER;
  c->used = true;
  c->keep_alive = head->keep_alive;
  c->http10 = head->minor == 0;
  c->head_only = str_eq(head->method, STR("HEAD"));
  c->x = (struct http_exchange){.head = head, .body = body};
  stop_counting(c);  // from here on, the handler counts the memory of the message; it must not count twice
  loop_name(c->server->loop, LOOP_REQUEST);
  c->server->on_request(c->server->ctx, &c->x);
  if (c->stream) c->x.head = NULL, c->x.body = STR_NONE;
  buf_reset(&c->body);
  buf_trim(&c->body, KEEP_BUFFER);
}

// Reads the available part of the body. Returns true if the body is complete, and sets *out_body and *out_rest. For a
// malformed or too large body, sets *out_refusal to the status.
static bool take_body(struct conn *c, const struct http_head *head, str after_head, str *out_body, str *out_rest,
                      int *out_refusal) {
  if (!head->chunked) {
    size_t need = head->has_length ? head->content_length : 0;
    if (after_head.n < need) return false;
    *out_body = (str){after_head.p, need};
    *out_rest = str_from(after_head, need);
    return true;
  }
  // Decodes each byte once and drops it: decoding the body from its start for each packet would take quadratic time.
  for (str in = after_head, piece;;) {
    switch (http_chunk_next(&c->chunked, &in, &piece)) {
    case HTTP_CHUNK_DATA: buf_str(&c->body, piece); break;
    case HTTP_CHUNK_MORE: return false;
    case HTTP_CHUNK_BAD: *out_refusal = 400; return false;
    case HTTP_CHUNK_DONE:
      *out_body = buf_view(&c->body);
      *out_rest = in;
      return true;
    }
    if (!c->body.over) continue;
    *out_refusal = 413;
    return false;
  }
}

// Returns whether there are too many connections in total or from this client's address.
static bool crowded(const struct conn *c) {
  const struct http_server_options *opt = &c->server->opt;
  return c->server->count > opt->max_connections || (opt->max_per_address && c->peer->count > opt->max_per_address);
}

// Returns whether the client may send the body. If not, passes the request without a body to the handler, and ends the
// connection after the response. `none_yet` is true if no byte of the body has arrived.
static bool admit_body(struct conn *c, struct http_head *head, bool none_yet) {
  const struct http_server_options *opt = &c->server->opt;
  str principal = STR_NONE;
  c->admitted = !opt->admit || opt->admit(c->server->ctx, head, &principal);
  if (c->admitted && principal.n) http_exchange_trust(&c->x);
  if (c->admitted && opt->intake && !c->account) c->account = intake_join(opt->intake, principal);
  if (!c->admitted) {
    head->keep_alive = false;
    hand_over(c, head, STR_NONE);
  } else if (head->expect_continue && none_yet) {
    conn_write(c, (str[]){STR("HTTP/1.1 100 Continue\r\n\r\n")}, 1, NULL);
  }
  return c->admitted;
}

// Handles the first request in `bytes`, which are the contents of c->in or bytes just received. Returns the number of
// bytes consumed, or 0 if the request is incomplete or the connection has ended.
static size_t one_request(struct conn *c, str bytes) {
  const struct http_server *s = c->server;
  struct http_head head;
  struct http_error err = {400, "malformed request"};
  // If the body arrives later than the head, the head is parsed again from its start: this is rare, and cheaper than a
  // copy of the parsed head.
  size_t from_start = 0;
  size_t *seen = c->state == CONN_BODY ? &from_start : &c->seen;
  long n = http_parse_request(bytes.p, bytes.n, &s->opt.limits, seen, &head, &err);
  if (n == HTTP_MORE) return 0;
  if (n == HTTP_BAD) {
    refuse(c, err.status, STR_NONE, err.text);
    return 0;
  }
  if (c->over && crowded(c)) {
    head.keep_alive = false;
    if (!s->opt.vital || !s->opt.vital(s->ctx, &head)) {
      refuse(c, 503, STR_NONE, "too many connections");
      return 0;
    }
  }
  if (c->state != CONN_BODY) {
    c->state = CONN_BODY;
    c->head_n = (size_t)n;
    c->chunked_body = head.chunked;
    c->chunked = (struct http_chunked){0};
    c->admitted = false;
  }
  str body, rest, after = str_from(bytes, (size_t)n);
  int refusal = 0;
  if (!take_body(c, &head, after, &body, &rest, &refusal)) {
    if (refusal)
      refuse(c, refusal, STR_NONE,
             refusal == 413 ? "the request body is too large"
                            : "the chunked encoding of the request body is malformed");
    else if (!c->admitted && !admit_body(c, &head, after.n == 0)) return bytes.n;
    return 0;
  }
  size_t used = bytes.n - rest.n;
  hand_over(c, &head, body);
  return used;
}

// Keeps `rest`, the unconsumed end of the input, in c->in. While a chunked body arrives, keeps only the head, because
// the received part of the body is already decoded.
static void keep_rest(struct conn *c, str rest, bool rest_is_in) {
  if (c->state == CONN_BODY && c->chunked_body) rest.n = c->head_n;
  if (rest_is_in) {
    size_t gone = (size_t)(rest.p - c->in.p);
    if (gone) buf_drop(&c->in, gone);
    c->in.n = rest.n;
  } else {
    buf_str(&c->in, rest);
  }
}

// Counts the memory of a request that arrives in pieces. If this memory exceeds a limit, refuses the request and
// returns false.
static bool count_input(struct conn *c) {
  struct intake *in = c->server->opt.intake;
  size_t bytes = c->in.cap + c->body.cap;
  if (!c->account || bytes <= KEEP_BUFFER) return true;
  intake_set(in, c->account, &c->held, bytes);
  enum intake_room room = intake_check(in, c->account, bytes);
  if (room == INTAKE_ROOM) return true;
  char why[128];
  snprintf(why, sizeof why, "requests use too much memory (%s); try again later", intake_limit_name(room));
  refuse(c, room == INTAKE_FULL ? 503 : 429, STR("Retry-After: 1\r\n"), why);
  return false;
}

static void conn_input(struct conn *c, str bytes) {
  struct http_server *s = c->server;
  ASSERT(!c->working);
  bool carried = c->in.n > 0;
  if (carried) buf_str(&c->in, bytes);
  str view = carried ? buf_view(&c->in) : bytes;
  if (c->in.over) {
    refuse(c, 413, STR_NONE, "the request is too large");
    return;
  }
  c->working = true;
  while (c->stream && view.n && !conn_answering(c) && c->state != CONN_LINGER && !conn_behind(c)) {
    if (c->state == CONN_IDLE) {
      c->state = CONN_HEAD;
      if (c->used) c->began = loop_now(s->loop);
    }
    size_t used = one_request(c, view);
    if (used == 0) break;
    view = str_from(view, used);
  }
  // The client has left while the handler began a streamed response, and the owner of the exchange was not notified
  // yet.
  if (!c->stream && c->state == CONN_STREAM && c->x.on_abort) c->x.on_abort(&c->x);
  if (c->stream && c->state != CONN_LINGER) keep_rest(c, view, carried);
  bool more = c->stream && c->state == CONN_BODY && count_input(c);
  c->working = false;
  if (!c->stream) {
    conn_free(c);
    return;
  }
  if (more || c->state == CONN_HEAD) {  // only a request that is still arriving needs a deadline
    uint64_t now = loop_now(s->loop), due = c->began + (more ? s->opt.body_ms : s->opt.head_ms);
    timer_start(s->loop, &c->timer, due > now ? due - now : 0);
  }
  if (more) return;
  stop_counting(c);
  if (c->state == CONN_LINGER) buf_done(&c->in), buf_done(&c->body);
  else buf_trim(&c->in, KEEP_BUFFER);
}

static void on_resume(struct deferred *d) {
  conn_input(CONTAINER_OF(d, struct conn, resume), STR_NONE);
}

static void on_data(void *ctx, str bytes) {
  struct conn *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (c->state == CONN_LINGER) return;
  if (!conn_answering(c) && !conn_behind(c)) {
    conn_input(c, bytes);
    return;
  }
  // Pipelined requests wait. The server continues to read only to notice when the client leaves.
  if (c->in.n + bytes.n > PIPELINE_MAX) conn_abort(c);
  else buf_str(&c->in, bytes);
}

static void on_end(void *ctx, const struct fault *f) {
  struct conn *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  // A client that has closed its sending side may still read its response.
  bool reads = !f && !conn_answering(c) && stream_queued(c->stream) > 0;
  if (reads) stream_close_flushed(&c->stream, c->server->opt.write_ms);
  conn_abort(c);
}

static void on_drain(void *ctx) {
  struct conn *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (c->state == CONN_IDLE) set_idle_timer(c);
  if (c->state == CONN_IDLE && c->in.n) loop_defer(c->server->loop, &c->resume);
  if (c->state != CONN_STREAM) return;
  timer_stop(&c->timer);
  if (c->x.on_drain) c->x.on_drain(&c->x);
}

// ---- the listener

static const struct stream_events conn_events = {on_data, on_end, on_drain};

// Closes one connection from the address of `peer` (from any address if `peer` is NULL), but never `newest`, and never
// a connection whose request the handler is answering. http_server.h describes the order of the candidates.
static void evict(struct http_server *s, const struct conn *newest, const struct peer *peer) {
  enum { STRANGERS, IDLE, REST, PASSES };
  for (int pass = STRANGERS; pass < PASSES; pass++)
    LIST_EACH(it, &s->conns[pass != STRANGERS]) {
      struct conn *c = CONTAINER_OF(it, struct conn, node);
      bool transfers = c->state == CONN_HEAD || c->state == CONN_BODY || stream_queued(c->stream) > 0;
      if (c == newest || conn_answering(c) || (peer && c->peer != peer) || (pass == IDLE && transfers)) continue;
      conn_close(c);
      return;
    }
}

static void warn_full(struct http_server *s, const char *what) {
  unsigned suppressed;
  if (rate_allow(&s->warnings, loop_now(s->loop), 1, &suppressed))
    log_warn(s->loop->log, "%s: closed an idle or unfinished connection to make room (%u similar messages suppressed)",
             what, suppressed);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct http_server *s = listener->data;
  if (status < 0) {
    warn_full(s, uv_strerror(status));  // accepting usually fails because the process has no free file descriptor
    evict(s, NULL, NULL);
    return;
  }
  struct stream *stream = stream_accept(s->loop, listener, s->opt.max_queued);
  if (!stream) return;
  loop_begin(s->loop);
  struct conn *c = MEM_NEW(struct conn);
  c->magic = CONN_MAGIC;
  c->server = s;
  c->stream = stream;
  buf_init(&c->in, s->opt.limits.max_head + s->opt.limits.max_body + PIPELINE_MAX);
  buf_init(&c->body, s->opt.limits.max_body);
  timer_init(&c->timer, on_timer);
  deferred_init(&c->resume, on_resume);
  list_push(&s->conns[false], &c->node);
  c->peer = peers_enter(&s->peers, stream);
  c->began = loop_now(s->loop);
  s->count++;
  if (crowded(c)) {
    warn_full(s, s->count > s->opt.max_connections ? "too many connections" : "too many connections from one address");
    if (s->opt.max_per_address && c->peer->count > s->opt.max_per_address) evict(s, c, c->peer);
    if (s->count > s->opt.max_connections) evict(s, c, NULL);
    c->over = crowded(c);
  }
  stream_start(stream, &conn_events, c);
  conn_wait_for_request(c);
  loop_end(s->loop, LOOP_ACCEPT, "");
}

static void on_drain_timer(struct timer *t) {
  struct http_server *s = CONTAINER_OF(t, struct http_server, drain_timer);
  if (s->count == 0) {
    s->drained(s->drained_ctx);
    return;
  }
  for (int known = 0; known < 2; known++)
    LIST_EACH(it, &s->conns[known]) {
      struct conn *c = CONTAINER_OF(it, struct conn, node);
      if (c->state != CONN_IDLE) continue;
      if (stream_queued(c->stream)) conn_linger(c);
      else conn_close(c);
    }
}

struct http_server *http_server_new(struct loop *l, const struct http_server_options *opt,
                                    void (*on_request)(void *ctx, struct http_exchange *x), void *ctx) {
  ASSERT(on_request);
  struct http_server *s = MEM_NEW(struct http_server);
  s->magic = SERVER_MAGIC;
  s->loop = l;
  s->opt = *opt;
  s->on_request = on_request;
  s->ctx = ctx;
  list_init(&s->conns[false]);
  list_init(&s->conns[true]);
  peers_init(&s->peers, &l->seed);
  buf_init(&s->out, 65536);
  timer_init(&s->drain_timer, on_drain_timer);
  return s;
}

bool http_server_listen(struct http_server *s, str host, uint16_t port, uint16_t *out_port, struct fault *f) {
  ASSERT_MAGIC(s, SERVER_MAGIC);
  s->listener = listener_open(s->loop, host, port, on_connection, s, out_port, f);
  return s->listener != NULL;
}

void http_server_drain(struct http_server *s, void (*drained)(void *ctx), void *ctx) {
  ASSERT_MAGIC(s, SERVER_MAGIC);
  ASSERT(drained);
  listener_close(&s->listener);
  s->draining = true;
  s->drained = drained;
  s->drained_ctx = ctx;
  timer_start(s->loop, &s->drain_timer, s->count ? DRAIN_IDLE_MS : 0);
}

void http_server_free(struct http_server **s) {
  struct http_server *server = *s;
  if (!server) return;
  ASSERT_MAGIC(server, SERVER_MAGIC);
  *s = NULL;
  listener_close(&server->listener);
  server->draining = false;
  timer_stop(&server->drain_timer);
  for (int known = 0; known < 2; known++)
    while (!list_empty(&server->conns[known])) conn_abort(CONTAINER_OF(server->conns[known].next, struct conn, node));
  ASSERT(server->count == 0);
  peers_done(&server->peers);
  buf_done(&server->out);
  server->magic = 0;
  mem_free(server);
}

size_t http_server_connections(const struct http_server *s) {
  return s->count;
}
