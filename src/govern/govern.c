// SPDX-License-Identifier: Apache-2.0
// Decides about calls, in the seven steps that govern.h describes.
#include "govern/govern.h"

#include "base/assert.h"
#include "govern/run.h"

// Limits on the work of all expressions of one decision. Within these limits, they take a few milliseconds at most.
enum { LOGIC_STEPS = 250000, LOGIC_BYTES = 4 << 20 };

// ---- codes

static const struct {
  const char *name, *advice;
} codes[] = {
#define X(name, advice) [GOVERNANCE_##name] = {#name, advice},
    GOVERNANCE_CODES(X)
#undef X
};

const char *governance_code_name(enum governance_code code) {
  ASSERT((unsigned)code < sizeof codes / sizeof *codes);
  return codes[code].name;
}

const char *governance_code_advice(enum governance_code code) {
  ASSERT((unsigned)code < sizeof codes / sizeof *codes);
  return codes[code].advice;
}

// ---- questions

static bool is_absent(const struct json *v) {
  return !v || json_is(v, JSON_NULL);
}

static bool is_mode(const struct json *v) {
  for (unsigned m = 0; m < APPROVAL_NONE; m++)
    if (json_equals_str(v, str_of(approval_mode_name((enum approval_mode)m)))) return true;
  return false;
}

static bool is_list_of_texts(const struct json *v) {
  if (!json_is(v, JSON_ARRAY)) return false;
  JSON_EACH(it, v)
    if (!json_is(it, JSON_STRING)) return false;
  return true;
}

bool governance_check_context(const struct json *context, struct fault *f) {
  static const char *const texts[] = {"tenant", "role", "intent", "environment", "safety_mode", "run_id"};
  if (!context) return true;
  if (!json_is(context, JSON_OBJECT)) {
    fault_set(f, FAULT_INVALID, "context must be an object");
    return false;
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const struct json *v = json_get(context, str_of(texts[i]));
    if (is_absent(v) || json_is(v, JSON_STRING)) continue;
    fault_set(f, FAULT_INVALID, "context.%s must be a string", texts[i]);
    return false;
  }
  const struct json *mode = json_get(context, STR("safety_mode")), *scopes = json_get(context, STR("scopes"));
  const struct json *principals = json_get(context, STR("principals"));
  const struct json *expires = json_get(context, STR("delegation_expires"));
  struct run_budget budget;
  if (!is_absent(mode) && !is_mode(mode))
    fault_set(f, FAULT_INVALID, "context.safety_mode must be an approval mode, such as read_only");
  else if (!is_absent(scopes) && !is_list_of_texts(scopes))
    fault_set(f, FAULT_INVALID, "context.scopes must be a list of strings");
  else if (!is_absent(principals) && !json_is(principals, JSON_ARRAY))
    fault_set(f, FAULT_INVALID, "context.principals must be a list");
  else if (!is_absent(expires) && !json_is(expires, JSON_NUMBER))
    fault_set(f, FAULT_INVALID, "context.delegation_expires must be a number of seconds since 1970");
  else if (!run_budget_read(json_get(context, STR("budget")), &budget))
    fault_set(f, FAULT_INVALID, "context.budget must have max_calls, max_wall_ms, max_call_ms or max_cost");
  else return true;
  return false;
}

bool governance_read_question(const struct json *v, struct arena *a, struct governance_question *out, struct fault *f) {
  struct governance_question q = {.args = json_get(v, STR("args")),
                                  .context = json_get(v, STR("context")),
                                  .annotations = json_get(v, STR("annotations"))};
  const struct json *mode = json_get(v, STR("mode")), *now = json_get(v, STR("now"));
  const struct json *flow = json_get(v, STR("flow"));
  if (is_absent(q.args)) q.args = NULL;
  if (is_absent(q.context)) q.context = NULL;
  if (!json_string(json_get(v, STR("capability")), a, &q.capability))
    fault_set(f, FAULT_INVALID,
              "a question must be an object with \"capability\"; args, context and mode are optional");
  else if (q.args && !json_is(q.args, JSON_OBJECT)) fault_set(f, FAULT_INVALID, "args must be an object");
  else if (!is_absent(mode) && !json_string(mode, a, &q.mode)) fault_set(f, FAULT_INVALID, "mode must be a string");
  else if (now && !(json_int(now, &q.now) && q.now > 0)) fault_set(f, FAULT_INVALID, "now must be a positive integer");
  else if (!is_absent(flow) && !flow_marks_read(flow, a, &q.flow))
    fault_set(f, FAULT_INVALID, "flow must be a list of reads_private, untrusted_input and sends_out");
  else if (governance_check_context(q.context, f)) {
    *out = q;
    return true;
  }
  return false;
}

// ---- the state of a decision

struct deciding {
  const struct governance *governance;
  const struct governance_question *question;
  struct arena *arena;
  struct governance_decision *out;
  struct governance_subject subject;
  const struct governance_permission *ceiling;  // matching permission with the lowest mode, or NULL
  const struct governance_rule *raised;         // matching rule with the highest mode, or NULL
  struct json data[3];                          // the data that expressions read, and its members; see make_data
  struct logic_budget budget;
  size_t match_room, gate_room;
};

static bool deny(struct deciding *d, enum governance_code code, str pointer) {
  d->out->code = code;
  d->out->pointer = pointer;
  return false;
}

static str below(struct deciding *d, str pointer, const char *member) {
  return arena_printf(d->arena, "%.*s/%s", STR_ARG(pointer), member);
}

static str context_text(const struct deciding *d, const char *name) {
  str text = STR_NONE;
  json_string(json_get(d->question->context, str_of(name)), d->arena, &text);
  return text;
}

// Returns an array with room for one more element: `list` itself or, if it is full, a copy with twice the capacity.
static void *with_room(struct arena *a, void *list, size_t size, size_t count, size_t *room) {
  if (count < *room) return list;
  *room = *room ? 2 * *room : 4;
  void *larger = arena_alloc(a, size * *room);
  if (count) memcpy(larger, list, size * count);
  return larger;
}

static void add_match(struct deciding *d, const struct governance_match *match) {
  struct governance_decision *o = d->out;
  o->matches = with_room(d->arena, o->matches, sizeof *o->matches, o->match_count, &d->match_room);
  o->matches[o->match_count++] = match;
}

static void add_gate(struct deciding *d, const struct governance_gate *gate) {
  struct governance_decision *o = d->out;
  for (size_t i = 0; i < o->gate_count; i++)
    if (o->gates[i] == gate) return;
  o->gates = with_room(d->arena, o->gates, sizeof *o->gates, o->gate_count, &d->gate_room);
  o->gates[o->gate_count++] = gate;
}

// ---- step 1

bool governance_is_in(const struct governance_capability *c, const struct governance_subject *who) {
  return !c->environment.p || (who->environment.p && str_eq(c->environment, who->environment));
}

static bool find_capability(struct deciding *d) {
  const struct governance_question *q = d->question;
  const struct governance_capability *c = q->provisional;
  if (!c) c = governance_find(d->governance, q->capability);
  if (!c) c = governance_provisional_find(d->governance, q->capability, q->annotations, d->arena);
  if (!c) return deny(d, GOVERNANCE_CAPABILITY_UNKNOWN, STR("/adapters"));
  d->out->capability = c;
  d->out->highest = c->mode;
  return governance_is_in(c, &d->subject) || deny(d, GOVERNANCE_PERMISSION_DENIED, c->pointer);
}

// ---- step 2

static bool names_have(const struct governance_names *names, str name) {
  if (!names->list) return true;
  for (size_t i = 0; name.p && i < names->count; i++)
    if (str_eq(names->list[i], name)) return true;
  return false;
}

bool governance_permits(const struct governance_permission *p, const struct governance_subject *who) {
  return names_have(&p->roles, who->role) && names_have(&p->intents, who->intent) &&
         names_have(&p->environments, who->environment) && names_have(&p->tenants, who->tenant);
}

static bool match_permissions(struct deciding *d) {
  const struct governance_capability *c = d->out->capability;
  const struct governance_permission *against = NULL;
  for (size_t i = 0; i < c->permission_count; i++) {
    const struct governance_permission *p = c->permissions[i];
    if (!governance_permits(p, &d->subject)) continue;
    add_match(d, &p->match);
    if (!p->allow && !against) against = p;
    if (p->mode != APPROVAL_NONE && (!d->ceiling || p->mode < d->ceiling->mode)) d->ceiling = p;
  }
  if (c->unlisted) {
    d->out->pointer = c->pointer;
    return true;
  }
  if (against) return deny(d, GOVERNANCE_PERMISSION_DENIED, against->match.pointer);
  if (!d->out->match_count) return deny(d, GOVERNANCE_PERMISSION_DENIED, STR("/permissions"));
  d->out->pointer = d->out->matches[0]->pointer;
  str pointer;
  if (!governance_intent_allows(d->governance, d->subject.intent, c->class, &pointer))
    return deny(d, GOVERNANCE_CLASS_INTENT_CONFLICT, pointer);
  return true;
}

// ---- step 3

static void set_member(struct json *member, struct json value, const char *key, const struct json *next) {
  *member = value;
  member->key = key;
  member->key_n = (uint32_t)strlen(key);
  member->flags &= (uint8_t)~JSON_KEY_ESCAPED;
  member->next = (struct json *)next;
}

// Makes the data that expressions read: the members `args` and `capability`, then those of the context. If the context
// has members with these names, expressions find the first ones.
static void make_data(struct deciding *d) {
  static const struct json none = {.type = JSON_OBJECT, .p = "{}", .n = 2};
  const struct governance_question *q = d->question;
  const struct json *context = q->context ? json_first(q->context) : NULL;
  str id = d->out->capability->id_json;
  struct json capability = {.type = JSON_STRING, .p = id.p, .n = (uint32_t)id.n};
  if (memchr(id.p, '\\', id.n)) capability.flags = JSON_ESCAPED;
  set_member(&d->data[2], capability, "capability", context);
  set_member(&d->data[1], q->args ? *q->args : none, "args", &d->data[2]);
  d->data[0] = (struct json){.type = JSON_OBJECT, .child = &d->data[1], .count = 2};
  if (q->context) d->data[0].count += q->context->count;
}

static enum logic_verdict test(struct deciding *d, const struct logic *l) {
  if (!d->data[0].child) make_data(d);
  return logic_test(l, d->data, d->arena, &d->budget, &d->out->why);
}

static enum logic_verdict rule_matches(struct deciding *d, const struct governance_rule *rule) {
  if (rule->intent.p && !(d->subject.intent.p && str_eq(rule->intent, d->subject.intent))) return LOGIC_FALSE;
  enum logic_verdict verdict = rule->condition ? test(d, rule->condition) : LOGIC_TRUE;
  if (verdict != LOGIC_ERROR || !rule->non_enforcing) return verdict;
  d->out->why = NULL;
  return LOGIC_FALSE;
}

// Matches the rules of a bundle. Adds the number of matching rules to *matched. Sets *against to the first matching
// rule that denies the call, unless it is set already. Returns false if an expression fails.
static bool match_rules(struct deciding *d, const struct governance_bundle *b, const struct governance_rule **against,
                        size_t *matched) {
  for (size_t i = 0; i < b->rule_count; i++) {
    const struct governance_rule *rule = &b->rules[i];
    enum logic_verdict verdict = rule_matches(d, rule);
    if (verdict == LOGIC_ERROR) return deny(d, GOVERNANCE_POLICY_EVAL_ERROR, below(d, rule->match.pointer, "if"));
    if (verdict == LOGIC_FALSE) continue;
    add_match(d, &rule->match);
    ++*matched;
    if (!rule->allow && !*against) *against = rule;
    if (rule->gate) add_gate(d, rule->gate);
    if (rule->mode != APPROVAL_NONE && (!d->raised || rule->mode > d->raised->mode)) d->raised = rule;
  }
  return true;
}

static bool match_gates(struct deciding *d, const struct governance_bundle *b) {
  for (size_t i = 0; i < b->gate_count; i++) {
    const struct governance_gate *gate = &b->gates[i];
    enum logic_verdict verdict = gate->when ? test(d, gate->when) : LOGIC_FALSE;
    if (verdict == LOGIC_ERROR) return deny(d, GOVERNANCE_POLICY_EVAL_ERROR, below(d, gate->pointer, "when"));
    if (verdict == LOGIC_TRUE) add_gate(d, gate);
  }
  return true;
}

static bool match_bundles(struct deciding *d) {
  const struct governance *g = d->governance;
  const struct governance_rule *against = NULL;
  size_t matched = 0;
  for (size_t i = 0; i < g->bundle_count; i++)
    if (!match_rules(d, &g->bundles[i], &against, &matched) || !match_gates(d, &g->bundles[i])) return false;
  if (against) return deny(d, GOVERNANCE_POLICY_DENIED, against->match.pointer);
  if (g->bundle_count && !matched && d->out->highest > APPROVAL_READ_ONLY)
    return deny(d, GOVERNANCE_POLICY_DENIED, STR("/bundles"));
  return true;
}

// ---- step 4

static str own_mode(struct deciding *d) {
  return below(d, d->out->capability->pointer, "approval_mode");
}

// Denies the call because of its mode. The denial points to the rule that raised the mode or, without such a rule, to
// the capability.
static bool deny_set_mode(struct deciding *d, enum governance_code code) {
  return deny(d, code, d->raised ? d->raised->match.pointer : own_mode(d));
}

static bool select_mode(struct deciding *d) {
  struct governance_decision *o = d->out;
  const struct governance_capability *c = o->capability;
  enum approval_mode requested = o->requested.p ? approval_mode_find(o->requested) : APPROVAL_NONE;
  if (o->requested.p && requested == APPROVAL_NONE) return deny(d, GOVERNANCE_MODE_INVALID, own_mode(d));
  if (requested != APPROVAL_NONE && requested > o->highest)
    return deny(d, GOVERNANCE_MODE_EXCEEDS_MAXIMUM, own_mode(d));
  if (d->raised && d->raised->mode > o->highest) return deny_set_mode(d, GOVERNANCE_MODE_RAISE_FORBIDDEN);
  // Only a rule can lower the mode; a request alone cannot.
  o->effective = o->highest;
  if (d->raised) o->effective = d->raised->mode;
  if (d->raised && requested != APPROVAL_NONE && requested > o->effective) o->effective = requested;
  ASSERT(o->effective <= o->highest);
  if (d->ceiling && o->effective > d->ceiling->mode)
    return deny(d, GOVERNANCE_MODE_EXCEEDS_MAXIMUM, below(d, d->ceiling->match.pointer, "approval_mode"));
  str ceiling = context_text(d, "safety_mode");
  // If safety_mode is not a known mode, no mode is allowed. governance_check_context rejects such a context earlier.
  enum approval_mode safety = ceiling.p ? approval_mode_find(ceiling) : APPROVAL_DESTRUCTIVE;
  if (safety == APPROVAL_NONE || o->effective > safety) return deny_set_mode(d, GOVERNANCE_MODE_ABOVE_RUN_CEILING);
  if (c->class == CLASS_ACT && o->effective == APPROVAL_READ_ONLY)
    return deny_set_mode(d, GOVERNANCE_CLASS_MODE_CONFLICT);
  return true;
}

// ---- step 5

static bool has_scope(const struct json *context, str scope) {
  const struct json *scopes = json_get(context, STR("scopes"));
  if (!json_is(scopes, JSON_ARRAY)) return false;
  JSON_EACH(it, scopes)
    if (json_equals_str(it, scope)) return true;
  return false;
}

bool governance_has_identity(const struct governance_capability *c, const struct json *context,
                             enum governance_code *out) {
  *out = GOVERNANCE_PERMISSION_DENIED;
  for (size_t i = 0; i < c->claims.count; i++)
    if (is_absent(json_get(context, c->claims.list[i]))) return false;
  *out = GOVERNANCE_DELEGATION_REQUIRED;
  for (size_t i = 0; i < c->scopes.count; i++)
    if (!has_scope(context, c->scopes.list[i])) return false;
  return true;
}

// In delegated mode, the first principal must be a user. This is not checked if the context has no principals.
static bool check_delegation(struct deciding *d) {
  struct governance_decision *o = d->out;
  const struct json *context = d->question->context, *principals = json_get(context, STR("principals"));
  enum governance_code code;
  double expires;
  if (!governance_has_identity(o->capability, context, &code)) return deny(d, code, o->capability->pointer);
  if (o->effective != APPROVAL_DELEGATED) return true;
  if (!is_absent(principals) && !json_equals_str(json_get(json_at(principals, 0), STR("kind")), STR("user")))
    return deny(d, GOVERNANCE_DELEGATION_REQUIRED, o->capability->pointer);
  if (d->question->now && json_double(json_get(context, STR("delegation_expires")), &expires) &&
      (double)d->question->now >= expires)
    return deny(d, GOVERNANCE_DELEGATION_EXPIRED, o->capability->pointer);
  return true;
}

// ---- step 6

// Returns the violations that an approval cannot waive.
static struct violations without_waivable(struct violations all) {
  struct violations kept = {0};
  for (struct violation *v = all.first, *next; v; v = next) {
    next = v->next;
    if (v->waivable) continue;
    v->next = NULL;
    if (kept.last) kept.last->next = v;
    else kept.first = v;
    kept.last = v;
  }
  return kept;
}

// Checks the constraints. If a constraint with unless_approved is violated and the call has a gate, the approver
// decides. If the call has no gate, the violation denies the call.
static bool check_arguments(struct deciding *d) {
  struct governance_decision *o = d->out;
  struct constraints_budget budget = {CONSTRAINTS_STEPS, CONSTRAINTS_BYTES};
  for (size_t i = 0; i < o->match_count; i++)
    constraints_check(&o->matches[i]->constraints, d->question->args, d->question->partial, d->arena, &budget,
                      &o->violations);
  if (o->gate_count) o->violations = without_waivable(o->violations);
  return !o->violations.first || deny(d, GOVERNANCE_ARG_CONSTRAINT_VIOLATION, o->violations.first->pointer);
}

// ---- step 7

// In mode warn, the flow guard does not deny calls.
static bool check_flow(struct deciding *d) {
  const struct governance_flow *flow = governance_flow_of(d->governance);
  if (!flow || flow->mode == FLOW_WARN) return true;
  struct flow_marks own = governance_capability_marks(d->governance, d->out->capability);
  if (!own.set || (own.set | d->question->flow) != FLOW_ALL) return true;
  return deny(d, GOVERNANCE_FLOW_DENIED, flow_marks_pointer(&own));
}

void governance_decide(const struct governance *g, const struct governance_question *q, struct arena *a,
                       struct governance_decision *out) {
  static bool (*const steps[])(struct deciding *) = {find_capability,  match_permissions, match_bundles, select_mode,
                                                     check_delegation, check_arguments,   check_flow};
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  *out = (struct governance_decision){.requested = q->mode, .effective = APPROVAL_NONE, .highest = APPROVAL_NONE};
  struct deciding d = {.governance = g, .question = q, .arena = a, .out = out, .budget = {LOGIC_STEPS, LOGIC_BYTES}};
  if (q->subject) d.subject = *q->subject;
  else
    d.subject = (struct governance_subject){context_text(&d, "role"), context_text(&d, "intent"),
                                            context_text(&d, "environment"), context_text(&d, "tenant")};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (!steps[i](&d)) return;
  out->code = GOVERNANCE_ALLOWED;
}
