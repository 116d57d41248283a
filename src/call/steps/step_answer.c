// SPDX-License-Identifier: Apache-2.0
// Answers the request: with the outcome of the call, in the client's revision and in the form of its surface.
#include "base/assert.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/report.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"
#include "json/write.h"

static const struct log *log_of(const struct call *c) {
  return c->context->loop->log;
}

// ---- the outcome

// Continues with the steps after step_dispatch.
static enum call_result return_outcome(struct call *c) {
  call_deadline_end(c);
  call_restart(c, STEP_CLASSIFY);
  return CALL_DONE;
}

enum call_result call_answer(struct call *c, const struct rpc_message *reply) {
  ASSERT(c->request && reply);
  log_debug(log_of(c), "session %.8s: %.*s answered by %.*s%s", c->request->session->id,
            STR_ARG(c->request->msg.method), STR_ARG(call_server(c)), reply->kind == RPC_ERROR ? " with an error" : "");
  c->reply = reply;
  return return_outcome(c);
}

static struct call_failure *failure_new(struct call *c, const struct fault *f, int code) {
  ASSERT(c->request && f->code != FAULT_NONE);
  struct call_failure *failure = c->failure = ARENA_NEW(&c->request->arena, struct call_failure);
  failure->fault = *f;
  c->failed_in = call_step_name(c);
  failure->code = code;
  return failure;
}

enum call_result call_fault(struct call *c, const struct fault *f) {
  struct fault named = *f, masked;
  str server = call_server(c);
  bool has_name = str_starts(str_of(f->message), STR("server \""));
  if (!has_name) {
    fault_set(&named, f->code, "server \"%.*s\" %s", STR_ARG(server), f->message);
    named.after_ms = f->after_ms;
    named.undone = f->undone;
  }
  task_abandon(c);
  log_info(log_of(c), "session %.8s: %.*s failed: %s", c->request->session->id, STR_ARG(c->request->msg.method),
           secrets_mask_known(&c->request->arena, str_of(named.message), &call_spec(c)->secrets).p);
  // The reason why a server does not start has words of the server and of the system.
  fault_set(&masked, f->code, "%.*s", STR_ARG(call_said(&c->request->arena, call_spec(c), str_of(named.message))));
  memcpy(named.message, masked.message, sizeof named.message);
  fault_set_path(&named, c->about);
  struct call_failure *failure = failure_new(c, &named, fault_rpc_code(f->code));
  failure->server = server;
  failure->details = call_fault_details(c, f);
  c->reply = NULL;
  return return_outcome(c);
}

enum call_result call_end(struct call *c, const struct fault *f, int code, str details) {
  c->reply = NULL;
  failure_new(c, f, code)->details = arena_str(&c->request->arena, details);
  call_restart(c, STEP_ANSWER);
  return CALL_DONE;
}

enum call_result call_refuse(struct call *c, int code, const char *message, str data) {
  struct fault f;
  enum fault_code kind = code == RPC_INTERNAL_ERROR       ? FAULT_UPSTREAM_ERROR
                         : code == RPC_RESOURCE_NOT_FOUND ? FAULT_RESOURCE_NOT_FOUND
                                                          : FAULT_INVALID;
  fault_set(&f, kind, "%s", message);
  c->reply = NULL;
  failure_new(c, &f, code)->data = arena_str(&c->request->arena, data);
  call_restart(c, STEP_ANSWER);
  return CALL_DONE;
}

enum call_result call_reply(struct call *c, str result) {
  str scrubbed = call_scrubbed(c, result);
  if (!scrubbed.p)
    return call_refuse(c, RPC_INTERNAL_ERROR, "the answer is too large to be searched for secrets", STR_NONE);
  request_reply(call_release_request(c), scrubbed);
  return CALL_DONE;
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
  if (f->details.n > 2) json_put_raw(&w, (str){f->details.p + 1, f->details.n - 2});  // its members
  json_end_object(&w);
  str details = b.n > 2 ? arena_str(a, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return details;
}

// The data of a JSON-RPC error: the protocol's, or the fault.
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
  if (c->method->form == CALL_RULED) fault_put_ruled_result(out, f, c->rule, details, structured);
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
