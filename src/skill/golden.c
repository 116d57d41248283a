// SPDX-License-Identifier: Apache-2.0
#include "skill/golden.h"

#include "base/text/utf8.h"
#include "govern/agents.h"

enum { SHOWN = 200 };  // maximum bytes of a name or reason of a failed case that an entry keeps

struct golden_case {
  const struct skills *skills;
  const struct governance *governance;
  const struct skill_entry *entry;
  const struct json *context, *results, *expect, *args;
  struct arena *arena;
  const char *why;
};

static void mismatch(struct golden_case *c, const char *what, str where) {
  if (!c->why) c->why = arena_printf(c->arena, "%s%s%.*s", what, where.n ? ": " : "", STR_ARG(where)).p;
}

// Decides a step by the governance file, and returns its recorded outcome if it is allowed.
static struct skill_outcome answer(struct golden_case *c, str id, const struct skill_call *call) {
  struct fault f;
  struct governance_decision d;
  struct governance_question q = {.capability = call->capability, .context = c->context, .mode = STR_NONE};
  const struct json *recorded = json_get(c->results, id), *result = json_get(recorded, STR("result"));
  struct skill_outcome o = {.mode = APPROVAL_NONE, .message = STR("as recorded")};
  q.args = json_parse(c->arena, call->args, &skill_limits, &f);
  const struct json *args = json_get(c->args, id);
  if (args && !(q.args && json_same(args, q.args)))
    mismatch(c, "the args of a step differ", arena_printf(c->arena, "%.*s %.*s", STR_ARG(id), STR_ARG(call->args)));
  governance_decide(c->governance, &q, c->arena, &d);
  if (d.code != GOVERNANCE_ALLOWED || d.gate_count) {
    o.code = d.code == GOVERNANCE_ALLOWED ? STR("APPROVAL_REQUIRED") : str_of(governance_code_name(d.code));
    o.message = str_of(governance_code_advice(d.code));
    return o;
  }
  o.mode = d.effective;
  if (json_string(json_get(recorded, STR("code")), c->arena, &o.code)) return o;
  o.code = STR("NOT_RECORDED");
  if (!result) mismatch(c, "results has no result for the step", id);
  else o.ok = true, o.result = json_span(result);
  return o;
}

static void compare_steps(struct golden_case *c, const struct skill_run *run) {
  const struct json *steps = json_get(c->expect, STR("steps"));
  if (!json_is(steps, JSON_OBJECT)) return;
  JSON_EACH(it, steps) {
    str id = json_key(it, c->arena), outcome = STR("not begun");
    for (size_t i = 0; i < run->record_count; i++)
      if (str_eq(run->records[i]->id, id)) outcome = run->records[i]->outcome;
    if (!json_equals_str(it, outcome))
      mismatch(c, "a step has another outcome", arena_printf(c->arena, "%.*s %.*s", STR_ARG(id), STR_ARG(outcome)));
  }
}

static void compare_conditions(struct golden_case *c, const struct skill_run *run) {
  const struct json *expected = json_get(c->expect, STR("postconditions"));
  size_t at = 0;
  if (!json_is(expected, JSON_ARRAY)) return;
  for (size_t i = 0; i < run->verdict_count; i++) {
    const struct skill_verdict *v = &run->verdicts[i];
    bool holds;
    if (!v->after) continue;
    const struct json *it = json_at(expected, at++);
    if (!v->prose && (!json_bool(it, &holds) || holds != v->holds))
      mismatch(c, "a postcondition has another value", v->text);
  }
  if (at != expected->count) mismatch(c, "the number of evaluated postconditions differs", STR(""));
}

// Returns how the skill ended, and for STEP_FAILED also the innermost step that failed, and its code.
static str how_it_ended(struct golden_case *c, const struct skill_run *run, str outcome) {
  if (!run->code) return outcome;
  const struct skill_record *failed = NULL;
  for (size_t i = 0; i < run->record_count; i++)
    if (run->records[i]->outcome.p && !str_eq(run->records[i]->outcome, STR("completed"))) failed = run->records[i];
  if (!failed) return str_of(run->code);
  return arena_printf(c->arena, "%s (step %.*s: %.*s)", run->code, STR_ARG(failed->id), STR_ARG(failed->outcome));
}

static void compare(struct golden_case *c, const struct skill_run *run) {
  struct fault f;
  bool completed = run->state == SKILL_COMPLETED;
  const struct json *code = json_get(c->expect, STR("code")), *output = json_get(c->expect, STR("output"));
  str actual = completed ? STR("completed") : STR("failed");
  if (!json_equals_str(json_get(c->expect, STR("outcome")), actual))
    mismatch(c, "the skill has another outcome", how_it_ended(c, run, actual));
  if (code && !json_equals_str(code, run->code ? str_of(run->code) : STR("")))
    mismatch(c, "the skill has another code", run->code ? str_of(run->code) : STR("none"));
  compare_steps(c, run);
  compare_conditions(c, run);
  if (!output) return;
  const struct json *made = run->output.p ? json_parse(c->arena, run->output, &skill_limits, &f) : NULL;
  if (!made || !json_same(made, output)) mismatch(c, "the output differs", run->output.p ? run->output : STR("none"));
}

static bool is_object(const struct json *v) {
  return json_is(v, JSON_OBJECT);
}

// Returns the member if it is an object, or an empty object if it is absent. Otherwise the case is malformed.
static const struct json *object_of(struct golden_case *c, const struct json *v, const char *key) {
  const struct json *member = json_get(v, str_of(key));
  if (member && !is_object(member)) mismatch(c, "the member must be an object", str_of(key));
  return is_object(member) ? member : &json_empty_object;
}

static void run_case(struct golden_case *c, const struct json *v) {
  static const str known[] = {STR("name"), STR("input"), STR("context"), STR("results"), STR("expect")};
  struct fault f = {0};
  const struct json *input = object_of(c, v, "input");
  c->context = object_of(c, v, "context");
  c->results = object_of(c, v, "results");
  c->expect = object_of(c, v, "expect");
  c->args = json_get(c->expect, STR("args"));
  if (!json_get(c->expect, STR("outcome"))) mismatch(c, "a case needs the member expect.outcome", STR(""));
  JSON_EACH(it, v)
    if (!json_key_in(it, known, 5)) mismatch(c, "is an unknown member", json_key(it, c->arena));
  if (!governance_check_context(c->context, &f)) mismatch(c, "context", str_of(f.message));
  if (c->why) return;
  struct skill_run *run =
      skill_run_begin(c->skills, c->governance, c->entry, json_span(input), json_span(c->context), c->arena);
  struct skill_call call;
  while (skill_run_next(run, &call)) {
    struct skill_outcome o = answer(c, run->records[run->record_count - 1]->id, &call);
    if (o.ok) o.whole = arena_printf(c->arena, "{\"structuredContent\":%.*s}", STR_ARG(o.result));
    skill_run_give(run, &o);
  }
  compare(c, run);
}

static const char *run_line(struct golden_case *c, str line, str *out_name) {
  struct fault f;
  const struct json *v = json_parse(c->arena, line, &skill_limits, &f);
  if (!is_object(v)) return v ? "a case must be an object" : arena_printf(c->arena, "%s: %s", f.path, f.message).p;
  json_string(json_get(v, STR("name")), c->arena, out_name);
  run_case(c, v);
  return c->why;
}

bool golden_run(const struct skills *skills, const struct governance *g, const struct skill_entry *e,
                golden_report *report, void *ctx, struct golden_result *out) {
  struct arena a;
  str rest = e->golden.p ? e->golden : STR(""), line;
  *out = (struct golden_result){0};
  arena_init(&a);
  for (size_t number = 1; rest.n && out->passed + out->failed < GOLDEN_CASES_MAX; number++) {
    struct golden_case c = {.skills = skills, .governance = g, .entry = e, .arena = &a};
    str name = STR("");
    str_cut(rest, '\n', &line, &rest);
    if (!str_trim(line).n) continue;
    const char *why = run_line(&c, str_trim(line), &name);
    if (why) out->failed++;
    else out->passed++;
    report(ctx, number, name, why);
    arena_reset(&a);
  }
  arena_done(&a);
  if (str_trim(rest).n) out->failed++;  // more cases than GOLDEN_CASES_MAX
  return out->passed && !out->failed;
}

// ---- the result of an entry

struct golden_notes {
  struct arena *arena;
  struct skill_failure list[SKILL_FAILURES];
  size_t count;
};

static void note_failure(void *ctx, size_t line, str name, const char *why) {
  struct golden_notes *n = ctx;
  if (why && n->count < SKILL_FAILURES)
    n->list[n->count++] = (struct skill_failure){line, arena_str(n->arena, utf8_cut(name, SHOWN)),
                                                 arena_str(n->arena, utf8_cut(str_of(why), SHOWN))};
}

void golden_test(struct skills *skills, const struct governance *g, struct skill_entry *e) {
  struct golden_notes notes = {.arena = &skills->arena};
  struct golden_result result;
  golden_run(skills, g, e, note_failure, &notes, &result);
  e->cases = result.passed + result.failed;
  e->failed = result.failed;
  e->failures = ARENA_ARRAY(&skills->arena, struct skill_failure, notes.count + 1);
  memcpy(e->failures, notes.list, notes.count * sizeof *notes.list);
  e->failure_count = notes.count;
}
