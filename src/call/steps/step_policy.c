// SPDX-License-Identifier: Apache-2.0
// Finds the caller and applies the rules. A caller who may not see an item gets the answer that the item does not
// exist. But if the caller named a tool together with its server, the answer names the rule that denies the tool,
// whether or not the tool exists.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { METHOD_SHOWN = 64 };  // maximum bytes of a method's name in an error message

struct policy_state {
  bool hides;
  bool governed;              // the governance file refused the target itself, not only this call
  struct call_hidden hidden;  // hidden.tool is in the request's memory
};

static enum call_result identify(struct call *c, void *state) {
  struct call_context *x = c->context;
  struct fault f;
  if (c->policy || c->governance) return CALL_NEXT;  // the call was parked, so its caller is already known
  if (!caller_find(x->rules, c->session, c->named, &c->caller, &f)) {
    c->rule = caller_rule(x->rules, c->session, c->named, &f);
    return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
  }
  c->caller.id = arena_str(&c->request->arena, c->caller.id);
  if (c->caller.policy) c->policy = policy_ref(x->rules->policy);
  if (c->caller.governance) c->governance = governance_ref(x->rules->governance);
  if (c->caller.run) c->run = run_context_ref(c->caller.run);
  return CALL_NEXT;
}

bool policy_lets_see(const struct call *c, unsigned source, enum item_kind kind, str name) {
  return caller_may(&c->caller, upstreams_name(c->context->upstreams, source), kind, name);
}

void policy_hide(struct call *c, unsigned source, enum item_kind kind, str name) {
  struct policy_state *s = call_state(c, STEP_POLICY);
  ASSERT(source < upstreams_count(c->context->upstreams));
  s->hidden = (struct call_hidden){source, kind == ITEM_TOOL ? arena_str(&c->request->arena, name) : STR_NONE};
  s->hides = true;
}

void policy_unhide(struct call *c) {
  ((struct policy_state *)call_state(c, STEP_POLICY))->hides = false;
}

const struct call_hidden *policy_hidden(const struct call *c) {
  const struct policy_state *s = call_state(c, STEP_POLICY);
  return s->hides ? &s->hidden : NULL;
}

bool policy_lets_hear(const struct call_context *x, const struct session *s, str named, unsigned source, str tool) {
  struct caller caller;
  struct fault f;
  if (!rulebook_limits(x->rules)) return true;
  return caller_find(x->rules, s, named, &caller, &f) &&
         caller_may(&caller, upstreams_name(x->upstreams, source), tool.n ? ITEM_TOOL : ITEM_RESOURCE, tool);
}

str policy_public_rule(const struct call *c) {
  const struct policy_state *s = call_state(c, STEP_POLICY);
  return s->governed ? STR("governance") : c->rule;
}

static str rule_details(struct call *c, const struct policy_decision *d) {
  struct buf b, path;
  buf_init(&b, 1 << 16);
  buf_init(&path, 1 << 14);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("agent"), c->caller.id);
  ((struct policy_state *)call_state(c, STEP_POLICY))->governed = d->governed.p;
  policy_put_path(d, &path);
  c->rule = arena_str(&c->request->arena, buf_view(&path));
  // Does not name the place in the governance file, because the place would show whether the file names the hidden
  // tool.
  json_member_str(&w, STR("rule"), policy_public_rule(c));
  buf_reset(&path);
  policy_put_pointer(d, &path);
  if (!d->governed.p) json_member_str(&w, STR("pointer"), buf_view(&path));
  json_end_object(&w);
  str details = arena_str(&c->request->arena, buf_view(&b));
  buf_done(&path);
  buf_done(&b);
  return details;
}

enum call_result policy_refuse(struct call *c, const struct policy_decision *d, str tool) {
  struct fault f;
  caller_describe_denial(&c->caller, d, tool, &f);
  return call_end(c, &f, RPC_INVALID_PARAMS, rule_details(c, d));
}

bool policy_defers(const struct call *c, const struct policy_decision *d) {
  return c->options.approval.p && c->governance && d->governed.p && !d->quarantined && d->of_tool &&
         governance_governs(c->governance, d->server);
}

// Applies the rules to a method that the protocol does not define. Such a method may do anything, so it is denied
// unless a rule allows it.
static enum call_result decide_method(struct call *c) {
  str method = c->request->msg.method;
  // If there is a governance file but no rules, all such methods are denied, because a governance file cannot allow
  // methods.
  struct policy_decision d = {.of_method = true, .governed = STR("/adapters")};
  if (c->policy) d = policy_decide_method(c->policy, c->caller.agent, method);
  struct fault f;
  if (d.allowed) return CALL_NEXT;
  fault_set(&f, FAULT_DENIED_BY_POLICY, "Method not found: no rule allows agent '%.*s' to use \"%.*s\" (allow.methods)",
            STR_ARG(c->caller.id), STR_ARG(utf8_cut(method, METHOD_SHOWN)));
  return call_end(c, &f, RPC_METHOD_NOT_FOUND, rule_details(c, &d));
}

// Applies the rules to the target that step_find has found.
static enum call_result decide(struct call *c, void *state) {
  if (!caller_is_limited(&c->caller)) return CALL_NEXT;
  if (c->method->target == CALL_BY_ONLY) {
    enum call_result allowed = decide_method(c);
    if (allowed != CALL_NEXT) return allowed;
  }
  str server = call_server(c), name = call_tool_name(c);
  struct policy_decision d = caller_decide(&c->caller, server, name.p ? ITEM_TOOL : ITEM_RESOURCE, name);
  return d.allowed || policy_defers(c, &d) ? CALL_NEXT : policy_refuse(c, &d, name);
}

const struct call_step step_identify = {
    .name = "identify",
    .does = "Finds the caller.",
    .run = identify,
};

const struct call_step step_policy = {
    .name = "policy",
    .does = "Applies the rules.",
    .state = sizeof(struct policy_state),
    .run = decide,
};
