// SPDX-License-Identifier: Apache-2.0
#include "call/call.h"

#include "base/assert.h"
#include "call/bridge/session_questions.h"
#include "call/bridge/stateless_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/steps/steps.h"

str call_server(const struct call *c) {
  ASSERT(c->route < CALL_MAX_ROUTES);
  return upstreams_name(c->context->upstreams, c->routes[c->route].source);
}

const struct upstream_spec *call_spec(const struct call *c) {
  unsigned source = c->routes[c->route].source;
  const struct lane *lane = call_held_lane(c);
  return lane && lane_index(lane) == source ? lane_spec(lane) : upstreams_spec(c->context->upstreams, source);
}

bool call_is_tool(const struct call *c) {
  return c->method->target == CALL_BY_NAME && c->method->kind == ITEM_TOOL;
}

bool call_is_stateless(const struct call *c) {
  return c->session->revision->stateless;
}

bool call_may_ask(const struct call *c) {
  str method = str_of(c->method->name);
  return str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get")) ||
         str_eq(method, STR("resources/read"));
}

bool call_is_bounded(const struct call *c) {
  return c->method->form == CALL_META || (c->method->form == CALL_RULED && c->context->results.bounded);
}

bool call_is_bound(const struct call *c) {
  return call_ticket(c) || rounds_count(c) || asks_sent(c) || task_id(c).n;
}

str call_tool_name(const struct call *c) {
  return c->item && c->item->kind == ITEM_TOOL ? c->item->name : c->task_tool;
}

str call_tool_id(struct call *c) {
  if (c->about.n || !c->item) return c->about;
  return c->context->surface->id_of(c->context->ctx, c->item);
}

str call_tool_safe(struct call *c) {
  return c->item ? c->context->surface->safe_of(c->context->ctx, c->item) : STR_NONE;
}

str call_ref_member(const struct json *ref) {
  return json_equals_str(json_get(ref, STR("type")), STR("ref/prompt")) ? STR("name") : STR("uri");
}

// A ticket is bound not only to the method, but also to the session's mode, the agent that the request names, and the
// server if the request names one. The member `method` of the result contains all of these.
struct ticket_use call_use(const struct call *c) {
  struct request *r = c->request;
  // An approved call continues a call that named its target in the form of its mode.
  bool by_name = c->options.approval.p && c->method->form == CALL_DIRECT;
  str agent = c->named, server = by_name             ? STR_NONE
                                 : !find_is_set(c)   ? c->place.server
                                 : c->named_server.p ? c->named_server
                                                     : call_server(c);
  str method = arena_printf(&r->arena, "%d %.*s %zu:%.*s %.*s", r->session->mode, STR_ARG(r->msg.method), agent.n,
                            STR_ARG(agent), STR_ARG(server));
  const struct json *original = repair_original(c);
  return (struct ticket_use){r->session->principal, method, original ? original : r->msg.params};
}
