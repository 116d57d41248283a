// SPDX-License-Identifier: Apache-2.0
#include "upstream/adapter.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/client/link_impl.h"
#include "mcp/meta.h"

enum {
  GROWTH = 65536,  // bytes by which a response may be longer than max_message
  NAME_SHOWN = 160,
  KEEP_OUT = 1 << 16,
};

struct adapter {
  struct link *link;
  const struct adapter_ops *ops;
  void *own;
  struct list waiting, begun;  // struct adapter_call
  struct deferred turn;
  bool connected, stopped;
  struct buf out;
};

// ---- ending a call

static void discard(struct adapter_call *c) {
  list_remove(&c->node);
  arena_done(&c->arena);
  mem_free(c);
}

static void put_error(struct adapter_call *c, int code, const char *message, str data) {
  buf_reset(&c->adapter->out);
  rpc_put_error(&c->adapter->out, c->id, code, str_of(message), data);
}

// Sends the response in t->out and frees the call. Sending may also free the link and the adapter.
static void finish(struct adapter_call *c) {
  struct adapter *t = c->adapter;
  struct link *l = t->link;
  if (t->out.over || t->out.n > l->opt.max_message) put_error(c, RPC_INTERNAL_ERROR, t->ops->too_large, STR_NONE);
  link_enter(l);
  c->call->exchange = NULL;
  discard(c);
  link_receive(l, buf_view(&t->out), NULL, NULL);
  buf_reset(&t->out);
  buf_trim(&t->out, KEEP_OUT);
  link_leave(l);
}

static void give_up(struct adapter_call *c) {
  const struct adapter *t = c->adapter;
  if (c->begun) t->ops->cancel(t->own, c);
  discard(c);
}

// ---- answers

void adapter_error(struct adapter_call *c, int code, const char *message, str data) {
  put_error(c, code, message, data);
  finish(c);
}

void adapter_not_found(struct adapter_call *c) {
  char message[NAME_SHOWN + 64];
  if (c->kind == ITEM_RESOURCE) {
    struct buf data;
    buf_init(&data, GROWTH);
    buf_str(&data, STR("{\"uri\":"));
    json_escape(&data, c->name);
    buf_char(&data, '}');
    put_error(c, RPC_RESOURCE_NOT_FOUND, "Resource not found", data.over ? STR_NONE : buf_view(&data));
    buf_done(&data);
  } else {
    snprintf(message, sizeof message, "Unknown %s: %.*s", c->kind == ITEM_TOOL ? "tool" : "prompt",
             STR_ARG(utf8_cut(c->name, NAME_SHOWN)));
    put_error(c, RPC_INVALID_PARAMS, message, STR_NONE);
  }
  finish(c);
}

void adapter_result(struct adapter_call *c, str result) {
  rpc_put_result(&c->adapter->out, c->id, result);
  finish(c);
}

struct json_writer adapter_begin(struct adapter_call *c) {
  struct buf *out = &c->adapter->out;
  struct json_writer w = json_writer(out);
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(out, c->id);
  buf_str(out, STR(",\"result\":"));
  json_begin_object(&w);
  return w;
}

void adapter_end(struct adapter_call *c, struct json_writer *w) {
  json_end_object(w);
  buf_char(&c->adapter->out, '}');
  finish(c);
}

static void put_text_content(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

static void put_message(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("role"), STR("user"));
  json_put_key(w, STR("content"));
  put_text_content(w, text);
  json_end_object(w);
}

static void put_contents(struct json_writer *w, str uri, str text) {
  json_begin_object(w);
  json_member_str(w, STR("uri"), uri);
  json_member_str(w, STR("mimeType"), STR("text/plain"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

void adapter_text(struct adapter_call *c, str text, bool failed) {
  struct json_writer w = adapter_begin(c);
  json_put_key(&w, c->kind == ITEM_TOOL ? STR("content") : c->kind == ITEM_PROMPT ? STR("messages") : STR("contents"));
  json_begin_array(&w);
  if (c->kind == ITEM_TOOL) put_text_content(&w, text);
  else if (c->kind == ITEM_PROMPT) put_message(&w, text);
  else put_contents(&w, c->name, text);
  json_end_array(&w);
  if (c->kind == ITEM_TOOL) json_member_bool(&w, STR("isError"), failed);
  adapter_end(c, &w);
}

// ---- the handshake and the lists

static void answer_initialize(struct adapter_call *c) {
  const struct adapter *t = c->adapter;
  struct json_writer w = adapter_begin(c);
  json_member_str(&w, STR("protocolVersion"), str_of(mcp_revision_latest()->name));
  json_put_key(&w, STR("capabilities"));
  json_begin_object(&w);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    // Resources and templates share the capability "resources", which must be written only once.
    bool said = kind == ITEM_TEMPLATE && t->ops->count(t->own, ITEM_RESOURCE);
    if (!t->ops->count(t->own, (enum item_kind)kind) || said) continue;
    json_member_raw(&w, str_of(item_kind_rules[kind].capability), STR("{}"));
  }
  json_end_object(&w);
  json_member_raw(&w, STR("serverInfo"), META_TOOLGATE);
  str instructions = t->ops->instructions ? t->ops->instructions(t->own) : STR_NONE;
  if (instructions.n) json_member_str(&w, STR("instructions"), instructions);
  adapter_end(c, &w);
}

static bool read_cursor(struct adapter_call *c, const struct json *params, size_t count, size_t *out) {
  const struct json *cursor = json_get(params, STR("cursor"));
  str text;
  uint64_t at = 0;
  if (cursor && !(json_string(cursor, &c->arena, &text) && str_to_u64(text, &at) && at < count)) return false;
  *out = (size_t)at;
  return true;
}

// Writes as many definitions as fit into a message. A definition that would fill more than half a message is left out
// with a warning.
static void answer_list(struct adapter_call *c, const struct json *params, enum item_kind kind) {
  const struct adapter *t = c->adapter;
  size_t at, count = t->ops->count(t->own, kind), most = t->link->opt.max_message;
  struct str_digits digits;
  if (!read_cursor(c, params, count, &at)) {
    adapter_error(c, RPC_INVALID_PARAMS, "Invalid cursor", STR_NONE);
    return;
  }
  struct json_writer w = adapter_begin(c);
  json_put_key(&w, str_of(item_kind_rules[kind].list_key));
  json_begin_array(&w);
  for (; at < count; at++) {
    str text = t->ops->definition(t->own, kind, at);
    if (text.n > most / 2)
      log_warn(t->link->opt.loop->log, "%.*s: %s: left out entry %zu, which is larger than half of limits.message",
               STR_ARG(t->link->opt.name), item_kind_rules[kind].list_key, at);
    else if (t->out.n + text.n > most - most / 4) break;
    else json_put_raw(&w, text);
  }
  json_end_array(&w);
  if (at < count) json_member_str(&w, STR("nextCursor"), str_from_u64(at, &digits));
  adapter_end(c, &w);
}

static bool answer_listing(struct adapter_call *c, const struct rpc_message *m) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (!str_eq(m->method, str_of(item_kind_rules[kind].list_method))) continue;
    answer_list(c, m->params, (enum item_kind)kind);
    return true;
  }
  return false;
}

// ---- requests

static void begin_call(struct adapter_call *c, const struct rpc_message *m) {
  static const struct {
    const char *method, *member;
    enum item_kind kind;
  } table[] = {{"tools/call", "name", ITEM_TOOL},
               {"prompts/get", "name", ITEM_PROMPT},
               {"resources/read", "uri", ITEM_RESOURCE}};
  const struct adapter *t = c->adapter;
  size_t i = 0;
  while (i < 3 && !str_eq(m->method, str_of(table[i].method))) i++;
  if (i == 3) adapter_error(c, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  else if (!json_string(json_get(m->params, str_of(table[i].member)), &c->arena, &c->name))
    adapter_error(c, RPC_INVALID_PARAMS, "Invalid params", STR_NONE);
  else {
    c->kind = table[i].kind;
    c->arguments = c->kind == ITEM_RESOURCE ? NULL : json_get(m->params, STR("arguments"));
    c->begun = true;
    t->ops->call(t->own, c);
    ASSERT(t->ops->cancel || list_empty(&t->begun));
  }
}

static void answer(struct adapter_call *c, const struct rpc_message *m) {
  c->id = json_span(m->id);
  if (str_eq(m->method, STR("initialize"))) answer_initialize(c);
  else if (str_eq(m->method, STR("ping"))) adapter_result(c, STR("{}"));
  else if (!answer_listing(c, m)) begin_call(c, m);
}

// Parses and answers a request. The gateway wrote the request, so it is well-formed, but its params may contain
// anything that a client sent.
static void read_call(struct adapter_call *c) {
  struct rpc_message m;
  struct rpc_error err;
  struct fault f;
  struct json_limits limits = {.max_bytes = c->n, .max_depth = JSON_DEEPEST};
  const struct json *value = json_parse(&c->arena, (str){c->text, c->n}, &limits, &f);
  if (value && rpc_read(value, &c->arena, &m, &err) && m.kind == RPC_REQUEST) {
    answer(c, &m);
  } else {
    c->call->exchange = NULL;
    discard(c);
  }
}

static void on_turn(struct deferred *d) {
  struct adapter *t = CONTAINER_OF(d, struct adapter, turn);
  struct link *l = t->link;
  link_enter(l);
  if (!t->connected) {
    t->connected = true;
    link_connected(l);
  }
  while (!l->dead && !t->stopped && !list_empty(&t->waiting)) {
    struct list *node = list_pop(&t->waiting);
    list_push(&t->begun, node);
    read_call(CONTAINER_OF(node, struct adapter_call, node));
  }
  link_leave(l);
}

// ---- the transport

static void adapter_open(struct link *l) {
  struct adapter *t = l->transport;
  loop_defer(l->opt.loop, &t->turn);
}

// Adds a request of the gateway to the waiting calls. Ignores notifications and responses, for which `call` is NULL,
// because they need no answer.
static void adapter_send(struct link *l, str message, struct link_call *call, str method) {
  struct adapter *t = l->transport;
  if (!call) return;
  struct adapter_call *c = mem_alloc(sizeof *c + message.n);
  *c = (struct adapter_call){.adapter = t, .call = call, .n = message.n};
  memcpy(c->text, message.p, message.n);
  arena_init(&c->arena);
  list_push(&t->waiting, &c->node);
  call->exchange = c;
  loop_defer(l->opt.loop, &t->turn);
}

static void adapter_confirm(struct link *l, str message) {
  link_confirmed(l);
}

static void adapter_forget(struct link *l, struct link_call *call, bool answered) {
  struct adapter_call *c = call->exchange;
  call->exchange = NULL;
  if (c) give_up(c);
}

static void adapter_flow(struct link *l, bool go) {
  struct adapter *t = l->transport;
  t->stopped = !go;
  if (go) loop_defer(l->opt.loop, &t->turn);
}

static void adapter_close(struct link *l) {
  struct adapter *t = l->transport;
  deferred_cancel(&t->turn);
  while (!list_empty(&t->waiting)) give_up(CONTAINER_OF(t->waiting.next, struct adapter_call, node));
  while (!list_empty(&t->begun)) give_up(CONTAINER_OF(t->begun.next, struct adapter_call, node));
  buf_done(&t->out);
  mem_free(t);
}

struct link *adapter_link(const struct link_options *opt, const struct adapter_ops *ops, void *own,
                          const struct link_events *ev, void *ctx) {
  static const struct link_transport transport = {false,          adapter_open, adapter_send,  adapter_confirm,
                                                  adapter_forget, adapter_flow, adapter_close, NULL};
  struct adapter *t = MEM_NEW(struct adapter);
  t->ops = ops;
  t->own = own;
  list_init(&t->waiting);
  list_init(&t->begun);
  deferred_init(&t->turn, on_turn);
  buf_init(&t->out, opt->max_message + GROWTH);
  t->link = link_new(opt, &transport, t, ev, ctx);
  return t->link;
}
