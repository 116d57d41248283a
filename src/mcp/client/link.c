// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"
#include "mcp/client/link_impl.h"
#include "text/secrets.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/loop.h"
#include "mcp/gateway_chain.h"
#include "json/write.h"

enum { GROWTH = 65536 };      // maximum bytes that changed ids and names add to a message
enum { KEEP_INBOX = 65536 };  // the memory of the inbox is freed after a message that is larger than this
enum { LINK_MAGIC = 0x6c696e6b };

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
  // Copied, because the owner may change its string before the link sends the capabilities.
  l->opt.capabilities = arena_str(&l->arena, opt->capabilities);
  timer_init(&l->start_timer, link_start_late);
  timer_init(&l->probe_timer, link_probe_late);
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

void link_put_chain(const struct link *l, struct buf *out) {
  if (l->opt.chain) chain_put_header(l->opt.chain, l->opt.marks, loop_now(l->opt.loop), out);
}

void link_enter(struct link *l) {
  ASSERT_MAGIC(l, LINK_MAGIC);
  l->busy++;
}

void link_leave(struct link *l) {
  ASSERT_MAGIC(l, LINK_MAGIC);
  ASSERT(l->busy > 0);
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

int link_pid(const struct link *l) {
  return l->ops->pid ? l->ops->pid(l) : 0;
}

str link_instructions(const struct link *l) {
  return l->instructions;
}
str link_server_version(const struct link *l) {
  return l->server_version;
}

str link_server_name(const struct link *l) {
  return l->server_name;
}
str link_meta(const struct link *l) {
  return link_is_stateless(l) ? l->meta : STR_NONE;
}

// ---- calls

static void report_cancelled(struct link *l, uint64_t id, str reason) {
  // On HTTP, a request to a stateless server is cancelled by closing its exchange, without a notification.
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
  if (f && f->code == FAULT_UPSTREAM_TIMEOUT) report_cancelled(l, w->id, STR("timed out"));
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
    fault_set(&f, FAULT_LIMIT, "was not sent the request, because the request is larger than limits.message");
    f.undone = true;
    link_call_fail(c, &f);
    return;
  }
  l->ops->send(l, buf_view(b), c, method);
}

void link_call_drop(struct link_call *c) {
  struct link *l = c->link;
  if (!l) return;
  rpc_wait_stop(&c->wait);
  l->ops->forget(l, c, false);
  c->link = NULL;
}

void link_call_cancel(struct link_call *c, str reason) {
  struct link *l = c->link;
  if (!l) return;
  link_call_drop(c);
  report_cancelled(l, c->wait.id, reason);
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
  default: return FAULT_UPSTREAM_ERROR;  // the server responded, so it may have run the call
  }
}

bool link_status_refuses(int status) {
  return status == 401 || status == 403 || status == 407 || status == 429 || status == 503;
}

static bool has_credentials(str headers) {
  str line, name, value;
  for (bool more = headers.n > 0; more;) {
    more = str_cut(headers, '\n', &line, &headers);
    if (str_cut(line, ':', &name, &value) && secrets_is_name(name)) return true;
  }
  return false;
}

const char *link_credentials_hint(int status, str headers) {
  if (status != 401 && status != 403) return "";
  if (has_credentials(headers)) return ": it rejected the credentials in \"headers\"";
  return status == 401 ? ": it needs credentials; set them in \"headers\"" : "";
}

void link_call_fail(struct link_call *c, const struct fault *f) {
  if (c->link) rpc_wait_fail(&c->wait, f);
}

// ---- other messages

static void send_message(struct link *l, str message) {
  bool open = l->state >= LINK_HANDSHAKE && l->state < LINK_CLOSED && !l->dead;
  bool fits = message.n <= l->opt.max_message + GROWTH;
  if (!fits)
    log_warn(l->opt.loop->log, "%.*s: a message to this server was not sent, because it is larger than limits.message",
             STR_ARG(l->opt.name));
  if (open && fits) l->ops->send(l, message, NULL, STR_NONE);
}

// Returns whether a message other than a request may be sent. A stateless server accepts only one such message:
// notifications/cancelled, on a pipe.
static bool may_say(struct link *l, str what) {
  if (!link_is_stateless(l)) return true;
  if (!l->ops->exchanges && str_eq(what, STR("notifications/cancelled"))) return true;
  log_debug(l->opt.loop->log, "%.*s: did not send %.*s, because this server is stateless", STR_ARG(l->opt.name),
            STR_ARG(what));
  return false;
}

void link_send_raw(struct link *l, str message) {
  if (may_say(l, STR("a message that is not a request"))) send_message(l, message);
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

// ---- the end of a link

// Closes the link because of fault `f`. If the server had lost the session, `lost` is the id of the call that the
// server therefore did not run; otherwise 0.
static void break_link(struct link *l, const struct fault *f, uint64_t lost) {
  if (l->state == LINK_CLOSED || l->dead) return;
  l->state = LINK_CLOSED;
  timer_stop(&l->start_timer);
  timer_stop(&l->probe_timer);
  struct fault kept = *f, for_calls = *f;
  // All calls except `lost` may have run before the session was lost. They fail with a different code, so that the
  // owner does not repeat them.
  if (f->code == FAULT_UPSTREAM_SESSION_LOST) for_calls.code = FAULT_UPSTREAM_UNAVAILABLE;
  link_call_drop(&l->hello);
  link_call_drop(&l->discover);
  link_enter(l);
  l->ev->closed(l->ctx, l, &kept);
  // Finds the call by its id, because the callback may have freed the call.
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
  fault_set(&f, FAULT_UPSTREAM_SESSION_LOST, "has ended its session with the gateway");
  break_link(l, &f, c ? c->wait.id : 0);
}

// ---- receiving

// Returns whether an invalid message may be logged now. The rate of these log lines is limited, because a faulty server
// may send many invalid messages.
static bool may_complain(struct link *l) {
  enum { COMPLAINTS_PER_SECOND = 10 };
  unsigned suppressed;
  return rate_allow(&l->complaints, loop_now(l->opt.loop), COMPLAINTS_PER_SECOND, &suppressed);
}

static void receive_request(struct link *l, const struct rpc_message *m, struct link_call *via) {
  if (link_is_stateless(l)) {
    if (may_complain(l))
      log_warn(l->opt.loop->log,
               "%.*s: ignored the request %.*s of this server: a stateless server must not send requests",
               STR_ARG(l->opt.name), STR_ARG(m->method));
  } else if (str_eq(m->method, STR("ping"))) {
    link_reply(l, json_span(m->id), STR("{}"));
  } else {
    l->ev->request(l->ctx, l, via, m);
  }
}

static void complain(struct link *l, const struct json *value, const struct rpc_error *err) {
  if (may_complain(l))
    log_warn(l->opt.loop->log, "%.*s: this server sent an invalid JSON-RPC message: %s", STR_ARG(l->opt.name),
             err->message);
  // An invalid request is answered, and an invalid reply fails its call, so that neither side waits for a timeout.
  bool asks = json_is(value, JSON_OBJECT) && json_get(value, STR("method")) && err->id[0];
  if (asks) link_refuse(l, str_of(err->id), err->code, str_of(err->message));
  else rpc_pending_malformed(&l->pending, value, err->message);
}

// Removes reserved members of _meta, which a server must not set. Returns false if the message is invalid without them.
static bool clean(struct link *l, struct rpc_message *m, struct rpc_error *err) {
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = json_default_limits.max_depth};
  struct buf text;
  struct fault f;
  buf_init(&text, (size_t)m->root->n + 16);
  rpc_put_unreserved(&text, m, &l->inbox);
  const struct json *value = json_parse(&l->inbox, arena_str(&l->inbox, buf_view(&text)), &limits, &f);
  buf_done(&text);
  if (value) return rpc_read(value, &l->inbox, m, err);
  *err = (struct rpc_error){.code = RPC_INVALID_REQUEST, .message = "its _meta cannot be read"};
  return false;
}

static void receive_message(struct link *l, const struct json *value, struct link_call *via) {
  struct rpc_message m;
  struct rpc_error err;
  if (!rpc_read(value, &l->inbox, &m, &err) || (m.reserved && !clean(l, &m, &err))) {
    complain(l, value, &err);
    return;
  }
  switch (m.kind) {
  case RPC_RESULT:
  case RPC_ERROR:
    if (!rpc_pending_reply(&l->pending, &m))
      log_debug(l->opt.loop->log, "%.*s: this server sent a reply that matches no open request", STR_ARG(l->opt.name));
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

// Finds the id of an invalid reply. Looks only at the start and at the end of the message, where common libraries write
// the id. Returns false if the id is in neither place.
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

// Fails the request to which an invalid reply belongs, so that this request does not wait for its timeout.
static void fail_unreadable(struct link *l, str text, const struct fault *why) {
  uint64_t id;
  struct rpc_wait *w = unreadable_id(text, &id) ? rpc_pending_by_id(&l->pending, id) : NULL;
  if (!w) return;
  struct fault f;
  const char *key = why->limit == LIMIT_VALUES  ? "; see limits.message_values"
                    : why->limit == LIMIT_BYTES ? "; see limits.message"
                                                : "";
  if (why->code == FAULT_LIMIT) fault_set(&f, FAULT_UPSTREAM_ERROR, "answered with %s%s", why->message, key);
  else fault_set(&f, FAULT_PROTOCOL, "answered with invalid JSON: %s", why->message);
  link_enter(l);
  rpc_wait_fail(w, &f);
  link_leave(l);
}

void link_overlong(struct link *l, str head) {
  uint64_t id;
  struct rpc_wait *w = unreadable_id(head, &id) ? rpc_pending_by_id(&l->pending, id) : rpc_pending_only(&l->pending);
  log_warn(l->opt.loop->log, "%.*s: skipped a message of this server, because it is longer than limits.message",
           STR_ARG(l->opt.name));
  if (!w) return;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "answered with a message larger than limits.message");
  rpc_wait_fail(w, &f);
}

// Passes a large reply unparsed to the call that waits for it, if the call accepts unparsed replies. Drops the reply if
// no call waits for it. Returns false if the message must be parsed here.
static bool hand_over(struct link *l, str text, struct buf *memory) {
  uint64_t id;
  if (!memory || text.n < LARGE_MESSAGE_LEAST || !large_message_answers(text, &id)) return false;
  struct rpc_wait *w = rpc_pending_by_id(&l->pending, id);
  struct link_call *c = w ? CONTAINER_OF(w, struct link_call, wait) : NULL;
  if (!c)
    log_debug(l->opt.loop->log, "%.*s: this server sent a reply that matches no open request", STR_ARG(l->opt.name));
  if (!c) return true;
  if (!c->take) return false;
  link_enter(l);
  rpc_wait_stop(w);
  l->ops->forget(l, c, true);
  c->link = NULL;
  c->take(c, large_message_new(l->opt.loop, memory, text, id, l->opt.max_message));
  link_leave(l);
  return true;
}

// Logs text that is not JSON. Masks secrets before the text is cut, because a cut secret would not be recognized.
static void log_stray(struct link *l, str text, const struct fault *f) {
  enum { READ = 4096, SHOWN = 200 };
  struct arena a;
  arena_init(&a);
  str whole = arena_printf(&a, "%s (%s): %.*s", f->message, f->path, (int)(text.n < READ ? text.n : READ), text.p);
  str shown = utf8_cut(secrets_mask(&a, whole, l->opt.secrets), SHOWN);
  log_warn(l->opt.loop->log, "%.*s: ignored a line that is not JSON: %.*s", STR_ARG(l->opt.name), STR_ARG(shown));
  arena_done(&a);
}

void link_receive(struct link *l, str text, struct buf *memory, struct link_call *via) {
  loop_name(l->opt.loop, LOOP_REPLY);
  if (l->dead || l->state == LINK_CLOSED || hand_over(l, text, memory)) return;
  struct json_limits limits = {l->opt.max_message, json_default_limits.max_depth, l->opt.max_values};
  struct fault f;
  arena_reset(&l->inbox);
  const struct json *value = json_parse(&l->inbox, text, &limits, &f);
  if (!value) {
    if (may_complain(l)) log_stray(l, text, &f);
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
  if (l->inbox.total > KEEP_INBOX) {
    loop_freed(l->opt.loop, l->inbox.total);
    arena_reset(&l->inbox);
  }
  link_leave(l);
}
