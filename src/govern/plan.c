// SPDX-License-Identifier: Apache-2.0
#include "govern/plan.h"

#include "base/assert.h"
#include "govern/govern_impl.h"
#include "json/write.h"

static bool fail(struct fault *f, str pointer, const char *message) {
  fault_set(f, FAULT_INVALID, "%s", message);
  fault_set_path(f, pointer);
  return false;
}

// Returns whether all members are known. If not, `f` has the first unknown member.
static bool check_members(const struct json *v, const str *known, size_t count, struct arena *a, str pointer,
                          struct fault *f) {
  JSON_EACH(it, v)
    if (!json_key_in(it, known, count)) {
      str key = json_key(it, a);
      return fail(f, arena_printf(a, "%.*s/%.*s", STR_ARG(pointer), STR_ARG(key)), "is an unknown member");
    }
  return true;
}

static bool read_flag(const struct json *v, const char *key, bool *out) {
  const struct json *flag = json_get(v, str_of(key));
  return !flag || json_bool(flag, out);
}

// Returns a copy of the step in which the member `capability` replaces the member that callers use for it.
static const struct json *translate(const struct json *v, const struct plan_caller *caller, str name, struct arena *a) {
  struct json_edit edits[] = {{caller->name, STR_NONE},
                              {STR("capability"), json_escaped(a, caller->capability(caller->ctx, name))}};
  struct fault f;
  const struct json *made = json_parse(a, json_edited(a, v, edits, 2), &json_default_limits, &f);
  ASSERT(made);  // the text is valid JSON, because its parts were parsed before
  return made;
}

static bool read_step(const struct json *v, const struct plan_caller *caller, struct arena *a, size_t index,
                      struct plan_step *out, struct fault *f) {
  str member = caller ? caller->name : STR("capability");
  const str known[] = {STR("id"), member, STR("args"), STR("mode"), STR("args_complete")};
  str pointer = arena_printf(a, "/steps/%zu", index);
  bool complete = false;
  if (!json_is(v, JSON_OBJECT)) return fail(f, pointer, "must be an object");
  if (!check_members(v, known, sizeof known / sizeof *known, a, pointer, f)) return false;
  const struct json *id = json_get(v, STR("id"));
  out->id = arena_printf(a, "%zu", index + 1);
  if (id && !json_string(id, a, &out->id)) return fail(f, pointer, "id must be a string");
  if (!read_flag(v, "args_complete", &complete)) return fail(f, pointer, "args_complete must be true or false");
  if (!json_string(json_get(v, member), a, &out->name))
    return fail(f, pointer, caller ? "needs the string tool_id" : "needs the string capability");
  if (!governance_read_question(caller ? translate(v, caller, out->name, a) : v, a, &out->question, f)) {
    fault_set_path(f, pointer);
    return false;
  }
  out->question.partial = !complete;
  if (caller) out->question.now = caller->now, out->question.ceiling = caller->ceiling;
  return true;
}

// Returns the context. If the context has no intent, adds the plan's intent. Returns NULL without a context and an
// intent.
static const struct json *make_context(const struct json *context, str intent, struct arena *a) {
  const struct json *own = json_get(context, STR("intent"));
  if (!intent.p || (own && !json_is(own, JSON_NULL))) return context;
  struct json_edit edit = {STR("intent"), json_escaped(a, intent)};
  struct fault f;
  const struct json *made =
      json_parse(a, json_edited(a, context ? context : &json_empty_object, &edit, 1), &json_default_limits, &f);
  ASSERT(made);  // the text is valid JSON, because its parts were parsed before
  return made;
}

static bool read_steps(const struct json *steps, const struct json *context, const struct plan_caller *caller,
                       struct arena *a, struct governance_plan *p, struct fault *f) {
  _Static_assert(PLAN_STEPS_MAX == 1000 && PLAN_CALLER_STEPS_MAX == 100, "the messages name the limits");
  if (!json_is(steps, JSON_ARRAY) || steps->count > (caller ? PLAN_CALLER_STEPS_MAX : PLAN_STEPS_MAX))
    return fail(f, STR("/steps"),
                caller ? "must be a list of at most 100 steps" : "must be a list of at most 1000 steps");
  p->steps = ARENA_ARRAY(a, struct plan_step, steps->count);
  JSON_EACH(it, steps) {
    struct plan_step *step = &p->steps[p->count];
    if (!read_step(it, caller, a, p->count++, step, f)) return false;
    step->question.context = context;
  }
  return true;
}

bool plan_read(const struct json *v, const struct plan_caller *caller, struct arena *a, struct governance_plan *out,
               struct fault *f) {
  static const str known[] = {STR("intent"), STR("read_only"), STR("steps"), STR("context")};
  struct governance_plan p = {.intent = STR_NONE};
  if (!json_is(v, JSON_OBJECT)) return fail(f, STR(""), "a plan must be an object");
  if (!check_members(v, known, caller ? 3 : 4, a, STR(""), f)) return false;
  const struct json *intent = json_get(v, STR("intent"));
  const struct json *context = caller ? caller->context : json_get(v, STR("context"));
  if (json_is(context, JSON_NULL)) context = NULL;
  if (intent && !json_is(intent, JSON_NULL) && !json_string(intent, a, &p.intent))
    return fail(f, STR("/intent"), "must be a string");
  if (!read_flag(v, "read_only", &p.read_only)) return fail(f, STR("/read_only"), "must be true or false");
  if (!governance_check_context(context, f)) {
    fault_set_path(f, STR("/context"));
    return false;
  }
  if (!caller) context = make_context(context, p.intent, a);
  if (!read_steps(json_get(v, STR("steps")), context, caller, a, &p, f)) return false;
  *out = p;
  return true;
}

// Returns whether the plan allows capabilities of this class.
static bool allows(const struct governance *g, const struct governance_plan *p, enum capability_class class) {
  str pointer;
  return !(p->read_only && class == CLASS_ACT) && governance_intent_allows(g, p->intent, class, &pointer);
}

static void decide_governed(const struct governance *g, const struct governance_plan *p,
                            const struct governance_question *q, struct arena *a, struct governance_decision *out) {
  governance_decide(g, q, a, out);
  const struct governance_capability *c = out->capability;
  if (!c || allows(g, p, (enum capability_class)c->class)) return;
  out->code = GOVERNANCE_CLASS_INTENT_CONFLICT;
  out->pointer = c->pointer;
  out->violations = (struct violations){0};
}

static void decide_ungoverned(const struct governance *g, unsigned marks, unsigned before,
                              struct governance_decision *out) {
  const struct governance_flow *flow = governance_flow_of(g);
  *out = (struct governance_decision){
      .requested = STR_NONE, .effective = APPROVAL_NONE, .highest = APPROVAL_NONE, .pointer = STR("/flow")};
  bool denied = flow && flow->mode != FLOW_WARN && marks && (marks | before) == FLOW_ALL;
  out->code = denied ? GOVERNANCE_FLOW_DENIED : GOVERNANCE_ALLOWED;
}

void plan_decide(const struct governance *g, struct governance_plan *p, struct arena *a,
                 struct governance_decision *out) {
  ASSERT(p->decided < p->count);
  const struct plan_step *step = &p->steps[p->decided++];
  struct governance_question question = step->question;
  question.flow |= p->marks;
  if (step->ungoverned) decide_ungoverned(g, step->marks, question.flow, out);
  else decide_governed(g, p, &question, a, out);
  if (out->code != GOVERNANCE_ALLOWED) return;  // the step will not be called, so it adds no marks
  p->marks |= out->capability ? governance_capability_marks(g, out->capability).set : step->marks;
}
