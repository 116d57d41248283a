// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/plan_check.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/caller.h"
#include "govern/decision_text.h"
#include "govern/plan.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

enum { ANSWER_BYTES = 8 << 20, ID_SHOWN = 100 };

struct checking {
  struct surface *d;
  struct request *r;
  struct caller caller;
};

// Marks a step whose tool the caller may use, but no adapter governs. No capability has this id.
static const str ungoverned = STR("\n");

static str capability_of(void *ctx, str tool_id) {
  const struct checking *c = ctx;
  const struct entry *e = meta_find(c->d, c->r->session, DIRECTORY_TOOLS, tool_id);
  if (!e || !meta_sees(c->d, c->r->session, e)) return STR("");
  str server = upstreams_name(c->d->upstreams, e->source);
  const struct governance *g = c->caller.governance;
  if (governance_allows_unlisted(g) && !governance_governs(g, server)) return ungoverned;
  const struct governance_capability *found = governance_find_tool(c->caller.governance, server, e->item->name);
  return found ? found->id : STR("");
}

static void put_step(const struct plan_step *step, const struct governance_decision *d, struct buf *text,
                     struct json_writer *w) {
  str name = utf8_cut(step->name, ID_SHOWN);
  buf_printf(text, "%.*s: %.*s ", STR_ARG(utf8_cut(step->id, ID_SHOWN)), STR_ARG(name));
  json_begin_object(w);
  json_member_str(w, STR("id"), step->id);
  json_member_str(w, STR("tool_id"), step->name);
  if (str_eq(step->question.capability, ungoverned)) {
    buf_str(text, STR("ALLOWED\n"));
    json_member_bool(w, STR("allowed"), true);
  } else {
    buf_str(text, str_of(governance_code_name(d->code)));
    if (d->code == GOVERNANCE_ALLOWED) buf_printf(text, " %s", approval_mode_name(d->effective));
    else buf_printf(text, ": %s", governance_code_advice(d->code));
    for (const struct violation *v = d->violations.first; v; v = v->next)
      buf_printf(text, " (%.*s: %s)", STR_ARG(v->path), v->constraint);
    if (d->code == GOVERNANCE_ALLOWED && d->gate_count) buf_str(text, STR(", needs approval"));
    buf_char(text, '\n');
    governance_put_members(w, d);
  }
  json_end_object(w);
}

static void answer(const struct checking *c, const struct governance_plan *plan) {
  struct buf text, json;
  bool allowed = true;
  buf_init(&text, ANSWER_BYTES);
  buf_init(&json, ANSWER_BYTES);
  struct json_writer w = json_writer(&json);
  json_begin_object(&w);
  json_put_key(&w, STR("steps"));
  json_begin_array(&w);
  for (size_t i = 0; i < plan->count; i++) {
    const struct plan_step *step = &plan->steps[i];
    struct governance_decision decision = {.code = GOVERNANCE_ALLOWED};
    if (!str_eq(step->question.capability, ungoverned))
      plan_decide(c->caller.governance, plan, i, &c->d->scratch, &decision);
    allowed = allowed && decision.code == GOVERNANCE_ALLOWED;
    put_step(step, &decision, &text, &w);
  }
  json_end_array(&w);
  json_member_bool(&w, STR("allowed"), allowed);
  json_end_object(&w);
  buf_str(&text, allowed ? STR("Every step is allowed. Nothing was called.") : STR("The plan is not allowed."));
  if (text.over || json.over) meta_refuse(c->d, c->r, "the plan is too large: check fewer steps at once");
  else meta_reply(c->d, c->r, buf_view(&text), buf_view(&json));
  buf_done(&text);
  buf_done(&json);
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
      .now = clock_wall_ms(d->opt.loop->clock) / 1000,
      .name = STR("tool_id"),
      .capability = capability_of,
      .ctx = &c,
  };
  if (plan_read(args ? args : &json_empty_object, &caller, &r->arena, &plan, &f)) {
    answer(&c, &plan);
  } else {
    f.code = FAULT_ARGS_INVALID;
    meta_fail(d, r, &f, STR_NONE);
  }
  arena_reset(&d->scratch);
}
