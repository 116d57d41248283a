// SPDX-License-Identifier: Apache-2.0
// A fetch first waits in origin->waiting; once it has a connection, it is in origin->active. A connection has one fetch
// or is idle. The number of connections being opened never exceeds the number of waiting fetches.
//
// Functions call on_done last, when the lists and counters are consistent again. After on_head and on_body, `gone` says
// whether the connection was freed.
#include "io/http/http_client.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/http/proxy.h"
#include "io/stream/stream.h"

enum { ORIGIN_MAGIC = 0x4f524947, CONN_MAGIC = 0x434f4e4e };
enum { MAX_REQUEST = 1 << 30, REQUEST_KEPT = 16384, HEAD_KEPT = 4096, LENGTH_MAX = 48, FORWARD_MAX = 16384 };

struct http_origin {
  uint32_t magic;
  struct loop *loop;
  struct tls_client *tls;
  struct http_origin_options opt;
  struct list idle;     // idle connections; the most recently used one is at the end
  struct list busy;     // connections that have a fetch or are being opened
  struct list waiting;  // fetches that wait for a connection, in the order of their start
  struct list active;   // fetches that have a connection
  struct list asides;   // fetches of http_origin_send
  size_t connections, connecting, waiters;
  uint16_t port;
  str host;
  // Used only if a proxy forwards the requests. `absolute`: scheme and authority, written before the target.
  // `credential`: the Proxy-Authorization line.
  struct buf absolute, credential;
};

enum conn_state { CONNECTING, IDLE, AWAIT_HEAD, BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_END };

struct http_conn_out {
  uint32_t magic;
  enum conn_state state;
  struct list node;
  struct http_origin *origin;
  struct stream *stream;
  struct http_fetch *fetch;
  struct timer timer;  // time limit for connecting and for being idle; also reports a failed write
  struct buf request;  // copy of the request, to send it again if no response begins
  struct buf head;     // the received part of an incomplete head
  size_t seen;         // bytes already searched for the end of the head (see http_parse_response)
  uint64_t left;       // missing bytes of a body with a length
  uint64_t received;
  struct http_chunked chunks;
  bool reused;    // an earlier request got its response on this connection
  bool answered;  // a part of the response to the current request has arrived
  bool head_only;
  bool keep_alive;
  bool write_failed;
  bool *gone;  // points to a flag that is set when the connection is freed
};

static void open_missing(struct http_origin *o);
static void drop_asides(struct http_origin *o);

// ---- connections

static void conn_free(struct http_conn_out *c) {
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (c->gone) *c->gone = true;
  ASSERT(!c->fetch && c->origin->connections > 0);
  c->origin->connections--;
  if (c->state == CONNECTING) c->origin->connecting--;
  list_remove(&c->node);
  timer_stop(&c->timer);
  stream_close(&c->stream);
  buf_done(&c->request);
  buf_done(&c->head);
  c->magic = 0;
  mem_free(c);
}

// Removes the fetch from its connection or from the queue, and frees its request.
static void fetch_release(struct http_fetch *f) {
  ASSERT(f->conn ? f->conn->fetch == f : f->origin->waiters > 0);
  if (f->conn) f->conn->fetch = NULL;
  else f->origin->waiters--;
  f->conn = NULL;
  list_remove(&f->node);
  mem_free((void *)(uintptr_t)f->request.p);
  f->request = STR_NONE;
}

static struct http_fetch *first_waiting(struct http_origin *o) {
  return list_empty(&o->waiting) ? NULL : CONTAINER_OF(o->waiting.next, struct http_fetch, node);
}

static void conn_fail(struct http_conn_out *c, enum fault_code code, const char *why) {
  struct http_origin *o = c->origin;
  struct http_fetch *f = c->fetch;
  struct fault fault;
  char host[HTTP_HOST_TEXT];
  fault_set(&fault, code, "the connection to %s port %u failed: %s", http_host_print(o->host, host), o->port, why);
  fetch_release(f);
  conn_free(c);
  open_missing(o);
  f->on_done(f, &fault);
}

static void transmit(struct http_conn_out *c, struct http_fetch *f, const str *parts, size_t count) {
  c->fetch = f;
  f->conn = c;
  list_push(&c->origin->active, &f->node);
  c->state = AWAIT_HEAD;
  c->answered = false;
  c->received = 0;
  c->head_only = str_starts(parts[0], STR("HEAD "));
  str copy;
  if (c->reused && f->replayable && !f->replayed) {
    for (size_t i = 0; i < count; i++) buf_str(&c->request, parts[i]);
    copy = buf_view(&c->request);
    parts = &copy;
    count = 1;
  }
  if (f->paused) stream_pause(c->stream);
  c->write_failed = !stream_write(c->stream, parts, count);
  // The timer reports the failed write later: the server may have sent a response early, which can still be read.
  if (c->write_failed) timer_start(c->origin->loop, &c->timer, 0);
}

static void transmit_waiting(struct http_conn_out *c, struct http_fetch *f) {
  str request = f->request;
  f->request = STR_NONE;
  fetch_release(f);
  transmit(c, f, &request, 1);
  mem_free((void *)(uintptr_t)request.p);
}

// Gives a free connection to the first waiting fetch, or keeps it idle.
static void conn_ready(struct http_conn_out *c) {
  struct http_origin *o = c->origin;
  list_remove(&c->node);
  struct http_fetch *next = first_waiting(o);
  list_push(next ? &o->busy : &o->idle, &c->node);
  c->state = IDLE;
  if (next) transmit_waiting(c, next);
  else timer_start(o->loop, &c->timer, o->opt.idle_ms);
}

// ---- responses

static void complete(struct http_conn_out *c, bool reusable) {
  struct http_origin *o = c->origin;
  struct http_fetch *f = c->fetch;
  bool was_paused = f->paused;
  fetch_release(f);
  if (reusable && c->keep_alive && !c->write_failed && stream_queued(c->stream) == 0) {
    c->reused = true;
    timer_stop(&c->timer);
    buf_reset(&c->request);
    buf_trim(&c->request, REQUEST_KEPT);
    buf_reset(&c->head);
    buf_trim(&c->head, HEAD_KEPT);
    if (was_paused) stream_resume(c->stream);
    conn_ready(c);
  } else {
    conn_free(c);
    open_missing(o);
  }
  f->on_done(f, NULL);
}

// Passes a part of the body to on_body of the fetch. Returns false if the connection was freed.
static bool give_body(struct http_conn_out *c, str piece, const bool *gone) {
  uint64_t max = c->origin->opt.limits.max_body;
  c->received += piece.n;
  if (max && c->received > max) {
    conn_fail(c, FAULT_LIMIT, "the response is larger than the limit");
    return false;
  }
  c->fetch->on_body(c->fetch, piece);
  return !*gone;
}

static void read_chunks(struct http_conn_out *c, str in, const bool *gone) {
  for (;;) {
    str piece;
    switch (http_chunk_next(&c->chunks, &in, &piece)) {
    case HTTP_CHUNK_MORE: return;
    case HTTP_CHUNK_DATA:
      if (!give_body(c, piece, gone)) return;
      break;
    case HTTP_CHUNK_DONE: complete(c, in.n == 0); return;
    case HTTP_CHUNK_BAD: conn_fail(c, FAULT_PROTOCOL, "the response contains a malformed chunk"); return;
    }
  }
}

static void read_body(struct http_conn_out *c, str in, const bool *gone) {
  if (c->state == BODY_CHUNKED) {
    read_chunks(c, in, gone);
    return;
  }
  str piece = {in.p, in.n < c->left ? in.n : (size_t)c->left};
  c->left -= piece.n;
  if (piece.n && !give_body(c, piece, gone)) return;
  if (c->left == 0) complete(c, piece.n == in.n);
}

// Determines where the body ends (RFC 9112, 6.3).
static void set_framing(struct http_conn_out *c, const struct http_head *h) {
  c->keep_alive = h->keep_alive;
  c->left = h->content_length;
  c->state = BODY_LENGTH;
  if (c->head_only || h->status == 204 || h->status == 304) {
    c->left = 0;
  } else if (h->chunked) {
    c->state = BODY_CHUNKED;
    c->chunks = (struct http_chunked){0};
  } else if (!h->has_length) {
    c->state = BODY_UNTIL_END;
    c->left = UINT64_MAX;
    c->keep_alive = false;
  }
}

static bool take_head(struct http_conn_out *c, const struct http_head *h, const bool *gone) {
  set_framing(c, h);
  uint64_t max = c->origin->opt.limits.max_body;
  if (max && c->state == BODY_LENGTH && c->left > max) {
    conn_fail(c, FAULT_LIMIT, "the response is larger than the limit");
    return false;
  }
  if (c->origin->absolute.n && h->status == 407) {
    char why[512];
    proxy_refusal(c->origin->opt.proxy, h->status, why, sizeof why);
    conn_fail(c, FAULT_UPSTREAM_UNAVAILABLE, why);
    return false;
  }
  c->fetch->on_head(c->fetch, h);
  return !*gone;
}

// Keeps the unparsed input `in` in c->head. If c->head is not empty, it already ends with `in`, so the bytes before
// `in` are dropped.
static void keep_partial(struct http_conn_out *c, str in) {
  if (c->head.n) buf_drop(&c->head, c->head.n - in.n);
  else buf_str(&c->head, in);
}

// Parses the next response head and removes it from the front of `in`. Returns false if the head is incomplete or the
// connection was freed.
static bool read_head(struct http_conn_out *c, str *in, const bool *gone) {
  struct http_head head;
  struct http_error err;
  // Content-Length is not limited here, because a 304 and a response to HEAD have no body but may announce any length.
  struct http_limits limits = {.max_head = c->origin->opt.limits.max_head};
  long n = http_parse_response(in->p, in->n, &limits, &c->seen, &head, &err);
  if (n == HTTP_MORE) {
    keep_partial(c, *in);
    return false;
  }
  c->seen = 0;
  if (n != HTTP_BAD && head.status == 101) err.text = "unexpected status 101 (switching protocols)";
  if (n == HTTP_BAD || head.status == 101) {
    conn_fail(c, FAULT_PROTOCOL, err.text);
    return false;
  }
  *in = str_from(*in, (size_t)n);
  return head.status < 200 || take_head(c, &head, gone);
}

static void on_data(void *ctx, str bytes) {
  struct http_conn_out *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (!c->fetch) {  // no request is in flight, so the bytes are unexpected
    conn_free(c);
    return;
  }
  bool gone = false;
  c->gone = &gone;
  c->answered = true;
  if (c->state == AWAIT_HEAD && c->head.n) {
    buf_str(&c->head, bytes);
    bytes = buf_view(&c->head);
  }
  bool go_on = true;
  while (go_on && c->state == AWAIT_HEAD) go_on = read_head(c, &bytes, &gone);
  if (go_on) read_body(c, bytes, &gone);
  if (!gone) c->gone = NULL;
}

// ---- connections that end

// Sends the request again on another connection: the server may have closed the kept-alive connection before the
// request arrived.
static void replay(struct http_conn_out *c) {
  struct http_origin *o = c->origin;
  struct http_fetch *f = c->fetch;
  char *copy = mem_alloc(c->request.n);
  memcpy(copy, c->request.p, c->request.n);
  str request = {copy, c->request.n};
  fetch_release(f);
  conn_free(c);
  f->request = request;
  f->replayed = true;
  list_push(o->waiting.next, &f->node);  // puts the fetch at the front of the queue
  o->waiters++;
  open_missing(o);
}

static void broke(struct http_conn_out *c, const char *why) {
  struct http_fetch *f = c->fetch;
  if (!c->answered && c->reused && f->replayable && !f->replayed) replay(c);
  else conn_fail(c, FAULT_UPSTREAM_UNAVAILABLE, why);
}

static void on_end(void *ctx, const struct fault *f) {
  struct http_conn_out *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (!c->fetch) conn_free(c);
  else if (!f && c->state == BODY_UNTIL_END) complete(c, false);
  else if (f) broke(c, f->message);
  else broke(c, c->answered ? "closed in the middle of a response" : "closed without a response");
}

static const struct stream_events conn_events = {.on_data = on_data, .on_end = on_end};

// Reports to the first waiting fetch that a connection could not be opened.
static void connect_failed(struct http_conn_out *c, const struct fault *why) {
  struct http_origin *o = c->origin;
  struct http_fetch *f = first_waiting(o);
  conn_free(c);
  if (f) fetch_release(f);
  open_missing(o);
  if (f) f->on_done(f, why);
}

static void on_connected(void *ctx, struct stream *s, const struct fault *f) {
  struct http_conn_out *c = ctx;
  ASSERT_MAGIC(c, CONN_MAGIC);
  if (f) {
    struct fault why = *f;
    why.code = FAULT_UPSTREAM_UNAVAILABLE;
    why.undone = true;
    connect_failed(c, &why);
    return;
  }
  c->origin->connecting--;
  c->state = IDLE;
  timer_stop(&c->timer);
  stream_start(s, &conn_events, c);
  conn_ready(c);
}

static void on_timer(struct timer *t) {
  struct http_conn_out *c = CONTAINER_OF(t, struct http_conn_out, timer);
  struct http_origin *o = c->origin;
  if (c->state == CONNECTING) {
    struct fault why;
    char host[HTTP_HOST_TEXT], proxy[HTTP_HOST_TEXT];
    http_host_print(o->opt.proxy ? str_of(o->opt.proxy->host) : STR_NONE, proxy);
    fault_set(&why, FAULT_UPSTREAM_UNAVAILABLE, "cannot connect to %s port %u%s%s: no answer in %llu ms",
              http_host_print(o->host, host), o->port, o->opt.proxy ? " through the proxy " : "", proxy,
              (unsigned long long)o->opt.connect_ms);
    why.undone = true;
    connect_failed(c, &why);
  } else if (!c->fetch) {
    conn_free(c);
  } else if (!c->answered) {
    broke(c, "closed while the request was sent");
  }
}

static void conn_open(struct http_origin *o) {
  struct http_conn_out *c = MEM_NEW(struct http_conn_out);
  c->magic = CONN_MAGIC;
  c->origin = o;
  list_push(&o->busy, &c->node);
  o->connections++;
  o->connecting++;
  buf_init(&c->request, MAX_REQUEST);
  buf_init(&c->head, o->opt.limits.max_head + 2 * LOOP_READ_SIZE);
  timer_init(&c->timer, on_timer);
  timer_start(o->loop, &c->timer, o->opt.connect_ms);
  c->stream = stream_connect(o->loop, o->opt.proxy, o->host, o->port, o->tls, MAX_REQUEST, on_connected, c);
}

static void open_missing(struct http_origin *o) {
  while (o->connecting < o->waiters && o->connections < o->opt.max_connections) conn_open(o);
}

// ---- the origin

static struct http_origin_options with_defaults(const struct http_origin_options *opt) {
  struct http_origin_options x = opt ? *opt : (struct http_origin_options){0};
  if (!x.max_connections) x.max_connections = 256;
  if (!x.connect_ms) x.connect_ms = 10000;
  if (!x.idle_ms) x.idle_ms = 60000;
  if (!x.limits.max_head) x.limits.max_head = 32768;
  return x;
}

static void prepare_forwarding(struct http_origin *o, const struct http_url *url) {
  buf_init(&o->absolute, FORWARD_MAX);
  buf_init(&o->credential, FORWARD_MAX);
  const struct proxy *proxy = o->opt.proxy;
  if (!proxy || o->tls) return;
  buf_printf(&o->absolute, "http://%.*s", STR_ARG(url->authority));
  str authorization = proxy->authorization;
  if (authorization.n) buf_printf(&o->credential, "Proxy-Authorization: %.*s\r\n", STR_ARG(authorization));
}

struct http_origin *http_origin_new(struct loop *l, const struct http_url *url, struct tls_client *tls,
                                    const struct http_origin_options *opt) {
  ASSERT(tls || !url->tls);
  struct http_origin *o = MEM_NEW(struct http_origin);
  o->magic = ORIGIN_MAGIC;
  o->loop = l;
  o->tls = url->tls ? tls : NULL;
  o->opt = with_defaults(opt);
  o->port = url->port;
  char *host = mem_alloc(url->host.n);
  memcpy(host, url->host.p, url->host.n);
  o->host = (str){host, url->host.n};
  prepare_forwarding(o, url);
  list_init(&o->idle);
  list_init(&o->busy);
  list_init(&o->waiting);
  list_init(&o->active);
  list_init(&o->asides);
  return o;
}

void http_origin_free(struct http_origin **po) {
  struct http_origin *o = *po;
  *po = NULL;
  if (!o) return;
  ASSERT_MAGIC(o, ORIGIN_MAGIC);
  drop_asides(o);
  LIST_EACH(it, &o->waiting) fetch_release(CONTAINER_OF(it, struct http_fetch, node));
  LIST_EACH(it, &o->active) fetch_release(CONTAINER_OF(it, struct http_fetch, node));
  LIST_EACH(it, &o->busy) conn_free(CONTAINER_OF(it, struct http_conn_out, node));
  LIST_EACH(it, &o->idle) conn_free(CONTAINER_OF(it, struct http_conn_out, node));
  mem_free((void *)(uintptr_t)o->host.p);
  buf_done(&o->absolute);
  buf_done(&o->credential);
  o->magic = 0;
  mem_free(o);
}

// ---- fetches

static void wait_in_line(struct http_origin *o, struct http_fetch *f, const str *parts, size_t count) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) n += parts[i].n;
  char *copy = mem_alloc(n), *to = copy;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].p) memcpy(to, parts[i].p, parts[i].n);
    to += parts[i].n;
  }
  f->request = (str){copy, n};
  list_push(&o->waiting, &f->node);
  o->waiters++;
  open_missing(o);
}

// Writes the Content-Length line and the empty line that ends the head.
static str put_length(char out[LENGTH_MAX], size_t n) {
  static const str name = STR("Content-Length: "), end = STR("\r\n\r\n");
  struct str_digits room;
  str digits = str_from_u64(n, &room);
  memcpy(out, name.p, name.n);
  memcpy(out + name.n, digits.p, digits.n);
  memcpy(out + name.n + digits.n, end.p, end.n);
  return (str){out, name.n + digits.n + end.n};
}

void http_fetch_start(struct http_origin *o, struct http_fetch *f, str head, str body) {
  ASSERT_MAGIC(o, ORIGIN_MAGIC);
  ASSERT(!http_fetch_active(f));
  f->origin = o;
  f->conn = NULL;
  f->request = STR_NONE;
  f->replayed = f->paused = false;
  char length[LENGTH_MAX];
  size_t method = o->absolute.n ? (size_t)((const char *)memchr(head.p, ' ', head.n) - head.p) + 1 : 0;
  str parts[] = {{head.p, method},
                 buf_view(&o->absolute),
                 str_from(head, method),
                 buf_view(&o->credential),
                 body.p ? put_length(length, body.n) : STR("\r\n"),
                 body};
  size_t first = method ? 0 : 2, count = sizeof parts / sizeof *parts - first;
  if (list_empty(&o->idle)) {
    wait_in_line(o, f, parts + first, count);
    return;
  }
  struct http_conn_out *c = CONTAINER_OF(o->idle.prev, struct http_conn_out, node);
  list_remove(&c->node);
  list_push(&o->busy, &c->node);
  timer_stop(&c->timer);
  transmit(c, f, parts + first, count);
}

void http_fetch_cancel(struct http_fetch *f) {
  if (!http_fetch_active(f)) return;
  struct http_conn_out *c = f->conn;
  fetch_release(f);
  if (!c) return;
  // The connection cannot be used again, because the rest of the cancelled response would arrive before the next one.
  conn_free(c);
  open_missing(f->origin);
}

void http_fetch_pause(struct http_fetch *f) {
  f->paused = true;
  if (f->conn) stream_pause(f->conn->stream);
}

void http_fetch_resume(struct http_fetch *f) {
  f->paused = false;
  if (f->conn) stream_resume(f->conn->stream);
}

// ---- fetches that ignore the response (http_origin_send)

enum { ASIDE_MS = 10000 };

struct aside {
  struct http_fetch fetch;
  struct list node;
  struct timer timer;
};

static void aside_free(struct aside *e) {
  http_fetch_cancel(&e->fetch);
  timer_stop(&e->timer);
  list_remove(&e->node);
  mem_free(e);
}

static void aside_head(struct http_fetch *f, const struct http_head *h) {
}
static void aside_body(struct http_fetch *f, str bytes) {
}
static void aside_done(struct http_fetch *f, const struct fault *fault) {
  aside_free(CONTAINER_OF(f, struct aside, fetch));
}

static void aside_timeout(struct timer *t) {
  aside_free(CONTAINER_OF(t, struct aside, timer));
}

static void drop_asides(struct http_origin *o) {
  while (!list_empty(&o->asides)) aside_free(CONTAINER_OF(o->asides.next, struct aside, node));
}

void http_origin_send(struct http_origin *o, str head, str body) {
  struct aside *e = MEM_NEW(struct aside);
  e->fetch.on_head = aside_head;
  e->fetch.on_body = aside_body;
  e->fetch.on_done = aside_done;
  list_push(&o->asides, &e->node);
  timer_init(&e->timer, aside_timeout);
  timer_start(o->loop, &e->timer, ASIDE_MS);
  http_fetch_start(o, &e->fetch, head, body);
}

void http_origin_distrust(struct http_origin *o) {
  for (struct list *n; (n = list_pop(&o->idle));) conn_free(CONTAINER_OF(n, struct http_conn_out, node));
}

bool http_origin_quiet(const struct http_origin *o) {
  return list_empty(&o->waiting) && list_empty(&o->active);
}
