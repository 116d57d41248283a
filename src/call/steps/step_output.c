// SPDX-License-Identifier: Apache-2.0
// Validates the structured content of a tool's result against the output schema of the tool, if the governance file
// asks for it (output_schemas). With `enforce`, a fault replaces an invalid result. With `warn`, the client gets the
// invalid result and the list of errors. Results of tasks are validated too. A large result is validated on another
// thread, and the call waits.
#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/controls/checkers.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { SHOWN = 4 * (16384 + 16384), MOST_VALUES = 1 << 20, AT_ONCE = LARGE_MESSAGE_LEAST };

struct output_state {
  struct output_check *check;  // not NULL while another thread validates the result
  str report;                  // raw JSON: errors of a result that the client gets, or STR_NONE
};

struct verdict {
  bool valid;
  struct fault why;
  struct buf details;  // raw JSON object
};

static struct output_state *state_of(const struct call *c) {
  return call_state(c, STEP_OUTPUT);
}

str output_report(const struct call *c) {
  return state_of(c)->report;
}

// ---- the verdict

static void invalid(struct verdict *v, const char *place, const char *message) {
  v->valid = false;
  fault_set(&v->why, FAULT_OUTPUT_SCHEMA_INVALID, "%s%s%s", place, *place ? ": " : "", message);
}

static void judge_value(const struct schema *s, const struct json *value, struct arena *a, struct verdict *v) {
  struct schema_result r;
  if (schema_validate(s, value, a, &r)) return;
  const struct schema_error *first = r.errors;
  if (r.undecided) invalid(v, "", r.fault.message);
  else invalid(v, arena_cstr(a, utf8_cut(first->instance, FAULT_CHARS / 4)), arena_cstr(a, first->message));
  schema_put_errors(&v->details, s, &r);
}

// Validates a result. A tool with an output schema must return structured content, unless it reports an error.
static void judge(const struct schema *s, const struct json *result, struct arena *a, struct verdict *v) {
  static const struct json_limits limits = {SIZE_MAX, JSON_DEEPEST, MOST_VALUES};
  if (json_is_folded(result)) result = json_parse(a, json_span(result), &limits, &v->why);
  const struct json *value = json_get(result, STR("structuredContent"));
  bool failed = false;
  if (json_bool(json_get(result, STR("isError")), &failed) && failed) return;
  if (result && !value) invalid(v, "", "the result has no structuredContent");
  if (json_is_folded(value)) value = json_parse(a, json_span(value), &limits, &v->why);
  if (value) judge_value(s, value, a, v);
  else if (v->valid) invalid(v, "", "the result has too many values to be validated");
}

static void verdict_init(struct verdict *v) {
  *v = (struct verdict){.valid = true};
  buf_init(&v->details, SHOWN);
}

// ---- the consequence

static enum call_result refuse(struct call *c, const struct verdict *v) {
  struct fault f;
  str details = v->details.n && !v->details.over ? call_scrubbed(c, buf_view(&v->details)) : STR_NONE;
  str why = call_said(&c->request->arena, call_spec(c), str_of(v->why.message));
  fault_set(&f, FAULT_OUTPUT_SCHEMA_INVALID,
            "the tool was called, but its result does not match its output schema: %.*s", STR_ARG(why));
  fault_set_path(&f, c->about);
  log_warn(c->context->loop->log, "session %.8s: %.*s: %s", c->request->session->id, STR_ARG(call_server(c)),
           f.message);
  return call_end(c, &f, RPC_INTERNAL_ERROR, details);
}

static void warn(struct call *c, const struct verdict *v) {
  struct arena *a = &c->request->arena;
  struct output_state *s = state_of(c);
  str why = call_said(a, call_spec(c), str_of(v->why.message));
  log_warn(c->context->loop->log, "session %.8s: %.*s: a result of %.*s does not match its output schema: %.*s",
           c->request->session->id, STR_ARG(call_server(c)), STR_ARG(utf8_cut(call_tool_name(c), FAULT_CHARS / 4)),
           STR_ARG(why));
  str details = v->details.n && !v->details.over ? call_scrubbed(c, buf_view(&v->details)) : STR_NONE;
  s->report = details.p ? arena_str(a, details)
                        : arena_printf(a, "{\"errors\":[{\"message\":%.*s}]}", STR_ARG(json_escaped(a, why)));
}

static enum governance_output mode_of(const struct call *c) {
  return c->governance ? governance_output_of(c->governance, call_server(c)) : OUTPUT_OFF;
}

static enum call_result conclude(struct call *c, const struct verdict *v) {
  if (v->valid) return CALL_NEXT;
  if (mode_of(c) == OUTPUT_ENFORCE) return refuse(c, v);
  warn(c, v);
  return CALL_NEXT;
}

// ---- a large result: another thread validates it

struct output_check {
  struct job job;
  struct call *call;                    // NULL: the call has ended
  struct large_message *large_message;  // contains `result`
  const struct json *result;
  str definition;  // of the tool
  const struct schema_options *options;
  struct arena arena;
  struct verdict verdict;
};

static void on_check(struct job *job) {
  struct output_check *k = CONTAINER_OF(job, struct output_check, job);
  struct fault f = {0};
  const struct json *definition = json_parse(&k->arena, k->definition, &json_default_limits, &f);
  const struct json *source = json_get(definition, STR("outputSchema"));
  struct schema *s = source ? schema_compile(source, k->options, &f) : NULL;
  if (s) judge(s, k->result, &k->arena, &k->verdict);
  else invalid(&k->verdict, "the output schema cannot be used", f.message);
  schema_free(&s);
}

static void on_checked(struct job *job) {
  struct output_check *k = CONTAINER_OF(job, struct output_check, job);
  struct call *c = k->call;
  enum call_result next = CALL_DONE;
  if (c) {
    ASSERT(state_of(c)->check == k);
    state_of(c)->check = NULL;
    next = conclude(c, &k->verdict);
  }
  large_message_unref(&k->large_message);
  buf_done(&k->verdict.details);
  arena_done(&k->arena);
  mem_free(k);
  if (next == CALL_NEXT) call_resume(c);
}

static enum call_result check_elsewhere(struct call *c, const struct item *item, const struct json *result) {
  ASSERT(!state_of(c)->check && c->reply->large_message);
  struct output_check *k = state_of(c)->check = MEM_NEW(struct output_check);
  arena_init(&k->arena);
  verdict_init(&k->verdict);
  k->call = c;
  k->large_message = call_hold_large(c);
  k->result = result;
  k->definition = arena_str(&k->arena, item->text);
  k->options = checkers_options(c->context->output_checkers);
  k->job.run = on_check;
  k->job.done = on_checked;
  job_start(c->context->loop, &k->job);
  return CALL_WAIT;
}

static void cancel(struct call *c, void *state, str reason) {
  struct output_state *s = state;
  if (s->check) s->check->call = NULL;
  s->check = NULL;
}

// ---- the step

// Returns the tool whose result this is: the tool of the call, or the tool of the task that the request is about.
static const struct item *tool_of(const struct call *c) {
  str name = call_tool_name(c);
  if (c->item || !name.p || !c->route_count) return call_is_tool(c) ? c->item : NULL;
  const struct catalog_part *part = &c->catalog->parts[c->routes[c->route].source];
  const struct item *items = c->catalog->items[ITEM_TOOL] + part->first[ITEM_TOOL];
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++)
    if (str_eq(items[i].name, name)) return &items[i];
  return NULL;
}

// Returns the tool's result in a reply: the reply's result or, for a stateless server, the member `result` of a
// completed task. Returns NULL if the reply has no such result.
static const struct json *result_in(const struct call *c, const struct rpc_message *reply) {
  str method = str_of(c->method->name);
  if (result_type(c, reply) != RESULT_COMPLETE || !json_is(reply->result, JSON_OBJECT)) return NULL;
  if (c->method->target != CALL_BY_TASK) return json_get(reply->result, STR("task")) ? NULL : reply->result;
  if (str_eq(method, STR("tasks/result"))) return reply->result;
  return str_eq(method, STR("tasks/get")) ? json_get(reply->result, STR("result")) : NULL;
}

// Validates a result on this thread.
static void check(struct call *c, const struct item *item, const struct json *result, struct verdict *v) {
  struct arena *a = &c->context->scratch;
  const struct schema *s = NULL;
  struct fault f;
  if (!checkers_get(c->context->output_checkers, call_server(c), item, c->catalog->generation, &s, &f))
    invalid(v, "the output schema cannot be used", f.message);
  else if (s && result->n > AT_ONCE) invalid(v, "", "the result is too large to be validated");
  else if (s) judge(s, result, a, v);
  arena_reset(a);
}

// Returns whether the tool has an output schema that restricts results, or that cannot be used (f is then set).
static bool has_schema(const struct call *c, const struct item *item, struct fault *f) {
  const struct schema *s = NULL;
  *f = (struct fault){0};
  return !checkers_get(c->context->output_checkers, call_server(c), item, c->catalog->generation, &s, f) || s;
}

enum call_result output_prepare(struct call *c) {
  struct fault f, why;
  if (!c->item || !call_is_tool(c) || mode_of(c) != OUTPUT_ENFORCE || !has_schema(c, c->item, &f) || !f.code)
    return CALL_NEXT;
  fault_set(&why, FAULT_OUTPUT_SCHEMA_INVALID, "the output schema of this tool cannot be used: %s", f.message);
  fault_set_path(&why, c->about);
  return call_end(c, &why, RPC_INVALID_PARAMS, STR_NONE);
}

bool output_refuses(struct call *c, const struct json *result) {
  struct verdict v;
  const struct item *item = tool_of(c);
  if (mode_of(c) == OUTPUT_OFF || !item) return false;
  verdict_init(&v);
  check(c, item, result, &v);
  bool refused = conclude(c, &v) != CALL_NEXT;
  buf_done(&v.details);
  return refused;
}

static enum call_result run(struct call *c, void *state) {
  if (!c->governance || c->failure || !c->reply || c->reply->kind != RPC_RESULT) return CALL_NEXT;
  const struct item *item = mode_of(c) == OUTPUT_OFF ? NULL : tool_of(c);
  const struct json *result = item ? result_in(c, c->reply) : NULL;
  if (!result) return CALL_NEXT;
  struct fault f;
  if (c->reply->large_message) return has_schema(c, item, &f) ? check_elsewhere(c, item, result) : CALL_NEXT;
  return output_refuses(c, result) ? CALL_DONE : CALL_NEXT;
}

const struct call_step step_output = {
    .name = "output",
    .does = "Validates the result against the output schema of the tool, if the governance file asks for it.",
    .state = sizeof(struct output_state),
    .governed = true,
    .run = run,
    .cancel = cancel,
};
