// SPDX-License-Identifier: Apache-2.0
// The client side of Streamable HTTP: every message is sent by POST, and answered with JSON or a stream of events.
// Messages of the server that belong to no POST arrive on the stream of a GET. If a stream ends before the answer, the
// link resumes it by GET with Last-Event-ID, after the delay that the server asked for.
//
// A stateless server gets only requests, each by POST, with headers that repeat values of the body. Streams are not
// resumed, and closing the connection cancels the request.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/http/http_date.h"
#include "io/http/sse.h"
#include "io/loop.h"
#include "mcp/client/link_impl.h"
#include "mcp/gateway_chain.h"
#include "mcp/header.h"

enum {
  SESSION_ID_MAX = 256,
  EVENT_ID_MAX = 256,
  RETRY_MS = 1000,
  RETRY_MAX_MS = 30000,
  RESUME_TRIES = 5,
  OTHER_MS = 30000,
  OVERSTAY_MS = 5000,  // time for the server to end a stream after the answer to its call
  KEEP_POSTS = 128,
  KEEP_BODY = 65536,
};

enum post_kind {
  POST_CALL,     // a request
  POST_OTHER,    // a notification or a reply: it gets no answer
  POST_CONFIRM,  // notifications/initialized: when the server accepts it, the link is ready
  POST_LISTEN,   // the GET stream
};

enum post_mode { MODE_NONE, MODE_JSON, MODE_EVENTS, MODE_REFUSED };

struct http;

// One POST, GET or DELETE. If its stream is resumed, it gets several responses, one after another.
struct post {
  struct list node;
  struct http *t;
  struct http_fetch fetch;
  enum post_kind kind;
  enum post_mode mode;
  struct link_call *call;  // the call of a POST_CALL; NULL after it was answered
  int status;
  bool taken;      // the server has begun to answer, so the call may have run
  bool json;       // the Content-Type is JSON
  bool delivered;  // the JSON body arrived in one read and was passed to link_receive
  struct buf body;
  struct bulk_hold hold;  // counts the memory of the body, or of the incomplete event
  bool held_back;         // reading is stopped because the call's client is slow
  uint64_t length;
  uint64_t after_ms;  // Retry-After of the response in milliseconds; 0 if absent
  struct sse_parser events;
  bool parsing;
  char last_id[EVENT_ID_MAX];
  unsigned tries;
  struct timer retry;
};

struct http {
  struct link *link;
  struct http_origin *origin;
  struct http_url url;
  str headers;
  char session[SESSION_ID_MAX];
  struct buf head;   // head of every POST: rewritten when the revision is known; each request appends lines
  size_t head_size;  // length of the part of `head` that is the same for all requests
  struct list posts, free_posts;
  size_t free_count;
  struct post *listener;
  // A ping or server/discover that checks whether the session, or the stateless server, still exists.
  struct link_call probe;
};

// ---- posts

static void on_head(struct http_fetch *f, const struct http_head *h);
static void on_body(struct http_fetch *f, str bytes);
static void on_done(struct http_fetch *f, const struct fault *fault);
static void on_retry(struct timer *t);
static void on_bulk_flow(struct bulk_hold *h, bool go);
static void on_bulk_given_up(struct bulk_hold *h);

static struct post *post_new(struct http *t, enum post_kind kind, struct link_call *call) {
  struct list *kept = list_pop(&t->free_posts);
  struct post *p = kept ? CONTAINER_OF(kept, struct post, node) : MEM_NEW(struct post);
  if (kept) t->free_count--;
  else buf_init(&p->body, t->link->opt.max_message);
  struct buf body = p->body;
  *p = (struct post){.t = t, .kind = kind, .call = call, .body = body};
  p->fetch.on_head = on_head;
  p->fetch.on_body = on_body;
  p->fetch.on_done = on_done;
  timer_init(&p->retry, on_retry);
  bulk_hold_init(&p->hold, &t->link->opt.loop->bulk, on_bulk_flow, on_bulk_given_up);
  list_push(&t->posts, &p->node);
  if (call) call->exchange = p;
  return p;
}

static void stop_parsing(struct post *p) {
  if (p->parsing) sse_done(&p->events);
  p->parsing = false;
}

static void post_free(struct post *p) {
  struct http *t = p->t;
  http_fetch_cancel(&p->fetch);
  timer_stop(&p->retry);
  stop_parsing(p);
  bulk_set(&p->hold, 0);
  list_remove(&p->node);
  if (p->call) p->call->exchange = NULL;
  if (p == t->listener) t->listener = NULL;
  buf_reset(&p->body);
  buf_trim(&p->body, KEEP_BODY);
  if (t->free_count < KEEP_POSTS) {
    list_push(&t->free_posts, &p->node);
    t->free_count++;
    return;
  }
  buf_done(&p->body);
  mem_free(p);
}

// ---- requests

static void put_common_headers(struct http *t, struct buf *b) {
  link_put_headers(b, &t->url, t->headers);
  const struct mcp_revision *revision = t->link->revision;
  if (revision && revision->version_header) buf_printf(b, "MCP-Protocol-Version: %s\r\n", revision->name);
  if (t->session[0]) buf_printf(b, "Mcp-Session-Id: %s\r\n", t->session);
}

static void make_post_head(struct http *t) {
  struct buf *b = &t->head;
  buf_reset(b);
  buf_str(b, STR("POST "));
  buf_str(b, t->url.target);
  buf_str(b, STR(" HTTP/1.1\r\nContent-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\n"));
  put_common_headers(t, b);
  t->head_size = b->n;
}

// Returns whether this request uses the stateless revision. This is always true for server/discover.
static bool is_stateless(const struct link *l, const struct link_call *call) {
  return link_is_stateless(l) || call == &l->discover;
}

// Returns the head of a request. The text is valid until request_head is called again.
static str request_head(struct http *t, const struct link_call *call, str method) {
  struct buf *b = &t->head;
  b->n = t->head_size;
  link_put_chain(t->link, b);
  if (!call) return buf_view(b);
  buf_str(b, call->headers);
  if (!is_stateless(t->link, call)) return buf_view(b);
  if (!link_is_stateless(t->link)) header_put(b, STR("MCP-Protocol-Version"), str_of(mcp_revision_stateless()->name));
  header_put(b, STR("Mcp-Method"), method);
  if (call->name.p) header_put(b, STR("Mcp-Name"), call->name);
  return buf_view(b);
}

static void start_get(struct post *p) {
  struct http *t = p->t;
  struct buf b;
  buf_init(&b, LINK_HEAD_MAX);
  buf_str(&b, STR("GET "));
  buf_str(&b, t->url.target);
  buf_str(&b, STR(" HTTP/1.1\r\nAccept: text/event-stream\r\nCache-Control: no-cache\r\n"));
  put_common_headers(t, &b);
  link_put_chain(t->link, &b);
  if (p->last_id[0]) buf_printf(&b, "Last-Event-ID: %s\r\n", p->last_id);
  p->fetch.replayable = true;
  p->mode = MODE_NONE;
  http_fetch_start(t->origin, &p->fetch, buf_view(&b), STR_NONE);
  buf_done(&b);
}

// ---- responses

static void fail_with(struct post *p, const struct fault *f) {
  struct link_call *c = p->call;
  if (!c) return;
  p->call = NULL;
  c->exchange = NULL;
  link_call_fail(c, f);
}

static void fail_call(struct post *p, enum fault_code code, const char *what) {
  struct fault f;
  if (!p->call) return;  // the call was answered before, or this exchange has no call
  fault_set(&f, code, "%s", what);
  fail_with(p, &f);
}

static void take_session(struct http *t, const struct http_head *h) {
  str id = http_value(h, STR("mcp-session-id"));
  if (id.n == 0 || id.n >= SESSION_ID_MAX) return;
  for (size_t i = 0; i < id.n; i++)
    if (id.p[i] < 0x21 || id.p[i] > 0x7e) return;
  memcpy(t->session, id.p, id.n);
  t->session[id.n] = 0;
}

static void on_event(void *ctx, const struct sse_event *e) {
  struct post *p = ctx;
  if (e->has_id && e->id.n < EVENT_ID_MAX && !is_stateless(p->t->link, p->call)) {
    memcpy(p->last_id, e->id.p, e->id.n);
    p->last_id[e->id.n] = 0;
  }
  if (e->data.n == 0 || !str_eq(e->type, STR("message"))) return;
  p->tries = 0;
  link_receive(p->t->link, e->data, &p->events.data, p->call);
  if (p->t->link->dead) p->events.on_event = NULL;
}

// ---- flow control

// Pauses reading the response while the client of the call is slow or large messages use too much memory; otherwise
// resumes.
static void update_flow(struct post *p) {
  if (!http_fetch_active(&p->fetch)) return;
  if (p->held_back || p->hold.stopped) http_fetch_pause(&p->fetch);
  else http_fetch_resume(&p->fetch);
}

static void on_bulk_flow(struct bulk_hold *h, bool go) {
  update_flow(CONTAINER_OF(h, struct post, hold));
}

static void on_bulk_given_up(struct bulk_hold *h) {
  struct post *p = CONTAINER_OF(h, struct post, hold);
  struct link *l = p->t->link;
  if (p->held_back) return;
  link_enter(l);
  fail_call(p, FAULT_UPSTREAM_ERROR,
            "stopped sending in the middle of a large answer while other messages were waiting");
  post_free(p);
  link_leave(l);
}

static void on_head(struct http_fetch *f, const struct http_head *h) {
  struct post *p = CONTAINER_OF(f, struct post, fetch);
  p->status = h->status;
  p->length = h->has_length ? h->content_length : 0;
  p->after_ms = http_retry_after(http_value(h, STR("retry-after")), p->t->link->opt.loop->clock);
  str type = http_value(h, STR("content-type"));
  p->json = http_list_has(type, STR("application/json"));
  bool hello = p->call && p->call == &p->t->link->hello;
  if (hello && h->status == 200) take_session(p->t, h);
  if (h->status >= 200 && h->status <= 299) p->taken = true;
  if (h->status < 200 || h->status > 299) {
    p->mode = MODE_REFUSED;
  } else if (http_list_has(type, STR("text/event-stream"))) {
    p->mode = MODE_EVENTS;
    stop_parsing(p);
    sse_init(&p->events, p->t->link->opt.max_message, on_event, p);
    p->parsing = true;
    // The server has sent something, so the count of failed attempts starts again.
    if (p->kind == POST_CALL) p->tries = 0;
  } else {
    p->mode = p->json ? MODE_JSON : MODE_NONE;
  }
  link_reachable(p->t->link, NULL);  // must be last, because the owner may free the link
}

static void on_body(struct http_fetch *f, str bytes) {
  struct post *p = CONTAINER_OF(f, struct post, fetch);
  struct link *l = p->t->link;
  link_enter(l);
  if (p->mode == MODE_EVENTS) {
    if (!sse_feed(&p->events, bytes)) {
      fail_call(p, FAULT_UPSTREAM_ERROR, "sent an event larger than limits.message");
      post_free(p);
    } else {
      bulk_set(&p->hold, p->parsing ? p->events.data.n : 0);
    }
  } else if (p->mode == MODE_JSON && p->body.n == 0 && bytes.n == p->length) {
    p->delivered = true;
    link_receive(l, bytes, NULL, p->call);
  } else if (p->mode != MODE_NONE) {
    buf_str(&p->body, bytes);
    if (p->body.over) {
      fail_call(p, FAULT_UPSTREAM_ERROR, "sent an answer larger than limits.message");
      post_free(p);
    } else {
      bulk_set(&p->hold, p->body.n);
    }
  }
  link_leave(l);
}

// ---- the end of a response

static uint64_t retry_delay(const struct post *p) {
  uint64_t ms = p->parsing && p->events.retry_ms >= 0 ? (uint64_t)p->events.retry_ms : RETRY_MS;
  for (unsigned i = 1; i < p->tries && ms < RETRY_MAX_MS; i++) ms *= 2;
  return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

static void on_retry(struct timer *t) {
  struct post *p = CONTAINER_OF(t, struct post, retry);
  bool over = p->kind == POST_OTHER || (p->kind == POST_CALL && !p->call);
  if (over) post_free(p);
  else start_get(p);
}

static void retry_later(struct post *p) {
  p->tries++;
  timer_start(p->t->link->opt.loop, &p->retry, retry_delay(p));
}

// Returns whether a server that supports only HTTP+SSE might answer the first POST with this status.
static bool looks_like_sse_server(int status) {
  return status == 400 || status == 404 || status == 405 || status == 406 || status == 415;
}

static void on_probed(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  struct link *l = CONTAINER_OF(c, struct http, probe)->link;
  // The server was stateless but does not know server/discover any more, so another server has replaced it.
  if (reply && reply->kind == RPC_ERROR && l->revision->stateless) link_session_lost(l, NULL);
}

// Checks whether the server still has the session, or whether a stateless server has been replaced.
static void probe_session(struct link *l) {
  enum { PROBE_MS = 10000 };
  struct http *t = l->transport;
  if (t->probe.link || l->dead || l->state != LINK_READY) return;
  t->probe.done = on_probed;
  link_call_begin(l, &t->probe, PROBE_MS, 0);
  if (!l->revision->stateless) {
    link_call_send(&t->probe, STR("ping"), STR_NONE);
    return;
  }
  struct buf params;
  buf_init(&params, link_meta(l).n + 16);
  buf_str(&params, STR("{\"_meta\":"));
  buf_str(&params, link_meta(l));
  buf_char(&params, '}');
  link_call_send(&t->probe, STR("server/discover"), buf_view(&params));
  buf_done(&params);
}

// Returns whether a server of any era may refuse a request with this status, so that the status does not reveal the
// era.
static bool says_nothing(int status) {
  return status == 401 || status == 403 || status == 429 || status >= 500;
}

static void refused(struct post *p) {
  struct http *t = p->t;
  struct link *l = t->link;
  struct fault f;
  int status = p->status;
  if (status == 508) {
    fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE,
              "refused (HTTP 508): gateways are connected in a loop, or more than %d in a row", (int)CHAIN_DEPTH);
    link_broken(l, &f);
    return;
  }
  if (p->call == &l->discover) l->undecided = says_nothing(status);
  // The body may contain a JSON-RPC error with more details.
  if (p->call && p->json && p->body.n && !l->undecided) {
    link_receive(l, buf_view(&p->body), &p->body, p->call);
    if (!p->call) return;
  }
  // In MCP, status 404 means that the session has ended. Many servers send 400 instead. Because 400 may also concern
  // only this call, a ping then checks whether the session exists.
  bool probed = p->call && p->call == &t->probe, stateless = l->state == LINK_READY && l->revision->stateless;
  bool doubtful = stateless ? status == 400 || status == 404 || status == 405 : status == 400 && t->session[0];
  if (doubtful && p->call && !probed) {
    char what[32];
    snprintf(what, sizeof what, "answered HTTP %d", status);
    fail_call(p, FAULT_UPSTREAM_ERROR, what);
    probe_session(l);
    return;
  }
  if (stateless ? probed && !says_nothing(status) : (status == 404 || probed) && t->session[0]) {
    if (p->taken) fail_call(p, FAULT_UPSTREAM_UNAVAILABLE, "lost the gateway's session during the call");
    struct link_call *c = p->call;
    if (c) c->exchange = NULL;
    p->call = NULL;
    link_session_lost(l, c);
    return;
  }
  bool opening = p->call == &l->hello || p->call == &l->discover;
  fault_set(&f, opening && status >= 500 ? FAULT_UPSTREAM_UNAVAILABLE : link_status_code(status), "answered HTTP %d%s",
            status, link_credentials_hint(status, t->headers));
  if (p->call == &l->hello) l->wrong_transport = looks_like_sse_server(status);
  f.undone = link_status_refuses(status);
  f.after_ms = f.undone ? p->after_ms : 0;
  fail_with(p, &f);
}

// The call's stream ended without the answer. Resumes it by GET if the server has sent an event id to resume from.
static void stream_ended(struct post *p, const char *why) {
  if (!p->call) {
    post_free(p);
  } else if (p->last_id[0] && p->tries < RESUME_TRIES) {
    retry_later(p);
    if (p->tries == 1 && p->call->polled) p->call->polled(p->call);
  } else {
    fail_call(p, FAULT_UPSTREAM_UNAVAILABLE, why);
    post_free(p);
  }
}

static void listener_ended(struct post *p, const struct fault *fault) {
  bool refused_for_good = p->mode == MODE_REFUSED && p->status < 500;
  bool not_a_stream = !fault && p->mode != MODE_EVENTS && p->mode != MODE_REFUSED;
  if (refused_for_good || not_a_stream) post_free(p);
  else retry_later(p);
}

static void confirmed(struct link *l, int status) {
  struct http *t = l->transport;
  struct fault f;
  if (status >= 400) {
    fault_set(&f, FAULT_UPSTREAM_ERROR, "answered HTTP %d to notifications/initialized", status);
    link_broken(l, &f);
    return;
  }
  t->listener = post_new(t, POST_LISTEN, NULL);
  start_get(t->listener);
  link_confirmed(l);
}

static void finished(struct post *p) {
  struct link *l = p->t->link;
  switch (p->mode) {
  case MODE_EVENTS: stream_ended(p, "ended its event stream without an answer"); return;
  case MODE_REFUSED: refused(p); break;
  case MODE_JSON:
    if (!p->delivered && p->body.n) link_receive(l, buf_view(&p->body), &p->body, p->call);
    if (p->call && !l->dead) http_origin_distrust(p->t->origin);
    fail_call(p, FAULT_UPSTREAM_ERROR, "answered with a body that is not a JSON-RPC reply");
    break;
  case MODE_NONE:
    if (p->call) http_origin_distrust(p->t->origin);
    fail_call(p, FAULT_UPSTREAM_ERROR, "answered without a JSON body");
    break;
  }
  bool confirmation = p->kind == POST_CONFIRM;
  int status = p->status;
  post_free(p);
  if (confirmation) confirmed(l, status);
}

static void on_done(struct http_fetch *f, const struct fault *fault) {
  struct post *p = CONTAINER_OF(f, struct post, fetch);
  struct link *l = p->t->link;
  bool over = p->kind == POST_CALL && !p->call;
  link_enter(l);
  if (fault && p->call == &l->discover) l->undecided = true;
  if (l->dead) {
    // close() frees the posts
  } else if (p->kind == POST_LISTEN) {
    if (fault && p->mode == MODE_NONE) link_reachable(l, fault);
    listener_ended(p, fault);
  } else if (!fault) {
    finished(p);
  } else if (over || p->mode == MODE_EVENTS || p->last_id[0]) {
    stream_ended(p, fault->message);
  } else {
    bool broken = p->kind == POST_CONFIRM;
    struct fault kept = *fault;
    link_reachable(l, fault);
    fail_with(p, &kept);
    post_free(p);
    if (broken) link_broken(l, &kept);
  }
  link_leave(l);
}

// ---- the transport

static void http_open(struct link *l) {
  make_post_head(l->transport);
  link_connected(l);
}

static struct post *send_post(struct http *t, enum post_kind kind, str head, str message, struct link_call *call) {
  struct post *p = post_new(t, kind, call);
  struct link *l = t->link;
  // initialize and server/discover change nothing, so they may be sent again if the server has closed the connection.
  p->fetch.replayable = call == &l->hello || call == &l->discover;
  http_fetch_start(t->origin, &p->fetch, head, message);
  return p;
}

// Returns true, with a reason in f, if the request must not be sent because its head was truncated.
static bool head_over(struct http *t, struct fault *f) {
  if (!t->head.over) return false;
  t->head.over = false;
  fault_set(f, FAULT_LIMIT, "cannot receive this request: its headers exceed the size limit");
  return true;
}

static void http_send(struct link *l, str message, struct link_call *call, str method) {
  struct http *t = l->transport;
  struct fault f;
  str head = request_head(t, call, method);
  if (head_over(t, &f)) {
    if (call) link_call_fail(call, &f);
    else
      log_warn(l->opt.loop->log, "%.*s: a message was not sent, because this server %s", STR_ARG(l->opt.name),
               f.message);
    return;
  }
  struct post *p = send_post(t, call ? POST_CALL : POST_OTHER, head, message, call);
  // No call with a timeout waits for this exchange, so this timer ends it. Otherwise it could occupy a connection
  // forever.
  if (!call) timer_start(l->opt.loop, &p->retry, OTHER_MS);
}

static void http_confirm(struct link *l, str message) {
  struct http *t = l->transport;
  struct fault f;
  make_post_head(t);  // later requests must name the revision and the session, which are known now
  str head = request_head(t, NULL, STR_NONE);
  if (head_over(t, &f)) link_broken(l, &f);
  else if (message.n) send_post(t, POST_CONFIRM, head, message, NULL);
  else link_confirmed(l);
}

// Ends the exchange of a cancelled request and closes its connection. If a callback of the exchange is running, it
// still needs the exchange, so a timer ends the exchange a moment later; until then, events of the exchange are
// ignored.
static void abandon(struct post *p) {
  struct link *l = p->t->link;
  if (!l->busy || p->mode == MODE_NONE) {
    post_free(p);
    return;
  }
  if (p->parsing) p->events.on_event = NULL;
  p->mode = MODE_NONE;
  timer_start(l->opt.loop, &p->retry, 0);
}

static void http_forget(struct link *l, struct link_call *call, bool answered) {
  struct post *p = call->exchange;
  call->exchange = NULL;
  if (!p) return;
  p->call = NULL;
  // The exchange of an answered request ends with its response; any other exchange is abandoned.
  if (!answered) abandon(p);
  else if (!l->busy || p->mode == MODE_NONE) post_free(p);
  else if (p->mode == MODE_EVENTS) timer_start(l->opt.loop, &p->retry, OVERSTAY_MS);
}

static void http_flow(struct link *l, bool go) {
  struct http *t = l->transport;
  LIST_EACH(it, &t->posts) {
    struct post *p = CONTAINER_OF(it, struct post, node);
    if (p->mode != MODE_EVENTS) continue;
    p->held_back = !go;
    update_flow(p);
  }
}

// Sends DELETE, so that the server ends our session.
static void delete_session(struct http *t) {
  struct buf b;
  buf_init(&b, LINK_HEAD_MAX);
  buf_str(&b, STR("DELETE "));
  buf_str(&b, t->url.target);
  buf_str(&b, STR(" HTTP/1.1\r\nAccept: application/json, text/event-stream\r\n"));
  put_common_headers(t, &b);
  http_origin_send(t->origin, buf_view(&b), STR_NONE);
  buf_done(&b);
}

static void http_close(struct link *l) {
  struct http *t = l->transport;
  for (struct list *n; (n = t->posts.next) != &t->posts;) post_free(CONTAINER_OF(n, struct post, node));
  for (struct list *n; (n = list_pop(&t->free_posts));) {
    struct post *p = CONTAINER_OF(n, struct post, node);
    buf_done(&p->body);
    mem_free(p);
  }
  if (t->session[0] && l->state == LINK_READY) delete_session(t);
  buf_done(&t->head);
  mem_free(t);
}

struct link *link_new_http(const struct link_options *opt, struct http_origin *origin, const struct http_url *url,
                           str headers, const struct link_events *ev, void *ctx) {
  static const struct link_transport ops = {true,        http_open, http_send,  http_confirm,
                                            http_forget, http_flow, http_close, NULL};
  struct http *t = MEM_NEW(struct http);
  t->origin = origin;
  t->url = *url;
  t->headers = headers;
  list_init(&t->posts);
  list_init(&t->free_posts);
  buf_init(&t->head, LINK_HEAD_MAX);
  t->link = link_new(opt, &ops, t, ev, ctx);
  return t->link;
}
