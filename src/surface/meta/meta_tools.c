// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/meta_tools.h"

#include "base/assert.h"
#include "call/audit_recorder.h"
#include "govern/approvals.h"
#include "result/envelope/fault_forms.h"

#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "surface/direct/direct_list.h"
#include "surface/direct/direct_listen.h"
#include "surface/instructions.h"
#include "surface/meta/aliases.h"
#include "surface/meta/browse.h"
#include "surface/meta/execute.h"
#include "surface/meta/plan_check.h"
#include "surface/meta/results.h"
#include "surface/meta/transparent.h"
#include "surface/refused.h"
#include "surface/surface_state.h"
#include "surface/unavailable.h"
#include "surface/visibility.h"
#include "surface/wait.h"
#include "json/write.h"

// ---- the table

#define STRING "{\"type\":\"string\"}"
#define BROWSE_SCHEMA_WITH(id, more) \
  "{\"type\":\"object\",\"properties\":{\"query\":" STRING ",\"path\":" STRING ",\"" id "\":" STRING \
  ",\"top_k\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":50}" more "},\"additionalProperties\":false}"
#define BROWSE_SCHEMA(id) BROWSE_SCHEMA_WITH(id, "")
#define BROWSE_TOOLS \
  "Find tools of all connected servers. Pass one of: query (what you want to do, in plain words), path (/ lists the " \
  "servers, /github its tools), tool_id (returns the full schema of that tool). query and path return cards: " \
  "tool_id, what the tool does, args (? marks optional ones). If nothing fits, search again in other words."

#define EXECUTE_PROPERTIES \
  "{\"type\":\"object\",\"properties\":{\"tool_id\":" STRING \
  ",\"args\":{\"type\":\"object\"},\"dry_run\":{\"type\":\"boolean\"},\"timeout_ms\":{\"type\":\"integer\"}," \
  "\"max_tokens\":{\"type\":\"integer\"}"
#define EXECUTE_SCHEMA EXECUTE_PROPERTIES "},\"required\":[\"tool_id\",\"args\"],\"additionalProperties\":false}"
// Schemas of model APIs cannot express "tool_id and args, or request_id", so nothing is required.
#define EXECUTE_GOVERNED_SCHEMA EXECUTE_PROPERTIES ",\"request_id\":" STRING "},\"additionalProperties\":false}"
#define EXECUTE_IN_GATEWAY \
  "Call a tool by its tool_id with the args its card lists. ARGS_INVALID answers include the schema. A result longer " \
  "than max_tokens is cut and names handles for tool_view."
#define EXECUTE_IN_TRANSPARENT \
  "Call a tool by its tool_id with the args that tool_hydrate describes. A result longer than max_tokens is cut and " \
  "names handles for tool_view."
#define EXECUTE_APPROVED " request_id alone returns the outcome of a call that answered approval_required."

struct meta_entry {
  const char *name, *description, *schema;
  unsigned modes;  // modes that offer the meta-tool, as bits of enum surface_mode
  // The meta-tool is offered to clients that see an entry of this kind; DIRECTORY_TOOLS: to all clients.
  enum directory_kind needs;
  const char *id;  // name of the argument that names an entry, or NULL
  meta_tool *run;
  bool read_only;
  bool calls;  // the meta-tool sends a request to a server
  // APPROVED: callers whose calls may need approval
  enum { FOR_ALL, NOT_GOVERNED, GOVERNED, PLANNING, NOT_APPROVED, APPROVED } callers;
};

enum { IN_GATEWAY = 1 << MODE_GATEWAY, IN_TRANSPARENT = 1 << MODE_TRANSPARENT, IN_BOTH = IN_GATEWAY | IN_TRANSPARENT };

static const struct meta_entry table[] = {
    {"tool_browse", BROWSE_TOOLS, BROWSE_SCHEMA("tool_id"), IN_GATEWAY, DIRECTORY_TOOLS, "tool_id", meta_tool_browse,
     true, false, NOT_GOVERNED},
    {"tool_browse",
     BROWSE_TOOLS " filter keeps tools of a class (observe, recall, verify, think_support, act), domain or max_mode.",
     BROWSE_SCHEMA_WITH("tool_id", ",\"filter\":{\"type\":\"object\"}"), IN_GATEWAY, DIRECTORY_TOOLS, "tool_id",
     meta_tool_browse, true, false, GOVERNED},
    {"tool_hydrate", "Get the description and the input schema of a tool by its tool_id, before tool_execute.",
     "{\"type\":\"object\",\"properties\":{\"tool_id\":" STRING
     "},\"required\":[\"tool_id\"],\"additionalProperties\":false}",
     IN_TRANSPARENT, DIRECTORY_TOOLS, "tool_id", meta_tool_hydrate, true, false, FOR_ALL},
    {"tool_execute", EXECUTE_IN_GATEWAY, EXECUTE_SCHEMA, IN_GATEWAY, DIRECTORY_TOOLS, "tool_id", meta_tool_execute,
     false, true, NOT_APPROVED},
    {"tool_execute", EXECUTE_IN_GATEWAY EXECUTE_APPROVED, EXECUTE_GOVERNED_SCHEMA, IN_GATEWAY, DIRECTORY_TOOLS,
     "tool_id", meta_tool_execute, false, true, APPROVED},
    {"tool_execute", EXECUTE_IN_TRANSPARENT, EXECUTE_SCHEMA, IN_TRANSPARENT, DIRECTORY_TOOLS, "tool_id",
     meta_tool_execute, false, true, NOT_APPROVED},
    {"tool_execute", EXECUTE_IN_TRANSPARENT EXECUTE_APPROVED, EXECUTE_GOVERNED_SCHEMA, IN_TRANSPARENT, DIRECTORY_TOOLS,
     "tool_id", meta_tool_execute, false, true, APPROVED},
    {"tool_view",
     "Read more of a result that was cut, by its handle. selector is {\"type\":\"search\",\"query\":\"words\"}, or of "
     "type head (start, chars), lines (start, end), json_keys (keys), path (JSONPath), pointer, records (columns, "
     "where, sort, limit) or stats (column, by) of rows. An invalid selector returns the expected form.",
     "{\"type\":\"object\",\"properties\":{\"handle\":" STRING
     ",\"selector\":{\"type\":\"object\"},\"max_tokens\":{\"type\":\"integer\"}},"
     "\"required\":[\"handle\",\"selector\"],\"additionalProperties\":false}",
     IN_BOTH, DIRECTORY_TOOLS, NULL, meta_tool_view, true, false, FOR_ALL},
    {"resource_browse",
     "Find resources (files, tables, pages) that servers offer for reading, by query, path or resource_id as in "
     "tool_browse.",
     BROWSE_SCHEMA("resource_id"), IN_GATEWAY, DIRECTORY_RESOURCES, "resource_id", meta_resource_browse, true, false,
     FOR_ALL},
    {"resource_read",
     "Read a resource by its id from resource_browse. For a template, pass uri with its {placeholders} filled in.",
     "{\"type\":\"object\",\"properties\":{\"resource_id\":" STRING ",\"uri\":" STRING
     "},\"required\":[\"resource_id\"],\"additionalProperties\":false}",
     IN_GATEWAY, DIRECTORY_RESOURCES, "resource_id", meta_resource_read, true, true, FOR_ALL},
    {"prompt_browse", "Find prompts that servers offer, by query, path or prompt_id as in tool_browse.",
     BROWSE_SCHEMA("prompt_id"), IN_GATEWAY, DIRECTORY_PROMPTS, "prompt_id", meta_prompt_browse, true, false, FOR_ALL},
    {"prompt_get", "Get a prompt by its id from prompt_browse, filled in with args (strings).",
     "{\"type\":\"object\",\"properties\":{\"prompt_id\":" STRING
     ",\"args\":{\"type\":\"object\"}},\"required\":[\"prompt_id\"],\"additionalProperties\":false}",
     IN_GATEWAY, DIRECTORY_PROMPTS, "prompt_id", meta_prompt_get, true, true, FOR_ALL},
    {"plan_check",
     "Check before you act: shows for each step whether you may call that tool with these args (leave out args you do "
     "not know yet; args_complete: true if all are given). read_only: true for a plan that must not change anything.",
     PLAN_CHECK_SCHEMA, IN_BOTH, DIRECTORY_TOOLS, NULL, meta_plan_check, true, false, PLANNING},
};
enum { META_TOOLS = sizeof table / sizeof *table };

static bool holds(const struct catalog *c, enum directory_kind kind) {
  switch (kind) {
  case DIRECTORY_TOOLS: return true;
  case DIRECTORY_RESOURCES: return c->count[ITEM_RESOURCE] + c->count[ITEM_TEMPLATE] > 0;
  case DIRECTORY_PROMPTS: return c->count[ITEM_PROMPT] > 0;
  }
  return false;
}

// Returns whether this client may see any entry of this kind.
static bool has_some(struct surface *d, const struct session *s, enum directory_kind kind) {
  const struct catalog *c = upstreams_catalog(d->upstreams);
  struct caller caller;
  struct fault f;
  if (!holds(c, kind) || kind == DIRECTORY_TOOLS || !rulebook_limits(d->calls.rules)) return holds(c, kind);
  if (!surface_caller(d, s, &caller, &f)) return false;
  for (int k = 0; k < ITEM_KINDS; k++)
    for (size_t i = 0; directory_kind_of((enum item_kind)k) == kind && i < c->count[k]; i++)
      if (surface_sees(d, &caller, c, &c->items[k][i])) return true;
  return false;
}

static bool is_for(struct surface *d, const struct meta_entry *e, const struct session *s) {
  struct caller caller;
  struct fault f;
  if (e->callers == FOR_ALL) return true;
  bool governed = surface_caller(d, s, &caller, &f) && caller.governance;
  if (e->callers == APPROVED || e->callers == NOT_APPROVED)
    return (governed && governance_may_need_approval(caller.governance)) == (e->callers == APPROVED);
  if (e->callers == PLANNING) return governed && governance_offers_plan_check(caller.governance);
  return governed == (e->callers == GOVERNED);
}

static bool offered(struct surface *d, const struct meta_entry *e, const struct session *s) {
  return (e->modes & 1u << s->mode) && is_for(d, e, s) && has_some(d, s, e->needs);
}

static const struct meta_entry *find(struct surface *d, str name, const struct session *s) {
  for (size_t i = 0; i < META_TOOLS; i++)
    if (str_eq(name, str_of(table[i].name)) && offered(d, &table[i], s)) return &table[i];
  return NULL;
}

str meta_operation(const struct request *r) {
  const struct json *name = json_get(r->msg.params, STR("name"));
  if (!str_eq(r->msg.method, STR("tools/call"))) return STR_NONE;
  for (size_t i = 0; i < META_TOOLS; i++)
    if (json_equals_str(name, str_of(table[i].name)) && (table[i].modes & 1u << r->session->mode))
      return str_of(table[i].name);
  return STR_NONE;
}

bool meta_is_call(str operation) {
  for (size_t i = 0; i < META_TOOLS; i++)
    if (str_eq(operation, str_of(table[i].name))) return table[i].calls;
  return false;
}

// ---- the list

static void put_tool(const struct meta_entry *e, struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), str_of(e->name));
  json_member_str(&w, STR("description"), str_of(e->description));
  json_member_raw(&w, STR("inputSchema"), str_of(e->schema));
  if (e->read_only) json_member_raw(&w, STR("annotations"), STR("{\"readOnlyHint\":true}"));
  json_end_object(&w);
}

static void put_meta_tools(struct surface *d, const struct session *s, struct buf *out) {
  bool comma = out->n && out->p[out->n - 1] != '[';
  for (size_t i = 0; i < META_TOOLS; i++) {
    if (!offered(d, &table[i], s)) continue;
    if (comma) buf_char(out, ',');
    comma = true;
    put_tool(&table[i], out);
  }
  meta_put_aliases(d, s, out);
}

// Answers tools/list. The meta-tools are at the end of the last page; in transparent mode, all tools come before them.
static void list(struct surface *d, struct request *r) {
  int mode = r->session->mode;
  const struct directory *dir = mode == MODE_TRANSPARENT ? surface_directory(d) : NULL;
  struct caller caller;
  struct fault f;
  if (dir && !surface_caller(d, r->session, &caller, &f)) {
    surface_refuse(r, &f, STR_NONE);
    return;
  }
  uint64_t version = 0;
  size_t count = dir ? transparent_count_tools(d, r->session, &version) : 0, at = 0;
  if (!direct_read_cursor(r, version, count, &at)) return;
  size_t end = direct_page_end(d, r->session, at, count);
  struct buf *b = &d->text;
  buf_reset(b);
  buf_str(b, STR("{\"tools\":["));
  if (end > at) transparent_put_tools(d, r, at, end, b);
  if (end == count) put_meta_tools(d, r->session, b);
  buf_char(b, ']');
  if (end < count) buf_printf(b, ",\"nextCursor\":\"%llu.%zu\"", (unsigned long long)version, end);
  if (r->session->revision->stateless) buf_str(b, STR(",\"ttlMs\":0,\"cacheScope\":\"private\""));
  buf_char(b, '}');
  request_reply(r, buf_view(b));
}

// ---- requests

// Runs a meta-tool. Checks the rate limits first, except for a meta-tool that calls a server, because the call checks
// the limits itself.
static void run(struct surface *d, struct request *r, const struct meta_entry *e) {
  struct fault f;
  struct buf details;
  buf_init(&details, 4096);
  if (e->calls || calls_allow(&d->calls, r->session, str_of(e->name), &f, &details)) e->run(d, r);
  else meta_fail(d, r, &f, buf_view(&details));
  buf_done(&details);
}

static void call(struct surface *d, struct request *r) {
  str name;
  if (!json_string(json_get(r->msg.params, STR("name")), &r->arena, &name)) {
    request_fail(r, RPC_INVALID_PARAMS, "tools/call needs params.name", STR_NONE);
    return;
  }
  int mode = r->session->mode;
  const struct meta_entry *e = find(d, name, r->session);
  const struct json *args = json_get(r->msg.params, STR("arguments"));
  struct caller caller;
  struct fault f;
  if (args && args->type != JSON_OBJECT && args->type != JSON_NULL) meta_refuse(d, r, "arguments must be an object");
  else if (!surface_caller(d, r->session, &caller, &f)) meta_fail(d, r, &f, STR_NONE);
  else if (e) run(d, r, e);
  else if (meta_call_alias(d, r, name)) return;
  else if (mode != MODE_TRANSPARENT || !meta_call_by_id(d, r))
    request_fail(r, RPC_INVALID_PARAMS,
                 mode == MODE_GATEWAY ? "Unknown tool: find tools with tool_browse and call them with tool_execute"
                                      : "Unknown tool: call tools/list for the available tools",
                 STR_NONE);
}

// Returns the meta-tool that the request calls, and sets *out_id to the id in its arguments. Returns NULL if the
// request calls no meta-tool, or if its arguments contain no id.
static const struct meta_entry *find_named(struct surface *d, const struct request *r, str *out_id) {
  str name;
  if (!json_string(json_get(r->msg.params, STR("name")), (struct arena *)&r->arena, &name)) return NULL;
  const struct meta_entry *e = find(d, name, r->session);
  return e && e->id && meta_string(r, str_of(e->id), out_id) ? e : NULL;
}

// Returns the namespace part of an id such as namespace:name or resource::namespace:name.
static str namespace_of(str id) {
  str namespace, rest;
  bool has_kind = str_cut(id, ':', &namespace, &rest) && str_starts(rest, STR(":"));
  if (has_kind) str_cut(str_from(rest, 1), ':', &namespace, &rest);
  return namespace;
}

// Returns whether a call of a meta-tool can be handled now, without waiting for servers: the call names a visible
// entry, or a visible server that is not starting.
static bool is_named(struct surface *d, const struct request *r) {
  str id;
  unsigned source;
  const struct meta_entry *e = find_named(d, r, &id);
  if (!e)
    return !json_string(json_get(r->msg.params, STR("name")), (struct arena *)&r->arena, &id) ||
           meta_has_alias(d, r->session, id);
  // A call with a hidden name waits as long as a call with an unknown name, so that the response time does not reveal
  // hidden names.
  const struct entry *known = meta_find(d, r->session, e->needs, id);
  if (known && meta_sees(d, r->session, known)) return true;
  str server = namespace_of(id);
  struct caller c;
  struct fault f;
  return directory_source(surface_directory(d), server, &source) && surface_caller(d, r->session, &c, &f) &&
         surface_sees_server(d, &c, source) && !meta_is_starting(d, r->session, server, &source);
}

// Returns the time up to which a call may wait for servers. If the called server is starting, the call may wait as long
// as the server's call timeout. Otherwise, the first call of a client may wait at least as long as a list request.
static uint64_t call_until(struct surface *d, const struct request *r) {
  struct surface_client *client = surface_client(r->session);
  uint64_t until = surface_wait_until(d, r->session), now = loop_now(d->opt.loop);
  str id;
  unsigned source;
  bool first = !client->called;
  client->called = true;
  bool starting = find_named(d, r, &id) && meta_is_starting(d, r->session, namespace_of(id), &source);
  if (starting) return now + upstreams_timeout(d->upstreams, source);
  return first && now + d->opt.start_wait_ms > until ? now + d->opt.start_wait_ms : until;
}

// Returns the time up to which tools/list may wait for servers. In gateway mode, this time is short: the list hardly
// depends on the servers, and some clients start without tools if the list is late. Clients are notified when the first
// resource or prompt adds meta-tools to the list.
static uint64_t list_until(struct surface *d, const struct session *s) {
  uint64_t until = surface_wait_until(d, s), longest = d->opt.start_wait_ms, wait = d->opt.list_wait_ms;
  bool brief = s->mode == MODE_GATEWAY && !s->as_operator && wait < longest;
  ASSERT(until >= longest || s->as_operator);
  return brief ? until - (longest - wait) : until;
}

void meta_request(struct surface *d, struct request *r) {
  bool stateless = r->session->revision->stateless;
  ASSERT(r->session->mode == MODE_GATEWAY || r->session->mode == MODE_TRANSPARENT);
  if (str_eq(r->msg.method, STR("tools/call"))) surface_wait_for(d, r, call_until(d, r), is_named, call);
  else if (str_eq(r->msg.method, STR("tools/list"))) surface_wait_for(d, r, list_until(d, r->session), NULL, list);
  else if (stateless && str_eq(r->msg.method, STR("subscriptions/listen"))) direct_listen(d, r);
  else request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}

// Appends the names of the servers that the client may use. Returns their number.
static size_t put_servers(struct surface *d, const struct session *s, struct buf *out) {
  enum { NAMED = 24 };
  struct caller caller;
  struct fault f;
  bool known = surface_caller(d, s, &caller, &f);
  size_t count = 0;
  for (unsigned i = 0; known && i < upstreams_count(d->upstreams); i++) {
    if (!surface_lists_server(d, &caller, i) || count++ >= NAMED) continue;
    if (count > 1) buf_str(out, STR(", "));
    buf_str(out, upstreams_name(d->upstreams, i));
  }
  if (count > NAMED) buf_printf(out, " and %zu more", count - NAMED);
  return count;
}

void meta_describe(struct surface *d, struct session *s, struct json_writer *w) {
  json_member_raw(w, STR("capabilities"), STR("{\"tools\":{\"listChanged\":true}}"));
  struct buf text;
  buf_init(&text, 65536);
  if (s->mode == MODE_GATEWAY)
    buf_str(&text, STR("The tools of these servers are found with tool_browse and called with tool_execute: "));
  else buf_str(&text, STR("The tools of these servers are called with tool_execute: "));
  if (!put_servers(d, s, &text)) {
    buf_reset(&text);
    buf_str(&text, STR("There is no server that you may use."));
  }
  buf_printf(&text, "\n" META_MARK_SAID, s->mark);
  meta_put_instructions(d, s, &text);
  json_member_str(w, STR("instructions"), buf_view(&text));
  buf_done(&text);
}

// ---- arguments and answers

const struct json *meta_args(const struct request *r) {
  const struct json *args = json_get(r->msg.params, STR("arguments"));
  return json_is(args, JSON_OBJECT) ? args : NULL;
}

bool meta_string(const struct request *r, str name, str *out) {
  return json_string(json_get(meta_args(r), name), (struct arena *)&r->arena, out);
}

static struct buf *empty_answer(struct surface *d) {
  buf_reset(&d->answer);
  buf_trim(&d->answer, 1 << 20);
  return &d->answer;
}

void meta_reply(struct surface *d, struct request *r, str text, str structured) {
  struct buf *b = empty_answer(d);
  if (!request_form(r, d->opt.calls.results.structured).structured) structured = STR_NONE;
  audit_recorder_shown_text(r, text, structured);
  result_put(b, STR_NONE, text, structured, false);
  request_reply(r, buf_view(b));
}

void meta_fail(struct surface *d, struct request *r, const struct fault *f, str details) {
  meta_fail_hidden(d, r, f, NULL, details);
}

void meta_fail_hidden(struct surface *d, struct request *r, const struct fault *f, const struct entry *hidden,
                      str details) {
  struct buf *b = empty_answer(d);
  audit_recorder_fault(r, fault_public_code(f->code));
  surface_refused(d, r, f->code, hidden);
  bool structured = request_form(r, d->opt.calls.results.structured).structured;
  if (r->session->mode == MODE_SERVERS) fault_put_ruled_result(b, f, STR_NONE, details, structured);
  else fault_put_result(b, f, details, structured);
  request_reply(r, buf_view(b));
}

void meta_refuse(struct surface *d, struct request *r, const char *message) {
  struct fault f;
  fault_set(&f, FAULT_ARGS_INVALID, "%s", message);
  meta_fail(d, r, &f, STR_NONE);
}

// Returns the valid argument name that was probably meant by the wrong name `key`, such as tool_id for id; STR_NONE if
// no name is similar.
static str meant_name(str key, const str *names, size_t count) {
  struct nearest near = {.word = key};
  for (size_t i = 0; i < count; i++) {
    bool last_word =
        key.n && names[i].n > key.n && str_ends(names[i], key) && names[i].p[names[i].n - key.n - 1] == '_';
    if (last_word) return names[i];
    nearest_try(&near, names[i]);
  }
  return near.best;
}

// Writes the names of the valid arguments; if one of them is `args`, explains instead that the arguments of a tool go
// into `args`.
static void put_names(struct buf *out, const str *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (str_eq(names[i], STR("args"))) {
      buf_reset(out);
      buf_str(out, STR("arguments of a tool go into args"));
      return;
    }
    buf_printf(out, "%s%.*s", i ? ", " : "valid arguments: ", STR_ARG(names[i]));
  }
}

static void refuse_unknown(struct surface *d, struct request *r, str key, const str *names, size_t count) {
  str given = utf8_cut(key, META_NAME_SHOWN), meant = meant_name(key, names, count);
  struct fault f;
  struct buf others;
  buf_init(&others, 1024);
  put_names(&others, names, count);
  if (meant.p)
    fault_set(&f, FAULT_ARGS_INVALID, "unknown argument \"%.*s\"; did you mean \"%.*s\"?", STR_ARG(given),
              STR_ARG(meant));
  else fault_set(&f, FAULT_ARGS_INVALID, "unknown argument \"%.*s\"; %.*s", STR_ARG(given), STR_ARG(buf_view(&others)));
  meta_fail(d, r, &f, STR_NONE);
  buf_done(&others);
}

bool meta_known_args(struct surface *d, struct request *r, const str *names, size_t count) {
  const struct json *args = meta_args(r);
  if (!args) return true;
  JSON_EACH(it, args) {
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = json_key_is(it, names[i]);
    if (known) continue;
    refuse_unknown(d, r, json_key(it, &r->arena), names, count);
    return false;
  }
  return true;
}
