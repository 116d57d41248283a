// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/endpoint.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rate.h"
#include "mcp/auth/auth_gate.h"
#include "mcp/gateway_chain.h"
#include "mcp/server/http_session.h"
#include "mcp/server/stateless.h"

enum { ENDPOINT_MAGIC = 0x656e6470, MAX_BATCH = 100, EXPIRY_MS = 2000, CHAIN_REFUSALS_PER_SECOND = 5 };

struct endpoint {
  uint32_t magic;
  struct mcp_server *server;
  struct endpoint_options opt;
  struct http_sessions sessions;
  struct stateless stateless;
  struct auth_gate auth_gate;
  struct timer expiry;
  struct rate chain_refusals;
};

static struct endpoint *endpoint_of(const struct http_session *hs) {
  return CONTAINER_OF(hs->of, struct endpoint, sessions);
}

// ---- simple answers

static void reply_rpc_error(struct http_exchange *x, struct endpoint *e, int status, const struct rpc_error *err) {
  struct buf *b = &e->server->scratch;
  buf_reset(b);
  rpc_put_refusal(b, err);
  http_reply(x, status, STR_NONE, STR("application/json"), buf_view(b));
}

static void reply_refusal(struct http_exchange *x, struct endpoint *e, int status, int code, const char *message) {
  reply_rpc_error(x, e, status, &(struct rpc_error){.code = code, .message = message});
}

// JSON-RPC error codes for requests that the transport refuses. The official SDKs use the same codes.
enum { REFUSED = -32000, NO_SESSION = -32001 };

static void reply_method(struct http_exchange *x, str allow) {
  char headers[64];
  int n = snprintf(headers, sizeof headers, "Allow: %.*s\r\n", STR_ARG(allow));
  http_reply(x, 405, (str){headers, (size_t)n}, STR("text/plain; charset=utf-8"), STR("method not allowed here\n"));
}

// Returns whether another session may be opened. If not, sends a refusal.
static bool has_room(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  static const str text = STR("text/plain; charset=utf-8"), later = STR("Retry-After: 5\r\n");
  enum session_room room = e->sessions.draining ? SESSION_ROOM_NONE : sessions_make_room(e->server, who);
  if (room == SESSION_ROOM_NONE && !e->sessions.draining && callers_let_go_oldest(&e->stateless.callers))
    room = SESSION_ROOM;
  if (e->sessions.draining) http_reply(x, 503, later, text, STR("shutting down\n"));
  else if (room == SESSION_ROOM_NONE) http_reply(x, 503, later, text, STR("too many sessions (limits.sessions)\n"));
  else if (room == SESSION_ROOM_SHARE)
    http_reply(x, 429, later, text,
               STR("too many sessions of this principal, all in use; other principals may use the rest of "
                   "limits.sessions\n"));
  return room == SESSION_ROOM;
}

// Returns the session with this id if it belongs to this client, or NULL.
static struct http_session *session_named(struct endpoint *e, str id, struct client_identity who) {
  struct http_session *hs = id.p ? map_find(&e->sessions.by_id, id) : NULL;
  return hs && !hs->sse && session_belongs(hs->s, who) && hs->s->mode == who.mode ? hs : NULL;
}

// Returns the session that a request names. If the client has no such session, sends a refusal and returns NULL.
static struct http_session *find_session(struct endpoint *e, struct http_exchange *x, str id,
                                         struct client_identity who) {
  if (!id.p) {
    reply_refusal(x, e, 400, REFUSED,
                  "Bad Request: Mcp-Session-Id header is required; start with initialize, or state "
                  "revision 2026-07-28 in _meta");
    return NULL;
  }
  struct http_session *hs = session_named(e, id, who);
  if (!hs) {
    reply_refusal(x, e, 404, NO_SESSION, "Session not found");
    return NULL;
  }
  hs->s->until = who.until;
  http_session_touch(hs);
  return hs;
}

static bool version_ok(struct endpoint *e, struct http_exchange *x) {
  str version = http_value(x->head, STR("mcp-protocol-version"));
  if (!version.p || mcp_revision_find(version)) return true;
  struct buf message;
  buf_init(&message, 512);
  buf_printf(&message, "Bad Request: Unsupported protocol version (supported versions: %s)", mcp_revision_names);
  buf_char(&message, 0);
  reply_refusal(x, e, 400, REFUSED, message.p);
  buf_done(&message);
  return false;
}

static void reply_unread(struct endpoint *e, struct http_exchange *x, const struct fault *f) {
  struct rpc_unread unread;
  rpc_refuse_unread(x->body, f, &unread);
  reply_rpc_error(x, e, f->code == FAULT_LIMIT ? 413 : 400, &unread.error);
}

// Reports to the server's callbacks (surface_ops) that a request body is not accepted as JSON. The report names the
// session or, if the request names no session, the principal.
static void note_unread(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  struct http_session *hs = session_named(e, http_value(x->head, STR("mcp-session-id")), who);
  struct fault f;
  if (hs) {
    session_text_received(hs->s, x->body);
    return;
  }
  struct refusal why = {.code = RPC_INVALID_REQUEST};
  callers_refuse(&e->stateless.callers, request_parse(e->server, STR("{}"), &f), who, &why, &e->server->scratch);
}

// ---- POST /mcp

static bool accepts(str accept, str type, str any) {
  return http_list_has(accept, type) || http_list_has(accept, any) || http_list_has(accept, STR("*/*"));
}

// Returns whether the Content-Type is application/json, with no parameter except charset=utf-8. Browsers send some
// other types without a preflight request, such as "text/plain;a=b,application/json", which they treat as text/plain.
static bool is_json(str type) {
  str name, parameter, value;
  if (str_eq(type, STR("application/json"))) return true;
  bool more = str_cut(type, ';', &name, &parameter);
  if (!str_eq_nocase(str_trim(name), STR("application/json"))) return false;
  if (!more) return true;
  return str_cut(str_trim(parameter), '=', &name, &value) && str_eq_nocase(name, STR("charset")) &&
         (str_eq_nocase(value, STR("utf-8")) || str_eq_nocase(value, STR("\"utf-8\"")));
}

static bool content_ok(struct endpoint *e, struct http_exchange *x) {
  if (is_json(http_value(x->head, STR("content-type")))) return true;
  reply_refusal(x, e, 415, REFUSED, "Unsupported Media Type: Content-Type must be application/json");
  return false;
}

static bool media_ok(struct endpoint *e, struct http_exchange *x) {
  if (!content_ok(e, x)) return false;
  str accept = http_value(x->head, STR("accept"));
  if (accept.p && !(accepts(accept, STR("application/json"), STR("application/*")) &&
                    accepts(accept, STR("text/event-stream"), STR("text/*")))) {
    reply_refusal(x, e, 406, REFUSED, "Not Acceptable: Client must accept both application/json and text/event-stream");
    return false;
  }
  return true;
}

static bool is_initialize(const struct json *value) {
  return json_equals_str(json_get(value, STR("method")), STR("initialize"));
}

static bool is_request(const struct json *value) {
  return json_get(value, STR("method")) && json_get(value, STR("id"));
}

// Handles one message. A request gets an event stream for its answer; any other message is answered with status 202.
static void post_one(struct http_session *hs, struct http_exchange *x, struct request *r) {
  struct endpoint *e = endpoint_of(hs);
  struct rpc_error err;
  if (!is_request(r->value)) {
    if (session_receive(hs->s, r, NULL, &err)) http_reply(x, 202, STR_NONE, STR_NONE, STR_NONE);
    else reply_rpc_error(x, e, 400, &err);
    return;
  }
  char header[64] = "";
  if (is_initialize(r->value)) snprintf(header, sizeof header, "Mcp-Session-Id: %s\r\n", hs->s->id);
  struct event_stream *es = http_session_new_stream(hs);
  event_stream_attach(es, x, str_of(header));
  event_stream_expect(es);
  if (session_receive(hs->s, r, es, &err)) return;
  event_stream_surrender(es);
  http_session_free_stream(es);
  reply_rpc_error(x, e, 400, &err);
}

static void post_batch(struct http_session *hs, struct http_exchange *x, struct request *batch) {
  struct mcp_server *m = hs->of->server;
  struct event_stream *es = NULL;
  size_t requests = 0;
  JSON_EACH(it, batch->value) requests += is_request(it);
  if (requests) {
    es = http_session_new_stream(hs);
    event_stream_attach(es, x, STR_NONE);
    event_stream_begin(es);
    // Announces one answer per request of the batch and an extra one, so that the stream stays open until the whole
    // batch is handled.
    for (size_t i = 0; i <= requests; i++) event_stream_expect(es);
  }
  struct session *s = hs->s;
  JSON_EACH(it, batch->value) {
    struct rpc_error err;
    struct fault f;
    struct request *r = request_parse(m, json_span(it), &f);
    bool request = is_request(it);
    if (!r || session_receive(s, r, request ? es : NULL, &err) || !es) continue;
    // An invalid message of the batch is also answered, with its id if it has one.
    struct buf *b = &m->scratch;
    buf_reset(b);
    rpc_put_refusal(b, &err);
    if (request) event_stream_answer(es, 200, (struct payload){buf_view(b), NULL});
    else event_stream_send(es, (struct payload){buf_view(b), NULL});
  }
  if (es) event_stream_answer(es, 200, (struct payload){STR_NONE, NULL});
  else http_reply(x, 202, STR_NONE, STR_NONE, STR_NONE);
  request_discard(m, batch);
}

static bool batch_ok(const struct session *s, const struct json *value) {
  if (!s->revision->batches || value->count == 0 || value->count > MAX_BATCH) return false;
  JSON_EACH(it, value)
    if (is_initialize(it)) return false;
  return true;
}

static void post_to_session(struct http_session *hs, struct http_exchange *x, struct request *r) {
  struct endpoint *e = endpoint_of(hs);
  if (r->value->type != JSON_ARRAY) {
    post_one(hs, x, r);
  } else if (batch_ok(hs->s, r->value)) {
    post_batch(hs, x, r);
  } else {
    session_message_received(hs->s, NULL, r->value, false);
    request_discard(e->server, r);
    reply_refusal(x, e, 400, RPC_INVALID_REQUEST,
                  "Invalid Request: this revision has no batches, or the batch is malformed");
  }
}

static void post_initialize(struct endpoint *e, struct http_exchange *x, struct request *r,
                            struct client_identity who) {
  if (!has_room(e, x, who)) {
    request_discard(e->server, r);
    return;
  }
  struct http_session *hs = http_session_open(&e->sessions, who, false);
  // The answer may close the session, so the session must be looked up again by a copy of its id.
  char id[RAND_ID_SIZE];
  memcpy(id, hs->s->id, sizeof id);
  post_one(hs, x, r);
  hs = map_find(&e->sessions.by_id, str_of(id));
  if (hs && hs->s->state == SESSION_NEW) http_session_close(hs);
}

static void take_chain(struct request *r, const struct http_head *head) {
  str header = http_value(head, STR(CHAIN_HEADER));
  r->chain = chain_ids_in(header, &r->arena);
  r->marks = chain_marks_in(header, &r->arena);
}

static void post(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  if (!media_ok(e, x)) return;
  struct fault f;
  struct request *r = request_parse(e->server, x->body, &f);
  if (!r) {
    note_unread(e, x, who);
    reply_unread(e, x, &f);
    return;
  }
  str parent = http_value(x->head, STR("traceparent"));
  if (parent.n) {
    r->traceparent = arena_str(&r->arena, parent);
    r->tracestate = arena_str(&r->arena, http_value(x->head, STR("tracestate")));
  }
  take_chain(r, x->head);
  if (stateless_takes(x, r)) {
    stateless_post(&e->stateless, x, r, who);
    return;
  }
  str id = http_value(x->head, STR("mcp-session-id"));
  if (is_initialize(r->value) && !id.p) {
    post_initialize(e, x, r, who);
    return;
  }
  struct http_session *hs = version_ok(e, x) ? find_session(e, x, id, who) : NULL;
  if (hs) post_to_session(hs, x, r);
  else request_discard(e->server, r);
}

// ---- GET /mcp

static void get(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  if (!http_list_has(http_value(x->head, STR("accept")), STR("text/event-stream"))) {
    reply_refusal(x, e, 406, REFUSED, "Not Acceptable: Client must accept text/event-stream");
    return;
  }
  if (!version_ok(e, x)) return;
  struct http_session *hs = find_session(e, x, http_value(x->head, STR("mcp-session-id")), who);
  if (!hs) return;
  str last = http_value(x->head, STR("last-event-id")), stream, event;
  uint64_t number = 0, after = 0;
  if (!last.p) {
    http_session_set_away(hs, false);
    event_stream_take(hs->standing, x, hs->s->revision->sse_priming);
    return;
  }
  struct event_stream *es = NULL;
  bool ours = str_cut(last, '-', &stream, &event) && str_to_u64(stream, &number) && str_to_u64(event, &after);
  uint32_t key = (uint32_t)number;
  if (ours && number <= UINT32_MAX) es = map_find(&hs->streams, (str){(const char *)&key, sizeof key});
  if (!es || !event_stream_resume(es, x, STR_NONE, after))
    reply_refusal(x, e, 400, REFUSED, "Bad Request: cannot resume from Last-Event-ID: the event is unknown or expired");
}

// ---- HTTP+SSE

static void sse_open(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  if (!has_room(e, x, who)) return;
  struct http_session *hs = http_session_open(&e->sessions, who, true);
  event_stream_attach(hs->standing, x, STR_NONE);
  char uri[64];
  int n = snprintf(uri, sizeof uri, "/messages?sessionId=%s", hs->s->id);
  event_stream_send_typed(hs->standing, STR("endpoint"), (str){uri, (size_t)n});
}

static void sse_receive(struct http_session *hs, struct request *r, struct http_exchange *x) {
  struct rpc_error err;
  // Answers first, because the message may end the session.
  http_reply(x, 202, STR_NONE, STR("text/plain; charset=utf-8"), STR("Accepted"));
  if (session_receive(hs->s, r, NULL, &err)) return;
  struct buf *b = &hs->of->server->scratch;
  buf_reset(b);
  rpc_put_refusal(b, &err);
  event_stream_send(hs->standing, (struct payload){buf_view(b), NULL});
}

static void sse_post(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  if (!content_ok(e, x)) return;
  str id = str_starts(x->head->query, STR("sessionId=")) ? str_from(x->head->query, 10) : STR_NONE;
  struct http_session *hs = id.n ? map_find(&e->sessions.by_id, id) : NULL;
  if (!hs || !hs->sse || !session_belongs(hs->s, who)) {
    http_reply(x, 404, STR_NONE, STR("text/plain; charset=utf-8"), STR("session not found\n"));
    return;
  }
  hs->s->until = who.until;
  hs->ending = false;
  struct fault f;
  struct request *r = request_parse(e->server, x->body, &f);
  if (!r) {
    session_text_received(hs->s, x->body);
    reply_unread(e, x, &f);
    return;
  }
  if (r->value->type == JSON_ARRAY && !batch_ok(hs->s, r->value)) {
    session_message_received(hs->s, NULL, r->value, false);
    request_discard(e->server, r);
    http_reply(x, 400, STR_NONE, STR("text/plain; charset=utf-8"), STR("not a JSON-RPC message\n"));
    return;
  }
  take_chain(r, x->head);
  if (r->value->type != JSON_ARRAY) {
    sse_receive(hs, r, x);
    return;
  }
  struct rpc_error err;
  JSON_EACH(it, r->value) {
    struct request *one = request_parse(e->server, json_span(it), &f);
    if (one) session_receive(hs->s, one, NULL, &err);
  }
  request_discard(e->server, r);
  http_reply(x, 202, STR_NONE, STR("text/plain; charset=utf-8"), STR("Accepted"));
}

// ---- routing

static bool method_is(const struct http_exchange *x, str method) {
  return str_eq(x->head->method, method);
}

static void serve_mcp(struct endpoint *e, struct http_exchange *x, struct client_identity who) {
  if (method_is(x, STR("POST"))) post(e, x, who);
  else if (stateless_stated(x)) reply_method(x, STR("POST"));
  else if (method_is(x, STR("GET"))) get(e, x, who);
  else if (!method_is(x, STR("DELETE"))) reply_method(x, STR("POST, GET, DELETE"));
  else {
    struct http_session *hs = find_session(e, x, http_value(x->head, STR("mcp-session-id")), who);
    if (!hs) return;
    hs->s->left = true;
    http_session_close(hs);
    http_reply(x, 200, STR_NONE, STR_NONE, STR_NONE);
  }
}

// Finds the mode for the path "/mcp" or "/mcp/NAME". Returns false if the mode is unknown or not served.
static bool find_mode(const struct endpoint *e, str path, int *out) {
  if (!str_starts(path, STR("/mcp"))) return false;
  str rest = str_from(path, 4);
  *out = e->opt.mode;
  if (rest.n == 0) return true;
  for (size_t i = 0; i < e->opt.mode_count; i++) {
    *out = (int)i;
    if (rest.p[0] == '/' && str_eq(str_from(rest, 1), str_of(e->opt.modes[i]))) return e->opt.served & 1u << i;
  }
  return false;
}

// Returns false, after sending a refusal, if a request has already passed this gateway or has passed too many gateways.
static bool chain_ok(struct endpoint *e, struct http_exchange *x) {
  str header = http_value(x->head, STR(CHAIN_HEADER));
  struct fault f;
  if (!header.p || !e->opt.chain) return true;
  if (chain_admit(e->opt.chain, header, &f)) return true;
  struct loop *loop = e->server->loop;
  unsigned suppressed;
  if (rate_allow(&e->chain_refusals, loop_now(loop), CHAIN_REFUSALS_PER_SECOND, &suppressed))
    log_warn(loop->log, "refused a request from another gateway: %s", f.message);
  reply_refusal(x, e, 508, REFUSED, f.message);
  return false;
}

static void serve_path(void *endpoint, struct http_exchange *x, struct client_identity who) {
  struct endpoint *e = endpoint;
  ASSERT_MAGIC(e, ENDPOINT_MAGIC);
  str path = x->head->path;
  who.mode = e->opt.mode;
  if (!chain_ok(e, x)) return;
  if (find_mode(e, path, &who.mode)) {
    serve_mcp(e, x, who);
  } else if (str_eq(path, STR("/sse"))) {
    if (method_is(x, STR("GET"))) sse_open(e, x, who);
    else reply_method(x, STR("GET"));
  } else if (str_eq(path, STR("/messages"))) {
    if (method_is(x, STR("POST"))) sse_post(e, x, who);
    else reply_method(x, STR("POST"));
  } else {
    http_reply(x, 404, STR_NONE, STR("text/plain; charset=utf-8"),
               STR("not found: the endpoint is /mcp, or /sse for HTTP+SSE; /mcp/MODE requires MODE in `modes`\n"));
  }
}

bool endpoint_admit(void *endpoint, const struct http_head *head, str *out_principal) {
  struct endpoint *e = endpoint;
  return access_check(&e->opt.access, head) == 0 && auth_gate_admits(&e->auth_gate, head, out_principal);
}

// Returns whether a request comes from monitoring. Such a request is accepted even if clients use all connections.
bool endpoint_vital(void *endpoint, const struct http_head *head) {
  return str_eq(head->path, STR("/healthz")) || str_eq(head->path, STR("/readyz")) ||
         str_eq(head->path, STR("/metrics"));
}

void endpoint_request(void *endpoint, struct http_exchange *x) {
  struct endpoint *e = endpoint;
  ASSERT_MAGIC(e, ENDPOINT_MAGIC);
  str part;
  if (!access_pass(&e->opt.access, e->server->loop, x)) return;
  if (str_eq(x->head->path, STR("/healthz"))) {
    http_reply(x, 200, STR_NONE, STR("text/plain; charset=utf-8"), STR("ok\n"));
  } else if (challenge_is_metadata(&e->auth_gate.challenge, x->head->path, &part)) {
    struct buf *b = &e->server->scratch;
    buf_reset(b);
    challenge_put_metadata(&e->auth_gate.challenge, part, b);
    if (method_is(x, STR("GET"))) http_reply(x, 200, STR_NONE, STR("application/json"), buf_view(b));
    else reply_method(x, STR("GET"));
  } else if (!e->opt.page || !e->opt.page(e->opt.page_ctx, x)) {
    auth_gate_pass(&e->auth_gate, x);
  }
}

static void on_expiry(struct timer *t) {
  struct endpoint *e = CONTAINER_OF(t, struct endpoint, expiry);
  int64_t now = clock_wall_ms(e->server->loop->clock) / 1000;
  callers_expire(&e->stateless.callers, now);
  http_sessions_end_listening(&e->sessions, false, now);
  timer_start(e->server->loop, t, EXPIRY_MS);
}

static void on_refused(void *endpoint, const struct http_exchange *x, enum rejection why) {
  struct endpoint *e = endpoint;
  if (e->opt.refused) e->opt.refused(e->opt.refused_ctx, x, why);
}

struct endpoint *endpoint_new(struct mcp_server *m, const struct endpoint_options *opt) {
  struct endpoint *e = MEM_NEW(struct endpoint);
  e->magic = ENDPOINT_MAGIC;
  e->server = m;
  e->opt = *opt;
  struct http_sessions_options sessions = {opt->keepalive_ms, opt->resume_ms, opt->session_idle_ms,
                                           opt->session_away_ms};
  http_sessions_init(&e->sessions, m, &sessions);
  auth_gate_init(&e->auth_gate, serve_path, on_refused, e);
  timer_init(&e->expiry, on_expiry);
  stateless_init(&e->stateless, m, opt->keepalive_ms, opt->session_away_ms, &e->sessions.events);
  return e;
}

void endpoint_listens(struct endpoint *e, uint16_t port) {
  e->opt.access.port = port;
}

void endpoint_guard(struct endpoint *e, struct credentials *credentials, const struct challenge *challenge) {
  ASSERT_MAGIC(e, ENDPOINT_MAGIC);
  auth_gate_guard(&e->auth_gate, credentials, challenge);
  callers_drain(&e->stateless.callers);
  http_sessions_end_listening(&e->sessions, true, 0);
  bool expire = credentials && credentials_keys(credentials);
  if (expire) timer_start(e->server->loop, &e->expiry, EXPIRY_MS);
  else timer_stop(&e->expiry);
}

void endpoint_drain(struct endpoint *e) {
  http_sessions_drain(&e->sessions);
  stateless_drain(&e->stateless);
}

void endpoint_free(struct endpoint **endpoint) {
  struct endpoint *e = *endpoint;
  if (!e) return;
  *endpoint = NULL;
  ASSERT_MAGIC(e, ENDPOINT_MAGIC);
  auth_gate_done(&e->auth_gate);
  timer_stop(&e->expiry);
  http_sessions_close(&e->sessions);
  stateless_done(&e->stateless);
  http_sessions_done(&e->sessions);
  e->magic = 0;
  mem_free(e);
}
