// SPDX-License-Identifier: Apache-2.0
// What the audit log says of a call: told to its request's note when the two part, or the client gives up.
#include "call/call_audit.h"
#include "call/about.h"
#include "call/audit_recorder.h"
#include "call/steps/step_trace.h"
#include "result/envelope/fault_forms.h"

// What it is about, as the client named it, when that is no tool.
static str target_of(struct call *c) {
  static const struct {
    enum call_target target;
    str member;
  } members[] = {{CALL_BY_NAME, STR("name")}, {CALL_BY_URI, STR("uri")}, {CALL_BY_TASK, STR("taskId")}};
  const struct json *params = c->request->msg.params, *ref = json_get(params, STR("ref"));
  str text = STR_NONE;
  if (c->method->target == CALL_BY_REF) json_string(json_get(ref, call_ref_member(ref)), &c->request->arena, &text);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (members[i].target == c->method->target)
      json_string(json_get(params, members[i].member), &c->request->arena, &text);
  return text;
}

// By the names that the caller gave, be there such a tool or not.
static void put_named(struct call *c) {
  const struct call_place *place = &c->place;
  audit_recorder_tool(c->request, place->server, place->tool);
  if (!c->policy) return;
  struct policy_decision d = caller_decide(&c->caller, place->server, ITEM_TOOL, place->tool);
  audit_recorder_decided(c->request, &d);
}

// The caller hears that there is no such thing; here is the rule that hides it.
static void put_hidden(struct call *c) {
  str server = upstreams_name(c->context->upstreams, c->hidden->source);
  audit_recorder_tool(c->request, server, c->hidden->tool);
  struct policy_decision d =
      caller_decide(&c->caller, server, c->hidden->tool.p ? ITEM_TOOL : ITEM_RESOURCE, c->hidden->tool);
  audit_recorder_decided(c->request, &d);
}

static void put_place(struct call *c) {
  struct request *r = c->request;
  if (c->place.server.p) {
    put_named(c);
    return;
  }
  bool tool = c->item && c->item->kind == ITEM_TOOL;
  if (tool && c->placed) return;  // its surface has said it
  if (!tool) audit_recorder_target(r, target_of(c));
  if (c->hidden) put_hidden(c);
  if (!c->route_count) return;
  str server = call_server(c), name = call_tool_name(c);
  audit_recorder_tool(r, server, name);
  if (!c->policy) return;
  bool foreign = c->method->target == CALL_BY_ONLY;
  struct policy_decision d = foreign ? policy_decide_method(c->policy, c->caller.agent, r->msg.method)
                                     : caller_decide(&c->caller, server, name.p ? ITEM_TOOL : ITEM_RESOURCE, name);
  audit_recorder_decided(r, &d);
}

void call_audit(struct call *c, bool asked) {
  struct request *r = c->request;
  if (!r || !r->note) return;
  unsigned marks = (c->tool_failed ? AUDIT_NOTE_TOOL_ERROR : 0) | (c->recalled ? AUDIT_NOTE_CACHED : 0) |
                   (c->options.dry_run ? AUDIT_NOTE_DRY_RUN : 0) | (asked ? AUDIT_NOTE_ASKED : 0) |
                   (c->sent ? AUDIT_NOTE_SENT : 0);
  audit_recorder_agent(r, c->caller.id.n ? c->caller.id : c->named);
  if (c->route_count) audit_recorder_secrets(r, &call_spec(c)->secrets);
  put_place(c);
  audit_recorder_mark(r, marks, c->attempts);
  audit_recorder_trace(r, call_trace_id(c));
  if (c->rule.n) audit_recorder_rule(r, c->rule);
  if (c->shown) audit_recorder_shown(r, c->shown);
  else if (c->reply && c->reply->kind == RPC_RESULT && !asked) audit_recorder_shown(r, c->reply->result);
  if (c->failure) audit_recorder_fault(r, fault_told_as(c->failure->fault.code));
}
