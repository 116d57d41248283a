// SPDX-License-Identifier: Apache-2.0
// Waits until people have approved a call, and makes sure that the call that was approved runs once.
//
// A call that needs approval makes a request for approval (effect/approvals.h), unless there is one for an identical
// call. While the request is pending, the client gets its id. A later call redeems the approved request: an identical
// call, or a call that calls_start_approved has made from the request. Redeeming checks everything again: the steps
// before this one have applied the current rules, and this step compares the call with the approved one. Then the call
// runs with the bytes that were approved.
#include "base/assert.h"
#include "call/approved_call.h"
#include "call/bridge/translate.h"
#include "call/call_journal.h"
#include "call/report.h"
#include "call/steps/steps.h"
#include "mcp/meta.h"
#include "result/envelope/fault_forms.h"

enum { ANSWER_MAX = 64 << 10 };

// The state of a call that needs approval; in the request's memory.
struct approving {
  struct call *call;
  struct approvals *of;
  struct approvals_op *op;  // the operation in progress, or NULL
  struct approvals_watch watch;
  struct timer patience;    // the end of the waiting for a decision
  struct approval draft;    // this call
  struct approval request;  // the request for approval, when it was last read
  bool known;               // `request` is set
  bool waited;              // the call has waited for a decision
  bool redeemed;            // the request was redeemed for this call
  bool asked;               // the server has asked the client a question, so the call continues with another request
  bool ended;               // the outcome was recorded
};

struct approval_step {
  struct approving *approving;  // NULL: the call needs no approval
};

static struct approving *approving_of(const struct call *c) {
  return ((const struct approval_step *)call_state(c, STEP_APPROVAL))->approving;
}

const struct approval *call_approval(const struct call *c) {
  const struct approving *p = approving_of(c);
  return p && p->known ? &p->request : NULL;
}

bool call_is_approved(const struct call *c) {
  const struct approving *p = approving_of(c);
  return p && p->redeemed;
}

static void stop_waiting(struct approving *p) {
  approvals_cancel(&p->op);
  approvals_unwatch(&p->watch);
  timer_stop(&p->patience);
}

static void refuse(struct approving *p, const struct fault *f) {
  struct call *c = p->call;
  struct fault named = *f;
  char details[128] = "";
  fault_set_path(&named, c->about);
  if (p->known) snprintf(details, sizeof details, "{\"request_id\":\"%.*s\"}", STR_ARG(p->request.request_id));
  call_end(c, &named, RPC_INVALID_PARAMS, p->known ? str_of(details) : STR_NONE);
}

static void take(struct approving *p, const struct approval *x) {
  approval_copy(x, &p->call->request->arena, &p->request);
  p->known = true;
}

// ---- the answer while nobody has decided

// A client validates results against the output schema of the tool, unless they report an error.
static bool must_fail(const struct call *c) {
  struct fault f;
  if (c->method->form != CALL_DIRECT) return false;
  const struct json *definition = json_parse(&c->request->arena, c->item->text, &json_default_limits, &f);
  return json_get(definition, STR("outputSchema"));
}

static void put_meta(struct call *c, const struct approval *x, struct buf *out) {
  str envelopes = call_journal_envelopes(c);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR(RESULT_APPROVAL), x->request_id);
  if (envelopes.p) json_member_raw(&w, STR("toolgate/envelopes"), envelopes);
  json_end_object(&w);
}

// Answers a stateless client, which sends the request again without asking a model, and then waits for the decision.
static void ask_again(struct call *c, str meta) {
  struct ticket ticket = {.kind = TICKET_AGAIN, .spent_ms = call_spent(c)};
  struct ticket_use use = call_use(c);
  struct buf *out = &c->context->text;
  str own = META_OF_TOOLGATE;
  buf_reset(out);
  buf_str(out, STR("{\"resultType\":\"input_required\",\"requestState\":\""));
  ticket_issue(&c->context->tickets, &ticket, &use, out);
  buf_printf(out, "\",\"_meta\":{%.*s,%.*s}", (int)own.n - 2, own.p + 1, (int)meta.n - 2, meta.p + 1);
  buf_char(out, '}');
  request_reply_whole(call_release_request(c), buf_view(out));
}

static void answer_pending(struct approving *p) {
  struct call *c = p->call;
  struct fault f;
  struct buf text, meta, result;
  fault_set(&f, FAULT_APPROVAL_REQUIRED, "the call needs the approval of a %.*s (%.*s); request %.*s",
            STR_ARG(p->request.gates[0].role), STR_ARG(p->request.gates[0].gate_id), STR_ARG(p->request.request_id));
  if (c->options.receiver) {
    refuse(p, &f);
    return;
  }
  call_unfinished(c, &f);
  buf_init(&text, ANSWER_MAX);
  buf_init(&meta, c->context->text.max);
  buf_init(&result, c->context->text.max);
  approved_put_pending(&p->request, c->method->form == CALL_META, &text);
  put_meta(c, &p->request, &meta);
  bool structured =
      c->method->form == CALL_DIRECT || request_form(c->request, c->context->results.structured).structured;
  bool failed = must_fail(c);
  result_put(&result, buf_view(&meta), buf_view(&text), structured && !failed ? buf_view(&text) : STR_NONE, failed);
  if (c->context->recorder) call_record(c);
  if (call_is_stateless(c) && call_may_ask(c) && !c->session->as_operator) ask_again(c, buf_view(&meta));
  else call_reply(c, buf_view(&result));
  buf_done(&text);
  buf_done(&meta);
  buf_done(&result);
}

// ---- waiting for a decision

static void on_decided(void *ctx, const struct approval *x, const struct fault *f);

static void on_changed(struct approvals_watch *w) {
  struct approving *p = CONTAINER_OF(w, struct approving, watch);
  approvals_cancel(&p->op);
  p->op = approvals_find(p->of, p->request.request_id, p->draft.owner, on_decided, p);
}

static void on_patience(struct timer *t) {
  struct approving *p = CONTAINER_OF(t, struct approving, patience);
  stop_waiting(p);
  answer_pending(p);
}

static void wait_or_answer(struct approving *p) {
  struct call *c = p->call;
  const struct ticket *ticket = call_ticket(c);
  uint64_t ms = approved_wait_ms(c->governance, ticket && ticket->kind == TICKET_AGAIN);
  if (c->options.receiver) ms = 0;
  if (!ms) {
    answer_pending(p);
    return;
  }
  call_deadline_hold(c);
  p->waited = true;
  approvals_watch(p->of, &p->watch, &p->request, on_changed);
  timer_start(c->context->loop, &p->patience, ms);
}

static void proceed(struct approving *p);

static void on_decided(void *ctx, const struct approval *x, const struct fault *f) {
  struct approving *p = ctx;
  p->op = NULL;
  if (!x) {
    stop_waiting(p);
    refuse(p, f);
    return;
  }
  take(p, x);
  if (x->state == APPROVAL_STATE_PENDING) return;  // one of several approvals
  stop_waiting(p);
  struct approval approved = p->request;
  if (x->state == APPROVAL_STATE_APPROVED) approved_begin_again(p->call, &approved);
  else proceed(p);
}

// ---- redeeming

// Replaces the arguments by the bytes that were approved.
static void use_approved_bytes(struct approving *p) {
  struct request *r = p->call->request;
  struct json_edit edit = {STR("arguments"), p->request.args};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  struct fault f;
  const struct json *now = json_get(r->msg.params, STR("arguments"));
  if (now && str_eq(json_span(now), p->request.args)) return;
  r->msg.params = json_parse(&r->arena, json_edited(&r->arena, r->msg.params, &edit, 1), &limits, &f);
  ASSERT(r->msg.params);
}

// Returns whether the approved call is this call, under the rules in force.
static bool is_same_call(const struct approving *p) {
  const struct approval *x = &p->request;
  struct approval now = p->draft;
  char hash[APPROVAL_HASH_SIZE];
  now.args = x->args;
  now.evidence_hash = x->evidence_hash;
  approval_hash(&now, hash);
  return str_eq(now.owner, x->owner) && str_eq(now.same, x->same) && str_eq(now.server, x->server) &&
         str_eq(now.tool, x->tool) && str_eq(str_of(hash), x->call_hash);
}

static bool is_satisfied(const struct approving *p, const struct gateway_key *key) {
  const struct call_gates *gates = call_gates(p->call);
  for (size_t i = 0; i < gates->count; i++)
    if (!approval_satisfies(&p->request, gates->list[i], key)) return false;
  return true;
}

static void on_found(void *ctx, const struct approval *x, const struct fault *f);

static void on_redeemed(void *ctx, const struct approval *x, const struct fault *f) {
  struct approving *p = ctx;
  p->op = NULL;
  if (!x && f->code == FAULT_APPROVAL_ALREADY_REDEEMED) {  // by another call at the same time: wait for its outcome
    p->op = approvals_find(p->of, p->request.request_id, p->draft.owner, on_found, p);
    return;
  }
  if (!x) {
    refuse(p, f);
    return;
  }
  take(p, x);
  p->redeemed = true;
  use_approved_bytes(p);
  call_resume(p->call);
}

static void redeem(struct approving *p) {
  struct fault f;
  const struct gateway_key *key = approvals_key(p->of, &f);
  bool valid = key && is_same_call(p) && is_satisfied(p, key);
  if (!key) fault_set(&f, FAULT_EFFECTS_UNAVAILABLE, "approvals cannot be verified; try again later");
  else if (!valid)
    fault_set(&f, FAULT_APPROVAL_INVALID,
              "the approval does not count any more, because the call or the rules have changed; make the call again");
  if (!valid) {
    if (key) approvals_invalidate(p->of, p->request.request_id, str_of(fault_name(f.code)));
    refuse(p, &f);
    return;
  }
  p->op = approvals_redeem(p->of, p->request.request_id, on_redeemed, p);
}

// Answers with the stored result of the call that was executed before.
static void repeat_outcome(struct approving *p) {
  struct call *c = p->call;
  struct fault f;
  const struct rpc_message *reply = p->request.result.p ? call_stored_reply(c, p->request.result) : NULL;
  if (!reply) {
    approvals_refuse(&p->request, &f);
    refuse(p, &f);
    return;
  }
  c->reply = reply;
  c->to_stateless = p->request.stateless_result;
  call_deadline_end(c);
  call_restart(c, STEP_OUTPUT);
}

// The server of an executed call has asked a question, and this request has the answer: the call goes on.
static bool continues(const struct approving *p) {
  return call_ticket(p->call) && is_same_call(p) && str_eq(p->request.gateway, approvals_gateway(p->of));
}

static void proceed(struct approving *p) {
  struct fault f;
  switch (p->request.state) {
  case APPROVAL_STATE_PENDING: wait_or_answer(p); return;
  case APPROVAL_STATE_APPROVED: redeem(p); return;
  case APPROVAL_STATE_EXECUTING:
    if (continues(p)) {
      p->redeemed = true;
      use_approved_bytes(p);
      call_resume(p->call);
    } else if (str_eq(p->request.gateway, approvals_gateway(p->of)) && !call_ticket(p->call)) {
      approvals_watch(p->of, &p->watch, &p->request, on_changed);  // until the other call has ended
    } else {
      approvals_refuse(&p->request, &f);
      refuse(p, &f);
    }
    return;
  case APPROVAL_STATE_COMPLETED:
  case APPROVAL_STATE_FAILED: repeat_outcome(p); return;
  default: approvals_refuse(&p->request, &f); refuse(p, &f);
  }
}

// ---- the request

static void on_found(void *ctx, const struct approval *x, const struct fault *f) {
  struct approving *p = ctx;
  p->op = NULL;
  if (!x) {
    refuse(p, f);
    return;
  }
  take(p, x);
  proceed(p);
}

static uint64_t ttl_ms(const struct call *c) {
  const struct call_gates *gates = call_gates(c);
  uint64_t least = UINT64_MAX, all = governance_approvals(c->governance)->ttl_s;
  for (size_t i = 0; i < gates->count; i++) {
    uint64_t s = gates->list[i]->ttl_s ? gates->list[i]->ttl_s : all;
    if (s < least) least = s;
  }
  return least * 1000;
}

static void propose(struct approving *p) {
  char hash[APPROVAL_HASH_SIZE];
  approval_hash(&p->draft, hash);
  p->draft.call_hash = arena_str(&p->call->request->arena, str_of(hash));
  p->op = approvals_propose(p->of, &p->draft, ttl_ms(p->call), on_found, p);
}

static void on_found_same(void *ctx, const struct approval *x, const struct fault *f) {
  struct approving *p = ctx;
  bool open = x && (x->state <= APPROVAL_STATE_EXECUTING || x->state == APPROVAL_STATE_DENIED);
  if (open || (!x && f->code != FAULT_APPROVAL_INVALID)) {
    on_found(ctx, x, f);
    return;
  }
  p->op = NULL;
  propose(p);  // the request has ended meanwhile
}

static enum call_result begin(struct call *c, struct approval_step *s) {
  struct approving *p = s->approving = ARENA_NEW(&c->request->arena, struct approving);
  struct fault f;
  p->call = c;
  p->of = c->context->rules->approvals;
  timer_init(&p->patience, on_patience);
  if (!p->of) {
    fault_set(&f, FAULT_EFFECTS_UNAVAILABLE, "requests for approval cannot be stored; try again later");
    return refuse(p, &f), CALL_DONE;
  }
  if (!approved_draft(c, &p->draft, &f)) return refuse(p, &f), CALL_DONE;
  str same = c->options.approval.p ? STR_NONE
             : call_ticket(c)      ? approvals_find_executing(p->of, p->draft.same)
                                   : STR_NONE;
  if (!same.p && !c->options.approval.p) same = approvals_find_same(p->of, p->draft.same);
  if (c->options.approval.p) p->op = approvals_find(p->of, c->options.approval, p->draft.owner, on_found, p);
  else if (same.p) p->op = approvals_find(p->of, same, p->draft.owner, on_found_same, p);
  else propose(p);
  return CALL_WAIT;
}

static enum call_result run(struct call *c, void *state) {
  if (!call_gates(c)->count && !c->options.approval.p) return CALL_NEXT;
  return begin(c, state);
}

static void cancel(struct call *c, void *state, str reason) {
  struct approving *p = ((struct approval_step *)state)->approving;
  if (p) stop_waiting(p);
}

static void detach(struct call *c, void *state, struct arena *a) {
  struct approval_step *s = state;
  struct approving *old = s->approving;
  if (!a || !old) return;
  ASSERT(!old->op && !old->watch.of && !timer_running(&old->patience));
  struct approving *p = s->approving = ARENA_NEW(a, struct approving);
  *p = (struct approving){.call = c, .of = old->of, .known = old->known, .redeemed = old->redeemed};
  timer_init(&p->patience, on_patience);
  if (old->known) approval_copy(&old->request, a, &p->request);
}

const struct call_step step_approval = {
    .name = "approval",
    .does = "Waits until people have approved the call, if the governance file demands it.",
    .state = sizeof(struct approval_step),
    .run = run,
    .cancel = cancel,
    .detach = detach,
};

// ---- the outcome

static void record_end(struct approving *p, bool cancelled, str result, approvals_done *done) {
  struct call *c = p->call;
  enum fault_code code = c->failure ? c->failure->fault.code : cancelled ? FAULT_CANCELLED : FAULT_NONE;
  struct approval_end end = {
      .state = call_is_uncertain(c, cancelled) ? APPROVAL_STATE_UNKNOWN
               : code || c->tool_failed        ? APPROVAL_STATE_FAILED
                                               : APPROVAL_STATE_COMPLETED,
      .code = code ? str_of(fault_name(code)) : STR_NONE,
      .result = result,
      .stateless = c->to_stateless,
  };
  ASSERT(p->redeemed && !p->ended);
  p->ended = true;
  p->op = approvals_end(p->of, p->request.request_id, &end, done, p);
  if (!done) p->op = NULL;
}

static void on_ended(void *ctx, const struct approval *x, const struct fault *f) {
  struct approving *p = ctx;
  struct call *c = p->call;
  p->op = NULL;
  if (!x)
    log_error(c->context->loop->log, "the outcome of the approved call %.*s cannot be stored: %s",
              STR_ARG(p->request.request_id), f->message);
  if (c->step == STEP_APPROVAL_END) call_resume(c);
}

// Records the server's result. The reply must stay valid while the call waits for the record, so it is copied.
static enum call_result keep(struct call *c, void *state) {
  struct approving *p = approving_of(c);
  if (!p || !p->redeemed || p->ended) return CALL_NEXT;
  const struct rpc_message *reply = c->reply;
  p->asked = reply && reply->kind == RPC_RESULT && result_type(c, reply) == RESULT_INPUT_REQUIRED;
  bool stored = reply && reply->kind == RPC_RESULT && !reply->large_message && !c->failure &&
                result_type(c, reply) == RESULT_COMPLETE && !json_get(reply->result, STR("task"));
  if (!p->asked) record_end(p, false, stored ? json_span(reply->result) : STR_NONE, on_ended);
  if (!reply || reply->large_message) return CALL_NEXT;
  c->reply = call_read_again(c, arena_str(&c->request->arena, json_span(reply->root)));
  ASSERT(c->reply);
  return CALL_NEXT;
}

const struct call_step step_approved = {
    .name = "approved",
    .does = "Stores the outcome of an approved call.",
    .run = keep,
};

static enum call_result end(struct call *c, void *state) {
  struct approving *p = approving_of(c);
  if (!p || !p->redeemed || p->asked) return CALL_NEXT;
  if (!p->ended) record_end(p, false, STR_NONE, on_ended);
  return p->op ? CALL_WAIT : CALL_NEXT;
}

const struct call_step step_approval_end = {
    .name = "approval_end",
    .does = "Waits until the outcome of an approved call is stored.",
    .run = end,
};

// An approved request whose call is refused by the current rules becomes invalid.
void approval_ended(struct call *c, bool cancelled) {
  struct approving *p = approving_of(c);
  str id = c->options.approval;
  enum fault_code code = c->failure ? c->failure->fault.code : FAULT_NONE;
  if (p && p->redeemed) {
    if (!p->ended && !p->asked) record_end(p, cancelled, STR_NONE, NULL);
  } else if (id.p && !p && code && !fault_retryable(code) && !c->failure->fault.passes && !cancelled) {
    approvals_invalidate(c->context->rules->approvals, id, str_of(fault_name(code)));
  }
}
