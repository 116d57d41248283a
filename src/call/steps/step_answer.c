// SPDX-License-Identifier: Apache-2.0
// Answers the request with the outcome of the call, in the client's revision and in the form that the method requires
// (enum call_form).
#include "base/assert.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/call_journal.h"
#include "call/report.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

// ---- envelopes of governed calls

#define ENVELOPES "toolgate/envelopes"

// Returns a copy of the JSON object `object` with the envelopes as the value of `member`. Returns `object` itself if
// its text is not a JSON object.
static str with_envelopes(struct call *c, str object, str member, str envelopes) {
  struct arena *a = &c->request->arena;
  struct fault f;
  const struct json *v = json_parse(a, object, &json_default_limits, &f);
  const struct json *meta = json_get(v, STR("_meta"));
  if (!json_is(v, JSON_OBJECT)) return object;
  struct json_edit edit = {member, envelopes};
  if (!str_eq(member, STR("_meta"))) return json_edited(a, v, &edit, 1);
  struct json_edit inner = {STR(ENVELOPES), envelopes};
  edit.raw = json_edited(a, json_is(meta, JSON_OBJECT) ? meta : &json_empty_object, &inner, 1);
  return json_edited(a, v, &edit, 1);
}

// Adds the envelopes to the _meta of the answer, if the governance file asks for them. A large result, which would have
// to be copied, gets none.
static void add_envelopes(struct call *c) {
  struct arena *a = &c->request->arena;
  str envelopes = call_journal_envelopes(c);
  if (!envelopes.p) return;
  const struct json *result = c->reply && c->reply->kind == RPC_RESULT ? c->reply->result : NULL;
  if (c->answer.p) {
    c->answer = with_envelopes(c, c->answer, STR("_meta"), envelopes);
  } else if (!call_large(c) && json_is(result, JSON_OBJECT) && !json_is_folded(result)) {
    const struct json *own = json_get(result, STR("_meta"));
    struct fault f;
    const struct json *meta = c->meta.n ? json_parse(a, c->meta, &json_default_limits, &f) : own;
    struct json_edit edit = {STR(ENVELOPES), envelopes};
    if (meta && (!json_is(meta, JSON_OBJECT) || json_is_folded(meta))) return;
    c->reply = call_with_meta(c, c->reply, json_edited(a, meta ? meta : &json_empty_object, &edit, 1));
    c->meta = STR_NONE;
  }
}

// ---- a failure

static str details_of(struct call *c, const struct call_failure *f) {
  struct arena *a = &c->request->arena;
  struct buf b;
  buf_init(&b, f->details.n + f->data.n + 6 * f->server.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  if (f->server.n) json_member_str(&w, STR("server"), f->server);
  if (f->upstream) json_member_int(&w, STR("code"), f->code);
  if (f->data.n) json_member_raw(&w, STR("data"), f->data);
  if (f->details.n > 2) json_put_raw(&w, (str){f->details.p + 1, f->details.n - 2});  // without the braces
  json_end_object(&w);
  str details = b.n > 2 ? arena_str(a, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return details;
}

// Returns the data of a JSON-RPC error: f->data if the protocol defines data for this error, otherwise the fault.
static str data_of(struct call *c, const struct call_failure *f) {
  if (f->data.n) return f->data;
  str details = details_of(c, f);
  struct buf b;
  buf_init(&b, details.n + 256);
  fault_put_data(&b, &f->fault, details);
  str data = arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return data;
}

static void put_failure(struct call *c, str details, struct buf *out) {
  const struct fault *f = &c->failure->fault;
  bool structured = request_form(c->request, c->context->results.structured).structured;
  buf_reset(out);
  if (c->method->form == CALL_RULED) fault_put_ruled_result(out, f, policy_public_rule(c), details, structured);
  else fault_put_result(out, f, details, structured);
  calls_unhide_text(c->context, out);
}

static enum call_result answer_failure(struct call *c) {
  const struct call_failure *f = c->failure;
  if (c->method->form == CALL_DIRECT) {
    str data = data_of(c, f), envelopes = call_journal_envelopes(c);
    if (envelopes.p) data = with_envelopes(c, data, STR(ENVELOPES), envelopes);
    request_fail(call_release_request(c), f->code, f->fault.message, data);
    return CALL_DONE;
  }
  str details = details_of(c, f);
  struct buf *out = &c->context->text;
  put_failure(c, details, out);
  if (out->over) put_failure(c, STR_NONE, out);
  str envelopes = call_journal_envelopes(c), text = buf_view(out);
  if (envelopes.p) text = with_envelopes(c, text, STR("_meta"), envelopes);
  request_reply(call_release_request(c), text);
  return CALL_DONE;
}

// ---- the step

// Passes the outcome to the receiver of the call.
static enum call_result hand_over(struct call *c) {
  struct call_receiver *receiver = c->options.receiver;
  struct arena *a = &c->request->arena;
  struct call_outcome o = {.tool_failed = c->tool_failed, .mode = call_mode(c)};
  bool asks = c->reply && c->reply->kind == RPC_RESULT && result_type(c, c->reply) == RESULT_INPUT_REQUIRED;
  c->options.receiver = NULL;
  if (!c->failure && asks) {
    o.code = FAULT_UPSTREAM_ERROR;
    o.message = STR("the tool asks a question, which can be answered only if the tool is called directly");
  } else if (c->failure) {
    o.code = call_ended_with(c);
    o.message = arena_str(a, str_of(c->failure->fault.message));
  } else {
    ASSERT(c->answer.p || c->reply);
    str result = c->answer.p ? c->answer : call_scrubbed(c, json_span(c->reply->result));
    o.ok = result.p != NULL;
    o.result = o.ok ? arena_str(a, result) : STR_NONE;
    if (!o.ok) o.code = FAULT_LIMIT, o.message = STR("the result is too large to be searched for secrets");
  }
  receiver->done(receiver, call_release_request(c), &o);
  return CALL_DONE;
}

static enum call_result run(struct call *c, void *state) {
  bool direct = c->method->form == CALL_DIRECT;
  ASSERT(c->reply || c->failure || c->answer.p);
  if (c->context->recorder) call_record(c);
  if (c->options.receiver) return hand_over(c);
  if (c->failure && !(direct && c->reply)) return answer_failure(c);
  if (c->governance) add_envelopes(c);
  if (!c->answer.p) {
    translate_reply(c, c->reply);
    return CALL_DONE;
  }
  str answer = c->answer;
  request_reply_whole(call_release_request(c), answer);
  return CALL_DONE;
}

const struct call_step step_answer = {
    .name = "answer",
    .does = "Answers the request.",
    .run = run,
};
