// SPDX-License-Identifier: Apache-2.0
// A complete gateway inside the test process: configuration, surface, pipeline and upstreams are the real ones. The
// servers are scripted (upstream/adapter.h), the clients are sessions without a wire, and the clock moves only when the
// test moves it. No sockets, no child processes, no sleeping.
//
// A test says what is given, then what an agent does, then what it sees:
//
//   given(w, "tolerant_args: true\n");                         lines of toolgate.yaml
//   struct server *files = serves(w, "files", NULL);           an entry of .mcp.json
//   has_tool(files, "{'name':'read','inputSchema':{…}}");      ' stands for " in every JSON text
//   struct agent *a = arrives(w, MODE_GATEWAY);                the gateway opens with its first agent
//   expect_text(calls(a, "files:read", "{'path':'x'}"), "ok");
//   expect_called(files, "read {'path':'x'}\n");
//
// A server answers every call with the text "ok", unless the test says otherwise (answers, fails, holds, breaks).
// The teardown checks that the gateway has nothing left of any call.
#pragma once
#include "config_folder.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "app/gateway.h"
#include "mcp/client/link_impl.h"
#include "surface/surface_state.h"
#include "upstream/adapter.h"
#include "upstream/upstream_impl.h"

enum { MAX_SCRIPTED = 4, MAX_AGENTS = 8, MAX_OUTCOMES = 32, MAX_DEFINED = 1024, MAX_HELD_CALLS = 64 };

struct world;

// What a server does with a call.
struct outcome {
  enum { OUT_TEXT, OUT_RESULT, OUT_ERROR, OUT_HOLD, OUT_BREAK } act;
  int code;
  bool failed;  // OUT_TEXT: isError
  str text;     // of the answer, raw for OUT_RESULT
  str data;     // of an error, raw
};

// A scripted server: what it offers, what it will do, and what it was asked.
struct server {
  struct upstream_own own;
  struct world *world;
  str name, entry;
  str defined[ITEM_KINDS][MAX_DEFINED];
  size_t defined_count[ITEM_KINDS];
  str instructions;
  bool starts_slowly;  // connections stay in the handshake until opens(s)
  struct outcome outcomes[MAX_OUTCOMES];
  size_t next, outcome_count;
  struct adapter_call *held[MAX_HELD_CALLS];  // in the order in which they came
  size_t held_count;
  struct buf log;     // a line for each call and each cancellation
  str request;        // the message that the last call came with
  struct link *link;  // opened last
  unsigned connections;
};

struct message {
  struct message *next;
  const struct json *value;
};

// A client. It keeps every message that it gets.
struct agent {
  struct world *world;
  struct session *session;
  enum surface_mode mode;
  struct message *first, **end;
  uint64_t next_id;
  struct request_param_header *param_headers;  // headers of its requests that repeat arguments
  size_t param_header_count;
  bool by_http;  // its requests come by HTTP
};

struct world {
  struct place *place;
  struct gateway gateway;
  bool open, stopped;
  int guard_end;  // the other end of the socket to the guard, which does not exist
  uv_async_t alive;
  _Atomic uint64_t now;
  _Atomic int64_t jumped;  // milliseconds by which the wall clock was set forward
  uint64_t tick;           // milliseconds by which each look at the clock moves it
  uint64_t drawn;          // numbers from the source of randomness
  struct clock clock;
  struct rand_source rand;
  struct arena arena;
  struct buf yaml;
  struct server *servers[MAX_SCRIPTED];
  size_t server_count;
  struct agent *agents[MAX_AGENTS];
  size_t agent_count;
};

// ---- texts

// A copy with " in place of '.
static inline str quoted(struct world *w, const char *text) {
  str copy = arena_str(&w->arena, str_of(text));
  for (size_t i = 0; i < copy.n; i++)
    if (copy.p[i] == '\'') ((char *)copy.p)[i] = '"';
  return copy;
}

static inline bool contains(str text, str part) {
  return memmem(text.p, text.n, part.p, part.n) != NULL;
}

// ---- clock, randomness and the loop

static inline uint64_t world_mono(void *ctx) {
  struct world *w = ctx;
  return w->now += w->tick;
}

static inline int64_t world_wall(void *ctx) {
  struct world *w = ctx;
  return (int64_t)w->now + w->jumped + INT64_C(1785196800000);
}

// splitmix64: the same numbers in every run.
static inline void world_fill(void *ctx, void *out, size_t n) {
  struct world *w = ctx;
  for (unsigned char *p = out; n--; p++) {
    uint64_t z = ++w->drawn * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    *p = (unsigned char)(z >> 32);
  }
}

// Runs everything that needs no more time.
static inline void turn(struct world *w) {
  for (int i = 0; i < 2; i++) uv_run(&w->gateway.loop.uv, UV_RUN_NOWAIT);
}

// Moves the clock, in steps, so that timers fire at about their time.
static inline void pass(struct world *w, uint64_t ms) {
  uint64_t step = ms > 1000 ? ms / 100 : TIMER_TICK_MS;
  turn(w);
  for (uint64_t moved; ms; ms -= moved) {
    moved = ms < step ? ms : step;
    w->now += moved;
    w->gateway.loop.now_known = false;
    timer_run_due(&w->gateway.loop);
    turn(w);
  }
}

// ---- servers

static inline struct server *serves(struct world *w, const char *name, const char *members) {
  assert_false(w->open);
  assert_true(w->server_count < MAX_SCRIPTED);
  struct server *s = MEM_NEW(struct server);
  s->own.refs = 1;
  s->world = w;
  s->name = str_of(name);
  s->entry = quoted(w, members ? members : "");
  buf_init(&s->log, 1 << 20);
  w->servers[w->server_count++] = s;
  return s;
}

static inline void defines(struct server *s, enum item_kind kind, const char *definition) {
  assert_true(s->defined_count[kind] < MAX_DEFINED);
  s->defined[kind][s->defined_count[kind]++] = quoted(s->world, definition);
}
static inline void has_tool(struct server *s, const char *definition) {
  defines(s, ITEM_TOOL, definition);
}
static inline void has_resource(struct server *s, const char *definition) {
  defines(s, ITEM_RESOURCE, definition);
}
static inline void has_prompt(struct server *s, const char *definition) {
  defines(s, ITEM_PROMPT, definition);
}

static inline void will(struct server *s, struct outcome o) {
  assert_true(s->outcome_count < MAX_OUTCOMES);
  s->outcomes[s->outcome_count++] = o;
}
// What it does with the next call that has no outcome yet.
static inline void answers(struct server *s, const char *text) {
  will(s, (struct outcome){.act = OUT_TEXT, .text = str_of(text)});
}
static inline void reports(struct server *s, const char *text) {
  will(s, (struct outcome){.act = OUT_TEXT, .text = str_of(text), .failed = true});
}
static inline void returns(struct server *s, const char *result) {
  will(s, (struct outcome){.act = OUT_RESULT, .text = quoted(s->world, result)});
}
static inline void fails(struct server *s, int code, const char *message, const char *data) {
  will(s, (struct outcome){OUT_ERROR, code, false, str_of(message), data ? quoted(s->world, data) : STR_NONE});
}
static inline void holds(struct server *s) {
  will(s, (struct outcome){.act = OUT_HOLD});
}
static inline void breaks(struct server *s) {
  will(s, (struct outcome){.act = OUT_BREAK});
}

static inline void lose_link(struct link *l) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "ended");
  link_broken(l, &f);
}

static inline void act(struct adapter_call *c, const struct outcome *o) {
  switch (o->act) {
  case OUT_TEXT: adapter_text(c, o->text, o->failed); break;
  case OUT_RESULT: adapter_result(c, o->text); break;
  case OUT_ERROR: adapter_error(c, o->code, arena_cstr(&c->arena, o->text), o->data); break;
  case OUT_BREAK: lose_link(c->call->link); break;
  case OUT_HOLD: break;
  }
}

static inline size_t script_count(void *own, enum item_kind kind) {
  return ((struct server *)own)->defined_count[kind];
}

static inline str script_definition(void *own, enum item_kind kind, size_t index) {
  return ((struct server *)own)->defined[kind][index];
}

static inline str script_instructions(void *own) {
  return ((struct server *)own)->instructions;
}

// A resource is the only thing that a server is asked for although it did not list it.
static inline bool is_defined(const struct server *s, const struct adapter_call *c) {
  for (size_t i = 0; i < s->defined_count[c->kind]; i++)
    if (contains(s->defined[c->kind][i], c->name)) return true;
  return false;
}

static inline void script_call(void *own, struct adapter_call *c) {
  struct server *s = own;
  static const struct outcome ok = {.act = OUT_TEXT, .text = STR("ok")};
  buf_printf(&s->log, "%.*s%s%.*s\n", STR_ARG(c->name), c->arguments ? " " : "",
             c->arguments ? (int)c->arguments->n : 0, c->arguments ? c->arguments->p : "");
  s->request = arena_str(&s->world->arena, (str){c->text, c->n});
  const struct outcome *o = s->next < s->outcome_count ? &s->outcomes[s->next++] : &ok;
  if (o->act == OUT_HOLD || o->act == OUT_BREAK) {
    assert_true(s->held_count < MAX_HELD_CALLS);
    s->held[s->held_count++] = c;
  }
  if (o == &ok && !is_defined(s, c)) adapter_not_found(c);
  else act(c, o);
}

static inline struct adapter_call *take_held(struct server *s, size_t index) {
  assert_true(index < s->held_count);
  struct adapter_call *c = s->held[index];
  memmove(&s->held[index], &s->held[index + 1], (s->held_count - index - 1) * sizeof *s->held);
  s->held_count--;
  return c;
}

static inline void script_cancel(void *own, struct adapter_call *c) {
  struct server *s = own;
  size_t i = 0;
  while (i < s->held_count && s->held[i] != c) i++;
  take_held(s, i);
  buf_printf(&s->log, "cancelled %.*s\n", STR_ARG(c->name));
}

static inline struct link *script_open(struct upstream *u, const struct link_options *opt, const struct link_events *ev,
                                       void *ctx) {
  static const struct adapter_ops ops = {
      .count = script_count,
      .definition = script_definition,
      .call = script_call,
      .cancel = script_cancel,
      .instructions = script_instructions,
      .too_large = "the scripted answer is larger than limits.message",
  };
  struct server *s = CONTAINER_OF(u->spec->own, struct server, own);
  s->link = adapter_link(opt, &ops, s, ev, ctx);
  s->connections++;
  if (s->starts_slowly) s->link->ops->flow(s->link, false);
  return s->link;
}

static inline void script_own_free(struct upstream_own *own) {
  fail_msg("the world owns its servers");
}

// isolation is the configured one; the protocol is that of the handshake.
static const struct upstream_kind upstream_scripted = {
    .name = "scripted",
    .status = "scripted",
    .brief = "scripted",
    .place = "command",
    .handshake = true,
    .own_free = script_own_free,
    .open = script_open,
};

// What a test makes a server do in between: answer the call it has held for the longest time, complete the handshake of
// a slow start, end the connection, send a message.
static inline void releases(struct server *s, const char *text) {
  adapter_text(take_held(s, 0), str_of(text), false);
  turn(s->world);
}
static inline void opens(struct server *s) {
  s->starts_slowly = false;
  s->link->ops->flow(s->link, true);
  turn(s->world);
}
static inline void ends(struct server *s) {
  lose_link(s->link);
  turn(s->world);
}
static inline void progresses(struct server *s) {  // with the call that it has held for the longest time
  char message[256];
  snprintf(message, sizeof message,
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
           "\"params\":{\"progressToken\":%llu,\"progress\":1}}",
           (unsigned long long)s->held[0]->call->wait.id);
  link_receive(s->link, str_of(message), NULL, NULL);
  turn(s->world);
}
static inline void says(struct server *s, const char *message) {
  link_receive(s->link, quoted(s->world, message), NULL, NULL);
  turn(s->world);
}

// ---- the gateway

static inline void given(struct world *w, const char *yaml) {
  assert_false(w->open);
  buf_str(&w->yaml, str_of(yaml));
}

static inline void given_rules(struct world *w, const char *rules) {
  given(w, "rules: rules.json\naudit: {enabled: false}\n");
  write_file("rules.json", arena_cstr(&w->arena, quoted(w, rules)));
}

static inline void write_servers(struct world *w) {
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_str(&b, STR("{\"mcpServers\":{"));
  for (size_t i = 0; i < w->server_count; i++) {
    const struct server *s = w->servers[i];
    buf_printf(&b, "%s\"%.*s\":{\"command\":\"cat\"%s%.*s}", i ? "," : "", STR_ARG(s->name), s->entry.n ? "," : "",
               STR_ARG(s->entry));
  }
  buf_str(&b, STR("}}"));
  write_file(".mcp.json", arena_cstr(&w->arena, buf_view(&b)));
  buf_done(&b);
}

// The entries of .mcp.json name a program. The scripts take its place after loading.
static inline void put_scripts(struct world *w, struct config *c) {
  assert_int_equal(c->upstream_count, w->server_count);
  for (size_t i = 0; i < c->upstream_count; i++) {
    struct upstream_spec *spec = &c->upstreams[i];
    for (size_t k = 0; k < w->server_count; k++) {
      if (!str_eq(w->servers[k]->name, spec->name)) continue;
      spec->kind = &upstream_scripted;
      spec->own = &w->servers[k]->own;
      spec->own->refs++;
    }
    assert_non_null(spec->own);
  }
}

static inline void open_gateway(struct world *w) {
  static char *const env[] = {(char *)"PATH=/bin", NULL};
  struct fault f;
  int ends[2];
  write_servers(w);
  write_file("toolgate.yaml", arena_cstr(&w->arena, buf_view(&w->yaml)));
  load(w->place);
  assert_false(config_problems_fatal(&w->place->problems));
  put_scripts(w, &w->place->config);
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  w->guard_end = ends[1];
  struct guard guard = {ends[0], INT_MAX};  // no process has this number, so nothing is killed
  w->open = true;
  assert_true(gateway_init_with(&w->gateway, &w->place->config, &guard, env, &w->clock, &w->rand, &f));
  uv_async_init(&w->gateway.loop.uv, &w->alive, NULL);  // a loop without handles would not turn
}

// The gateway takes other rules over, as after a change of the file.
static inline void takes_rules(struct world *w, const char *rules) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  char told[256];
  struct config next = {0};
  struct fault f;
  write_file("rules.json", arena_cstr(&w->arena, quoted(w, rules)));
  assert_true(config_load(&next, &w->place->options, env, &w->place->problems));
  put_scripts(w, &next);
  assert_true(gateway_take(&w->gateway, &next, told, sizeof told, &f));
  config_done(&next);
  turn(w);
}

// ---- agents

static inline void keep_message(struct agent *a, str text) {
  struct world *w = a->world;
  struct fault f;
  struct message *m = ARENA_NEW(&w->arena, struct message);
  m->value = json_parse(&w->arena, arena_str(&w->arena, text), &json_default_limits, &f);
  assert_non_null(m->value);
  *a->end = m;
  a->end = &m->next;
}

static inline void agent_send(struct session *s, struct request *related, str message) {
  keep_message(s->channel, message);
}

static inline void agent_answer(struct request *r, struct payload message) {
  if (message.text.p) keep_message(r->session->channel, message.text);
}

static const struct outlet_ops agent_outlet = {.send = agent_send, .answer = agent_answer};

static inline void agent_post(struct agent *a, str message) {
  struct fault f;
  struct rpc_error err;
  struct request *r = request_parse(&a->world->gateway.server, message, &f);
  assert_non_null(r);
  r->by_http = a->by_http;
  r->param_headers = a->param_headers;
  r->param_header_count = a->param_header_count;
  assert_true(session_receive(a->session, r, a, &err));
  turn(a->world);
}

// Sends a request and returns its id.
static inline uint64_t sends(struct agent *a, const char *method, const char *params) {
  uint64_t id = ++a->next_id;
  agent_post(a, arena_printf(&a->world->arena, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\",\"params\":%.*s}",
                             (unsigned long long)id, method, STR_ARG(quoted(a->world, params ? params : "{}"))));
  return id;
}

static inline void notifies(struct agent *a, const char *method, const char *params) {
  agent_post(a, arena_printf(&a->world->arena, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%.*s}", method,
                             STR_ARG(quoted(a->world, params ? params : "{}"))));
}

static inline void cancels(struct agent *a, uint64_t id) {
  char params[64];
  snprintf(params, sizeof params, "{'requestId':%llu}", (unsigned long long)id);
  notifies(a, "notifications/cancelled", params);
}

static inline const struct json *find_reply(const struct agent *a, uint64_t id) {
  for (const struct message *m = a->first; m; m = m->next) {
    int64_t of;
    bool reply = !json_get(m->value, STR("method")) && json_int(json_get(m->value, STR("id")), &of);
    if (reply && (uint64_t)of == id) return m->value;
  }
  return NULL;
}

static inline bool is_answered(const struct agent *a, uint64_t id) {
  return find_reply(a, id) != NULL;
}

// The reply to a request. Waits for other threads of the gateway; the clock does not move.
static inline const struct json *hears(struct agent *a, uint64_t id) {
  for (uint64_t until = clock_mono_ms(&clock_system) + 5000; !is_answered(a, id);) {
    if (clock_mono_ms(&clock_system) > until) fail_msg("request %llu is not answered", (unsigned long long)id);
    turn(a->world);
    if (!is_answered(a, id)) sched_yield();
  }
  return find_reply(a, id);
}

// Waits until the server was asked something since the last expect_called: a claim is stored on another thread first.
static inline void is_asked(struct server *s) {
  for (uint64_t until = clock_mono_ms(&clock_system) + 5000; !s->log.n;) {
    if (clock_mono_ms(&clock_system) > until) fail_msg("%.*s is not asked", STR_ARG(s->name));
    turn(s->world);
    if (!s->log.n) sched_yield();
  }
}

static inline const struct json *asks(struct agent *a, const char *method, const char *params) {
  return hears(a, sends(a, method, params));
}

// The last message that is no reply, with this method. NULL: there is none.
static inline const struct json *heard(const struct agent *a, const char *method) {
  const struct json *found = NULL;
  for (const struct message *m = a->first; m; m = m->next)
    if (json_equals_str(json_get(m->value, STR("method")), str_of(method))) found = m->value;
  return found;
}

static inline void leaves(struct agent *a) {
  session_close(&a->session);
  turn(a->world);
}

static inline struct agent *enters(struct world *w, struct client_identity who, const char *capabilities) {
  if (!w->open) open_gateway(w);
  assert_true(w->agent_count < MAX_AGENTS);
  struct agent *a = w->agents[w->agent_count++] = MEM_NEW(struct agent);
  a->world = w;
  a->mode = (enum surface_mode)who.mode;
  a->end = &a->first;
  a->session = session_new(&w->gateway.server, &agent_outlet, a, who);
  str params = arena_printf(
      &w->arena, "{'protocolVersion':'2025-11-25','capabilities':%s,'clientInfo':{'name':'test'}}", capabilities);
  const struct json *hello = asks(a, "initialize", params.p);
  assert_non_null(json_get(hello, STR("result")));
  notifies(a, "notifications/initialized", NULL);
  pass(w, 300);  // servers that are not slow have listed, and the directory is made
  return a;
}

static inline struct agent *arrives(struct world *w, enum surface_mode mode) {
  return enters(w, (struct client_identity){.principal = -1, .mode = (int)mode}, "{}");
}

// With a credential that is bound to an agent of the rules.
static inline struct agent *arrives_as(struct world *w, enum surface_mode mode, const char *name) {
  return enters(w, (struct client_identity){.mode = (int)mode, .name = str_of(name), .agent = str_of(name)}, "{}");
}

// ---- calls, in the form of the agent's mode

// what: "SERVER:TOOL". more: further members of the arguments of the meta-tool, or of params in mode direct; or NULL.
static inline uint64_t begins_with(struct agent *a, const char *what, const char *args, const char *more) {
  str server, tool;
  struct arena *arena = &a->world->arena;
  assert_true(str_cut(str_of(what), ':', &server, &tool));
  const char *comma = more ? "," : "", *rest = more ? more : "";
  str params = STR_NONE;
  switch (a->mode) {
  case MODE_DIRECT:
    params = arena_printf(arena, "{'name':'%.*s','arguments':%s%s%s}", STR_ARG(tool), args, comma, rest);
    break;
  case MODE_SERVERS:
    params = arena_printf(arena, "{'name':'execute_tool','arguments':{'server':'%.*s','tool':'%.*s','args':%s%s%s}}",
                          STR_ARG(server), STR_ARG(tool), args, comma, rest);
    break;
  default:
    params = arena_printf(arena, "{'name':'tool_execute','arguments':{'tool_id':'%s','args':%s%s%s}}", what, args,
                          comma, rest);
  }
  return sends(a, "tools/call", params.p);
}

static inline uint64_t begins(struct agent *a, const char *what, const char *args) {
  return begins_with(a, what, args, NULL);
}

static inline const struct json *calls_with(struct agent *a, const char *what, const char *args, const char *more) {
  return hears(a, begins_with(a, what, args, more));
}

static inline const struct json *calls(struct agent *a, const char *what, const char *args) {
  return calls_with(a, what, args, NULL);
}

// A meta-tool, with these arguments.
static inline const struct json *uses(struct agent *a, const char *meta_tool, const char *args) {
  str params = arena_printf(&a->world->arena, "{'name':'%s','arguments':%s}", meta_tool, args);
  return asks(a, "tools/call", params.p);
}

// ---- what agents see

static inline str raw(const struct json *message) {
  return json_span(message);
}

// The text of a member, or "" if it has none. path: names with dots.
static inline str member(struct world *w, const struct json *v, const char *path) {
  str rest = str_of(path), name;
  for (bool more = true; more && v;) {
    more = str_cut(rest, '.', &name, &rest);
    v = json_get(v, name);
  }
  str text = STR("");
  if (v && !json_string(v, &w->arena, &text)) text = json_span(v);
  return text;
}

// All texts of a result.
static inline str text_of(struct world *w, const struct json *message) {
  str all = STR("");
  const struct json *content = json_get(json_get(message, STR("result")), STR("content"));
  if (!content) return all;
  JSON_EACH(it, content) {
    str text = member(w, it, "text");
    all = arena_printf(&w->arena, "%.*s%s%.*s", STR_ARG(all), all.n ? "\n" : "", STR_ARG(text));
  }
  return all;
}

// The code of the fault that a reply is, in any of the forms; "": it is none.
static inline str fault_of(struct world *w, const struct json *message) {
  const struct json *meta = json_get(json_get(message, STR("result")), STR("_meta"));
  str code = STR("");
  json_string(json_get(meta, STR("io.toolgate/fault")), &w->arena, &code);
  return code.n ? code : member(w, message, "error.data.error");
}

static inline void see(struct world *w, const struct json *message, const char *part, bool wanted) {
  if (contains(raw(message), quoted(w, part)) != wanted)
    fail_msg("%s '%s': %.*s", wanted ? "no" : "there is", part, STR_ARG(raw(message)));
}

// For tests that have `w`. The whole reply has (or has not) this part; its text has it, and it is no fault; its text
// has it, fault or not; it is a fault with this code.
#define expect_part(message, part) see(w, message, part, true)
#define expect_no_part(message, part) see(w, message, part, false)
#define expect_text(message, part) expect_the_text(w, message, part)
#define expect_words(message, part) expect_the_words(w, message, part)
#define expect_fault(message, code) expect_the_fault(w, message, code)

static inline void expect_the_words(struct world *w, const struct json *message, const char *part) {
  if (!contains(text_of(w, message), quoted(w, part))) fail_msg("no '%s': %.*s", part, STR_ARG(raw(message)));
}

static inline void expect_the_text(struct world *w, const struct json *message, const char *part) {
  expect_the_words(w, message, part);
  if (fault_of(w, message).n) fail_msg("a fault: %.*s", STR_ARG(raw(message)));
}

static inline void expect_the_fault(struct world *w, const struct json *message, const char *code) {
  if (!str_eq(fault_of(w, message), str_of(code))) fail_msg("not %s: %.*s", code, STR_ARG(raw(message)));
}

// Everything that the server was asked since this was last checked: a line "NAME ARGUMENTS" for each call, and
// "cancelled NAME".
static inline void expect_called(struct server *s, const char *lines) {
  if (!str_eq(buf_view(&s->log), quoted(s->world, lines)))
    fail_msg("%.*s was asked '%.*s' instead of '%s'", STR_ARG(s->name), STR_ARG(buf_view(&s->log)), lines);
  buf_reset(&s->log);
}

// ---- what is left

static inline size_t timers(struct world *w) {
  return w->gateway.loop.timers;
}

static inline void no_calls_on(const struct lane *lane) {
  assert_true(list_empty(&lane->calls));
  assert_true(list_empty(&lane->users));
  assert_true(list_empty(&lane->waiters));
  assert_int_equal(lane->busy, 0);
  assert_int_equal(lane->asks, 0);
}

// No call is under way: none waits, none holds a connection, no request of an agent is open, no server works.
static inline void expect_nothing_left(struct world *w) {
  const struct call_context *x = &w->gateway.surface->calls;
  assert_true(list_empty(&x->unsettled));
  assert_true(list_empty(&x->asks.open));
  assert_true(list_empty(&x->parked.all));
  assert_int_equal(map_count(&x->parked.waiting), 0);
  assert_true(list_empty(&w->gateway.surface->waiting));
  for (size_t i = 0; i < w->gateway.upstreams->count; i++)
    LIST_EACH(it, &w->gateway.upstreams->list[i]->lanes) no_calls_on(CONTAINER_OF(it, struct lane, node));
  for (size_t i = 0; i < w->agent_count; i++)
    if (w->agents[i]->session) assert_int_equal(w->agents[i]->session->in_flight, 0);
  for (size_t i = 0; i < w->server_count; i++) assert_int_equal(w->servers[i]->held_count, 0);
}

// ---- the test

static inline int begin_world(void **state) {
  struct world *w = MEM_NEW(struct world);
  if (enter((void **)&w->place)) return -1;
  w->now = 1000000;
  w->clock = (struct clock){world_mono, world_wall, w};
  w->rand = (struct rand_source){world_fill, w};
  arena_init(&w->arena);
  buf_init(&w->yaml, 1 << 16);
  buf_str(&w->yaml, STR("state_dir: none\nlog: {level: \"off\"}\n"));
  *state = w;
  return 0;
}

static inline void on_world_stopped(void *ctx) {
  ((struct world *)ctx)->stopped = true;
}

// Time goes on until the loop has nothing to do. What a broken step left behind must not keep the test from ending:
// loop_done ends the program then.
static inline void run_out(struct world *w, bool (*done)(struct world *w)) {
  for (uint64_t until = clock_mono_ms(&clock_system) + 5000; !done(w);) {
    pass(w, TIMER_TICK_MS);
    sched_yield();
    if (clock_mono_ms(&clock_system) > until) return;
  }
}

static inline bool is_stopped(struct world *w) {
  return w->stopped;
}

static inline bool is_empty(struct world *w) {
  return !uv_loop_alive(&w->gateway.loop.uv);
}

static inline void close_gateway(struct world *w) {
  for (size_t i = 0; i < w->agent_count; i++) session_close(&w->agents[i]->session);
  expect_nothing_left(w);
  gateway_stop(&w->gateway, on_world_stopped, w);
  run_out(w, is_stopped);
  uv_close((uv_handle_t *)&w->alive, NULL);
  run_out(w, is_empty);
  close(w->guard_end);  // so nobody waits for the guard to end
  gateway_done(&w->gateway);
}

static inline int end_world(void **state) {
  struct world *w = *state;
  if (w->open) close_gateway(w);
  for (size_t i = 0; i < w->agent_count; i++) mem_free(w->agents[i]);
  int failed = leave((void **)&w->place);
  for (size_t i = 0; i < w->server_count; i++) {
    failed |= w->servers[i]->own.refs != 1;
    buf_done(&w->servers[i]->log);
    mem_free(w->servers[i]);
  }
  buf_done(&w->yaml);
  arena_done(&w->arena);
  mem_free(w);
  return failed;
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, begin_world, end_world)
