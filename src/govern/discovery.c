// SPDX-License-Identifier: Apache-2.0
// Discovery: which tools an agent sees. A tool is hidden if every call of the tool by the agent is denied, whatever its
// arguments are and whichever mode the call requests. The steps are those of a decision (govern.c).
#include "base/assert.h"
#include "govern/govern_impl.h"
#include "govern/provisional.h"

// Limits on the work of all expressions that are evaluated for one agent, or for one tool. An expression beyond the
// limits counts as one that depends on the call.
enum { LOOK_STEPS = 100000, LOOK_BYTES = 1 << 20 };

// Whether a rule matches the calls of an agent.
enum rule_outlook {
  RULE_NEVER,
  RULE_ALWAYS,
  RULE_BY_TOOL,  // depends on the capability
  RULE_BY_CALL,  // depends on the arguments
};

static enum rule_outlook evaluate(const struct governance_rule *rule, const struct json *data, struct arena *a,
                                  struct logic_budget *budget) {
  const char *why;
  enum logic_verdict verdict = logic_test(rule->condition, data, a, budget, &why);
  if (verdict == LOGIC_ERROR) return RULE_BY_CALL;
  return verdict == LOGIC_TRUE ? RULE_ALWAYS : RULE_NEVER;
}

static enum rule_outlook look_at(const struct governance_rule *rule, const struct governance_agent *p,
                                 const struct json *data, struct arena *a, struct logic_budget *budget) {
  if (rule->intent.p && !(p->subject.intent.p && str_eq(rule->intent, p->subject.intent))) return RULE_NEVER;
  if (!rule->condition) return RULE_ALWAYS;
  if (logic_may_read(rule->condition, STR("args"))) return RULE_BY_CALL;
  if (logic_may_read(rule->condition, STR("capability"))) return RULE_BY_TOOL;
  return evaluate(rule, data, a, budget);
}

void governance_agent_look(const struct governance *g, struct governance_agent *p, struct arena *a) {
  struct logic_budget budget = {LOOK_STEPS, LOOK_BYTES};
  struct arena scratch;
  arena_init(&scratch);
  const struct json *data = governance_data(p->context, NULL, STR("\"\""), &scratch);
  uint8_t *outlook = ARENA_ARRAY(a, uint8_t, g->rule_count);
  size_t count = 0;
  for (size_t i = 0; i < g->bundle_count; i++)
    for (size_t k = 0; k < g->bundles[i].rule_count; k++)
      outlook[count++] = (uint8_t)look_at(&g->bundles[i].rules[k], p, data, &scratch, &budget);
  ASSERT(count == g->rule_count);
  p->outlook = outlook;
  p->passed = ARENA_ARRAY(a, uint8_t, g->capability_count);
  arena_done(&scratch);
}

// Facts that hold for every call of one tool by one agent.
struct outlook {
  const struct governance *governance;
  const struct governance_agent *agent;
  const struct governance_capability *capability;
  const struct governance_permission *ceiling;  // matching permission with the lowest mode, or NULL
  bool matched;                                 // some calls match a rule that allows
  const struct governance_rule *against;        // the first rule that denies every call, or NULL
  const struct governance_rule *raised;         // matches every call and has the highest mode of such rules, or NULL
  unsigned lower;                               // set of modes that rules set which match some calls
  struct governance_verdict *out;
};

static bool hide(struct outlook *o, enum governance_code code, str pointer) {
  *o->out = (struct governance_verdict){code, pointer};
  return false;
}

// ---- permissions

static bool look_at_permissions(struct outlook *o) {
  const struct governance_capability *c = o->capability;
  const struct governance_permission *against = NULL, *first = NULL;
  for (size_t i = 0; i < c->permission_count; i++) {
    const struct governance_permission *it = c->permissions[i];
    if (!governance_permits(it, &o->agent->subject)) continue;
    if (!first) first = it;
    if (!it->allow && !against) against = it;
    if (it->mode != APPROVAL_NONE && (!o->ceiling || it->mode < o->ceiling->mode)) o->ceiling = it;
  }
  if (against) return hide(o, GOVERNANCE_PERMISSION_DENIED, against->pointer);
  if (!first && !c->unlisted) return hide(o, GOVERNANCE_PERMISSION_DENIED, STR("/permissions"));
  o->out->pointer = first ? first->pointer : c->pointer;
  str pointer;
  return governance_intent_allows(o->governance, o->agent->subject.intent, c->class, &pointer) ||
         hide(o, GOVERNANCE_CLASS_INTENT_CONFLICT, pointer);
}

// ---- rules

static void note_rule(struct outlook *o, const struct governance_rule *rule, enum rule_outlook known) {
  bool always = known == RULE_ALWAYS;
  if (known == RULE_NEVER) return;
  if (rule->allow) o->matched = true;
  if (always && !rule->allow && !o->against) o->against = rule;
  if (rule->mode == APPROVAL_NONE) return;
  if (!always) o->lower |= 1u << rule->mode;
  else if (!o->raised || rule->mode > o->raised->mode) o->raised = rule;
}

static bool look_at_rules(struct outlook *o) {
  const struct governance *g = o->governance;
  const uint8_t *known = o->agent->outlook;
  struct logic_budget budget = {LOOK_STEPS, LOOK_BYTES};
  const struct json *data = NULL;
  struct arena scratch;
  ASSERT(known);
  arena_init(&scratch);
  for (size_t i = 0; i < g->bundle_count; i++)
    for (size_t k = 0; k < g->bundles[i].rule_count; k++, known++) {
      const struct governance_rule *rule = &g->bundles[i].rules[k];
      enum rule_outlook now = (enum rule_outlook) * known;
      if (now == RULE_BY_TOOL) {
        if (!data) data = governance_data(o->agent->context, NULL, o->capability->id_json, &scratch);
        now = evaluate(rule, data, &scratch, &budget);
      }
      note_rule(o, rule, now);
    }
  arena_done(&scratch);
  if (o->against) return hide(o, GOVERNANCE_POLICY_DENIED, o->against->pointer);
  return o->matched || !g->bundle_count || o->capability->mode == APPROVAL_READ_ONLY ||
         hide(o, GOVERNANCE_POLICY_DENIED, STR("/bundles"));
}

// ---- modes

// Returns why a call is denied whose effective mode is `mode`. `unrequested` is its mode if it requests none.
static enum governance_code judge_mode(const struct outlook *o, unsigned unrequested, unsigned mode) {
  if (mode > o->capability->mode) return GOVERNANCE_MODE_RAISE_FORBIDDEN;
  if (o->ceiling && mode > o->ceiling->mode) return GOVERNANCE_MODE_EXCEEDS_MAXIMUM;
  if (mode > (unsigned)o->agent->safety) return GOVERNANCE_MODE_ABOVE_RUN_CEILING;
  if (o->capability->class == CLASS_ACT && mode == APPROVAL_READ_ONLY) return GOVERNANCE_CLASS_MODE_CONFLICT;
  bool delegated = mode == APPROVAL_DELEGATED || unrequested == APPROVAL_DELEGATED;
  return !delegated || governance_has_user(o->agent->context) ? GOVERNANCE_ALLOWED : GOVERNANCE_DELEGATION_REQUIRED;
}

static str place_of_mode(const struct outlook *o, enum governance_code code) {
  ASSERT(code != GOVERNANCE_MODE_EXCEEDS_MAXIMUM || o->ceiling);
  if (code == GOVERNANCE_MODE_EXCEEDS_MAXIMUM) return o->ceiling->mode_pointer;
  return o->raised ? o->raised->pointer : o->capability->mode_pointer;
}

static unsigned plain_mode(const struct outlook *o) {
  return o->raised ? o->raised->mode : o->capability->mode;
}

// Returns whether some call has a mode that is allowed. A call gets the highest of the modes that its matching rules
// set, or the mode of the capability if no rule sets one. If a rule sets the mode, a request can ask for a higher one.
static bool has_mode(const struct outlook *o) {
  unsigned highest = o->capability->mode, plain = plain_mode(o);
  unsigned possible = o->lower | (o->raised ? 1u << plain : 0);
  for (unsigned from = o->raised ? plain : 0; from <= highest; from++)
    for (unsigned mode = from; (possible >> from & 1) && mode <= highest; mode++)
      if (judge_mode(o, from, mode) == GOVERNANCE_ALLOWED) return true;
  return judge_mode(o, plain, plain) == GOVERNANCE_ALLOWED;
}

// ---- the tool

// Returns whether the rules and the modes allow some calls. A positive answer is remembered, because each request asks
// several times.
static bool passes(struct outlook *o) {
  const struct governance *g = o->governance;
  size_t index = o->capability->unlisted ? SIZE_MAX : (size_t)(o->capability - g->capabilities);
  ASSERT(o->capability->unlisted || index < g->capability_count);
  if (index != SIZE_MAX && o->agent->passed[index]) return true;
  if (!look_at_rules(o) || !has_mode(o)) return false;
  if (index != SIZE_MAX) o->agent->passed[index] = true;
  return true;
}

// Hides the tool. Its denial is that of a call that requests no mode.
static bool hide_plain(struct outlook *o, bool identified, enum governance_code code, const struct flow_marks *marks) {
  o->raised = NULL;
  if (!look_at_rules(o)) return false;
  enum governance_code by_mode = judge_mode(o, plain_mode(o), plain_mode(o));
  if (by_mode != GOVERNANCE_ALLOWED && by_mode != GOVERNANCE_DELEGATION_REQUIRED)
    return hide(o, by_mode, place_of_mode(o, by_mode));
  if (!identified) return hide(o, code, o->capability->pointer);
  if (by_mode != GOVERNANCE_ALLOWED) return hide(o, by_mode, o->capability->pointer);
  return hide(o, GOVERNANCE_FLOW_DENIED, flow_marks_pointer(marks));
}

static bool look_at_tool(struct outlook *o, const struct flow_marks *marks) {
  const struct governance_capability *c = o->capability;
  const struct governance_flow *flow = governance_flow_of(o->governance);
  enum governance_code code;
  if (!governance_is_in(c, &o->agent->subject)) return hide(o, GOVERNANCE_PERMISSION_DENIED, c->pointer);
  if (!look_at_permissions(o)) return false;
  bool identified = governance_has_identity(c, o->agent->context, &code);
  bool joins = flow && flow->mode != FLOW_WARN && marks->set == FLOW_ALL;
  return (passes(o) && identified && !joins) || hide_plain(o, identified, code, marks);
}

// Finds the capability of a tool. An unknown tool is treated like a tool without hints, so that the answer does not
// show whether the tool exists. Returns NULL if such tools cannot be used.
static const struct governance_capability *find_capability(const struct governance *g, str server, str tool,
                                                           struct arena *a) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  const struct governance_capability *c = governance_find_tool(g, server, tool);
  if (c || !governance_is_provisional(g, server)) return c;
  str name = governance_is_id(tool) ? tool : STR("?");  // also a name that no tool can have
  str id = adapter ? arena_printf(a, "%.*s.%.*s", STR_ARG(adapter->adapter_id), STR_ARG(name))
                   : arena_printf(a, "mcp_%.*s.%.*s", STR_ARG(server), STR_ARG(name));
  return governance_provisional_find(g, id, NULL, a);
}

bool governance_shows(const struct governance *g, const struct governance_agent *p, str server, str tool,
                      struct governance_verdict *out) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  struct outlook o = {.governance = g, .agent = p, .out = out};
  struct arena a;
  *out =
      (struct governance_verdict){GOVERNANCE_ALLOWED, adapter ? adapter->pointer : governance_unlisted_pointer(NULL)};
  if (!adapter && g->unlisted == UNLISTED_DENY) return hide(&o, GOVERNANCE_CAPABILITY_UNKNOWN, STR("/adapters"));
  if (!tool.p && adapter && governance_is_foreign(g, adapter, server, p->subject.tenant))
    return hide(&o, GOVERNANCE_PERMISSION_DENIED, STR("/permissions"));
  if (!tool.p || (!adapter && g->unlisted == UNLISTED_ALLOW)) return true;
  arena_init(&a);
  o.capability = find_capability(g, server, tool, &a);
  struct flow_marks marks = governance_flow_marks(g, server, tool);
  str unknown = adapter ? adapter->pointer : STR("/adapters");
  bool shown = o.capability ? look_at_tool(&o, &marks) : hide(&o, GOVERNANCE_CAPABILITY_UNKNOWN, unknown);
  arena_done(&a);
  return shown;
}
