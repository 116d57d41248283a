// SPDX-License-Identifier: Apache-2.0
#include "skill/skill_run.h"

#include "base/assert.h"
#include "govern/template.h"
#include "schema/schema.h"

enum { WORK_STEPS = 200000, WORK_BYTES = 8 << 20, MESSAGE_SHOWN = 300 };

// A skill that runs: the outermost one, or one that a step of the frame above has begun.
struct skill_frame {
  struct skill_frame *above;
  const struct skill *skill;
  str input, prefix;
  size_t next;
  struct skill_record *record;  // the step of the frame above; NULL for the outermost frame
  struct skill_record *current;
  unsigned depth;
};

static void fail(struct skill_run *run, const char *code, str message) {
  run->state = SKILL_FAILED_RUN;
  run->code = code;
  run->message = arena_str(run->arena, message);
  for (struct skill_frame *f = run->frame; f; f = f->above)
    if (f->record && !f->record->outcome.p) f->record->outcome = STR("SKILL_FAILED");
}

// ---- data and expressions

// Writes {"ID": {"result": …}, …} with the completed steps of a frame.
static void put_steps(const struct skill_run *run, const struct skill_frame *f, struct json_writer *w) {
  json_begin_object(w);
  for (size_t i = 0; i < run->record_count; i++) {
    const struct skill_record *r = run->records[i];
    if (r->frame != f || !r->result.p) continue;
    json_put_key(w, str_from(r->id, f->prefix.n));
    json_begin_object(w);
    json_member_raw(w, STR("result"), r->result);
    json_end_object(w);
  }
  json_end_object(w);
}

// Makes the data that expressions read. On failure, the run fails and NULL is returned.
static const struct json *make_data(struct skill_run *run, const struct skill_frame *f, struct arena *scratch) {
  struct fault fault;
  struct buf b;
  buf_init(&b, SKILL_DATA_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_raw(&w, STR("input"), f->input);
  json_member_raw(&w, STR("context"), run->context);
  json_put_key(&w, STR("steps"));
  put_steps(run, f, &w);
  json_member_raw(&w, STR("evidence_refs"), arena_printf(scratch, "[%.*s]", STR_ARG(run->evidence)));
  json_end_object(&w);
  const struct json *data =
      b.over ? NULL : json_parse(scratch, arena_str(scratch, buf_view(&b)), &skill_limits, &fault);
  if (!data)
    fail(run, "EXPRESSION_FAILED", b.over ? STR("the results of the steps are too large") : str_of(fault.message));
  buf_done(&b);
  return data;
}

static bool fill(struct skill_run *run, const struct skill_frame *f, const struct json *template, str *out) {
  struct logic_budget budget = {WORK_STEPS, WORK_BYTES};
  const char *why = "the value is too large";
  struct arena scratch;
  struct buf b;
  arena_init(&scratch);
  buf_init(&b, SKILL_RESULT_MAX);
  struct json_writer w = json_writer(&b);
  const struct json *data = make_data(run, f, &scratch);
  bool ok = data && template_put(template, data, &scratch, &budget, &w, &why) && !b.over;
  if (ok) *out = arena_str(run->arena, buf_view(&b));
  else if (data) fail(run, "EXPRESSION_FAILED", str_of(why));
  buf_done(&b);
  arena_done(&scratch);
  return ok;
}

static void note_verdict(struct skill_run *run, const struct skill_frame *f, const struct skill_verdict *v) {
  if (!f->above && run->verdict_count < sizeof run->verdicts / sizeof *run->verdicts)
    run->verdicts[run->verdict_count++] = *v;
}

// Tests all conditions; the run fails if one does not hold.
static bool test_all(struct skill_run *run, const struct skill_frame *f, bool after) {
  const struct skill *k = f->skill;
  const struct skill_condition *list = after ? k->after : k->before;
  size_t count = after ? k->after_count : k->before_count;
  struct arena scratch;
  arena_init(&scratch);
  const struct json *data = count ? make_data(run, f, &scratch) : NULL;
  bool all = true;
  for (size_t i = 0; i < count && data; i++) {
    struct logic_budget budget = {WORK_STEPS, WORK_BYTES};
    const char *why = NULL;
    struct skill_verdict v = {json_span(list[i].text), after, !list[i].logic, true};
    if (list[i].logic) v.holds = logic_test(list[i].logic, data, &scratch, &budget, &why) == LOGIC_TRUE;
    note_verdict(run, f, &v);
    if (v.holds) continue;
    if (all)
      fail(run, after ? "POSTCONDITION_FAILED" : "PRECONDITION_FAILED",
           arena_printf(run->arena, "%.*s: condition %zu does not hold", STR_ARG(k->skill_id), i + 1));
    all = false;
  }
  arena_done(&scratch);
  return all && run->state == SKILL_CALLS;
}

static bool check_input(struct skill_run *run, const struct skill_frame *f) {
  struct fault fault;
  struct schema_result result;
  bool ok = false;
  const struct json *input = json_parse(run->arena, f->input, &skill_limits, &fault);
  if (!json_is(input, JSON_OBJECT)) {
    fail(run, "ARGS_INVALID", STR("the arguments of a skill must be an object"));
    return false;
  }
  if (!f->skill->inputs) return true;
  struct schema *s = schema_compile(f->skill->inputs, &schema_default_options, &fault);
  if (s) ok = schema_validate(s, input, run->arena, &result);
  if (!s) fail(run, "ARGS_INVALID", str_of(fault.message));
  else if (!ok)
    fail(run, "ARGS_INVALID",
         result.count ? arena_printf(run->arena, "%.*s: %.*s", STR_ARG(result.errors[0].instance),
                                     STR_ARG(result.errors[0].message))
                      : STR("the arguments do not match the inputs of the skill"));
  schema_free(&s);
  return ok;
}

// ---- frames

static bool push(struct skill_run *run, const struct skill *skill, str input, struct skill_record *record) {
  struct skill_frame *f = ARENA_NEW(run->arena, struct skill_frame);
  *f = (struct skill_frame){.above = run->frame,
                            .skill = skill,
                            .input = input,
                            .prefix = record ? arena_printf(run->arena, "%.*s.", STR_ARG(record->id)) : STR(""),
                            .record = record,
                            .depth = run->frame ? run->frame->depth + 1 : 1};
  run->frame = f;
  if (f->depth > SKILL_DEPTH_MAX) {
    fail(run, "SKILL_UNAVAILABLE", STR("skills are nested more than 3 levels deep"));
    return false;
  }
  return check_input(run, f) && test_all(run, f, false);
}

struct skill_run *skill_run_begin(const struct skills *skills, const struct governance *g, const struct skill_entry *e,
                                  str input, str context, struct arena *a) {
  struct skill_run *run = ARENA_NEW(a, struct skill_run);
  run->skills = skills;
  run->governance = g;
  run->arena = a;
  run->context = arena_str(a, context);
  run->evidence = STR("");
  run->output = STR_NONE;
  run->mode = APPROVAL_NONE;
  push(run, e->skill, arena_str(a, input), NULL);
  return run;
}

static struct skill_record *add_record(struct skill_run *run, const struct skill_frame *f, const struct skill_step *s) {
  if (run->record_count == SKILL_CALLS_MAX) {
    fail(run, "STEP_FAILED", STR("the skill has too many steps"));
    return NULL;
  }
  struct skill_record *r = ARENA_NEW(run->arena, struct skill_record);
  *r = (struct skill_record){.frame = f,
                             .id = arena_printf(run->arena, "%.*s%.*s", STR_ARG(f->prefix), STR_ARG(s->id)),
                             .capability = s->capability,
                             .skill = s->skill,
                             .outcome = STR_NONE,
                             .mode = STR_NONE,
                             .result = STR_NONE,
                             .message = STR_NONE};
  return run->records[run->record_count++] = r;
}

static void complete(struct skill_run *run, struct skill_record *r, str result) {
  run->held += result.n;
  r->result = result;
  r->outcome = STR("completed");
}

static str steps_of(struct skill_run *run, const struct skill_frame *f) {
  struct buf b;
  buf_init(&b, SKILL_DATA_MAX);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_put_key(&w, STR("steps"));
  put_steps(run, f, &w);
  json_end_object(&w);
  str text = b.over ? STR("{}") : arena_str(run->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// Ends the skill of the innermost frame, all of whose steps have completed.
static void pop(struct skill_run *run) {
  struct skill_frame *f = run->frame;
  str result = STR_NONE;
  if (!test_all(run, f, true)) return;
  if (f->skill->output && !fill(run, f, f->skill->output, &result)) return;
  if (!f->above) {
    run->state = SKILL_COMPLETED;
    run->output = result;
    return;
  }
  if (!result.p) result = steps_of(run, f);
  if (run->held + result.n > SKILL_HELD_MAX) {
    fail(run, "STEP_FAILED", STR("the results of the steps are larger than a skill can use"));
    return;
  }
  run->frame = f->above;
  complete(run, f->record, result);
}

static void enter(struct skill_run *run, const struct skill_step *step, struct skill_record *r, str args) {
  const struct skill_entry *below = skills_active(run->skills, step->skill);
  if (!below || below->flaw.p) {
    r->outcome = STR("SKILL_UNAVAILABLE");
    fail(run, "SKILL_UNAVAILABLE", STR("a nested skill cannot be used"));
    return;
  }
  push(run, below->skill, args, r);
}

bool skill_run_next(struct skill_run *run, struct skill_call *out) {
  while (run->state == SKILL_CALLS) {
    struct skill_frame *f = run->frame;
    if (f->next == f->skill->step_count) {
      pop(run);
      continue;
    }
    const struct skill_step *step = &f->skill->steps[f->next++];
    struct skill_record *r = add_record(run, f, step);
    str args = STR("{}");
    if (!r || (step->args && !fill(run, f, step->args, &args))) {
      if (r) r->outcome = STR("EXPRESSION_FAILED");
      return false;
    }
    f->current = r;
    if (!step->skill.p) {
      *out = (struct skill_call){step->capability, args};
      return true;
    }
    enter(run, step, r, args);
  }
  return false;
}

static void add_evidence(struct skill_run *run, str capability) {
  const struct governance_capability *c = governance_find(run->governance, capability);
  for (size_t i = 0; c && i < c->evidence.count; i++)
    run->evidence = arena_printf(run->arena, "%.*s%s%.*s", STR_ARG(run->evidence), run->evidence.n ? "," : "",
                                 STR_ARG(json_escaped(run->arena, c->evidence.list[i])));
}

void skill_run_give(struct skill_run *run, const struct skill_outcome *o) {
  ASSERT(run->state == SKILL_CALLS && run->frame->current);
  struct skill_frame *f = run->frame;
  struct skill_record *r = f->current;
  f->current = NULL;
  if (o->mode != APPROVAL_NONE) {
    r->mode = str_of(approval_mode_name(o->mode));
    if (run->mode == APPROVAL_NONE || o->mode > run->mode) run->mode = o->mode;
  }
  bool large = o->ok && (o->result.n > SKILL_RESULT_MAX || run->held + o->result.n > SKILL_HELD_MAX);
  if (o->ok && !large) {
    add_evidence(run, r->capability);
    complete(run, r, arena_str(run->arena, o->result));
    return;
  }
  r->outcome = large ? STR("LIMIT") : arena_str(run->arena, o->code);
  r->message = large ? STR("the result is larger than a skill can use") : arena_str(run->arena, o->message);
  fail(run, "STEP_FAILED", arena_printf(run->arena, "the step %.*s failed: %.*s", STR_ARG(r->id), STR_ARG(r->message)));
}

// ---- the answer

static void put_verdicts(const struct skill_run *run, bool after, struct json_writer *w) {
  json_begin_array(w);
  for (size_t i = 0; i < run->verdict_count; i++) {
    const struct skill_verdict *v = &run->verdicts[i];
    if (v->after != after) continue;
    json_begin_object(w);
    json_member_raw(w, STR("condition"), v->text);
    json_put_key(w, STR("holds"));
    if (v->prose) json_put_null(w);
    else json_put_bool(w, v->holds);
    json_end_object(w);
  }
  json_end_array(w);
}

static void put_record(const struct skill_record *r, bool results, struct json_writer *w) {
  json_begin_object(w);
  json_member_str(w, STR("id"), r->id);
  if (r->capability.p) json_member_str(w, STR("capability"), r->capability);
  if (r->skill.p) json_member_str(w, STR("skill"), r->skill);
  json_member_str(w, STR("outcome"), r->outcome.p ? r->outcome : STR("not_completed"));
  if (r->mode.p) json_member_str(w, STR("mode_effective"), r->mode);
  if (r->message.p) json_member_str(w, STR("message"), r->message);
  if (results && r->result.p && r->capability.p) json_member_raw(w, STR("result"), r->result);
  json_end_object(w);
}

void skill_run_put(const struct skill_run *run, const struct skill *skill, bool results, struct json_writer *w) {
  bool completed = run->state == SKILL_COMPLETED;
  json_member_str(w, STR("skill_id"), skill->skill_id);
  json_member_str(w, STR("version"), skill->version);
  json_member_str(w, STR("outcome"), completed ? STR("completed") : STR("failed"));
  if (!completed && run->code) json_member_str(w, STR("code"), str_of(run->code));
  if (!completed && run->message.p) json_member_str(w, STR("message"), run->message);
  if (run->mode != APPROVAL_NONE) json_member_str(w, STR("mode_effective"), str_of(approval_mode_name(run->mode)));
  json_put_key(w, STR("preconditions"));
  put_verdicts(run, false, w);
  json_put_key(w, STR("steps"));
  json_begin_array(w);
  for (size_t i = 0; i < run->record_count; i++) put_record(run->records[i], results && !run->output.p, w);
  json_end_array(w);
  json_put_key(w, STR("postconditions"));
  put_verdicts(run, true, w);
  if (results && run->output.p) json_member_raw(w, STR("output"), run->output);
}
