// SPDX-License-Identifier: Apache-2.0
// Ends calls. After a reply or a fault of the server, the steps after step_dispatch run. If the gateway itself ends a
// call, only step_answer runs.
#include "base/assert.h"
#include "call/bridge/task_bridge.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"

static const struct log *log_of(const struct call *c) {
  return c->context->loop->log;
}

// Handles the server's reply or fault: continues with step_classify, the first step after step_dispatch.
static enum call_result return_outcome(struct call *c) {
  call_deadline_end(c);
  call_restart(c, STEP_CLASSIFY);
  return CALL_DONE;
}

enum call_result call_answer(struct call *c, const struct rpc_message *reply) {
  ASSERT(c->request && reply);
  log_debug(log_of(c), "session %.8s: %.*s was answered by server %.*s%s", c->request->session->id,
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
  // The message may quote output of the server or of the operating system, so secrets and addresses are masked.
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
  call_restart(c, STEP_APPROVAL_END);
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
  call_restart(c, STEP_APPROVAL_END);
  return CALL_DONE;
}

void call_unfinished(struct call *c, const struct fault *f) {
  failure_new(c, f, RPC_INVALID_PARAMS);
}

bool call_is_uncertain(const struct call *c, bool cancelled) {
  const struct fault *f = c->failure ? &c->failure->fault : NULL;
  if (!c->sent || (f && f->undone)) return false;
  return cancelled || (f && (f->code == FAULT_UPSTREAM_TIMEOUT || f->code == FAULT_UPSTREAM_UNAVAILABLE ||
                             f->code == FAULT_PROTOCOL || f->code == FAULT_CANCELLED));
}

enum call_result call_reply(struct call *c, str result) {
  str scrubbed = call_scrubbed(c, result);
  if (!scrubbed.p)
    return call_refuse(c, RPC_INTERNAL_ERROR, "cannot return the answer: it is too large to be searched for secrets",
                       STR_NONE);
  request_reply(call_release_request(c), scrubbed);
  return CALL_DONE;
}
