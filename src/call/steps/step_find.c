// SPDX-License-Identifier: Apache-2.0
// Finds the upstream that has the target of the request, and the target's name on that upstream.
#include <stdio.h>

#include "base/assert.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/tasks.h"
#include "call/steps/steps.h"
#include "call/version_route.h"
#include "catalog/naming/names.h"
#include "catalog/naming/uri_key.h"
#include "mcp/meta.h"
#include "mcp/server/callers.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

enum {
  NAME_SHOWN = 64,      // bytes of a name in a message
  NAME_REPEATED = 160,  // maximum bytes of an unknown name in a message
  WHAT_SIZE = 128,      // size of a buffer for "Unknown tool (now …)"
};

struct find_state {
  bool set;           // the surface has set the item
  struct call *call;  // NULL: the call never waited
  struct list node;   // in context.unsettled
  struct timer timer;
};

void find_set(struct call *c, const struct item *item, str name) {
  struct find_state *s = call_state(c, STEP_FIND);
  ASSERT(!s->call && name.p);
  s->set = true;
  if (c->method->target == CALL_BY_NAME) c->item = item;
  c->routes[0] = (struct catalog_route){item->source, name, true};
  c->route_count = 1;
}

bool find_is_set(const struct call *c) {
  const struct find_state *s = call_state(c, STEP_FIND);
  return s->set;
}

// ---- waiting for upstreams that are starting and may have the target

static void cancel(struct call *c, void *state, str reason) {
  struct find_state *s = state;
  if (!s->call) return;
  list_remove(&s->node);
  timer_stop(&s->timer);
}

static void look_again(struct find_state *s) {
  struct call *c = s->call;
  cancel(c, s, STR_NONE);
  catalog_unref(&c->catalog);
  c->catalog = catalog_ref(upstreams_catalog(c->context->upstreams));
  call_restart(c, STEP_FIND);
}

static void on_waited(struct timer *t) {
  look_again(CONTAINER_OF(t, struct find_state, timer));
}

// Makes the call wait. This step runs again when an upstream has listed its items or failed, at the latest after `ms`.
static void wait_settled(struct call *c, uint64_t ms) {
  struct find_state *s = call_state(c, STEP_FIND);
  ASSERT(!s->call || !timer_running(&s->timer));
  s->call = c;
  timer_init(&s->timer, on_waited);
  list_push(&c->context->unsettled, &s->node);
  timer_start(c->context->loop, &s->timer, ms);
}

static bool may_come(struct call *c) {
  struct call_context *x = c->context;
  struct session *s = c->session;
  uint64_t now = loop_now(s->server->loop), until = x->surface->wait_until(x->ctx, s);
  if (now >= until || upstreams_settle(x->upstreams, s)) return false;
  wait_settled(c, until - now);
  return true;
}

void calls_settled(struct call_context *x) {
  struct list waiting;  // a copy of the list, because look_again may add calls to `unsettled`
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&x->unsettled));) list_push(&waiting, n);
  for (struct list *n; (n = list_pop(&waiting));) look_again(CONTAINER_OF(n, struct find_state, node));
}

// ---- the target is unknown

// Finds the servers that this caller may use, that are starting, and that have not listed anything yet. Writes the
// names of the first few. Returns the number of all such servers.
static size_t put_starting(struct call *c, struct buf *names) {
  enum { NAMED = 3, SERVER_SHOWN = 40 };
  const struct upstreams *all = c->context->upstreams;
  struct lane_user who = call_user(c);
  size_t count = 0;
  for (unsigned i = 0; i < upstreams_count(all); i++) {
    bool seen = !upstreams_gone(all, i) && policy_lets_see(c, i, ITEM_RESOURCE, STR_NONE);
    if (!seen || upstreams_listed(all, i) || !lane_starting(upstreams_lane_seen_for(all, i, &who))) continue;
    str name = utf8_cut(upstreams_name(all, i), SERVER_SHOWN);
    if (++count <= NAMED) buf_printf(names, "%s%.*s", count > 1 ? ", " : "", STR_ARG(name));
  }
  if (count > NAMED) buf_printf(names, " and %zu more", count - NAMED);
  return count;
}

// If a server that may have the target is still starting, refuses the call with the advice to try again, sets *out, and
// returns true. Otherwise returns false.
static bool refuse_for_now(struct call *c, const char *what, str name, enum call_result *out) {
  enum { NAMES = 256 };
  struct buf names;
  buf_init(&names, NAMES);
  bool some = put_starting(c, &names) > 0;
  if (some) {
    struct fault f;
    fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE,
              "unknown %s \"%.*s\", but these servers are still starting: %.*s; try again in a few seconds", what,
              STR_ARG(utf8_cut(name, NAME_SHOWN)), STR_ARG(buf_view(&names)));
    f.undone = true;
    fault_set_path(&f, c->about);
    *out = call_end(c, &f, fault_rpc_code(f.code), STR("{\"retry_after\":2}"));
  }
  buf_done(&names);
  return some;
}

static enum call_result not_found(struct call *c, int code, const char *what, str name) {
  char message[WHAT_SIZE + 2 + NAME_REPEATED];
  snprintf(message, sizeof message, "%s: %.*s", what, STR_ARG(utf8_cut(name, NAME_REPEATED)));
  return call_refuse(c, code, message, STR_NONE);
}

static enum call_result missing(struct call *c, const char *member) {
  char message[128];
  snprintf(message, sizeof message, "%s needs params.%s", c->method->name, member);
  return call_refuse(c, RPC_INVALID_PARAMS, message, STR_NONE);
}

static enum call_result route_to(struct call *c, unsigned source, str name) {
  c->routes[0] = (struct catalog_route){source, name, true};
  c->route_count = 1;
  return CALL_NEXT;
}

// Returns the items that this caller sees, and their names, under the rules at the start of the call.
static struct naming names_of(struct call *c) {
  return c->context->surface->names(c->context->ctx, &c->caller, c->catalog);
}

// If an item with this name exists but the caller may not see it, records the item for metrics, spans and the audit
// log. The caller gets the same answer as for an item that does not exist.
static void note_hidden(struct call *c, enum item_kind kind, str name) {
  if (!caller_is_limited(&c->caller)) return;
  for (size_t i = 0; i < c->catalog->count[kind]; i++) {
    const struct item *item = &c->catalog->items[kind][i];
    if (!str_eq(item->shown, name) && !str_eq(item->name, name)) continue;
    if (policy_lets_see(c, item->source, kind, item->name)) continue;
    policy_hide(c, item->source, kind, item->name);
    return;
  }
}

// If note_hidden has found a tool that is hidden only because it is quarantined, refuses the call for this reason, sets
// *out and returns true.
static bool refuse_quarantined(struct call *c, enum call_result *out) {
  const struct call_hidden *hidden = policy_hidden(c);
  struct fault f;
  if (!hidden || !hidden->tool.p) return false;
  str server = upstreams_name(c->context->upstreams, hidden->source);
  if (!caller_decide(&c->caller, server, ITEM_TOOL, hidden->tool).quarantined) return false;
  caller_describe_quarantine(&c->caller, server, hidden->tool, &f);
  fault_set_path(&f, c->about);
  *out = call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
  return true;
}

// Refuses a call of an unknown tool or prompt. If the item was renamed because another server has an item with the same
// name, the message contains the new name.
static enum call_result not_found_by_name(struct call *c, enum item_kind kind, str name) {
  char what[WHAT_SIZE];
  struct buf now;
  buf_init(&now, 96);
  struct naming names = names_of(c);
  naming_suggest(&names, kind, name, &now);
  snprintf(what, sizeof what, "Unknown %s%s%.*s%s", kind == ITEM_TOOL ? "tool" : "prompt", now.n ? " (now " : "",
           STR_ARG(buf_view(&now)), now.n ? ")" : "");
  buf_done(&now);
  return not_found(c, RPC_INVALID_PARAMS, what, name);
}

static enum call_result by_item(struct call *c, enum item_kind kind, const struct json *named, const char *member) {
  str name;
  if (!json_string(named, &c->request->arena, &name)) return missing(c, member);
  struct naming names = names_of(c);
  c->item = naming_find(&names, kind, name);
  if (c->item) return route_to(c, c->item->source, c->item->name);
  if (may_come(c)) return CALL_WAIT;
  note_hidden(c, kind, name);
  enum call_result refused;
  if (refuse_quarantined(c, &refused)) return refused;
  if (refuse_for_now(c, kind == ITEM_TOOL ? "tool" : "prompt", name, &refused)) return refused;
  return not_found_by_name(c, kind, name);
}

static enum call_result resource_not_found(struct call *c, str uri) {
  int code = c->session->revision->stateless ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND;
  struct buf data;
  buf_init(&data, 65536);
  buf_str(&data, STR("{\"uri\":"));
  json_escape(&data, uri);
  buf_char(&data, '}');
  enum call_result r = call_refuse(c, code, "Resource not found", data.over ? STR_NONE : buf_view(&data));
  buf_done(&data);
  return r;
}

// Returns whether another server may own a URI that `source` lists: a server that has precedence over `source`, has not
// listed anything yet, and may be used by this caller.
static bool may_belong_to_another(struct call *c, unsigned source) {
  const struct upstreams *all = c->context->upstreams;
  for (size_t i = 0; i < c->catalog->part_count && c->catalog->order[i] != source; i++) {
    unsigned other = c->catalog->order[i];
    if (upstreams_listed(all, other) || upstreams_gone(all, other)) continue;
    if (policy_lets_see(c, other, ITEM_RESOURCE, STR_NONE)) return true;
  }
  return false;
}

static enum call_result by_uri(struct call *c, const struct json *named, const char *member) {
  str uri;
  if (!json_string(named, &c->request->arena, &uri)) return missing(c, member);
  struct naming names = names_of(c);
  c->route_count = naming_route(&names, uri, c->routes, CALL_MAX_ROUTES);
  // If another server may own the URI, wait until that server has listed its resources.
  bool sure = c->route_count && c->routes[0].listed && !may_belong_to_another(c, c->routes[0].source);
  if (!sure && may_come(c)) return CALL_WAIT;
  if (c->route_count) return CALL_NEXT;
  if (uri.n > URI_BYTES_MAX)
    return call_refuse(c, RPC_INVALID_PARAMS,
                       "unknown resource: the URI is longer than 256 KiB, and no server lists it", STR_NONE);
  struct naming all = naming_of_all(c->catalog);
  struct catalog_route route;
  bool exists = caller_is_limited(&c->caller) && naming_route(&all, uri, &route, 1);
  if (exists && !policy_lets_see(c, route.source, ITEM_RESOURCE, STR_NONE))
    policy_hide(c, route.source, ITEM_RESOURCE, STR_NONE);
  enum call_result refused;
  if (refuse_for_now(c, "resource", uri, &refused)) return refused;
  return resource_not_found(c, uri);
}

static enum call_result by_task(struct call *c, const struct json *named) {
  str id;
  // A stateless client must declare the tasks extension in every request about a task.
  if (call_is_stateless(c) && !request_knows(c->request, TASKS_EXTENSION))
    return call_refuse(c, RPC_MISSING_CAPABILITY, "Missing required client capability: the tasks extension",
                       STR("{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"));
  if (!json_string(named, &c->request->arena, &id)) return missing(c, "taskId");
  const struct task *task = tasks_find(c->context->tasks, c->session, id);
  if (task && !str_eq(task->agent, c->caller.id)) task = NULL;
  enum item_kind kind = task && task->tool.n ? ITEM_TOOL : ITEM_RESOURCE;
  if (task && !policy_lets_see(c, task->source, kind, task->tool)) {
    policy_hide(c, task->source, kind, task->tool);
    task = NULL;
  }
  if (task && task->tool.n) c->task_tool = arena_str(&c->request->arena, task->tool);
  if (task && task->result) {
    enum call_result allowed = flow_of_task(c, task->source, task->tool);
    return allowed == CALL_NEXT ? task_finished(c, task) : allowed;
  }
  if (task && task->owner) {
    c->owner = task->owner;
    callers_touch(c->owner);  // the task needs this session's connection: keep the session open
  }
  if (task) return route_to(c, task->source, arena_str(&c->request->arena, task->id));
  return not_found(c, RPC_INVALID_PARAMS, "Unknown task", id);
}

// Routes the call to the server if this caller may see only one. Otherwise refuses the method as unknown.
static enum call_result by_only(struct call *c) {
  const struct upstreams *all = c->context->upstreams;
  unsigned seen = 0, last = 0;
  for (unsigned i = 0; i < upstreams_count(all); i++) {
    if (upstreams_gone(all, i) || !policy_lets_see(c, i, ITEM_RESOURCE, STR_NONE)) continue;
    last = i;
    seen++;
  }
  if (seen == 1) return route_to(c, last, STR_NONE);
  return call_refuse(c, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}

// ---- tools that the caller names with their server

// The following functions handle calls that name a server and its tool. They apply the rules before they look for the
// tool, so a caller who may not use the tool gets the same answer whether or not the tool exists. Then the call waits
// until the server has listed its tools.

// Returns the name under which get_server_tools lists a tool.
static str shown(const struct call *c, const struct item *item) {
  return names_shown(&c->request->arena, c->place.server, item->name);
}

static const struct item *find_by(const struct call *c, unsigned source, bool by_shown) {
  const struct catalog_part *part = &c->catalog->parts[source];
  struct lane_user who = call_user(c);
  uint32_t view = upstreams_view_for(c->context->upstreams, source, &who);
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &c->catalog->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    if (item->seen & view && str_eq(by_shown ? shown(c, item) : item->name, c->place.tool)) return item;
  }
  return NULL;
}

// Returns the tool that has the requested name on its server, otherwise the tool that get_server_tools lists under this
// name, otherwise NULL.
static const struct item *find_item(const struct call *c, unsigned source) {
  const struct item *item = find_by(c, source, false);
  return item ? item : find_by(c, source, true);
}

// Returns the tool name that is most similar to the requested one, among the tools that the caller may use.
static str nearest_name(const struct call *c, unsigned source) {
  const struct catalog_part *part = &c->catalog->parts[source];
  struct nearest near = {.word = c->place.tool};
  struct lane_user who = call_user(c);
  uint32_t view = upstreams_view_for(c->context->upstreams, source, &who);
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &c->catalog->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    if (item->seen & view && policy_lets_see(c, source, ITEM_TOOL, item->name)) nearest_try(&near, shown(c, item));
  }
  return near.best;
}

static enum call_result no_tool(struct call *c, unsigned source) {
  struct fault f;
  str tool = utf8_cut(c->place.tool, NAME_SHOWN), server = utf8_cut(c->place.server, NAME_SHOWN);
  str near = nearest_name(c, source);
  if (near.p)
    fault_set(&f, FAULT_HYDRATE_FAILED, "Tool '%.*s' not found on server '%.*s': did you mean '%.*s'?", STR_ARG(tool),
              STR_ARG(server), STR_ARG(utf8_cut(near, NAME_SHOWN)));
  else
    fault_set(&f, FAULT_HYDRATE_FAILED,
              "Tool '%.*s' not found on server '%.*s': call get_server_tools to list its tools", STR_ARG(tool),
              STR_ARG(server));
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

// Handles a call of a tool that its server has not listed. If the server is starting, the call waits at most until the
// timeout of the call.
static enum call_result not_listed(struct call *c, unsigned source) {
  struct call_context *x = c->context;
  struct lane_user who = call_user(c);
  struct fault f;
  uint64_t now = loop_now(x->loop), until = c->began + call_timeout(c);
  if (!upstreams_settle_one(x->upstreams, source, &who) && now < until) {
    c->route_count = 0;
    wait_settled(c, until - now);
    return CALL_WAIT;
  }
  if (upstreams_listed(x->upstreams, source)) return no_tool(c, source);
  upstreams_why(x->upstreams, source, &who, &f);
  return call_fault(c, &f);
}

static enum call_result by_place(struct call *c) {
  const struct call_place *place = &c->place;
  unsigned source;
  bool known = upstreams_find(c->context->upstreams, place->server, &source);
  const struct item *item = known ? find_item(c, source) : NULL;
  str name = item ? item->name : place->tool;
  struct policy_decision d = {.allowed = true};
  if (item) caller_note_item(&c->caller, place->server, item);
  if (caller_is_limited(&c->caller)) d = caller_decide(&c->caller, place->server, ITEM_TOOL, name);
  if (!d.allowed && !policy_defers(c, &d)) return policy_refuse(c, &d, d.of_tool ? name : STR_NONE);
  if (!known) {
    struct fault f;
    fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "Server '%.*s' not found in configured servers",
              STR_ARG(utf8_cut(place->server, NAME_SHOWN)));
    return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
  }
  c->item = item;
  route_to(c, source, name);
  return c->item ? CALL_NEXT : not_listed(c, source);
}

// ---- the step

static enum call_result find(struct call *c) {
  const struct json *params = c->request->msg.params;
  if (find_is_set(c)) return CALL_NEXT;
  if (c->place.server.p) return by_place(c);
  switch (c->method->target) {
  case CALL_BY_NAME: return by_item(c, c->method->kind, json_get(params, STR("name")), "name");
  case CALL_BY_URI: return by_uri(c, json_get(params, STR("uri")), "uri");
  case CALL_BY_REF: {
    const struct json *ref = json_get(params, STR("ref"));
    str member = call_ref_member(ref);
    if (str_eq(member, STR("name"))) return by_item(c, ITEM_PROMPT, json_get(ref, member), "ref.name");
    return by_uri(c, json_get(ref, member), "ref.uri");
  }
  case CALL_BY_TASK: return by_task(c, json_get(params, STR("taskId")));
  case CALL_BY_ONLY: break;
  }
  return by_only(c);
}

// If the request has a requestState, the call must go to the server that sent the requestState.
static enum call_result run(struct call *c, void *state) {
  const struct ticket *ticket = call_ticket(c);
  policy_unhide(c);
  enum call_result found = find(c);
  if (found == CALL_NEXT) found = call_route_version(c);
  if (found == CALL_NEXT && ticket && ticket->kind == TICKET_PARKED)
    return call_refuse(
        c, RPC_INVALID_PARAMS,
        "the access rules have changed since the server asked for input; call again without requestState", STR_NONE);
  ASSERT(found != CALL_NEXT || c->route_count);
  if (found != CALL_NEXT || !ticket || ticket->kind != TICKET_UPSTREAM) return found;
  for (size_t i = 0; i < c->route_count; i++) {
    if (c->routes[i].source != ticket->source) continue;
    c->route = i;
    return CALL_NEXT;
  }
  return call_refuse(
      c, RPC_INVALID_PARAMS,
      "the server that created this requestState no longer has the requested item; call again without requestState",
      STR_NONE);
}

const struct call_step step_find = {
    .name = "find",
    .does = "Finds the server that has the target, and its name there, among the servers that the caller may see.",
    .state = sizeof(struct find_state),
    .run = run,
    .cancel = cancel,
};
