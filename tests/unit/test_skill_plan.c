// SPDX-License-Identifier: Apache-2.0
// Plans with steps that are skills.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "governance_world.h"
#include "skill/skill_plan.h"
#include "skill/skills.h"

static const char governance[] = "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':["
                                 "{'name':'look','class':'observe','approval_mode':'read_only'},"
                                 "{'name':'pay','class':'act','approval_mode':'destructive'}]}],'permissions':["
                                 "{'permission_id':'p1','adapter_id':'a','capability':'look','allow':true},"
                                 "{'permission_id':'p2','adapter_id':'a','capability':'pay','allow':true,"
                                 "'arg_constraints':{'n':{'required':true,'max':5},'currency':{'enum':['INR']}}}]}";

#define SKILL(id, more, steps) \
  "{'skill_id':'" id "','version':'1','purpose':'p','owner_role':'r','required_capabilities':[" \
  "{'capability_class':'observe','name':'a.look'},{'capability_class':'act','name':'a.pay'}]" more steps "}"
#define REFUND \
  SKILL("skill.x.refund", "", \
        ",'steps':[{'id':'look','capability':'a.look','args':{'id':{'var':'input.id'}}}," \
        "{'id':'pay','capability':'a.pay','args':{'n':{'var':'input.n'},'currency':'INR'," \
        "'to':{'var':'steps.look.result.owner'}}}]")
#define OUTER \
  SKILL("skill.x.outer", "", ",'steps':[{'id':'in','skill':'skill.x.refund','args':{'n':{'var':'input.amount'}}}]")
#define PROSE SKILL("skill.x.prose", "", "")
#define ACME SKILL("skill.x.acme", ",'tenants':['acme']", ",'steps':[{'id':'look','capability':'a.look'}]")

static void on_problem(void *ctx, str pointer, const char *message) {
  fail_msg("%.*s %s", STR_ARG(pointer), message);
}

static void add_skill(struct skills *all, const char *text) {
  assert_non_null(skills_add(all, skill_read(governance_parse(&all->arena, governance_quoted(&all->arena, text)),
                                             &all->arena, on_problem, NULL)));
}

// The active version of the skill `flawed` has a flaw; NULL: no skill has one.
static struct governance *a_governance_with_skills(const char *flawed) {
  struct governance *g = governance_of(governance);
  struct skills *all = skills_new();
  add_skill(all, REFUND);
  add_skill(all, OUTER);
  add_skill(all, PROSE);
  add_skill(all, ACME);
  skills_prefer_all(all);
  if (flawed) skills_set_flaw(all, (struct skill_entry *)skills_active(all, str_of(flawed)), "has a flaw");
  governance_keep_skills(g, all, skills_free);
  return g;
}

// "1.look a.look {"id":"o"} ALLOWED, …"
static void assert_plan_with(const char *flawed, str tenant, const char *text, const char *expected) {
  struct arena a;
  struct buf b;
  struct fault f = {0};
  struct governance_plan p;
  struct governance *g = a_governance_with_skills(flawed);
  arena_init(&a);
  buf_init(&b, 1 << 16);
  bool ok = plan_read(governance_parse(&a, governance_quoted(&a, text)), NULL, &a, &p, &f) &&
            skill_plan_expand(g, tenant, &a, &p, &f);
  if (!ok) buf_printf(&b, "%s", f.message);
  for (size_t i = 0; ok && i < p.count; i++) {
    struct governance_decision d;
    struct plan_step *s = &p.steps[i];
    plan_decide(g, &p, &a, &d);
    buf_printf(&b, "%s%.*s %.*s", i ? ", " : "", STR_ARG(s->id), STR_ARG(s->question.capability));
    if (s->question.args) buf_printf(&b, " %.*s", STR_ARG(json_span(s->question.args)));
    buf_printf(&b, " %s", governance_code_name(d.code));
  }
  buf_char(&b, 0);
  assert_string_equal(b.p, governance_quoted(&a, expected));
  buf_done(&b);
  arena_done(&a);
  governance_unref(&g);
}

static void assert_plan(str tenant, const char *text, const char *expected) {
  assert_plan_with(NULL, tenant, text, expected);
}

static void a_skill_is_replaced_by_its_steps_with_the_arguments_that_are_known(void **state) {
  assert_plan(STR_NONE, "{'steps':[{'capability':'a.look'},{'capability':'skill.x.refund','args':{'n':5}}]}",
              "1 a.look ALLOWED, 2.look a.look {} ALLOWED, 2.pay a.pay {'currency':'INR','n':5} ALLOWED");
  assert_plan(STR_NONE, "{'steps':[{'id':'r','capability':'skill.x.refund','args':{'n':9,'id':'o1'}}]}",
              "r.look a.look {'id':'o1'} ALLOWED, r.pay a.pay {'currency':'INR','n':9} ARG_CONSTRAINT_VIOLATION");
}

// Arguments of a skill that are complete do not make the arguments of its steps complete: these depend on results.
static void missing_arguments_of_the_steps_of_a_skill_are_no_violation(void **state) {
  assert_plan(STR_NONE, "{'steps':[{'capability':'skill.x.refund','args':{},'args_complete':true}]}",
              "1.look a.look {} ALLOWED, 1.pay a.pay {'currency':'INR'} ALLOWED");
}

static void a_nested_skill_is_replaced_too(void **state) {
  assert_plan(STR_NONE, "{'steps':[{'capability':'skill.x.outer','args':{'amount':9}}]}",
              "1.in.look a.look {} ALLOWED, 1.in.pay a.pay {'currency':'INR','n':9} ARG_CONSTRAINT_VIOLATION");
}

// A run of the outer skill would end with SKILL_UNAVAILABLE.
static void a_nested_skill_with_a_flaw_denies_the_plan(void **state) {
  assert_plan_with("skill.x.refund", STR_NONE, "{'steps':[{'capability':'skill.x.outer'}]}",
                   "1.in skill.x.refund {} CAPABILITY_UNKNOWN");
}

static void a_skill_without_steps_is_replaced_by_its_capabilities(void **state) {
  assert_plan(STR_NONE, "{'intent':'read_only','steps':[{'capability':'skill.x.prose','args':{'n':9}}]}",
              "1.1 a.look ALLOWED, 1.2 a.pay CLASS_INTENT_CONFLICT");
}

static void a_skill_of_another_tenant_is_unknown(void **state) {
  static const char plan[] = "{'steps':[{'capability':'skill.x.acme'}]}";
  assert_plan(STR("acme"), plan, "1.look a.look ALLOWED");
  assert_plan(STR("globex"), plan, "1 skill.x.acme CAPABILITY_UNKNOWN");
  assert_plan(STR_NONE, plan, "1 skill.x.acme CAPABILITY_UNKNOWN");
  assert_plan(STR_NONE, "{'steps':[{'capability':'skill.x.none'}]}", "1 skill.x.none CAPABILITY_UNKNOWN");
}

static void the_steps_of_skills_count_towards_the_size_of_a_plan(void **state) {
  char text[65536] = "{'steps':[{'capability':'skill.x.refund'}";
  char *end = text + strlen(text);
  for (int i = 0; i < PLAN_STEPS_MAX - 1; i++) end += snprintf(end, 64, ",{'capability':'a.look'}");
  snprintf(end, 64, "]}");
  assert_plan(STR_NONE, text, "the plan has more than 1000 steps, counting those of skills");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_skill_is_replaced_by_its_steps_with_the_arguments_that_are_known),
      cmocka_unit_test(missing_arguments_of_the_steps_of_a_skill_are_no_violation),
      cmocka_unit_test(a_nested_skill_is_replaced_too),
      cmocka_unit_test(a_nested_skill_with_a_flaw_denies_the_plan),
      cmocka_unit_test(a_skill_without_steps_is_replaced_by_its_capabilities),
      cmocka_unit_test(a_skill_of_another_tenant_is_unknown),
      cmocka_unit_test(the_steps_of_skills_count_towards_the_size_of_a_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
