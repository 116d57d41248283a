// SPDX-License-Identifier: Apache-2.0
// What the session says is taken down and read from the loop: it speaks while others are in the middle of something.
#include "app/visit/loopback.h"

#include "base/assert.h"
#include "base/mem.h"

struct loopback {
  struct mcp_server *server;
  struct session *session;
  uint64_t next_id;
  bool open;            // the handshake is complete
  struct list calls;    // that were not answered
  struct list letters;  // from the session, not read yet
  struct timer reading;
  struct buf text;  // a message being composed
};

struct call_back {
  struct list node;
  struct arena arena;
  str method, params;
  bool sent;
  loopback_done *done;
  void *ctx;
};

// What the session said.
struct letter {
  struct list node;
  struct call_back *call;  // whose answer it is; NULL: it speaks by itself
  struct arena arena;
  str text;
  struct fault fault;  // instead of text: the request could not be made
};

// ---- from the session

static struct letter *post(struct loopback *l, struct call_back *call) {
  struct letter *it = MEM_NEW(struct letter);
  it->call = call;
  arena_init(&it->arena);
  list_push(&l->letters, &it->node);
  if (!timer_running(&l->reading)) timer_start(l->server->loop, &l->reading, 0);
  return it;
}

static void outlet_send(struct session *s, struct request *related, str message) {
  struct letter *it = post(s->channel, NULL);
  it->text = arena_str(&it->arena, message);
}

static void outlet_answer(struct request *r, struct payload message) {
  if (!message.text.p) return;  // the session is being closed
  struct letter *it = post(r->session->channel, r->channel);
  it->text = arena_str(&it->arena, message.text);
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// ---- to the session

// call: NULL for what is no request.
static void deliver(struct loopback *l, struct call_back *call) {
  struct fault f;
  struct rpc_error err;
  struct request *r = NULL;
  if (l->text.over) fault_set(&f, FAULT_LIMIT, "the request is larger than limits.message");
  else r = request_parse(l->server, buf_view(&l->text), &f);
  if (r && session_receive(l->session, r, call, &err)) return;
  ASSERT(call);
  if (r) fault_set(&f, FAULT_INVALID, "%s", err.message);
  post(l, call)->fault = f;
}

static void send_call(struct loopback *l, struct call_back *call) {
  struct str_digits digits;
  call->sent = true;
  buf_reset(&l->text);
  rpc_put_request(&l->text, str_from_u64(++l->next_id, &digits), call->method, call->params);
  deliver(l, call);
}

static struct call_back *add_call(struct loopback *l, str method, str params, loopback_done *done, void *ctx) {
  struct call_back *call = MEM_NEW(struct call_back);
  arena_init(&call->arena);
  call->method = arena_str(&call->arena, method);
  call->params = arena_str(&call->arena, params);
  call->done = done;
  call->ctx = ctx;
  list_push(&l->calls, &call->node);
  return call;
}

static void free_call(struct call_back *call) {
  list_remove(&call->node);
  arena_done(&call->arena);
  mem_free(call);
}

void loopback_request(struct loopback *l, str method, str params, loopback_done *done, void *ctx) {
  struct call_back *call = add_call(l, method, params, done, ctx);
  if (l->open) send_call(l, call);
}

// ---- reading

static void refuse(struct loopback *l, const struct rpc_message *question) {
  buf_reset(&l->text);
  rpc_put_error(&l->text, json_span(question->id), RPC_METHOD_NOT_FOUND, STR("not supported on the command line"),
                STR_NONE);
  deliver(l, NULL);
}

static void fault_of(const struct json *error, struct arena *a, struct fault *f) {
  int64_t code = 0;
  str message = STR("the gateway refused the request");
  json_int(json_get(error, STR("code")), &code);
  json_string(json_get(error, STR("message")), a, &message);
  bool ours = code == RPC_INVALID_PARAMS || code == RPC_INVALID_REQUEST || code == RPC_METHOD_NOT_FOUND;
  fault_set(f, ours ? FAULT_INVALID : FAULT_UPSTREAM_ERROR, "%.*s", STR_ARG(message));
}

// reply NULL: the letter has a fault instead.
static void end_call(struct letter *it, const struct rpc_message *reply) {
  struct call_back *call = it->call;
  loopback_done *done = call->done;
  void *ctx = call->ctx;
  free_call(call);
  const struct json *result = reply && reply->kind == RPC_RESULT ? reply->result : NULL;
  if (reply && !result) fault_of(reply->error, &it->arena, &it->fault);
  done(ctx, result, result ? NULL : &it->fault);
}

// False, with a fault in the letter: not even we can read it.
static bool open_letter(struct letter *it, struct rpc_message *out) {
  struct rpc_error err;
  struct json_limits limits = {.max_bytes = it->text.n, .max_depth = JSON_DEEPEST};
  if (it->fault.code) return false;
  const struct json *value = json_parse(&it->arena, it->text, &limits, &it->fault);
  if (!value) return false;
  if (rpc_read(value, &it->arena, out, &err)) return true;
  fault_set(&it->fault, FAULT_PROTOCOL, "%s", err.message);
  return false;
}

// May free l. Besides answers and questions there is news of lists and logs, which nobody wants here.
static void read_letter(struct loopback *l, struct letter *it) {
  struct rpc_message m;
  bool readable = open_letter(it, &m);
  if (it->call) end_call(it, readable ? &m : NULL);
  else if (readable && m.kind == RPC_REQUEST) refuse(l, &m);
  arena_done(&it->arena);
  mem_free(it);
}

// One at a time: what is in a letter may end the loopback.
static void on_reading(struct timer *t) {
  struct loopback *l = CONTAINER_OF(t, struct loopback, reading);
  struct list *first = list_pop(&l->letters);
  if (!list_empty(&l->letters)) timer_start(l->server->loop, &l->reading, 0);
  if (first) read_letter(l, CONTAINER_OF(first, struct letter, node));
}

// ---- life

static void on_initialized(void *ctx, const struct json *result, const struct fault *f) {
  struct loopback *l = ctx;
  ASSERT(result);  // nothing in our own greeting can be wrong
  buf_reset(&l->text);
  rpc_put_notification(&l->text, STR("notifications/initialized"), STR_NONE);
  deliver(l, NULL);
  l->open = true;
  LIST_EACH(it, &l->calls) {
    struct call_back *call = CONTAINER_OF(it, struct call_back, node);
    if (!call->sent) send_call(l, call);
  }
}

static void greet(struct loopback *l) {
  struct buf hello;
  buf_init(&hello, 1024);
  buf_printf(&hello,
             "{\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}",
             mcp_revision_latest()->name);
  send_call(l, add_call(l, STR("initialize"), buf_view(&hello), on_initialized, l));
  buf_done(&hello);
}

struct loopback *loopback_new(struct mcp_server *m, struct client_identity who) {
  struct loopback *l = MEM_NEW(struct loopback);
  l->server = m;
  list_init(&l->calls);
  list_init(&l->letters);
  timer_init(&l->reading, on_reading);
  buf_init(&l->text, m->scratch.max);
  l->session = session_new(m, &outlet, l, who);
  greet(l);
  return l;
}

void loopback_free(struct loopback **loopback) {
  struct loopback *l = *loopback;
  if (!l) return;
  *loopback = NULL;
  session_close(&l->session);
  timer_stop(&l->reading);
  for (struct list *n; (n = list_pop(&l->letters));) {
    struct letter *it = CONTAINER_OF(n, struct letter, node);
    arena_done(&it->arena);
    mem_free(it);
  }
  while (!list_empty(&l->calls)) free_call(CONTAINER_OF(l->calls.next, struct call_back, node));
  buf_done(&l->text);
  mem_free(l);
}

struct session *loopback_session(const struct loopback *l) {
  return l->session;
}
