// SPDX-License-Identifier: Apache-2.0
#include "govern/plan.h"

#include "base/assert.h"
#include "govern/approvals.h"
#include "govern/flow.h"
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
  if (caller) out->question.now = caller->now;
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
  if (!json_is(steps, JSON_ARRAY) || steps->count > PLAN_STEPS_MAX)
    return fail(f, STR("/steps"), "must be a list of at most 1000 steps");
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
  p.read_only |= p.intent.p && str_eq(p.intent, STR("read_only"));
  if (!governance_check_context(context, f)) {
    fault_set_path(f, STR("/context"));
    return false;
  }
  if (!read_steps(json_get(v, STR("steps")), make_context(context, p.intent, a), caller, a, &p, f)) return false;
  *out = p;
  return true;
}

// Returns the marks of the flow guard that the run has before a step. A step that the guard refuses adds no marks.
static unsigned marks_before(const struct governance *g, const struct governance_plan *p, size_t step) {
  unsigned marks = 0;
  for (size_t i = 0; governance_flow_of(g) && i < step; i++) {
    const struct governance_capability *c = governance_find(g, p->steps[i].question.capability);
    unsigned own = c ? governance_capability_marks(g, c).set : 0;
    if ((marks | own) != FLOW_ALL) marks |= own;
  }
  return marks;
}

void plan_decide(const struct governance *g, const struct governance_plan *p, size_t step, struct arena *a,
                 struct governance_decision *out) {
  ASSERT(step < p->count);
  struct governance_question question = p->steps[step].question;
  question.flow = marks_before(g, p, step);
  governance_decide(g, &question, a, out);
  const struct governance_capability *c = out->capability;
  if (out->code == GOVERNANCE_ALLOWED) out->gates = governance_gates(g, out, a, &out->gate_count);
  if (!p->read_only || !c || c->class != CLASS_ACT) return;
  out->code = GOVERNANCE_CLASS_INTENT_CONFLICT;
  out->pointer = c->pointer;
  out->violations = (struct violations){0};
}
