// SPDX-License-Identifier: Apache-2.0
#include "upstream/link_snapshot.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "catalog/naming.h"
#include "mcp/link_impl.h"
#include "mcp/meta.h"
#include "json/write.h"

enum {
  GROWTH = 65536,   // what a message has around its longest part
  ECHO_MAX = 2048,  // of the arguments, in an answer
  NAME_SHOWN = 160,
  KEEP_OUT = 1 << 16,
};

// A request that is to be answered in a later turn of the loop.
struct letter {
  struct list node;
  struct link_call *call;
  size_t n;
  char text[];
};

struct file_server {
  struct link *link;
  const struct snapshot *s;
  struct list letters;
  struct deferred answer;
  bool connected, stopped;
  struct arena arena;  // of the request being answered
  struct buf out;
};

// ---- answers

static void put_error(struct file_server *t, str id, int code, const char *message, str data) {
  buf_reset(&t->out);
  rpc_put_error(&t->out, id, code, str_of(message), data);
}

static void put_not_found(struct file_server *t, const struct rpc_message *m, const char *what, str name) {
  char message[NAME_SHOWN + 64];
  snprintf(message, sizeof message, "Unknown %s: %.*s", what, STR_ARG(utf8_cut(name, NAME_SHOWN)));
  put_error(t, json_span(m->id), RPC_INVALID_PARAMS, message, STR_NONE);
}

// Begins a result; the writer stands inside its object.
static struct json_writer begin_result(struct file_server *t, const struct rpc_message *m) {
  struct json_writer w = json_writer(&t->out);
  buf_str(&t->out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(&t->out, json_span(m->id));
  buf_str(&t->out, STR(",\"result\":"));
  json_begin_object(&w);
  return w;
}

static void end_result(struct file_server *t, struct json_writer *w) {
  json_end_object(w);
  buf_char(&t->out, '}');
}

// What there is to say instead of a result.
static str excuse(struct file_server *t, const char *what, str name, const struct json *arguments) {
  str args = arguments ? utf8_cut(json_span(arguments), ECHO_MAX) : STR("");
  bool whole = !arguments || args.n == arguments->n;
  str shown = utf8_cut(name, NAME_SHOWN);
  return arena_printf(&t->arena, "%s %.*s%s is listed in a static catalog, and nothing was called.%s%.*s%s", what,
                      STR_ARG(shown), shown.n < name.n ? "…" : "", args.n ? " Arguments: " : "", STR_ARG(args),
                      whole ? "" : "…");
}

// ---- the handshake and the lists

static void answer_initialize(struct file_server *t, const struct rpc_message *m) {
  const struct snapshot *s = t->s;
  struct json_writer w = begin_result(t, m);
  json_member_str(&w, STR("protocolVersion"), str_of(mcp_revision_latest()->name));
  json_put_key(&w, STR("capabilities"));
  json_begin_object(&w);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    // Templates are of the same capability as resources.
    bool said = kind == ITEM_TEMPLATE && s->count[ITEM_RESOURCE];
    if (!s->count[kind] || said) continue;
    json_member_raw(&w, str_of(item_kind_rules[kind].capability), STR("{}"));
  }
  json_end_object(&w);
  json_member_raw(&w, STR("serverInfo"), META_TOOLGATE);
  if (s->instructions.n) json_member_str(&w, STR("instructions"), s->instructions);
  end_result(t, &w);
}

static void answer_ping(struct file_server *t, const struct rpc_message *m) {
  struct json_writer w = begin_result(t, m);
  end_result(t, &w);
}

static bool read_cursor(struct file_server *t, const struct rpc_message *m, size_t count, size_t *out) {
  const struct json *cursor = json_get(m->params, STR("cursor"));
  str text;
  uint64_t at = 0;
  if (cursor && !(json_string(cursor, &t->arena, &text) && str_to_u64(text, &at) && at < count)) return false;
  *out = (size_t)at;
  return true;
}

// As many as fit in a message with room to spare. One that would take more than half of it is left out.
static void answer_list(struct file_server *t, const struct rpc_message *m, enum item_kind kind) {
  const struct snapshot *s = t->s;
  size_t at, most = t->link->opt.max_message;
  struct str_digits digits;
  if (!read_cursor(t, m, s->count[kind], &at)) {
    put_error(t, json_span(m->id), RPC_INVALID_PARAMS, "Invalid cursor", STR_NONE);
    return;
  }
  struct json_writer w = begin_result(t, m);
  json_put_key(&w, str_of(item_kind_rules[kind].list_key));
  json_begin_array(&w);
  for (; at < s->count[kind]; at++) {
    str text = s->entries[kind][at].text;
    if (text.n > most / 2)
      log_warn(t->link->opt.loop->log, "%.*s: %s: number %zu is left out: it is too large for limits.message",
               STR_ARG(t->link->opt.name), item_kind_rules[kind].list_key, at);
    else if (t->out.n + text.n > most - most / 4) break;
    else json_put_raw(&w, text);
  }
  json_end_array(&w);
  if (at < s->count[kind]) json_member_str(&w, STR("nextCursor"), str_from_u64(at, &digits));
  end_result(t, &w);
}

// ---- what is asked for by name

static bool put_reply(struct file_server *t, const struct rpc_message *m, enum item_kind kind, str name) {
  const struct snapshot_entry *reply = map_find(&t->s->replies[kind], name);
  if (reply) rpc_put_result(&t->out, json_span(m->id), reply->text);
  return reply != NULL;
}

static const struct json *parse_entry(struct file_server *t, const struct snapshot_entry *e) {
  struct fault f;
  return json_parse(&t->arena, e->text, &json_default_limits, &f);
}

static void put_text_content(struct json_writer *w, str text) {
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), text);
  json_end_object(w);
}

// A tool that promises its results in a certain form must keep to it unless it fails, and nothing made up would.
static void answer_call(struct file_server *t, const struct rpc_message *m, str name) {
  const struct snapshot_entry *e = map_find(&t->s->by_name[ITEM_TOOL], name);
  if (put_reply(t, m, ITEM_TOOL, name)) return;
  if (!e) {
    put_not_found(t, m, "tool", name);
    return;
  }
  struct json_writer w = begin_result(t, m);
  json_put_key(&w, STR("content"));
  json_begin_array(&w);
  put_text_content(&w, excuse(t, "The tool", name, json_get(m->params, STR("arguments"))));
  json_end_array(&w);
  json_member_bool(&w, STR("isError"), json_get(parse_entry(t, e), STR("outputSchema")) != NULL);
  end_result(t, &w);
}

static void answer_prompt(struct file_server *t, const struct rpc_message *m, str name) {
  if (put_reply(t, m, ITEM_PROMPT, name)) return;
  if (!map_find(&t->s->by_name[ITEM_PROMPT], name)) {
    put_not_found(t, m, "prompt", name);
    return;
  }
  struct json_writer w = begin_result(t, m);
  json_put_key(&w, STR("messages"));
  json_begin_array(&w);
  json_begin_object(&w);
  json_member_str(&w, STR("role"), STR("user"));
  json_put_key(&w, STR("content"));
  put_text_content(&w, excuse(t, "The prompt", name, json_get(m->params, STR("arguments"))));
  json_end_object(&w);
  json_end_array(&w);
  end_result(t, &w);
}

static bool matches_template(const struct snapshot *s, str uri) {
  for (size_t i = 0; i < s->count[ITEM_TEMPLATE]; i++)
    if (naming_template_match(s->entries[ITEM_TEMPLATE][i].name, uri)) return true;
  return false;
}

// What the definition itself carries, else a sentence.
static void put_contents(struct file_server *t, struct json_writer *w, str uri, const struct json *definition) {
  const struct json *text = json_get(definition, STR("text")), *type = json_get(definition, STR("mimeType"));
  bool declared = json_is(text, JSON_STRING);
  json_begin_object(w);
  json_member_str(w, STR("uri"), uri);
  json_member_raw(w, STR("mimeType"), declared && json_is(type, JSON_STRING) ? json_span(type) : STR("\"text/plain\""));
  json_put_key(w, STR("text"));
  if (declared) json_put_raw(w, json_span(text));
  else json_put_str(w, excuse(t, "The resource", uri, NULL));
  json_end_object(w);
}

static void put_no_resource(struct file_server *t, const struct rpc_message *m, str uri) {
  struct buf data;
  buf_init(&data, GROWTH);
  buf_str(&data, STR("{\"uri\":"));
  json_escape(&data, uri);
  buf_char(&data, '}');
  put_error(t, json_span(m->id), RPC_RESOURCE_NOT_FOUND, "Resource not found", data.over ? STR_NONE : buf_view(&data));
  buf_done(&data);
}

static void answer_read(struct file_server *t, const struct rpc_message *m, str uri) {
  const struct snapshot_entry *e = map_find(&t->s->by_name[ITEM_RESOURCE], uri);
  if (put_reply(t, m, ITEM_RESOURCE, uri)) return;
  if (!e && !matches_template(t->s, uri)) {
    put_no_resource(t, m, uri);
    return;
  }
  struct json_writer w = begin_result(t, m);
  json_put_key(&w, STR("contents"));
  json_begin_array(&w);
  put_contents(t, &w, uri, e ? parse_entry(t, e) : NULL);
  json_end_array(&w);
  end_result(t, &w);
}

// ---- requests

static bool answer_listing(struct file_server *t, const struct rpc_message *m) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (!str_eq(m->method, str_of(item_kind_rules[kind].list_method))) continue;
    answer_list(t, m, (enum item_kind)kind);
    return true;
  }
  return false;
}

static bool answer_named(struct file_server *t, const struct rpc_message *m) {
  static const struct {
    const char *method, *member;
    void (*answer)(struct file_server *t, const struct rpc_message *m, str name);
  } table[] = {
      {"tools/call", "name", answer_call},
      {"prompts/get", "name", answer_prompt},
      {"resources/read", "uri", answer_read},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    str name;
    if (!str_eq(m->method, str_of(table[i].method))) continue;
    if (json_string(json_get(m->params, str_of(table[i].member)), &t->arena, &name)) table[i].answer(t, m, name);
    else put_error(t, json_span(m->id), RPC_INVALID_PARAMS, "Invalid params", STR_NONE);
    return true;
  }
  return false;
}

static void answer(struct file_server *t, const struct rpc_message *m) {
  if (str_eq(m->method, STR("initialize"))) answer_initialize(t, m);
  else if (str_eq(m->method, STR("ping"))) answer_ping(t, m);
  else if (!answer_listing(t, m) && !answer_named(t, m))
    put_error(t, json_span(m->id), RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  if (t->out.over || t->out.n > t->link->opt.max_message)
    put_error(t, json_span(m->id), RPC_INTERNAL_ERROR, "the answer in the catalog is larger than limits.message",
              STR_NONE);
}

// Our own requests are well-formed; what a client's params make of them need not be.
static void answer_letter(struct file_server *t, const struct letter *l) {
  struct rpc_message m;
  struct rpc_error err;
  struct fault f;
  struct json_limits limits = {l->n, JSON_DEEPEST};
  arena_reset(&t->arena);
  buf_reset(&t->out);
  const struct json *value = json_parse(&t->arena, (str){l->text, l->n}, &limits, &f);
  if (value && rpc_read(value, &t->arena, &m, &err) && m.kind == RPC_REQUEST) answer(t, &m);
  if (t->out.n) link_receive(t->link, buf_view(&t->out), NULL, NULL);
}

static void on_answer(struct deferred *d) {
  struct file_server *t = CONTAINER_OF(d, struct file_server, answer);
  struct link *l = t->link;
  link_enter(l);
  if (!t->connected) {
    t->connected = true;
    link_connected(l);
  }
  while (!l->dead && !t->stopped && !list_empty(&t->letters)) {
    struct letter *it = CONTAINER_OF(list_pop(&t->letters), struct letter, node);
    it->call->exchange = NULL;
    answer_letter(t, it);
    mem_free(it);
  }
  buf_reset(&t->out);
  buf_trim(&t->out, KEEP_OUT);
  link_leave(l);
}

// ---- the transport

static void snapshot_open(struct link *l) {
  struct file_server *t = l->transport;
  loop_defer(l->opt.loop, &t->answer);
}

// What is no request needs no answer.
static void snapshot_send(struct link *l, str message, struct link_call *call, str method) {
  struct file_server *t = l->transport;
  if (!call) return;
  struct letter *it = mem_alloc(sizeof *it + message.n);
  it->call = call;
  it->n = message.n;
  memcpy(it->text, message.p, message.n);
  list_push(&t->letters, &it->node);
  call->exchange = it;
  loop_defer(l->opt.loop, &t->answer);
}

static void snapshot_confirm(struct link *l, str message) {
  link_confirmed(l);
}

static void snapshot_forget(struct link *l, struct link_call *call, bool answered) {
  struct letter *it = call->exchange;
  if (!it) return;
  call->exchange = NULL;
  list_remove(&it->node);
  mem_free(it);
}

static void snapshot_flow(struct link *l, bool go) {
  struct file_server *t = l->transport;
  t->stopped = !go;
  if (go) loop_defer(l->opt.loop, &t->answer);
}

static void snapshot_close(struct link *l) {
  struct file_server *t = l->transport;
  deferred_cancel(&t->answer);
  for (struct list *n; (n = list_pop(&t->letters));) mem_free(CONTAINER_OF(n, struct letter, node));
  arena_done(&t->arena);
  buf_done(&t->out);
  mem_free(t);
}

struct link *link_new_snapshot(const struct link_options *opt, const struct snapshot *s, const struct link_events *ev,
                               void *ctx) {
  static const struct link_transport ops = {false,           snapshot_open, snapshot_send,  snapshot_confirm,
                                            snapshot_forget, snapshot_flow, snapshot_close, NULL};
  struct file_server *t = MEM_NEW(struct file_server);
  t->s = s;
  list_init(&t->letters);
  deferred_init(&t->answer, on_answer);
  arena_init(&t->arena);
  buf_init(&t->out, opt->max_message + GROWTH);
  t->link = link_new(opt, &ops, t, ev, ctx);
  return t->link;
}
