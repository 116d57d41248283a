// SPDX-License-Identifier: Apache-2.0
// A tool that its caller names by its server. The rules come first: who may not use it hears the same whether it is
// there or not. Then its server is waited for, if that has not told yet what it has.
#include "call/steps/step_find_place.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "call/steps/step_connect.h"
#include "call/steps/step_dispatch.h"
#include "call/steps/step_find.h"
#include "call/steps/step_policy.h"
#include "catalog/naming/names.h"

enum { NAME_TOLD = 64 };  // bytes of a name in a message

// The name that get_server_tools shows for a tool.
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

// The tool of this name; else the one that is shown under this name; else NULL.
static const struct item *find_item(const struct call *c, unsigned source) {
  const struct item *item = find_by(c, source, false);
  return item ? item : find_by(c, source, true);
}

// The name that the caller may have meant, of the tools that it may use.
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

static enum call_result no_server(struct call *c) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "Server '%.*s' not found in configured servers",
            STR_ARG(utf8_cut(c->place.server, NAME_TOLD)));
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

static enum call_result no_tool(struct call *c, unsigned source) {
  struct fault f;
  str tool = utf8_cut(c->place.tool, NAME_TOLD), server = utf8_cut(c->place.server, NAME_TOLD);
  str near = nearest_name(c, source);
  if (near.p)
    fault_set(&f, FAULT_HYDRATE_FAILED, "Tool '%.*s' not found on server '%.*s': did you mean '%.*s'?", STR_ARG(tool),
              STR_ARG(server), STR_ARG(utf8_cut(near, NAME_TOLD)));
  else
    fault_set(&f, FAULT_HYDRATE_FAILED,
              "Tool '%.*s' not found on server '%.*s': get_server_tools names those there are", STR_ARG(tool),
              STR_ARG(server));
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

// It is down, or starting. In the second case calls_settled looks again, or the timer when the call has waited for as
// long as it may take.
static enum call_result not_told(struct call *c, unsigned source) {
  struct call_context *x = c->context;
  struct lane_user who = call_user(c);
  struct fault f;
  uint64_t now = loop_now(x->loop), until = c->began + call_timeout(c);
  if (!upstreams_settle_one(x->upstreams, source, &who) && now < until) {
    c->route_count = 0;
    call_wait_settled(c, until - now);
    return CALL_WAIT;
  }
  if (upstreams_told(x->upstreams, source)) return no_tool(c, source);
  upstreams_why(x->upstreams, source, &who, &f);
  return call_fault(c, &f);
}

enum call_result place_find(struct call *c) {
  const struct call_place *place = &c->place;
  unsigned source;
  bool known = upstreams_find(c->context->upstreams, place->server, &source);
  const struct item *item = known ? find_item(c, source) : NULL;
  str name = item ? item->name : place->tool;
  struct policy_decision d = {.allowed = !c->policy};
  if (c->policy) d = caller_decide(&c->caller, place->server, ITEM_TOOL, name);
  if (!d.allowed) return policy_refuse(c, &d, d.of_tool ? name : STR_NONE);
  if (!known) return no_server(c);
  c->item = item;
  c->routes[0] = (struct catalog_route){source, name, true};
  c->route_count = 1;
  return c->item ? CALL_NEXT : not_told(c, source);
}
