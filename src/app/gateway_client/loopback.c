// SPDX-License-Identifier: Apache-2.0
// A client in the gateway's own process. The gateway may send a message from inside a call that this client made, so
// messages are queued and delivered in a later turn of the loop.
#include "app/gateway_client/loopback.h"

#include "base/assert.h"
#include "base/mem.h"

enum { LOOPBACK_MAGIC = 0x4c4f4f50 };

struct loopback {
  unsigned magic;
  struct mcp_server *server;
  struct session *session;
  uint64_t next_id;
  bool open;             // the handshake is complete
  struct list calls;     // calls without an answer yet
  struct list messages;  // unread messages from the session
  struct timer reading;
  struct buf text;  // the message that is being sent
};

struct loopback_call {
  struct list node;
  struct arena arena;
  str method, params;
  bool sent;
  loopback_done *done;
  void *ctx;
};

// A message from the session.
struct loopback_message {
  struct list node;
  struct loopback_call *call;  // call that the message answers; NULL if it is a request or notification
  struct arena arena;
  str text;
  struct fault fault;  // the reason if the request could not be sent; `text` is then empty
};

// ---- from the session

static struct loopback_message *enqueue(struct loopback *l, struct loopback_call *call) {
  ASSERT_MAGIC(l, LOOPBACK_MAGIC);
  struct loopback_message *it = MEM_NEW(struct loopback_message);
  it->call = call;
  arena_init(&it->arena);
  list_push(&l->messages, &it->node);
  if (!timer_running(&l->reading)) timer_start(l->server->loop, &l->reading, 0);
  return it;
}

static void outlet_send(struct session *s, struct request *related, str message) {
  struct loopback_message *it = enqueue(s->channel, NULL);
  it->text = arena_str(&it->arena, message);
}

static void outlet_answer(struct request *r, struct payload message) {
  if (!message.text.p) return;  // there is no answer if the session was closed
  struct loopback_message *it = enqueue(r->session->channel, r->channel);
  it->text = arena_str(&it->arena, message.text);
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// ---- to the session

// Sends l->text to the session. `call` is NULL if the text is not a request.
static void deliver(struct loopback *l, struct loopback_call *call) {
  struct fault f;
  struct rpc_error err;
  struct request *r = NULL;
  if (l->text.over)
    fault_set(&f, FAULT_LIMIT, "the request is larger than limits.message: shorten the arguments, or raise the limit");
  else r = request_parse(l->server, buf_view(&l->text), &f);
  if (r && session_receive(l->session, r, call, &err)) return;
  ASSERT(call);
  if (r) fault_set(&f, FAULT_INVALID, "%s", err.message);
  enqueue(l, call)->fault = f;
}

static void send_call(struct loopback *l, struct loopback_call *call) {
  struct str_digits digits;
  ASSERT(!call->sent);
  call->sent = true;
  buf_reset(&l->text);
  rpc_put_request(&l->text, str_from_u64(++l->next_id, &digits), call->method, call->params);
  deliver(l, call);
}

static struct loopback_call *add_call(struct loopback *l, str method, str params, loopback_done *done, void *ctx) {
  struct loopback_call *call = MEM_NEW(struct loopback_call);
  arena_init(&call->arena);
  call->method = arena_str(&call->arena, method);
  call->params = arena_str(&call->arena, params);
  call->done = done;
  call->ctx = ctx;
  list_push(&l->calls, &call->node);
  return call;
}

static void free_call(struct loopback_call *call) {
  list_remove(&call->node);
  arena_done(&call->arena);
  mem_free(call);
}

void loopback_request(struct loopback *l, str method, str params, loopback_done *done, void *ctx) {
  ASSERT_MAGIC(l, LOOPBACK_MAGIC);
  ASSERT(done);
  struct loopback_call *call = add_call(l, method, params, done, ctx);
  if (l->open) send_call(l, call);
}

// ---- reading

// Passes the result or the fault to the caller. `reply` is NULL if the message has a fault.
static void end_call(struct loopback_message *it, const struct rpc_message *reply) {
  struct loopback_call *call = it->call;
  ASSERT(call->sent && call->done);
  loopback_done *done = call->done;
  void *ctx = call->ctx;
  free_call(call);
  const struct json *result = reply && reply->kind == RPC_RESULT ? reply->result : NULL;
  if (reply && !result) {
    int64_t code = 0;
    str text = STR("the gateway refused the request");
    json_int(json_get(reply->error, STR("code")), &code);
    json_string(json_get(reply->error, STR("message")), &it->arena, &text);
    bool invalid = code == RPC_INVALID_PARAMS || code == RPC_INVALID_REQUEST || code == RPC_METHOD_NOT_FOUND;
    fault_set(&it->fault, invalid ? FAULT_INVALID : FAULT_UPSTREAM_ERROR, "%.*s", STR_ARG(text));
  }
  ASSERT(result || it->fault.code);
  done(ctx, result, result ? NULL : &it->fault);
}

// Parses the text of a message. On failure returns false and sets the fault of the message.
static bool parse_message(struct loopback_message *it, struct rpc_message *out) {
  struct rpc_error err;
  struct json_limits limits = {.max_bytes = it->text.n, .max_depth = JSON_DEEPEST};
  if (it->fault.code) return false;
  const struct json *value = json_parse(&it->arena, it->text, &limits, &it->fault);
  if (!value) return false;
  if (rpc_read(value, &it->arena, out, &err)) return true;
  fault_set(&it->fault, FAULT_PROTOCOL, "%s", err.message);
  return false;
}

// Reads one message from the queue. Further messages are read in later turns, because the callback of an answer may
// free the loopback. Notifications are ignored.
static void on_reading(struct timer *timer) {
  struct loopback *l = CONTAINER_OF(timer, struct loopback, reading);
  struct list *first = list_pop(&l->messages);
  struct rpc_message m;
  ASSERT_MAGIC(l, LOOPBACK_MAGIC);
  if (!list_empty(&l->messages)) timer_start(l->server->loop, &l->reading, 0);
  if (!first) return;
  struct loopback_message *it = CONTAINER_OF(first, struct loopback_message, node);
  bool readable = parse_message(it, &m);
  if (it->call) {
    end_call(it, readable ? &m : NULL);
  } else if (readable && m.kind == RPC_REQUEST) {
    buf_reset(&l->text);
    rpc_put_error(&l->text, json_span(m.id), RPC_METHOD_NOT_FOUND, STR("not supported on the command line"), STR_NONE);
    deliver(l, NULL);
  }
  arena_done(&it->arena);
  mem_free(it);
}

// ---- open and close

static void on_initialized(void *ctx, const struct json *result, const struct fault *f) {
  struct loopback *l = ctx;
  ASSERT(result && !l->open);  // the gateway never refuses the handshake of its own client
  buf_reset(&l->text);
  rpc_put_notification(&l->text, STR("notifications/initialized"), STR_NONE);
  deliver(l, NULL);
  l->open = true;
  LIST_EACH(it, &l->calls) {
    struct loopback_call *call = CONTAINER_OF(it, struct loopback_call, node);
    if (!call->sent) send_call(l, call);
  }
}

struct loopback *loopback_new(struct mcp_server *m, struct client_identity identity) {
  struct loopback *l = MEM_NEW(struct loopback);
  struct buf hello;
  l->magic = LOOPBACK_MAGIC;
  l->server = m;
  list_init(&l->calls);
  list_init(&l->messages);
  timer_init(&l->reading, on_reading);
  buf_init(&l->text, m->scratch.max);
  l->session = session_new(m, &outlet, l, identity);
  buf_init(&hello, 1024);
  buf_printf(&hello,
             "{\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}",
             mcp_revision_latest()->name);
  ASSERT(!hello.over);
  send_call(l, add_call(l, STR("initialize"), buf_view(&hello), on_initialized, l));
  buf_done(&hello);
  return l;
}

void loopback_free(struct loopback **loopback) {
  struct loopback *l = *loopback;
  if (!l) return;
  ASSERT_MAGIC(l, LOOPBACK_MAGIC);
  *loopback = NULL;
  session_close(&l->session);
  timer_stop(&l->reading);
  for (struct list *n; (n = list_pop(&l->messages));) {
    struct loopback_message *it = CONTAINER_OF(n, struct loopback_message, node);
    arena_done(&it->arena);
    mem_free(it);
  }
  while (!list_empty(&l->calls)) free_call(CONTAINER_OF(l->calls.next, struct loopback_call, node));
  buf_done(&l->text);
  l->magic = 0;
  mem_free(l);
}

struct session *loopback_session(const struct loopback *l) {
  ASSERT_MAGIC(l, LOOPBACK_MAGIC);
  return l->session;
}
