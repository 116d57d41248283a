// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/skill_calls.h"

#include "base/assert.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "io/job.h"
#include "skill/skill_run.h"
#include "surface/meta/execute.h"
#include "surface/meta/skill_cards.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "text/tokens.h"
#include "json/write.h"

enum { ANSWER_BYTES = 4 << 20, FILES_MAX = 64 };

static const struct call_method method = {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false, CALL_DIRECT};

// One use of a skill. It holds a reference to the governance, which owns the skill.
struct skill_use {
  struct job job;
  struct work work;               // work of the request while the job runs
  struct call_receiver receiver;  // of the current step
  struct surface *d;
  struct request *r;  // NULL if the request was cancelled while the job ran
  struct governance *governance;
  const struct skill_entry *entry;
  struct skill_run *run;  // in the request's arena
  struct caller_options options;
  const struct json *params;  // of the request: its _meta applies to every step
  str args, context;          // raw JSON, in the request's arena
  uint64_t deadline;          // loop time; 0 without a time limit
  struct skill_file files[FILES_MAX];
  size_t file_count;
  bool same;
  struct fault fault;
};

static void use_free(struct skill_use *u) {
  governance_unref(&u->governance);
  mem_free(u);
}

// ---- the answer

static void fail(struct skill_use *u, enum fault_code code, const char *message, str details) {
  struct surface *d = u->d;
  struct request *r = u->r;
  struct fault f;
  fault_set(&f, code, "%s", message);
  fault_set_path(&f, u->entry->skill->skill_id);
  str kept = details.p ? arena_str(&r->arena, details) : STR_NONE;
  use_free(u);
  meta_fail(d, r, &f, kept);
}

static str write_answer(const struct skill_use *u, bool results) {
  struct buf b;
  buf_init(&b, ANSWER_BYTES);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  skill_run_put(u->run, u->entry->skill, results, &w);
  if (!results) json_member_str(&w, STR("pruned"), STR("results"));
  json_end_object(&w);
  str text = b.over ? STR_NONE : arena_str(&u->r->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void answer(struct skill_use *u) {
  struct skill_run *run = u->run;
  bool completed = run->state == SKILL_COMPLETED;
  size_t budget = u->options.max_tokens ? u->options.max_tokens : u->d->opt.definition_tokens;
  str text = write_answer(u, completed);
  if (completed && (!text.p || !tokens_fit(text, budget))) text = write_answer(u, false);
  if (!completed) {
    bool unavailable = run->code && !strcmp(run->code, "SKILL_UNAVAILABLE");
    bool wrong = run->code && !strcmp(run->code, "ARGS_INVALID") && !run->record_count;
    fail(u,
         unavailable ? FAULT_SKILL_UNAVAILABLE
         : wrong     ? FAULT_ARGS_INVALID
                     : FAULT_SKILL_FAILED,
         arena_cstr(&u->r->arena, run->message.p ? run->message : STR("the skill failed")), text);
    return;
  }
  struct surface *d = u->d;
  struct request *r = u->r;
  use_free(u);
  meta_reply(d, r, text, text);
}

// ---- the steps

// Returns the value of a result for expressions: structuredContent, or the text, parsed if it is JSON.
static str value_of(struct arena *a, str result) {
  struct fault f;
  str text;
  const struct json *v = result.n <= SKILL_RESULT_MAX ? json_parse(a, result, &skill_limits, &f) : NULL;
  if (!v) return result;  // skill_run_give refuses large results
  const struct json *structured = json_get(v, STR("structuredContent"));
  if (structured) return json_span(structured);
  const struct json *content = json_get(v, STR("content")), *first = json_at(content, 0);
  if (!json_is(content, JSON_ARRAY) || content->count != 1 || !json_string(json_get(first, STR("text")), a, &text))
    return content ? json_span(content) : STR("null");
  const struct json *parsed = json_parse(a, text, &skill_limits, &f);
  return parsed ? json_span(parsed) : json_escaped(a, text);
}

static void next(struct skill_use *u);

static void on_done(struct call_receiver *receiver, struct request *r, const struct call_outcome *o) {
  struct skill_use *u = CONTAINER_OF(receiver, struct skill_use, receiver);
  ASSERT(u->r == r);
  struct skill_outcome outcome = {.ok = o->ok && !o->tool_failed, .mode = o->mode};
  if (o->ok) outcome.result = value_of(&r->arena, o->result);
  if (o->ok && o->tool_failed) outcome.code = STR("TOOL_ERROR"), outcome.message = STR("the tool reported an error");
  if (!o->ok) outcome.code = str_of(fault_name(o->code)), outcome.message = o->message;
  skill_run_give(u->run, &outcome);
  next(u);
}

static void on_dropped(struct call_receiver *receiver) {
  use_free(CONTAINER_OF(receiver, struct skill_use, receiver));
}

static bool set_deadline(struct skill_use *u, struct caller_options *options) {
  uint64_t now = loop_now(u->d->opt.loop);
  if (!u->deadline) return true;
  options->timeout_ms = u->deadline > now ? u->deadline - now : 0;
  return options->timeout_ms > 0;
}

static void next(struct skill_use *u) {
  struct skill_call call;
  struct caller_options options = u->options;
  if (!skill_run_next(u->run, &call)) {
    answer(u);
    return;
  }
  const struct governance_capability *c = governance_find(u->governance, call.capability);
  ASSERT(c && c->adapter->server.p);  // skill_cards_shows has checked all capabilities
  if (!set_deadline(u, &options)) {
    skill_run_give(u->run, &(struct skill_outcome){.code = STR("UPSTREAM_TIMEOUT"),
                                                   .message = STR("the time limit of the skill has passed"),
                                                   .mode = APPROVAL_NONE});
    answer(u);
    return;
  }
  options.receiver = &u->receiver;
  options.max_tokens = 0;
  struct call_place place = {c->adapter->server, c->name};
  u->r->msg.params = (struct json *)u->params;  // a step removes the options in _meta that it has read
  meta_rewrite(u->r, &method, c->name, call.args);
  call_start_for(&u->d->calls, u->r, &method, STR_NONE, &place, &options);
}

// ---- the start

static void on_cancel(struct work *w, struct request *r, str reason) {
  CONTAINER_OF(w, struct skill_use, work)->r = NULL;
}
static const struct work_ops work_ops = {"skill", on_cancel};

static void on_run(struct job *job) {
  struct skill_use *u = CONTAINER_OF(job, struct skill_use, job);
  u->same = skill_files_same(u->files, u->file_count, &u->fault);
}

static void on_compared(struct job *job) {
  struct skill_use *u = CONTAINER_OF(job, struct skill_use, job);
  if (!u->r) {
    use_free(u);
    return;
  }
  u->r->work = NULL;
  if (!u->same) {
    log_error(u->d->opt.loop->log, "skill %.*s: %s; owner: %.*s", STR_ARG(u->entry->skill->skill_id), u->fault.message,
              STR_ARG(u->entry->skill->owner_role));
    fail(u, FAULT_SKILL_UNAVAILABLE, "the skill was changed after its signature was verified", STR_NONE);
    return;
  }
  u->run =
      skill_run_begin(governance_skills(u->governance), u->governance, u->entry, u->args, u->context, &u->r->arena);
  next(u);
}

static void gather(struct skill_use *u, const struct skill_entry *e, int depth) {
  const struct skills *all = governance_skills(u->governance);
  for (size_t i = 0; i < e->file_count && u->file_count < FILES_MAX; i++) u->files[u->file_count++] = e->files[i];
  for (size_t i = 0; i < e->skill->step_count && depth < SKILL_DEPTH_MAX; i++) {
    const struct skill_entry *below = e->skill->steps[i].skill.p ? skills_active(all, e->skill->steps[i].skill) : NULL;
    if (below) gather(u, below, depth + 1);
  }
}

static void start(struct surface *d, struct request *r, const struct caller *caller, const struct skill_entry *e,
                  str args, const struct caller_options *options) {
  struct skill_use *u = MEM_NEW(struct skill_use);
  u->job = (struct job){.run = on_run, .done = on_compared};
  u->work.ops = &work_ops;
  u->receiver = (struct call_receiver){on_done, on_dropped};
  u->d = d;
  u->r = r;
  u->governance = governance_ref((struct governance *)caller->governance);
  u->entry = e;
  u->options = *options;
  u->params = r->msg.params;
  u->args = arena_str(&r->arena, args);
  u->context = arena_str(&r->arena, json_span(caller->run->governed.context));
  if (options->timeout_ms) u->deadline = loop_now(d->opt.loop) + options->timeout_ms;
  gather(u, e, 1);
  r->work = &u->work;
  job_start(d->opt.loop, &u->job);
}

static void refuse(struct surface *d, struct request *r, str id, enum fault_code code, const char *message) {
  struct fault f;
  fault_set(&f, code, "%s", message);
  fault_set_path(&f, id);
  meta_fail(d, r, &f, STR_NONE);
}

bool skill_calls_start(struct surface *d, struct request *r, str id, str args, const struct caller_options *options) {
  struct caller caller;
  struct fault f;
  if (!skill_is_id(id) || !surface_caller(d, r->session, &caller, &f) || !caller.governance) return false;
  const struct skills *all = governance_skills(caller.governance);
  const struct skill_entry *e = all ? skills_active(all, id) : NULL;
  if (!e || !skill_serves(e->skill, caller.run->governed.subject.tenant)) return false;
  audit_recorder_target(r, id);
  if (!skill_cards_shows(d, &caller, e))
    refuse(d, r, id, FAULT_SKILL_UNAVAILABLE, "the skill, or a capability that it needs, cannot be used");
  else if (options->dry_run)
    refuse(d, r, id, FAULT_ARGS_INVALID, "a skill has no dry run; use plan_check for its steps");
  else if (json_get(r->msg.params, STR("requestState")))
    refuse(d, r, id, FAULT_ARGS_INVALID, "a skill cannot be continued with requestState");
  else start(d, r, &caller, e, args, options);
  return true;
}
