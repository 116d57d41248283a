// SPDX-License-Identifier: Apache-2.0
#include "skill/skill_plan.h"

#include "base/assert.h"
#include "govern/template.h"
#include "skill/skills.h"
#include "json/write.h"

struct expanding {
  const struct governance *governance;
  const struct skills *skills;  // may be NULL
  struct arena *arena;
  struct plan_step *steps;  // PLAN_STEPS_MAX
  size_t count;
  bool full;
};

static void add(struct expanding *x, const struct plan_step *step) {
  x->full = x->full || x->count == PLAN_STEPS_MAX;
  if (!x->full) x->steps[x->count++] = *step;
}

// Returns the arguments of an inner step that are known from the arguments of the skill, as an object.
static const struct json *known_args(struct expanding *x, const struct json *template, const struct json *input) {
  struct fault f;
  struct buf b;
  if (!template) return NULL;
  buf_init(&b, SKILL_BYTES_MAX);
  str text = input ? json_span(input) : STR("{}");
  const struct json *data =
      json_parse(x->arena, arena_printf(x->arena, "{\"input\":%.*s}", STR_ARG(text)), &skill_limits, &f);
  struct json_writer w = json_writer(&b);
  if (data) template_put_known(template, data, x->arena, &w);
  const struct json *args =
      data && !b.over ? json_parse(x->arena, arena_str(x->arena, buf_view(&b)), &skill_limits, &f) : NULL;
  buf_done(&b);
  return args;
}

static void expand(struct expanding *x, const struct skill *s, const struct plan_step *outer, int depth);

static void expand_step(struct expanding *x, const struct skill_step *from, const struct plan_step *outer, int depth) {
  struct plan_step step = *outer;
  step.id = arena_printf(x->arena, "%.*s.%.*s", STR_ARG(outer->id), STR_ARG(from->id));
  step.question.args = known_args(x, from->args, outer->question.args);
  const struct skill_entry *nested = from->skill.p ? skills_active(x->skills, from->skill) : NULL;
  if (nested && !nested->flaw.p && depth < SKILL_DEPTH_MAX) {
    expand(x, nested->skill, &step, depth + 1);
    return;
  }
  step.question.capability = from->skill.p ? from->skill : from->capability;
  add(x, &step);
}

static void expand(struct expanding *x, const struct skill *s, const struct plan_step *outer, int depth) {
  for (size_t i = 0; i < s->step_count && !x->full; i++) expand_step(x, &s->steps[i], outer, depth);
  for (size_t i = 0; i < s->capability_count && !s->step_count; i++) {
    struct plan_step step = *outer;
    step.id = arena_printf(x->arena, "%.*s.%zu", STR_ARG(outer->id), i + 1);
    step.question.args = NULL;
    step.question.capability = s->capabilities[i].name;
    add(x, &step);
  }
}

static const struct skill_entry *find(const struct expanding *x, str name, str tenant) {
  if (!x->skills || !skill_is_id(name) || governance_find(x->governance, name)) return NULL;
  const struct skill_entry *e = skills_active(x->skills, name);
  return e && !e->flaw.p && skill_serves(e->skill, tenant) ? e : NULL;
}

bool skill_plan_expand(const struct governance *g, str tenant, struct arena *a, struct governance_plan *p,
                       struct fault *f) {
  struct expanding x = {.governance = g, .skills = governance_skills(g), .arena = a};
  bool has_skill = false;
  ASSERT(!p->decided);
  for (size_t i = 0; i < p->count; i++) has_skill |= find(&x, p->steps[i].question.capability, tenant) != NULL;
  if (!has_skill) return true;
  x.steps = ARENA_ARRAY(a, struct plan_step, PLAN_STEPS_MAX);
  for (size_t i = 0; i < p->count; i++) {
    struct plan_step step = p->steps[i];
    const struct skill_entry *e = find(&x, step.question.capability, tenant);
    step.question.partial |= e != NULL;
    if (e) expand(&x, e->skill, &step, 1);
    else add(&x, &step);
  }
  if (x.full) {
    fault_set(f, FAULT_INVALID, "the plan has more than %d steps, counting those of skills", PLAN_STEPS_MAX);
    return false;
  }
  p->steps = x.steps;
  p->count = x.count;
  return true;
}
