// SPDX-License-Identifier: Apache-2.0
// Answers the request with the outcome of the call, in the client's revision and in the form that the method requires
// (enum call_form).
#include "base/assert.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/report.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

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
    str data = data_of(c, f);
    request_fail(call_release_request(c), f->code, f->fault.message, data);
    return CALL_DONE;
  }
  str details = details_of(c, f);
  struct buf *out = &c->context->text;
  put_failure(c, details, out);
  if (out->over) put_failure(c, STR_NONE, out);
  request_reply(call_release_request(c), buf_view(out));
  return CALL_DONE;
}

// ---- the step

static enum call_result run(struct call *c, void *state) {
  bool direct = c->method->form == CALL_DIRECT;
  ASSERT(c->reply || c->failure || c->answer.p);
  if (c->context->recorder) call_record(c);
  if (c->failure && !(direct && c->reply)) return answer_failure(c);
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
