// SPDX-License-Identifier: Apache-2.0
// The client side of HTTP+SSE (2024-11-05): one event stream carries all messages of the server. The first event gives
// the URL to which the client must POST its messages.
#include "base/mem.h"
#include "io/http/http_date.h"
#include "io/http/sse.h"
#include "io/loop.h"
#include "mcp/client/link_impl.h"

enum { POST_MS = 30000 };

struct sse {
  struct link *link;
  struct http_origin *origin;
  struct http_url url;
  str headers;
  struct http_fetch stream;
  struct sse_parser events;
  struct bulk_hold hold;  // counts the memory of the incomplete event
  bool held_back;         // reading is stopped because a client is slow
  struct buf head;        // head of a POST; empty until the endpoint is known
  struct list posts;
  int status;
};

struct sse_post {
  struct list node;
  struct sse *t;
  struct http_fetch fetch;
  struct link_call *call;
  struct timer timer;
  int status;
  uint64_t after_ms;  // Retry-After of the response in milliseconds; 0 if absent
};

static void fail(struct sse *t, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  link_broken(t->link, &f);
}

// ---- our messages

static void post_free(struct sse_post *p) {
  http_fetch_cancel(&p->fetch);
  timer_stop(&p->timer);
  list_remove(&p->node);
  if (p->call) p->call->exchange = NULL;
  mem_free(p);
}

static void post_head(struct http_fetch *f, const struct http_head *h) {
  struct sse_post *p = CONTAINER_OF(f, struct sse_post, fetch);
  p->status = h->status;
  p->after_ms = http_retry_after(http_value(h, STR("retry-after")), p->t->link->opt.loop->clock);
}

static void post_body(struct http_fetch *f, str bytes) {
}

static void post_done(struct http_fetch *f, const struct fault *fault) {
  struct sse_post *p = CONTAINER_OF(f, struct sse_post, fetch);
  struct link *l = p->t->link;
  struct link_call *call = p->call;
  struct fault why;
  bool failed = fault || p->status >= 300;
  if (fault) {
    why = *fault;
  } else {
    fault_set(&why, p->status == 404 ? FAULT_UPSTREAM_SESSION_LOST : link_status_code(p->status), "answered HTTP %d%s",
              p->status, link_credentials_hint(p->status, p->t->headers));
    why.undone = link_status_refuses(p->status);
    why.after_ms = why.undone ? p->after_ms : 0;
  }
  link_enter(l);
  post_free(p);
  if (failed && call && why.code == FAULT_UPSTREAM_SESSION_LOST) link_session_lost(l, call);
  else if (failed && call) link_call_fail(call, &why);
  link_leave(l);
}

// The server answers on the event stream, so the POST needs only its status. A timer ends a POST that is never
// accepted, which could otherwise occupy a connection forever.
static void post_timeout(struct timer *t) {
  post_free(CONTAINER_OF(t, struct sse_post, timer));
}

static void sse_send(struct link *l, str message, struct link_call *call, str method) {
  struct sse *t = l->transport;
  struct sse_post *p = MEM_NEW(struct sse_post);
  p->t = t;
  p->call = call;
  p->fetch = (struct http_fetch){.on_head = post_head, .on_body = post_body, .on_done = post_done};
  list_push(&t->posts, &p->node);
  timer_init(&p->timer, post_timeout);
  timer_start(l->opt.loop, &p->timer, POST_MS);
  if (call) call->exchange = p;
  http_fetch_start(t->origin, &p->fetch, buf_view(&t->head), message);
}

// ---- the stream

// Appends the request target for POSTs to `out`. `uri` is the data of the endpoint event. Returns false unless it is a
// path (absolute, or relative to the stream's path) or a URL of the same origin.
static bool endpoint_target(struct sse *t, str uri, struct buf *out) {
  struct http_url url;
  for (size_t i = 0; i < uri.n; i++)
    if ((unsigned char)uri.p[i] <= 0x20 || (unsigned char)uri.p[i] >= 0x7f) return false;
  if (http_url_parse(uri, &url)) {
    bool same = url.tls == t->url.tls && url.port == t->url.port && str_eq_nocase(url.host, t->url.host);
    if (same) buf_str(out, url.target);
    return same;
  }
  if (uri.n == 0 || memchr(uri.p, '#', uri.n) || str_starts(uri, STR("//"))) return false;
  if (uri.p[0] != '/') {
    str path, query;
    str_cut(t->url.target, '?', &path, &query);
    while (path.n && path.p[path.n - 1] != '/') path.n--;
    buf_str(out, path);
  }
  buf_str(out, uri);
  return true;
}

static void take_endpoint(struct sse *t, str uri) {
  struct buf *b = &t->head;
  buf_reset(b);
  buf_str(b, STR("POST "));
  if (!endpoint_target(t, uri, b)) {
    fail(t, FAULT_PROTOCOL, "sent an endpoint event without a valid path or URL on its own origin");
    return;
  }
  buf_str(b, STR(" HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"));
  link_put_headers(b, &t->url, t->headers);
  link_put_chain(t->link, b);
  link_connected(t->link);
}

static void on_event(void *ctx, const struct sse_event *e) {
  struct sse *t = ctx;
  if (str_eq(e->type, STR("endpoint")) && t->head.n == 0) take_endpoint(t, e->data);
  else if (e->data.n && str_eq(e->type, STR("message"))) link_receive(t->link, e->data, &t->events.data, NULL);
  if (t->link->dead) t->events.on_event = NULL;
}

static void on_head(struct http_fetch *f, const struct http_head *h) {
  struct sse *t = CONTAINER_OF(f, struct sse, stream);
  t->status = h->status;
  if (h->status == 200 && !http_list_has(http_value(h, STR("content-type")), STR("text/event-stream"))) t->status = 0;
}

static void on_body(struct http_fetch *f, str bytes) {
  struct sse *t = CONTAINER_OF(f, struct sse, stream);
  if (t->status != 200) return;
  link_enter(t->link);
  if (!sse_feed(&t->events, bytes)) fail(t, FAULT_UPSTREAM_ERROR, "sent an event larger than limits.message");
  else bulk_set(&t->hold, t->events.data.n);
  link_leave(t->link);
}

static void on_done(struct http_fetch *f, const struct fault *fault) {
  struct sse *t = CONTAINER_OF(f, struct sse, stream);
  struct link *l = t->link;
  struct fault why;
  if (fault) why = *fault;
  else if (t->status == 200) fault_set(&why, FAULT_UPSTREAM_UNAVAILABLE, "ended its event stream");
  else if (t->status == 0) fault_set(&why, FAULT_UPSTREAM_ERROR, "did not answer with an event stream");
  else
    fault_set(&why, FAULT_UPSTREAM_ERROR, "answered HTTP %d%s", t->status,
              link_credentials_hint(t->status, t->headers));
  link_enter(l);
  link_broken(l, &why);
  link_leave(l);
}

// ---- the transport

static void sse_open(struct link *l) {
  struct sse *t = l->transport;
  struct buf b;
  buf_init(&b, LINK_HEAD_MAX);
  buf_str(&b, STR("GET "));
  buf_str(&b, t->url.target);
  buf_str(&b, STR(" HTTP/1.1\r\nAccept: text/event-stream\r\nCache-Control: no-cache\r\n"));
  link_put_headers(&b, &t->url, t->headers);
  link_put_chain(l, &b);
  t->stream = (struct http_fetch){.on_head = on_head, .on_body = on_body, .on_done = on_done, .replayable = true};
  http_fetch_start(t->origin, &t->stream, buf_view(&b), STR_NONE);
  buf_done(&b);
}

static void sse_confirm(struct link *l, str message) {
  sse_send(l, message, NULL, STR_NONE);
  link_confirmed(l);
}

static void sse_forget(struct link *l, struct link_call *call, bool answered) {
  struct sse_post *p = call->exchange;
  call->exchange = NULL;
  if (p) p->call = NULL;  // the POST ends when its status 202 arrives
}

static void update_flow(struct sse *t) {
  if (!http_fetch_active(&t->stream)) return;
  if (t->held_back || t->hold.stopped) http_fetch_pause(&t->stream);
  else http_fetch_resume(&t->stream);
}

static void sse_flow(struct link *l, bool go) {
  struct sse *t = l->transport;
  t->held_back = !go;
  update_flow(t);
}

static void on_bulk_flow(struct bulk_hold *h, bool go) {
  update_flow(CONTAINER_OF(h, struct sse, hold));
}

static void on_bulk_given_up(struct bulk_hold *h) {
  struct sse *t = CONTAINER_OF(h, struct sse, hold);
  struct link *l = t->link;
  if (t->held_back) return;
  link_enter(l);
  fail(t, FAULT_UPSTREAM_ERROR, "stopped sending in the middle of a large message while other messages were waiting");
  link_leave(l);
}

static void sse_close(struct link *l) {
  struct sse *t = l->transport;
  http_fetch_cancel(&t->stream);
  bulk_set(&t->hold, 0);
  for (struct list *n; (n = t->posts.next) != &t->posts;) post_free(CONTAINER_OF(n, struct sse_post, node));
  sse_done(&t->events);
  buf_done(&t->head);
  mem_free(t);
}

struct link *link_new_sse(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                          str headers, const struct link_events *ev, void *ctx) {
  static const struct link_transport ops = {false,      sse_open, sse_send,  sse_confirm,
                                            sse_forget, sse_flow, sse_close, NULL};
  // HTTP+SSE is older than every stateless revision, so the link must not send server/discover.
  struct link_options handshake = *opt;
  handshake.era = LINK_ERA_HANDSHAKE;
  struct sse *t = MEM_NEW(struct sse);
  t->origin = origin;
  t->url = *url;
  t->headers = headers;
  list_init(&t->posts);
  list_init(&t->stream.node);
  buf_init(&t->head, LINK_HEAD_MAX);
  bulk_hold_init(&t->hold, &opt->loop->bulk, on_bulk_flow, on_bulk_given_up);
  sse_init(&t->events, opt->max_message, on_event, t);
  t->link = link_new(&handshake, &ops, t, ev, ctx);
  return t->link;
}
