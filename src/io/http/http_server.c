// SPDX-License-Identifier: Apache-2.0
#include "io/http/http_server.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rate.h"
#include "io/http/listener.h"
#include "io/http/peers.h"
#include "io/stream/stream.h"

enum {
  CONN_MAGIC = 0x68636f6e,
  LINGER_MS = 2000,      // how long a refused client may go on sending, so that it can read why
  DRAIN_IDLE_MS = 250,   // for a request that was already on its way when we began to stop
  PIPELINE_MAX = 65536,  // bytes of the next requests, read while one is being answered
  BACKLOG_MAX = 65536,   // of unread answers, before more requests of the connection are answered
  KEEP_BUFFER = 16384,   // memory an idle connection may hold on to
};

enum conn_state {
  CONN_IDLE,    // between requests, nothing received
  CONN_HEAD,    // part of a head is in `in`
  CONN_BODY,    // head parsed, body incomplete
  CONN_ANSWER,  // the handler has the exchange
  CONN_STREAM,  // a streamed answer has begun
  CONN_LINGER,  // answered and half-closed, discarding what still comes
};

struct http_server {
  struct loop *loop;
  struct http_server_options opt;
  void (*on_request)(void *ctx, struct http_exchange *x);
  void *ctx;
  uv_tcp_t *listener;
  struct list conns[2];  // by conn.known: the oldest first; known ones by when they became idle
  size_t count;
  struct peers peers;
  struct rate warnings;
  struct buf out;  // head of the answer being written
  bool draining;
  struct timer drain_timer;
  void (*drained)(void *ctx);
  void *drained_ctx;
};

struct conn {
  uint32_t magic;
  struct list node;
  struct http_server *server;
  struct peer *peer;
  struct stream *stream;
  enum conn_state state;
  struct timer timer;
  struct deferred resume;          // continues with the requests that were pipelined after the one just answered
  struct buf in;                   // bytes received and not yet consumed; empty on the fast path
  size_t seen;                     // of `in`, known to hold no end of head
  struct buf body;                 // of a chunked request
  struct intake_account *account;  // counts these two buffers while the request arrives; NULL: not yet
  size_t held;                     // bytes counted in `account`
  struct http_chunked chunked;
  size_t head_n;   // CONN_BODY: bytes of the head at the front of `in`
  uint64_t began;  // when the first byte of this request came; of the first request, when the connection did
  bool chunked_body, keep_alive, http10;
  bool used;       // had a request
  bool known;      // http_exchange_trust was called
  bool over;       // came when there were too many connections
  bool admitted;   // its body may be taken in
  bool head_only;  // the request is a HEAD: its answer has no body
  bool working;    // a callback further up the stack holds this connection: do not free it
  struct http_exchange x;
};

static void conn_input(struct conn *c, str bytes);
static void on_drain_timer(struct timer *t);

// ---- connections come and go

// Told from the loop, never from inside a connection: whoever hears it frees the server.
static void maybe_drained(struct http_server *s) {
  if (s->draining && s->count == 0) timer_start(s->loop, &s->drain_timer, 0);
}

// The request is handed over or dropped: its handler counts what it copies.
static void stop_counting(struct conn *c) {
  if (!c->account) return;
  intake_set(c->server->opt.intake, c->account, &c->held, 0);
  intake_leave(c->server->opt.intake, &c->account);
}

static void conn_free(struct conn *c) {
  struct http_server *s = c->server;
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
  maybe_drained(s);
}

// Closes at once. A callback further down the stack may still hold c: then it frees it.
static void conn_close(struct conn *c) {
  stream_close(&c->stream);
  timer_stop(&c->timer);
  if (!c->working) conn_free(c);
}

static bool answering(const struct conn *c) {
  return c->state == CONN_ANSWER || c->state == CONN_STREAM;
}

static void conn_abort(struct conn *c) {
  if (answering(c) && c->x.on_abort) {
    bool outer = c->working;
    c->working = true;
    c->x.on_abort(&c->x);
    c->working = outer;
  }
  conn_close(c);
}

// Says goodbye: what is queued goes out, then the client has a moment to read it before the socket is closed.
static void conn_linger(struct conn *c) {
  uint64_t ms = stream_queued(c->stream) ? c->server->opt.write_ms : LINGER_MS;
  c->state = CONN_LINGER;
  if (!c->working) buf_done(&c->in);  // else the handler may still read its request
  stream_finish(c->stream);
  timer_start(c->server->loop, &c->timer, ms);
}

static void on_timer(struct timer *t) {
  conn_abort(CONTAINER_OF(t, struct conn, timer));
}

// Idle begins when the client has taken all of the last answer.
static void set_idle_timer(struct conn *c) {
  const struct http_server *s = c->server;
  uint64_t ms = s->draining ? DRAIN_IDLE_MS : c->used ? s->opt.idle_ms : s->opt.head_ms;
  timer_start(s->loop, &c->timer, stream_queued(c->stream) ? s->opt.write_ms : ms);
}

static void conn_wait_for_request(struct conn *c) {
  c->state = CONN_IDLE;
  c->seen = 0;
  buf_trim(&c->in, KEEP_BUFFER);
  if (c->known) {
    list_remove(&c->node);
    list_push(&c->server->conns[true], &c->node);
  }
  set_idle_timer(c);
}

// ---- answers

static struct conn *conn_of(struct http_exchange *x) {
  struct conn *c = CONTAINER_OF(x, struct conn, x);
  ASSERT_MAGIC(c, CONN_MAGIC);
  return c;
}

static void put_head(struct conn *c, int status, str headers, str content_type) {
  struct buf *out = &c->server->out;
  buf_reset(out);
  buf_str(out, STR("HTTP/1.1 "));
  buf_u64(out, (uint64_t)status);
  buf_char(out, ' ');
  buf_str(out, str_of(http_reason(status)));
  buf_str(out, STR("\r\n"));
  if (content_type.n) {
    buf_str(out, STR("Content-Type: "));
    buf_str(out, content_type);
    buf_str(out, STR("\r\n"));
  }
  buf_str(out, headers);
  if (c->server->draining) c->keep_alive = false;
  if (!c->keep_alive) buf_str(out, STR("Connection: close\r\n"));
  else if (c->http10) buf_str(out, STR("Connection: keep-alive\r\n"));  // it would wait for the end otherwise
}

// Whoever pipelines without reading the answers gets no more of them: on_drain goes on.
static bool behind(const struct conn *c) {
  return stream_queued(c->stream) > BACKLOG_MAX;
}

// The answer is complete: on to what the client sent meanwhile, or to its next request.
static void answered(struct conn *c) {
  if (!c->keep_alive) {
    conn_linger(c);
    return;
  }
  conn_wait_for_request(c);
  if (behind(c)) return;
  // From the loop, not from here: whoever answers is in the middle of something that the next request might end.
  if (c->in.n && !c->working) loop_defer(c->server->loop, &c->resume);
}

static void on_resume(struct deferred *d) {
  conn_input(CONTAINER_OF(d, struct conn, resume), STR_NONE);
}

static void conn_write(struct conn *c, const str *parts, size_t count, struct buf *memory) {
  if (c->stream && !stream_write_from(c->stream, parts, count, memory)) stream_close(&c->stream);
}

void http_reply(struct http_exchange *x, int status, str headers, str content_type, str body) {
  http_reply_from(x, status, headers, content_type, (struct payload){body, NULL});
}

void http_reply_from(struct http_exchange *x, int status, str headers, str content_type, struct payload body) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_ANSWER);
  put_head(c, status, headers, content_type);
  struct buf *out = &c->server->out;
  if (status != 204 && status != 304) {
    buf_str(out, STR("Content-Length: "));
    buf_u64(out, body.text.n);
    buf_str(out, STR("\r\n"));
  }
  buf_str(out, STR("\r\n"));
  conn_write(c, (str[]){buf_view(out), c->head_only ? STR_NONE : body.text}, 2, body.memory);
  if (c->stream) answered(c);
  else conn_close(c);
}

void http_stream_begin(struct http_exchange *x, int status, str headers, str content_type) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_ANSWER);
  if (c->http10) c->keep_alive = false;  // its end can only be told by closing
  put_head(c, status, headers, content_type);
  struct buf *out = &c->server->out;
  if (!c->http10) buf_str(out, STR("Transfer-Encoding: chunked\r\n"));
  buf_str(out, STR("\r\n"));
  c->state = CONN_STREAM;
  conn_write(c, (str[]){buf_view(out)}, 1, NULL);
}

bool http_stream_write(struct http_exchange *x, struct payload bytes) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_STREAM);
  char size[24];
  int n = snprintf(size, sizeof size, "%zx\r\n", bytes.text.n);
  if (c->http10) conn_write(c, &bytes.text, 1, bytes.memory);
  else if (bytes.text.n) conn_write(c, (str[]){{size, (size_t)n}, bytes.text, STR("\r\n")}, 3, bytes.memory);
  if (!c->stream) {
    http_exchange_drop(x);
    return false;
  }
  if (stream_queued(c->stream) && !timer_running(&c->timer))
    timer_start(c->server->loop, &c->timer, c->server->opt.write_ms);
  return true;
}

void http_stream_end(struct http_exchange *x) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_STREAM);
  if (!c->http10) conn_write(c, (str[]){STR("0\r\n\r\n")}, 1, NULL);
  if (c->stream) answered(c);
  else http_exchange_drop(x);
}

size_t http_stream_queued(const struct http_exchange *x) {
  const struct conn *c = CONTAINER_OF(x, struct conn, x);
  return c->stream ? stream_queued(c->stream) : 0;
}

void http_exchange_peer(const struct http_exchange *x, char out[HTTP_PEER_SIZE]) {
  const struct conn *c = CONTAINER_OF(x, const struct conn, x);
  out[0] = 0;
  if (c->stream) stream_peer(c->stream, out, HTTP_PEER_SIZE);
}

void http_exchange_local(const struct http_exchange *x, char out[HTTP_PEER_SIZE]) {
  const struct conn *c = CONTAINER_OF(x, const struct conn, x);
  out[0] = 0;
  if (c->stream) stream_local(c->stream, out, HTTP_PEER_SIZE);
}

static void trust(struct conn *c) {
  if (c->known) return;
  c->known = true;
  list_remove(&c->node);
  list_push(&c->server->conns[true], &c->node);
}

void http_exchange_trust(struct http_exchange *x) {
  trust(conn_of(x));
}

void http_exchange_drop(struct http_exchange *x) {
  x->on_abort = NULL;  // its owner knows
  conn_close(conn_of(x));
}

// ---- requests

static void refuse_with(struct conn *c, int status, str headers, const char *text) {
  c->keep_alive = c->head_only = false;
  c->state = CONN_ANSWER;
  c->x = (struct http_exchange){0};
  char body[256];
  int n = snprintf(body, sizeof body, "%s\n", text);
  http_reply(&c->x, status, headers, STR("text/plain; charset=utf-8"), (str){body, (size_t)n});
}

static void refuse(struct conn *c, int status, const char *text) {
  refuse_with(c, status, STR_NONE, text);
}

static void hand_over(struct conn *c, const struct http_head *head, str body) {
  timer_stop(&c->timer);
  c->state = CONN_ANSWER;
  c->used = true;
  c->keep_alive = head->keep_alive;
  c->http10 = head->minor == 0;
  c->head_only = str_eq(head->method, STR("HEAD"));
  c->x = (struct http_exchange){.head = head, .body = body};
  stop_counting(c);  // else the handler counts the same message a second time, and refuses it for want of room
  loop_name(c->server->loop, LOOP_REQUEST);
  c->server->on_request(c->server->ctx, &c->x);
  if (c->stream) c->x.head = NULL, c->x.body = STR_NONE;
  buf_reset(&c->body);
  buf_trim(&c->body, KEEP_BUFFER);
}

// Takes what there is of the body. True when it is complete: *out_body and *out_rest are set. *out_refusal: the status
// for a body that is malformed or too large.
static bool take_body(struct conn *c, const struct http_head *head, str after_head, str *out_body, str *out_rest,
                      int *out_refusal) {
  if (!head->chunked) {
    size_t need = head->has_length ? head->content_length : 0;
    if (after_head.n < need) return false;
    *out_body = (str){after_head.p, need};
    *out_rest = str_from(after_head, need);
    return true;
  }
  // Decoded from the start each time more has arrived would be quadratic: the state goes on, the raw bytes are dropped.
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

// Are there more connections than allowed, of all clients or of this one's address?
static bool crowded(const struct conn *c) {
  const struct http_server_options *opt = &c->server->opt;
  return c->server->count > opt->max_connections || (opt->max_per_address && c->peer->count > opt->max_per_address);
}

// May this request be served on a connection that came when there were too many?
static bool has_place(struct conn *c, struct http_head *head) {
  const struct http_server *s = c->server;
  if (!c->over || !crowded(c)) return true;
  head->keep_alive = false;
  return s->opt.vital && s->opt.vital(s->ctx, head);
}

// Before more of a body is taken in: whoever may not send it gets his answer now, and the connection ends.
static bool admit_body(struct conn *c, struct http_head *head, bool none_yet) {
  const struct http_server_options *opt = &c->server->opt;
  str principal = STR_NONE;
  c->admitted = !opt->admit || opt->admit(c->server->ctx, head, &principal);
  if (c->admitted && principal.n) trust(c);
  if (c->admitted && opt->intake && !c->account) c->account = intake_join(opt->intake, principal);
  if (!c->admitted) {
    head->keep_alive = false;
    hand_over(c, head, STR_NONE);
  } else if (head->expect_continue && none_yet) {
    conn_write(c, (str[]){STR("HTTP/1.1 100 Continue\r\n\r\n")}, 1, NULL);
  }
  return c->admitted;
}

// One request out of `bytes`, which are the connection's carry or fresh from the socket.
// Gives how many bytes it consumed; 0: more is needed (or the connection is over).
static size_t one_request(struct conn *c, str bytes) {
  struct http_head head;
  struct http_error err = {400, "malformed request"};
  const struct http_limits *limits = &c->server->opt.limits;
  // A head that was complete before is parsed again when its body has arrived: rare, and cheaper than keeping it.
  size_t from_start = 0;
  long n = http_parse_request(bytes.p, bytes.n, limits, c->state == CONN_BODY ? &from_start : &c->seen, &head, &err);
  if (n == HTTP_MORE) return 0;
  if (n == HTTP_BAD) {
    refuse(c, err.status, err.text);
    return 0;
  }
  if (!has_place(c, &head)) {
    refuse(c, 503, "too many connections");
    return 0;
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
    if (refusal) refuse(c, refusal, refusal == 413 ? "body is too large" : "body is badly chunked");
    else if (!c->admitted && !admit_body(c, &head, after.n == 0)) return bytes.n;
    return 0;
  }
  size_t used = bytes.n - rest.n;
  hand_over(c, &head, body);
  return used;
}

// Keeps the unconsumed end of the input. For a chunked body in progress only the head stays: the rest is decoded.
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

// A request that came whole needs no deadline; this is for one that did not.
static void set_deadline(struct conn *c) {
  const struct http_server_options *opt = &c->server->opt;
  uint64_t now = loop_now(c->server->loop);
  uint64_t due = c->began + (c->state == CONN_HEAD ? opt->head_ms : opt->body_ms);
  timer_start(c->server->loop, &c->timer, due > now ? due - now : 0);
}

// Counts the memory of a request that arrives in pieces. Returns false after refusing it for lack of room.
static bool count_input(struct conn *c) {
  struct intake *in = c->server->opt.intake;
  size_t bytes = c->in.cap + c->body.cap;
  if (!c->account || bytes <= KEEP_BUFFER) return true;
  intake_set(in, c->account, &c->held, bytes);
  enum intake_room room = intake_check(in, c->account, bytes);
  if (room == INTAKE_ROOM) return true;
  char why[128];
  snprintf(why, sizeof why, "too many bytes of requests are held (%s); try again later", intake_limit_name(room));
  refuse_with(c, room == INTAKE_FULL ? 503 : 429, STR("Retry-After: 1\r\n"), why);
  return false;
}

static void conn_input(struct conn *c, str bytes) {
  bool carried = c->in.n > 0;
  if (carried) buf_str(&c->in, bytes);
  str view = carried ? buf_view(&c->in) : bytes;
  if (c->in.over) {
    refuse(c, 413, "request too large");
    return;
  }
  c->working = true;
  while (c->stream && view.n && !answering(c) && c->state != CONN_LINGER && !behind(c)) {
    if (c->state == CONN_IDLE) {
      c->state = CONN_HEAD;
      if (c->used) c->began = loop_now(c->server->loop);
    }
    size_t used = one_request(c, view);
    if (used == 0) break;
    view = str_from(view, used);
  }
  // The client may have gone while its stream was begun, and the owner of the stream does not know yet.
  if (!c->stream && c->state == CONN_STREAM && c->x.on_abort) c->x.on_abort(&c->x);
  if (c->stream && c->state != CONN_LINGER) keep_rest(c, view, carried);
  bool more = c->stream && c->state == CONN_BODY && count_input(c);
  c->working = false;
  if (!c->stream) {
    conn_free(c);
    return;
  }
  if (more || c->state == CONN_HEAD) set_deadline(c);
  if (more) return;
  stop_counting(c);
  if (c->state == CONN_LINGER) buf_done(&c->in), buf_done(&c->body);
  else buf_trim(&c->in, KEEP_BUFFER);
}

static void on_data(void *ctx, str bytes) {
  struct conn *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (c->state == CONN_LINGER) return;
  if (!answering(c) && !behind(c)) {
    conn_input(c, bytes);
    return;
  }
  // Pipelined: it waits. We go on reading only to notice when the client goes away.
  if (c->in.n + bytes.n > PIPELINE_MAX) conn_abort(c);
  else buf_str(&c->in, bytes);
}

static void on_end(void *ctx, const struct fault *f) {
  struct conn *c = ctx;
  // A client that has said all it wants to say may still be reading its answer.
  bool reads = !f && !answering(c) && stream_queued(c->stream) > 0;
  if (reads) stream_close_flushed(&c->stream, c->server->opt.write_ms);
  conn_abort(c);
}

static void on_drain(void *ctx) {
  struct conn *c = ctx;
  if (c->state == CONN_IDLE) set_idle_timer(c);
  if (c->state == CONN_IDLE && c->in.n) loop_defer(c->server->loop, &c->resume);
  if (c->state != CONN_STREAM) return;
  timer_stop(&c->timer);
  if (c->x.on_drain) c->x.on_drain(&c->x);
}

// ---- the listener

static const struct stream_events conn_events = {on_data, on_end, on_drain};

// Does the client still send its request or read its answer?
static bool transfers(const struct conn *c) {
  return c->state == CONN_HEAD || c->state == CONN_BODY || stream_queued(c->stream) > 0;
}

// Closes the first connection that the handler does not work for: of this address, or of any if peer is NULL.
static void evict(struct http_server *s, const struct conn *newest, const struct peer *peer) {
  enum { STRANGERS, IDLE, REST, PASSES };
  for (int pass = STRANGERS; pass < PASSES; pass++)
    LIST_EACH(it, &s->conns[pass != STRANGERS]) {
      struct conn *c = CONTAINER_OF(it, struct conn, node);
      if (c == newest || answering(c) || (peer && c->peer != peer) || (pass == IDLE && transfers(c))) continue;
      conn_close(c);
      return;
    }
}

static void warn_full(struct http_server *s, const char *what) {
  unsigned suppressed;
  if (rate_allow(&s->warnings, loop_now(s->loop), 1, &suppressed))
    log_warn(s->loop->log, "%s: idle connections are closed to make room (%u more such events)", what, suppressed);
}

static void make_room(struct http_server *s, struct conn *c) {
  if (!crowded(c)) return;
  warn_full(s, s->count > s->opt.max_connections ? "too many connections" : "too many connections from one address");
  if (s->opt.max_per_address && c->peer->count > s->opt.max_per_address) evict(s, c, c->peer);
  if (s->count > s->opt.max_connections) evict(s, c, NULL);
  c->over = crowded(c);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct http_server *s = listener->data;
  if (status < 0) {
    warn_full(s, uv_strerror(status));  // most likely there is no file descriptor left
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
  make_room(s, c);
  stream_start(stream, &conn_events, c);
  conn_wait_for_request(c);
  loop_end(s->loop, LOOP_ACCEPT, "");
}

struct http_server *http_server_new(struct loop *l, const struct http_server_options *opt,
                                    void (*on_request)(void *ctx, struct http_exchange *x), void *ctx) {
  struct http_server *s = MEM_NEW(struct http_server);
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
  s->listener = listener_open(s->loop, host, port, on_connection, s, out_port, f);
  return s->listener != NULL;
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

void http_server_drain(struct http_server *s, void (*drained)(void *ctx), void *ctx) {
  listener_close(&s->listener);
  s->draining = true;
  s->drained = drained;
  s->drained_ctx = ctx;
  timer_start(s->loop, &s->drain_timer, DRAIN_IDLE_MS);
  maybe_drained(s);
}

void http_server_free(struct http_server **s) {
  struct http_server *server = *s;
  if (!server) return;
  *s = NULL;
  listener_close(&server->listener);
  server->draining = false;
  timer_stop(&server->drain_timer);
  for (int known = 0; known < 2; known++)
    while (!list_empty(&server->conns[known])) conn_abort(CONTAINER_OF(server->conns[known].next, struct conn, node));
  peers_done(&server->peers);
  buf_done(&server->out);
  mem_free(server);
}

size_t http_server_connections(const struct http_server *s) {
  return s->count;
}
