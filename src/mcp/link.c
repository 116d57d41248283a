// SPDX-License-Identifier: Apache-2.0
#include "mcp/link_impl.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/loop.h"
#include "mcp/meta.h"
#include "json/write.h"

enum { GROWTH = 65536 };  // by which a message may grow on its way, by ids and names
enum { LINK_MAGIC = 0x6c696e6b };
enum { PROBE_MS = 5000 };  // for the answer to server/discover, before initialize is tried

static void on_start_timeout(struct timer *t);
static void on_probe_timeout(struct timer *t);

struct link *link_new(const struct link_options *opt, const struct link_transport *ops, void *transport,
                      const struct link_events *ev, void *ctx) {
  struct link *l = MEM_NEW(struct link);
  l->magic = LINK_MAGIC;
  l->opt = *opt;
  l->ops = ops;
  l->transport = transport;
  l->ev = ev;
  l->ctx = ctx;
  rpc_pending_init(&l->pending, opt->loop);
  arena_init(&l->inbox);
  arena_init(&l->arena);
  timer_init(&l->start_timer, on_start_timeout);
  timer_init(&l->probe_timer, on_probe_timeout);
  return l;
}

static void destroy(struct link *l) {
  l->ops->close(l);
  rpc_pending_done(&l->pending);
  arena_done(&l->inbox);
  arena_done(&l->arena);
  l->magic = 0;
  mem_free(l);
}

void link_free(struct link **link) {
  struct link *l = *link;
  if (!l) return;
  *link = NULL;
  ASSERT_MAGIC(l, LINK_MAGIC);
  timer_stop(&l->start_timer);
  timer_stop(&l->probe_timer);
  l->dead = true;
  struct fault f;
  fault_set(&f, FAULT_SHUTTING_DOWN, "is being disconnected");
  link_enter(l);
  rpc_pending_fail(&l->pending, &f);
  link_leave(l);
}

void link_put_headers(struct buf *out, const struct http_url *url, str configured) {
  buf_str(out, STR("Host: "));
  buf_str(out, url->authority);
  buf_str(out, STR("\r\nUser-Agent: toolgate/" TOOLGATE_VERSION "\r\n"));
  buf_str(out, configured);
}

void link_enter(struct link *l) {
  ASSERT_MAGIC(l, LINK_MAGIC);
  l->busy++;
}

void link_leave(struct link *l) {
  l->busy--;
  if (l->dead && l->busy == 0) destroy(l);
}

bool link_ready(const struct link *l) {
  return l && l->state == LINK_READY;
}
bool link_wrong_transport(const struct link *l) {
  return l->wrong_transport;
}
bool link_probe_failed(const struct link *l) {
  return l->state == LINK_CLOSED && l->doubt;
}
const struct mcp_revision *link_revision(const struct link *l) {
  return l->revision;
}
bool link_has_headers(const struct link *l) {
  return link_is_stateless(l) && l->ops->exchanges;
}
const struct json *link_server_capabilities(const struct link *l) {
  return l->server_capabilities;
}
void link_said(struct link *l, str line) {
  if (!line.n) return;
  l->last_words_n = line.n < LINK_LAST_WORDS ? line.n : LINK_LAST_WORDS;
  memcpy(l->last_words, line.p, l->last_words_n);
}

str link_last_words(const struct link *l) {
  return (str){l->last_words, l->last_words_n};
}

str link_instructions(const struct link *l) {
  return l->instructions;
}
str link_meta(const struct link *l) {
  return link_is_stateless(l) ? l->meta : STR_NONE;
}

// ---- calls

static void tell_cancelled(struct link *l, uint64_t id, str reason) {
  // A stateless server knows it by the end of the exchange.
  if (l->state != LINK_READY || (link_is_stateless(l) && l->ops->exchanges)) return;
  struct buf params;
  buf_init(&params, 4096);
  buf_printf(&params, "{\"requestId\":%llu,\"reason\":", (unsigned long long)id);
  json_escape(&params, reason.n > 512 ? STR("the client cancelled the request") : reason);
  buf_char(&params, '}');
  link_notify(l, STR("notifications/cancelled"), buf_view(&params));
  buf_done(&params);
}

static void on_done(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct link_call *c = CONTAINER_OF(w, struct link_call, wait);
  struct link *l = c->link;
  if (f && f->code == FAULT_UPSTREAM_TIMEOUT) tell_cancelled(l, w->id, STR("timed out"));
  l->ops->forget(l, c, reply != NULL);
  c->link = NULL;
  c->done(c, reply, f);
}

static void on_progress(struct rpc_wait *w, const struct rpc_message *notification) {
  struct link_call *c = CONTAINER_OF(w, struct link_call, wait);
  if (c->progress) c->progress(c, notification);
}

void link_call_begin(struct link *l, struct link_call *c, uint64_t timeout_ms, uint64_t max_ms) {
  c->link = l;
  c->exchange = NULL;
  c->wait.done = on_done;
  c->wait.progress = on_progress;
  rpc_wait_start(&l->pending, &c->wait, timeout_ms, max_ms);
}

void link_call_send(struct link_call *c, str method, str params) {
  struct link *l = c->link;
  struct buf *b = l->opt.scratch;
  struct str_digits id;
  buf_reset(b);
  rpc_put_request(b, str_from_u64(c->wait.id, &id), method, params);
  if (b->over) {
    struct fault f;
    fault_set(&f, FAULT_LIMIT, "would get a request larger than limits.message");
    link_call_fail(c, &f);
    return;
  }
  l->ops->send(l, buf_view(b), c, method);
}

// Without a word to the server, or a callback. Fine when it is not under way.
static void drop_call(struct link_call *c) {
  struct link *l = c->link;
  if (!l) return;
  rpc_wait_stop(&c->wait);
  l->ops->forget(l, c, false);
  c->link = NULL;
}

void link_call_cancel(struct link_call *c, str reason) {
  struct link *l = c->link;
  if (!l) return;
  drop_call(c);
  tell_cancelled(l, c->wait.id, reason);
}

void link_call_forget(struct link_call *c) {
  rpc_wait_stop(&c->wait);
  c->link = NULL;
}

enum fault_code link_status_code(int status) {
  switch (status) {
  case 401:
  case 407: return FAULT_AUTH_FAILED;
  case 403: return FAULT_PERMISSION_DENIED;
  case 429: return FAULT_RATE_LIMITED;
  case 408:
  case 504: return FAULT_UPSTREAM_TIMEOUT;
  case 502:
  case 503: return FAULT_UPSTREAM_UNAVAILABLE;
  default: return FAULT_UPSTREAM_ERROR;  // it was there, and may have done something
  }
}

void link_call_fail(struct link_call *c, const struct fault *f) {
  if (c->link) rpc_wait_fail(&c->wait, f);
}

// ---- other messages

static void send_message(struct link *l, str message) {
  bool open = l->state >= LINK_HANDSHAKE && l->state < LINK_CLOSED && !l->dead;
  bool fits = message.n <= l->opt.max_message + GROWTH;
  if (!fits) log_warn(l->opt.loop->log, "%.*s: a message over limits.message was not sent", STR_ARG(l->opt.name));
  if (open && fits) l->ops->send(l, message, NULL, STR_NONE);
}

// To a stateless server go requests, and on a pipe the word that one is cancelled; there is nothing else.
static bool may_say(struct link *l, str what) {
  if (!link_is_stateless(l)) return true;
  if (!l->ops->exchanges && str_eq(what, STR("notifications/cancelled"))) return true;
  log_debug(l->opt.loop->log, "%.*s: is stateless and is not sent %.*s", STR_ARG(l->opt.name), STR_ARG(what));
  return false;
}

void link_send_raw(struct link *l, str message) {
  if (may_say(l, STR("a message that is no request"))) send_message(l, message);
}

void link_notify(struct link *l, str method, str params) {
  struct buf *b = l->opt.scratch;
  if (!may_say(l, method)) return;
  buf_reset(b);
  rpc_put_notification(b, method, params);
  send_message(l, buf_view(b));
}

void link_reply(struct link *l, str id, str result) {
  struct buf *b = l->opt.scratch;
  buf_reset(b);
  rpc_put_result(b, id, result);
  if (b->over) link_refuse(l, id, RPC_INTERNAL_ERROR, STR("the answer is larger than limits.message"));
  else link_send_raw(l, buf_view(b));
}

void link_refuse(struct link *l, str id, int code, str message) {
  struct buf *b = l->opt.scratch;
  buf_reset(b);
  rpc_put_error(b, id, code, message, STR_NONE);
  link_send_raw(l, buf_view(b));
}

void link_flow(struct link *l, bool go) {
  if (l->state == LINK_READY) l->ops->flow(l, go);
}

// ---- opening

void link_open(struct link *l) {
  ASSERT(l->state == LINK_NEW);
  l->state = LINK_OPENING;
  timer_start(l->opt.loop, &l->start_timer, l->opt.start_ms);
  link_enter(l);
  l->ops->open(l);
  link_leave(l);
}

// `lost`: the id of the call that was not carried out because the session is gone; 0: none.
static void break_link(struct link *l, const struct fault *f, uint64_t lost) {
  if (l->state == LINK_CLOSED || l->dead) return;
  l->state = LINK_CLOSED;
  timer_stop(&l->start_timer);
  timer_stop(&l->probe_timer);
  struct fault kept = *f, for_calls = *f;
  // Other calls may have been carried out before the session was lost: they are not to be repeated.
  if (f->code == FAULT_UPSTREAM_SESSION_LOST) for_calls.code = FAULT_UPSTREAM_UNAVAILABLE;
  drop_call(&l->hello);
  drop_call(&l->discover);
  link_enter(l);
  l->ev->closed(l->ctx, l, &kept);
  // By its id, since the owner may have freed the call meanwhile.
  struct rpc_wait *w = lost ? rpc_pending_by_id(&l->pending, lost) : NULL;
  if (w) rpc_wait_fail(w, &kept);
  rpc_pending_fail(&l->pending, &for_calls);
  l->dead = true;
  link_leave(l);
}

void link_broken(struct link *l, const struct fault *f) {
  break_link(l, f, 0);
}

void link_reachable(struct link *l, const struct fault *f) {
  if (l->dead || l->state != LINK_READY || l->unreachable == (f != NULL)) return;
  l->unreachable = f != NULL;
  l->ev->reachable(l->ctx, l, f);
}

void link_session_lost(struct link *l, struct link_call *c) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_SESSION_LOST, "has ended our session");
  break_link(l, &f, c ? c->wait.id : 0);
}

static void on_start_timeout(struct timer *t) {
  struct link *l = CONTAINER_OF(t, struct link, start_timer);
  struct fault f;
  const char *what = l->opt.era == LINK_ERA_STATELESS ? "answer server/discover" : "complete the handshake";
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not %s within %.1f s", what, (double)l->opt.start_ms / 1000);
  link_broken(l, &f);
}

// What the server told of itself, kept, since the message is gone when the callback returns.
static const struct json *keep_result(struct link *l, const struct json *result, struct fault *f) {
  return json_parse(&l->arena, arena_str(&l->arena, json_span(result)), &json_default_limits, f);
}

static void take_description(struct link *l, const struct json *result) {
  const struct json *capabilities = json_get(result, STR("capabilities"));
  l->server_capabilities = json_is(capabilities, JSON_OBJECT) ? capabilities : NULL;
  json_string(json_get(result, STR("instructions")), &l->arena, &l->instructions);
}

// ---- the handshake

static bool take_handshake(struct link *l, const struct json *result, struct fault *f) {
  str version;
  const struct json *r = keep_result(l, result, f);
  if (!r) return false;
  if (!json_string(json_get(r, STR("protocolVersion")), &l->arena, &version)) {
    fault_set(f, FAULT_PROTOCOL, "answered initialize without a protocolVersion");
    return false;
  }
  const struct mcp_revision *revision = mcp_revision_find(version);
  if (!revision) {
    fault_set(f, FAULT_PROTOCOL, "speaks MCP revision \"%.*s\", which this version does not (it has %s)",
              STR_ARG(version), mcp_revision_names);
    return false;
  }
  if (revision->stateless) {
    fault_set(f, FAULT_PROTOCOL, "answered initialize with MCP revision %s, which has no handshake", revision->name);
    return false;
  }
  l->revision = revision;
  take_description(l, r);
  return true;
}

// The message of a JSON-RPC error, for ours.
static str error_text(struct link *l, const struct rpc_message *reply) {
  str message = STR("no message");
  json_string(json_get(reply->error, STR("message")), &l->inbox, &message);
  return message;
}

static void settle(struct link *l, str confirmation) {
  timer_stop(&l->probe_timer);
  l->doubt = false;
  l->state = LINK_CONFIRMING;
  l->ops->confirm(l, confirmation);
}

static void on_hello(struct link_call *c, const struct rpc_message *reply, const struct fault *failed) {
  struct link *l = CONTAINER_OF(c, struct link, hello);
  struct fault f;
  if (l->dead) return;
  if (failed) f = *failed;
  else if (reply->kind == RPC_ERROR)
    fault_set(&f, FAULT_UPSTREAM_ERROR, "refused initialize: %.*s", STR_ARG(error_text(l, reply)));
  else if (take_handshake(l, reply->result, &f)) {
    drop_call(&l->discover);
    settle(l, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
    return;
  }
  if (!l->discover.link) link_broken(l, &f);  // else its answer may be of more use
}

static void start_handshake(struct link *l) {
  struct buf params;
  buf_init(&params, l->opt.capabilities.n + 4096);
  struct json_writer w = json_writer(&params);
  json_begin_object(&w);
  json_put_key(&w, STR("protocolVersion"));
  json_put_str(&w, str_of(mcp_revision_latest()->name));
  json_put_key(&w, STR("capabilities"));
  json_put_raw(&w, l->opt.capabilities);
  json_put_key(&w, STR("clientInfo"));
  json_put_raw(&w, META_TOOLGATE);
  json_end_object(&w);
  l->hello.done = on_hello;
  link_call_begin(l, &l->hello, 0, 0);
  link_call_send(&l->hello, STR("initialize"), buf_view(&params));
  buf_done(&params);
}

// ---- finding out the era

enum verdict {
  IS_STATELESS,   // in a revision that we speak
  HAS_HANDSHAKE,  // or nothing says that it has not
  IS_FOREIGN,     // names revisions, and we speak none of them
};

static enum verdict judge_versions(const struct json *versions) {
  if (!json_is(versions, JSON_ARRAY) || !versions->count) return HAS_HANDSHAKE;
  enum verdict verdict = IS_FOREIGN;
  JSON_EACH(it, versions) {
    for (size_t i = 0; i < mcp_revision_count; i++) {
      if (!json_equals_str(it, str_of(mcp_revisions[i].name))) continue;
      if (mcp_revisions[i].stateless) return IS_STATELESS;
      verdict = HAS_HANDSHAKE;
    }
  }
  return verdict;
}

// The versions that an answer to server/discover names; NULL: it is not that of a stateless server.
static const struct json *named_versions(const struct rpc_message *reply) {
  int64_t code;
  if (reply->kind == RPC_RESULT) return json_get(reply->result, STR("supportedVersions"));
  bool unsupported = json_int(json_get(reply->error, STR("code")), &code) && code == RPC_UNSUPPORTED_VERSION;
  return unsupported ? json_get(json_get(reply->error, STR("data")), STR("supported")) : NULL;
}

static void take_discovery(struct link *l, const struct json *result) {
  struct fault f;
  const struct json *r = keep_result(l, result, &f);
  if (!r) {
    link_broken(l, &f);
    return;
  }
  drop_call(&l->hello);
  l->revision = mcp_revision_stateless();
  take_description(l, r);
  settle(l, STR_NONE);
}

// Not stateless, that is certain now: the handshake, or the end.
static void not_stateless(struct link *l, const char *why) {
  struct fault f;
  if (l->opt.era != LINK_ERA_STATELESS) {
    if (!l->hello.link) start_handshake(l);
    return;
  }
  fault_set(&f, FAULT_PROTOCOL, "does not speak MCP %s (\"protocol\": \"modern\"): it %s",
            mcp_revision_stateless()->name, why);
  link_broken(l, &f);
}

static void foreign(struct link *l, const struct json *versions) {
  struct fault f;
  l->doubt = false;
  fault_set(&f, FAULT_PROTOCOL, "speaks MCP revisions %.*s, none of which this version does (it has %s)",
            STR_ARG(json_span(versions)), mcp_revision_names);
  link_broken(l, &f);
}

static void inconsistent(struct link *l) {
  struct fault f;
  l->doubt = false;
  fault_set(&f, FAULT_PROTOCOL, "refused MCP revision %s, although it says that it supports it",
            mcp_revision_stateless()->name);
  link_broken(l, &f);
}

static void on_discover(struct link_call *c, const struct rpc_message *reply, const struct fault *failed) {
  struct link *l = CONTAINER_OF(c, struct link, discover);
  if (l->dead) return;
  timer_stop(&l->probe_timer);
  if (failed && l->undecided) {
    link_broken(l, failed);
    return;
  }
  if (failed) {
    not_stateless(l, failed->message);
    return;
  }
  const struct json *versions = named_versions(reply);
  switch (judge_versions(versions)) {
  case IS_STATELESS:
    if (reply->kind == RPC_RESULT) take_discovery(l, reply->result);
    else inconsistent(l);
    break;
  case IS_FOREIGN: foreign(l, versions); break;
  case HAS_HANDSHAKE: {
    char why[FAULT_TEXT];
    if (reply->kind == RPC_RESULT) snprintf(why, sizeof why, "answered server/discover without naming it");
    else snprintf(why, sizeof why, "refused server/discover: %.*s", STR_ARG(error_text(l, reply)));
    not_stateless(l, why);
    break;
  }
  }
}

static void start_discovery(struct link *l) {
  str capabilities = l->opt.stateless_capabilities.p ? l->opt.stateless_capabilities : l->opt.capabilities;
  struct meta_caller us = {.capabilities = capabilities, .client = META_TOOLGATE};
  struct buf params;
  buf_init(&params, capabilities.n + 4096);
  buf_str(&params, STR("{\"_meta\":"));
  size_t at = params.n;
  meta_write(&params, NULL, &us, STR_NONE);
  l->meta = arena_str(&l->arena, str_from(buf_view(&params), at));
  buf_char(&params, '}');
  l->discover.done = on_discover;
  link_call_begin(l, &l->discover, 0, 0);
  if (l->opt.era == LINK_ERA_UNKNOWN) {
    uint64_t half = l->opt.start_ms / 2;  // the handshake needs time too
    l->doubt = !l->ops->exchanges;
    timer_start(l->opt.loop, &l->probe_timer, PROBE_MS < half ? PROBE_MS : half);
  }
  link_call_send(&l->discover, STR("server/discover"), buf_view(&params));
  buf_done(&params);
}

// On a pipe both questions are open now, and the answer that comes first decides.
static void on_probe_timeout(struct timer *t) {
  struct link *l = CONTAINER_OF(t, struct link, probe_timer);
  if (l->ops->exchanges) drop_call(&l->discover);
  link_enter(l);
  start_handshake(l);
  link_leave(l);
}

void link_connected(struct link *l) {
  if (l->dead || l->state != LINK_OPENING) return;
  l->state = LINK_HANDSHAKE;
  if (l->opt.era == LINK_ERA_HANDSHAKE) start_handshake(l);
  else start_discovery(l);
}

void link_confirmed(struct link *l) {
  if (l->dead || l->state != LINK_CONFIRMING) return;
  timer_stop(&l->start_timer);
  l->state = LINK_READY;
  l->ev->ready(l->ctx, l);
}

// ---- receiving

// A server that sends nonsense must not fill the log with it.
static bool may_complain(struct link *l) {
  enum { COMPLAINTS_PER_SECOND = 10 };
  unsigned suppressed;
  return rate_allow(&l->complaints, loop_now(l->opt.loop), COMPLAINTS_PER_SECOND, &suppressed);
}

static void receive_request(struct link *l, const struct rpc_message *m, struct link_call *via) {
  if (link_is_stateless(l)) {
    if (may_complain(l))
      log_warn(l->opt.loop->log, "%.*s: ignored its request %.*s: a stateless server has none to make",
               STR_ARG(l->opt.name), STR_ARG(m->method));
  } else if (str_eq(m->method, STR("ping"))) {
    link_reply(l, json_span(m->id), STR("{}"));
  } else {
    l->ev->request(l->ctx, l, via, m);
  }
}

// A reply that is none, under the id of a call: that one need not wait any longer.
static void fail_malformed(struct link *l, const struct json *value, const char *why) {
  int64_t id;
  if (!json_is(value, JSON_OBJECT) || json_get(value, STR("method"))) return;
  if (!json_int(json_get(value, STR("id")), &id) || id < 0) return;
  struct rpc_wait *w = rpc_pending_by_id(&l->pending, (uint64_t)id);
  if (!w) return;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "answered with something that is no reply: %s", why);
  rpc_wait_fail(w, &f);
}

static void receive_message(struct link *l, const struct json *value, struct link_call *via) {
  struct rpc_message m;
  struct rpc_error err;
  if (!rpc_read(value, &l->inbox, &m, &err)) {
    if (may_complain(l))
      log_warn(l->opt.loop->log, "%.*s: sent something that is no JSON-RPC message: %s", STR_ARG(l->opt.name),
               err.message);
    fail_malformed(l, value, err.message);
    return;
  }
  switch (m.kind) {
  case RPC_RESULT:
  case RPC_ERROR:
    if (!rpc_pending_reply(&l->pending, &m))
      log_debug(l->opt.loop->log, "%.*s: sent a reply that nobody waits for", STR_ARG(l->opt.name));
    break;
  case RPC_REQUEST: receive_request(l, &m, via); break;
  case RPC_NOTIFICATION:
    if (str_eq(m.method, STR("notifications/progress")) && rpc_pending_progress(&l->pending, &m)) break;
    l->ev->notification(l->ctx, l, via, &m);
    break;
  }
}

static bool is_answer(str text) {
  return str_starts(text, STR("\"result\":")) || str_starts(text, STR("\"error\":"));
}

// The id of a reply that cannot be read, as the common libraries write it: first or last. False: not to be told.
static bool unreadable_id(str text, uint64_t *out) {
  static const str start = STR("{\"jsonrpc\":\"2.0\",\"id\":"), end = STR(",\"jsonrpc\":\"2.0\",\"id\":");
  str digits, rest;
  if (str_starts(text, start))
    return str_cut(str_from(text, start.n), ',', &digits, &rest) && is_answer(rest) && str_to_u64(digits, out);
  size_t n = text.n && text.p[text.n - 1] == '}' ? text.n - 1 : 0, first = n;
  while (first && text.p[first - 1] >= '0' && text.p[first - 1] <= '9') first--;
  return n && text.p[0] == '{' && is_answer(str_from(text, 1)) && str_ends((str){text.p, first}, end) &&
         str_to_u64((str){text.p + first, n - first}, out);
}

// Whoever waits for it need not wait until the end of his patience.
static void fail_unreadable(struct link *l, str text, const struct fault *why) {
  uint64_t id;
  struct rpc_wait *w = unreadable_id(text, &id) ? rpc_pending_by_id(&l->pending, id) : NULL;
  if (!w) return;
  struct fault f;
  fault_set(&f, FAULT_PROTOCOL, "answered with what is no JSON: %s", why->message);
  link_enter(l);
  rpc_wait_fail(w, &f);
  link_leave(l);
}

void link_overlong(struct link *l, str head) {
  uint64_t id;
  struct rpc_wait *w = unreadable_id(head, &id) ? rpc_pending_by_id(&l->pending, id) : rpc_pending_only(&l->pending);
  log_warn(l->opt.loop->log, "%.*s: sent a message longer than limits.message, which was skipped",
           STR_ARG(l->opt.name));
  if (!w) return;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "answered with more than limits.message allows");
  rpc_wait_fail(w, &f);
}

// A large reply goes unread to the one who waits for it, if he is prepared for that. One that nobody waits for is
// dropped.
static bool hand_over(struct link *l, str text, struct buf *memory) {
  uint64_t id;
  if (!memory || text.n < PARCEL_LEAST || !parcel_answers(text, &id)) return false;
  struct rpc_wait *w = rpc_pending_by_id(&l->pending, id);
  struct link_call *c = w ? CONTAINER_OF(w, struct link_call, wait) : NULL;
  if (!c) log_debug(l->opt.loop->log, "%.*s: sent a reply that nobody waits for", STR_ARG(l->opt.name));
  if (!c) return true;
  if (!c->take) return false;
  link_enter(l);
  rpc_wait_stop(w);
  l->ops->forget(l, c, true);
  c->link = NULL;
  c->take(c, parcel_new(l->opt.loop, memory, text, id, l->opt.max_message));
  link_leave(l);
  return true;
}

void link_receive(struct link *l, str text, struct buf *memory, struct link_call *via) {
  if (l->dead || l->state == LINK_CLOSED || hand_over(l, text, memory)) return;
  struct json_limits limits = {l->opt.max_message, json_default_limits.max_depth};
  struct fault f;
  arena_reset(&l->inbox);
  const struct json *value = json_parse(&l->inbox, text, &limits, &f);
  if (!value) {
    if (may_complain(l))
      log_warn(l->opt.loop->log, "%.*s: ignored a line that is not JSON: %s (%s): %.*s", STR_ARG(l->opt.name),
               f.message, f.path, (int)(text.n < 120 ? text.n : 120), text.p);
    fail_unreadable(l, text, &f);
    return;
  }
  link_enter(l);
  if (value->type == JSON_ARRAY) {
    JSON_EACH(it, value)
      if (!l->dead) receive_message(l, it, via);
  } else {
    receive_message(l, value, via);
  }
  if (text.n >= PARCEL_LEAST) arena_reset(&l->inbox);
  link_leave(l);
}
