// SPDX-License-Identifier: Apache-2.0
// The table of the tools of servers mode, and the checks that run() makes for every tool.
#include "surface/servers/servers.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/audit_recorder.h"
#include "result/envelope/fault_forms.h"
#include "surface/direct/direct_list.h"
#include "surface/direct/direct_listen.h"
#include "surface/meta/approval_status.h"
#include "surface/meta/results.h"
#include "surface/refused.h"
#include "surface/surface_state.h"
#include "surface/wait.h"

// ---- the table

#define STRING "{\"type\":\"string\"}"
#define OBJECT(properties) \
  "{\"type\":\"object\",\"properties\":{\"agent_id\":{\"type\":\"string\",\"description\":\"Yours, if you were " \
  "given one\"}" properties "}"

struct servers_entry {
  const char *name, *description, *schema;
  servers_tool *run;
  enum { ALWAYS, WITH_DEBUG, WITH_BOUNDED } when;
  bool read_only;
  bool calls;  // the tool sends a request to a server
};

static void view(struct servers_ask *a) {
  meta_tool_view(a->d, a->r);
}

static const struct servers_entry table[] = {
    {"list_servers", "List the servers you may use. get_server_tools shows the tools of one, execute_tool calls them.",
     OBJECT(",\"include_metadata\":{\"type\":\"boolean\"}") "}", servers_list, ALWAYS, true, false},
    {"get_server_tools",
     "Get the tools of a server with their input schemas. names, pattern and max_schema_tokens limit "
     "the list.",
     OBJECT(",\"server\":" STRING ",\"names\":{\"anyOf\":[{\"type\":\"array\",\"items\":" STRING "}," STRING
            "]},\"pattern\":{\"type\":\"string\",\"description\":\"such as get_*\"},"
            "\"max_schema_tokens\":{\"type\":\"integer\"}") ",\"required\":[\"server\"]}",
     servers_tools, ALWAYS, true, false},
    {"execute_tool", "Call a tool of a server, with args as its input schema says.",
     OBJECT(",\"server\":" STRING ",\"tool\":" STRING
            ",\"args\":{\"type\":\"object\"},\"timeout_ms\":{\"type\":\"integer\"}") ",\"required\":[\"server\","
                                                                                     "\"tool\",\"args\"]}",
     servers_execute, ALWAYS, false, true},
    {"get_gateway_status", "Show the status of the gateway and of the servers you may use.", OBJECT("") "}",
     servers_status, WITH_DEBUG, true, false},
    {"tool_view",
     "Look into a result that was cut, by its handle. selector is {\"type\":\"search\",\"query\":\"words\"}, or of "
     "type head (start, chars), lines (start, end), json_keys (keys), path (JSONPath), pointer, records or stats.",
     OBJECT(",\"handle\":" STRING ",\"selector\":{\"type\":\"object\"}") ",\"required\":[\"handle\",\"selector\"]}",
     view, WITH_BOUNDED, true, false},
};
enum { TOOLS = sizeof table / sizeof *table };

static bool offered(const struct surface *d, const struct servers_entry *e) {
  switch (e->when) {
  case WITH_DEBUG: return d->opt.debug;
  case WITH_BOUNDED: return d->opt.calls.results.bounded;
  case ALWAYS: break;
  }
  return true;
}

static const struct servers_entry *find(const struct surface *d, str name) {
  for (size_t i = 0; i < TOOLS; i++)
    if (str_eq(name, str_of(table[i].name)) && offered(d, &table[i])) return &table[i];
  return NULL;
}

// ---- the list: the same for every agent, so that it reveals nothing

static void list(struct surface *d, struct request *r) {
  size_t at;
  if (!direct_read_cursor(r, 0, 0, &at)) return;
  struct buf *b = &d->text;
  buf_reset(b);
  struct json_writer w = json_writer(b);
  json_begin_object(&w);
  json_put_key(&w, STR("tools"));
  json_begin_array(&w);
  for (const struct servers_entry *e = table; e < table + TOOLS; e++) {
    if (!offered(d, e)) continue;
    json_begin_object(&w);
    json_member_str(&w, STR("name"), str_of(e->name));
    json_member_str(&w, STR("description"), str_of(e->description));
    json_member_raw(&w, STR("inputSchema"), str_of(e->schema));
    if (e->read_only) json_member_raw(&w, STR("annotations"), STR("{\"readOnlyHint\":true}"));
    json_end_object(&w);
  }
  if (!r->session->as_operator) meta_put_approval_status(d, r->session, true, b);
  json_end_array(&w);
  if (r->session->revision->stateless) {
    json_member_u64(&w, STR("ttlMs"), 0);
    json_member_str(&w, STR("cacheScope"), STR("private"));
  }
  json_end_object(&w);
  request_reply(r, buf_view(b));
}

void servers_describe(const struct session *s, struct json_writer *w) {
  struct buf text;
  buf_init(&text, 1024);
  buf_printf(&text,
             "list_servers names the servers that you may use, get_server_tools shows the tools of one, and "
             "execute_tool calls them.\n" META_MARK_SAID,
             s->mark);
  json_member_raw(w, STR("capabilities"), STR("{\"tools\":{\"listChanged\":true}}"));
  json_member_str(w, STR("instructions"), buf_view(&text));
  buf_done(&text);
}

// ---- arguments

str servers_string(const struct servers_ask *a, str name) {
  str text;
  return json_string(json_get(a->args, name), &a->r->arena, &text) ? text : STR("");
}

// Returns the argument agent_id; STR_NONE if the argument is absent, null or empty.
str servers_named(const struct request *r) {
  str text;
  return meta_string(r, STR("agent_id"), &text) && text.n ? text : STR_NONE;
}

static bool is_text(const struct json *v) {
  return !v || v->type == JSON_NULL || v->type == JSON_STRING;
}

// ---- answers

// Refuses a request because of a rule. `rule` is the rule's path, or STR_NONE.
static void fail_by(struct surface *d, struct request *r, const struct fault *f, str rule) {
  struct buf *b = &d->answer;
  buf_reset(b);
  audit_recorder_fault(r, fault_public_code(f->code));
  surface_refused(d, r, f->code, NULL);
  fault_put_ruled_result(b, f, rule, STR_NONE, request_form(r, d->opt.calls.results.structured).structured);
  request_reply(r, buf_view(b));
}

static void deny(struct servers_ask *a, const struct policy_decision *d) {
  ASSERT(!d->allowed);
  struct fault f;
  struct buf rule;
  buf_init(&rule, 1 << 14);
  caller_describe_denial(&a->caller, d, STR_NONE, &f);
  policy_put_path(d, &rule);
  fail_by(a->d, a->r, &f, buf_view(&rule));
  buf_done(&rule);
}

// Checks the rules first, so that a denied agent cannot find out whether the server exists.
bool servers_find(struct servers_ask *a, unsigned *out_source) {
  str server = servers_string(a, STR("server"));
  const struct caller *c = &a->caller;
  struct policy_decision decision = {.allowed = true};
  audit_recorder_server(a->r, server);
  if (caller_is_limited(c)) {
    decision = caller_decide(c, server, ITEM_RESOURCE, STR_NONE);
    audit_recorder_decided(a->r, &decision);
  }
  if (!decision.allowed) {
    deny(a, &decision);
    return false;
  }
  if (upstreams_find(a->d->upstreams, server, out_source)) return true;
  if (!server.n) {
    meta_refuse(a->d, a->r, "server is required; pass a name from list_servers");
    return false;
  }
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "Server '%.*s' not found in configured servers",
            STR_ARG(utf8_cut(server, META_NAME_SHOWN)));
  meta_fail(a->d, a->r, &f, STR_NONE);
  return false;
}

// ---- requests

// Checks the rate limits, except for a tool that calls a server, because the call checks the limits itself. If a limit
// is exceeded, refuses the request and returns false.
static bool is_within_limits(struct surface *d, struct request *r, const struct servers_entry *e) {
  struct fault f;
  struct buf details;
  buf_init(&details, 4096);
  bool ok = e->calls || calls_allow(&d->calls, r->session, str_of(e->name), &f, &details);
  if (!ok) meta_fail(d, r, &f, buf_view(&details));
  buf_done(&details);
  return ok;
}

// Refuses a request of an unknown agent. The audit line contains the agent, the server and the tool that the request
// names.
static void fail_unknown(struct servers_ask *a, const struct fault *f) {
  str named = servers_named(a->r), rule = caller_rule(a->d->calls.rules, a->r->session, named, f);
  audit_recorder_tool(a->r, servers_string(a, STR("server")), servers_string(a, STR("tool")));
  if (session_agent(a->r->session).n) audit_recorder_target(a->r, named);
  else audit_recorder_agent(a->r, named);
  audit_recorder_rule(a->r, rule);
  fail_by(a->d, a->r, f, rule);
}

// Checks the arguments, the caller and the rate limits of a request, and runs the tool.
static void run(struct surface *d, struct request *r, const struct servers_entry *e) {
  ASSERT(e->run);
  struct servers_ask a = {.d = d, .r = r, .args = meta_args(r)};
  str named = servers_named(r);
  bool texts = is_text(json_get(a.args, STR("server"))) && is_text(json_get(a.args, STR("tool")));
  struct fault f;
  if (!is_text(json_get(a.args, STR("agent_id")))) {
    fault_set(&f, FAULT_INVALID_AGENT_ID, "agent_id must be a string");
    fail_by(d, r, &f, STR_NONE);
  } else if (!caller_find(d->calls.rules, r->session, named.p ? named : STR(""), &a.caller, &f)) {
    fail_unknown(&a, &f);
  } else if (!texts) {
    meta_refuse(d, r, "server and tool must be strings");
  } else if (is_within_limits(d, r, e)) {
    audit_recorder_agent(r, a.caller.id);
    a.who = (struct lane_user){r->session, a.caller.id};
    e->run(&a);
  }
}

static const struct servers_entry *called(const struct surface *d, const struct request *r) {
  str name = STR_NONE;
  json_string(json_get(r->msg.params, STR("name")), (struct arena *)&r->arena, &name);
  return find(d, name);
}

str servers_operation(const struct surface *d, const struct request *r) {
  const struct servers_entry *e = str_eq(r->msg.method, STR("tools/call")) ? called(d, r) : NULL;
  return e ? str_of(e->name) : STR_NONE;
}

bool servers_is_call(str operation) {
  for (size_t i = 0; i < TOOLS; i++)
    if (str_eq(operation, str_of(table[i].name))) return table[i].calls;
  return false;
}

static void call(struct surface *d, struct request *r) {
  const struct servers_entry *e = called(d, r);
  const struct json *args = json_get(r->msg.params, STR("arguments"));
  if (!e) request_fail(r, RPC_INVALID_PARAMS, "Unknown tool: use execute_tool to call a server's tool", STR_NONE);
  else if (args && args->type != JSON_OBJECT && args->type != JSON_NULL)
    meta_refuse(d, r, "arguments must be an object");
  else run(d, r, e);
}

static bool is_ready(struct surface *d, const struct request *r) {
  const struct servers_entry *e = called(d, r);
  return !e || e->run != servers_tools || servers_tools_ready(d, r);
}

void servers_request(struct surface *d, struct request *r) {
  bool stateless = r->session->revision->stateless;
  uint64_t until = loop_now(d->opt.loop) + d->opt.start_wait_ms;
  ASSERT(r->session->mode == MODE_SERVERS);
  if (str_eq(r->msg.method, STR("tools/call"))) surface_wait_for(d, r, until, is_ready, call);
  else if (str_eq(r->msg.method, STR("tools/list"))) list(d, r);
  else if (stateless && str_eq(r->msg.method, STR("subscriptions/listen"))) direct_listen(d, r);
  else request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}
