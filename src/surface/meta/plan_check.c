// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/plan_check.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/flow_guard.h"
#include "govern/decision_text.h"
#include "skill/skill_plan.h"
#include "skill/skills.h"
#include "surface/meta/plan_args.h"
#include "surface/meta/skill_cards.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

enum { ANSWER_BYTES = 8 << 20, ID_SHOWN = 100 };

struct checking {
  struct surface *d;
  struct request *r;
  struct caller caller;
};

// ---- the steps of the plan

// Returns the tool that a step names, or NULL if the caller does not see such a tool.
static const struct entry *find_tool(const struct checking *c, str tool_id) {
  const struct entry *e = meta_find(c->d, c->r->session, DIRECTORY_TOOLS, tool_id);
  return e && meta_sees(c->d, c->r->session, e) ? e : NULL;
}

static bool is_skill(const struct checking *c, str id) {
  const struct skills *all = governance_skills(c->caller.governance);
  const struct skill_entry *e = all && skill_is_id(id) ? skills_active(all, id) : NULL;
  return e && skill_cards_shows(c->d, &c->caller, e);
}

static str capability_of(void *ctx, str tool_id) {
  const struct checking *c = ctx;
  if (is_skill(c, tool_id)) return tool_id;
  const struct entry *e = find_tool(c, tool_id);
  const struct governance_capability *found =
      e ? governance_find_tool(c->caller.governance, upstreams_name(c->d->upstreams, e->source), e->item->name) : NULL;
  return found ? found->id : STR("");
}

// Returns the marks that the run has before a call of the tool.
static unsigned marks_before(const struct checking *c, str server, str tool) {
  struct flow_step step = {.session = c->r->session,
                           .caller = &c->caller,
                           .server = server,
                           .tool = tool,
                           .only = FLOW_ALL,
                           .dry_run = true,
                           .arena = &c->r->arena};
  const struct json *run = json_get(json_get(c->r->msg.params, STR("_meta")), STR("toolgate/run"));
  json_string(json_get(run, STR("id")), &c->r->arena, &step.named_run);
  return flow_before(&c->d->calls, &step);
}

// Sets the members of a step that depend on its tool. Returns the tool; NULL for a step of a skill, and if the caller
// does not see the tool.
static const struct entry *settle(const struct checking *c, struct plan_step *step) {
  const struct governance *g = c->caller.governance;
  const struct governance_capability *known = governance_find(g, step->question.capability);
  const struct entry *e = find_tool(c, step->name);
  if (!e) {
    if (known) step->question.flow = marks_before(c, known->adapter->server, known->name);
    return NULL;
  }
  str server = upstreams_name(c->d->upstreams, e->source), tool = e->item->name;
  step->ungoverned = !governance_governs(g, server) && governance_allows_unlisted(g);
  step->marks = governance_flow_marks(g, server, tool).set;
  step->question.flow = marks_before(c, server, tool);
  return e;
}

// ---- the answer

static void put_errors(const struct plan_args *args, struct buf *text, struct json_writer *w) {
  buf_printf(text, "%s", args->code);
  if (!args->count) buf_printf(text, ": %s", args->fault.message);
  json_member_str(w, STR("code"), str_of(args->code));
  json_put_key(w, STR("errors"));
  json_begin_array(w);
  for (size_t i = 0; i < args->count; i++) {
    const struct schema_error *e = &args->errors[i];
    buf_printf(text, " (%.*s: %.*s)", STR_ARG(e->instance), STR_ARG(e->message));
    json_begin_object(w);
    json_member_str(w, STR("pointer"), e->instance);
    json_member_str(w, STR("keyword"), e->keyword);
    json_member_str(w, STR("message"), e->message);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_decision(const struct governance_decision *d, struct buf *text) {
  buf_str(text, str_of(governance_code_name(d->code)));
  if (d->code == GOVERNANCE_ALLOWED && d->effective != APPROVAL_NONE)
    buf_printf(text, " %s", approval_mode_name(d->effective));
  if (d->capability && d->capability->provisional) buf_str(text, STR(" (provisional)"));
  if (d->code != GOVERNANCE_ALLOWED) buf_printf(text, ": %s", governance_code_advice(d->code));
  for (const struct violation *v = d->violations.first; v; v = v->next)
    buf_printf(text, " (%.*s: %s)", STR_ARG(v->path), v->constraint);
  if (d->code == GOVERNANCE_ALLOWED && d->gate_count) buf_str(text, STR(", needs approval"));
}

static void put_step(const struct plan_step *step, const struct governance_decision *d, const struct plan_args *args,
                     struct buf *text, struct json_writer *w) {
  buf_printf(text, "%.*s: %.*s ", STR_ARG(utf8_cut(step->id, ID_SHOWN)), STR_ARG(utf8_cut(step->name, ID_SHOWN)));
  json_begin_object(w);
  json_member_str(w, STR("id"), step->id);
  json_member_str(w, STR("tool_id"), step->name);
  if (skill_is_id(step->name)) json_member_str(w, STR("capability"), step->question.capability);
  if (args->code) {
    json_member_bool(w, STR("allowed"), false);
    put_errors(args, text, w);
  } else {
    put_decision(d, text);
    governance_put_members(w, d);
  }
  buf_char(text, '\n');
  json_end_object(w);
}

// Decides the next step. Arguments are validated only for a step that is allowed, so that nothing about the schema of a
// tool that the caller may not use is shown. Returns whether the step would be executed.
static bool check_step(const struct checking *c, struct governance_plan *plan, struct buf *text,
                       struct json_writer *w) {
  struct governance_decision decision;
  struct plan_args args = {0};
  struct plan_step *step = &plan->steps[plan->decided];
  const struct entry *e = settle(c, step);
  plan_decide(c->caller.governance, plan, &c->d->scratch, &decision);
  bool allowed = decision.code == GOVERNANCE_ALLOWED;
  if (allowed && e)
    plan_args_check(c->d, upstreams_name(c->d->upstreams, e->source), e->item, step->question.args,
                    step->question.partial, &args);
  put_step(step, &decision, &args, text, w);
  return allowed && !args.code;
}

static void answer(const struct checking *c, struct governance_plan *plan) {
  struct buf text, json;
  bool allowed = true;
  buf_init(&text, ANSWER_BYTES);
  buf_init(&json, ANSWER_BYTES);
  struct json_writer w = json_writer(&json);
  json_begin_object(&w);
  json_put_key(&w, STR("steps"));
  json_begin_array(&w);
  while (plan->decided < plan->count) allowed &= check_step(c, plan, &text, &w);
  json_end_array(&w);
  json_member_bool(&w, STR("allowed"), allowed);
  json_end_object(&w);
  buf_str(&text, allowed ? STR("Every step is allowed. Nothing was called.") : STR("The plan is not allowed."));
  if (text.over || json.over) meta_refuse(c->d, c->r, "the plan is too large: check fewer steps at once");
  else meta_reply(c->d, c->r, buf_view(&text), buf_view(&json));
  buf_done(&text);
  buf_done(&json);
}

// ---- the meta-tool

static str ceiling_of(struct request *r) {
  str mode = STR_NONE;
  json_string(json_get(json_get(r->msg.params, STR("_meta")), STR("toolgate/safetyMode")), &r->arena, &mode);
  return mode;
}

void meta_plan_check(struct surface *d, struct request *r) {
  struct checking c = {.d = d, .r = r};
  struct governance_plan plan;
  struct fault f;
  const struct json *args = meta_args(r);
  if (!surface_caller(d, r->session, &c.caller, &f)) {
    meta_fail(d, r, &f, STR_NONE);
    return;
  }
  ASSERT(c.caller.governance && c.caller.run);
  struct plan_caller caller = {
      .context = c.caller.run->governed.context,
      .ceiling = ceiling_of(r),
      .now = clock_wall_ms(d->opt.loop->clock) / 1000,
      .name = STR("tool_id"),
      .capability = capability_of,
      .ctx = &c,
  };
  str tenant = c.caller.run->governed.subject.tenant;
  if (plan_read(args ? args : &json_empty_object, &caller, &r->arena, &plan, &f) &&
      skill_plan_expand(c.caller.governance, tenant, &r->arena, &plan, &f)) {
    answer(&c, &plan);
  } else {
    f.code = FAULT_ARGS_INVALID;
    meta_fail(d, r, &f, STR_NONE);
  }
  arena_reset(&d->scratch);
}
