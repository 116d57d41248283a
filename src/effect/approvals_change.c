// SPDX-License-Identifier: Apache-2.0
// The changes of a request for approval that the operations make.
#include "effect/approvals_impl.h"

// Returns the reason that a person gave for a denial; it may be empty.
static str reason_of(const struct approval *x) {
  for (size_t i = 0; i < x->gate_count; i++)
    for (size_t k = 0; k < x->gates[i].decision_count; k++)
      if (!x->gates[i].decisions[k].approve && x->gates[i].decisions[k].reason.n)
        return x->gates[i].decisions[k].reason;
  return STR("no reason given");
}

void approvals_refuse(const struct approval *x, struct fault *f) {
  str id = x->request_id;
  switch (x->state) {
  case APPROVAL_STATE_PENDING:
  case APPROVAL_STATE_APPROVED:
    fault_set(f, FAULT_APPROVAL_REQUIRED, "the request %.*s is %s", STR_ARG(id), approval_state_name(x->state));
    break;
  case APPROVAL_STATE_DENIED:
    fault_set(f, FAULT_APPROVAL_REJECTED, "a person denied the call, so do not repeat it: %.*s", STR_ARG(reason_of(x)));
    break;
  case APPROVAL_STATE_EXPIRED:
    fault_set(f, FAULT_APPROVAL_EXPIRED, "the request %.*s has expired: make the call again to ask again", STR_ARG(id));
    break;
  case APPROVAL_STATE_WITHDRAWN:
    fault_set(f, FAULT_APPROVAL_INVALID, "the request %.*s was withdrawn: make the call again to ask again",
              STR_ARG(id));
    break;
  case APPROVAL_STATE_INVALIDATED:
    if (str_eq(x->code, str_of(fault_name(FAULT_EVIDENCE_CHANGED))))
      fault_set(f, FAULT_EVIDENCE_CHANGED,
                "the evidence changed after the approval of %.*s: make the call again to ask again", STR_ARG(id));
    else
      fault_set(f, FAULT_APPROVAL_INVALID, "the approval of %.*s does not count any more: make the call again",
                STR_ARG(id));
    break;
  default:
    fault_set(f, FAULT_APPROVAL_ALREADY_REDEEMED, "the call of %.*s was started before (%s)", STR_ARG(id),
              approval_state_name(x->state));
  }
}

static enum approvals_verdict vote(struct approvals_op *op, struct approval *x, int64_t now) {
  const struct gateway_key *key = approvals_key(op->of, &op->fault);
  if (!key) return op->fault.code = FAULT_EFFECTS_UNAVAILABLE, CHANGE_FAILS;
  size_t before = 0, after = 0;
  for (size_t i = 0; i < x->gate_count; i++) before += x->gates[i].decision_count;
  if (!approval_vote(x, &op->vote, key, op->of->opt.loop->rand, now, &op->arena, &op->fault)) return CHANGE_FAILS;
  for (size_t i = 0; i < x->gate_count; i++) after += x->gates[i].decision_count;
  return after > before ? CHANGE_STORES : CHANGE_STAYS;
}

static enum approvals_verdict redeem(struct approvals_op *op, struct approval *x, int64_t now) {
  if (x->state != APPROVAL_STATE_APPROVED) {
    approvals_refuse(x, &op->fault);
    return CHANGE_FAILS;
  }
  x->gateway = str_of(op->of->gateway);
  approval_set_state(x, APPROVAL_STATE_EXECUTING, now, STR_NONE, STR_NONE, &op->arena);
  return CHANGE_STORES;
}

// Another gateway may have taken this one for dead, and set the state `unknown`.
static enum approvals_verdict end(struct approvals_op *op, struct approval *x, int64_t now) {
  bool own = str_eq(x->gateway, str_of(op->of->gateway));
  if (!own || !(x->state == APPROVAL_STATE_EXECUTING || x->state == APPROVAL_STATE_UNKNOWN)) return CHANGE_STAYS;
  x->code = op->end.code;
  x->result = op->end.result;
  x->stateless_result = op->end.stateless;
  approval_set_state(x, op->end.state, now, STR_NONE, op->end.code, &op->arena);
  return CHANGE_STORES;
}

static enum approvals_verdict close_as(struct approvals_op *op, struct approval *x, enum approval_state to,
                                       int64_t now) {
  if (x->state != APPROVAL_STATE_PENDING && x->state != APPROVAL_STATE_APPROVED) return CHANGE_STAYS;
  if (op->kind == OP_INVALIDATE) x->code = op->why;
  approval_set_state(x, to, now, STR_NONE, op->why, &op->arena);
  return CHANGE_STORES;
}

static enum approvals_verdict lose(struct approvals_op *op, struct approval *x, int64_t now) {
  if (x->state != APPROVAL_STATE_EXECUTING || str_eq(x->gateway, str_of(op->of->gateway))) return CHANGE_STAYS;
  approval_set_state(x, APPROVAL_STATE_UNKNOWN, now, STR_NONE, STR("the gateway ended during the call"), &op->arena);
  return CHANGE_STORES;
}

bool approvals_is_over(const struct approvals *a, const struct approval *x) {
  const struct known_request *k = known_find(a, x->request_id);
  if (x->state != APPROVAL_STATE_PENDING && x->state != APPROVAL_STATE_APPROVED) return false;
  return approval_state_at(x, approvals_now(a)) == APPROVAL_STATE_EXPIRED || (k && known_is_over(k));
}

static enum approvals_verdict apply(struct approvals_op *op, struct approval *x, int64_t now) {
  switch (op->kind) {
  case OP_VOTE: return vote(op, x, now);
  case OP_REDEEM: return redeem(op, x, now);
  case OP_END: return end(op, x, now);
  case OP_WITHDRAW: return close_as(op, x, APPROVAL_STATE_WITHDRAWN, now);
  case OP_INVALIDATE: return close_as(op, x, APPROVAL_STATE_INVALIDATED, now);
  case OP_EXPIRE: return close_as(op, x, APPROVAL_STATE_EXPIRED, now);
  case OP_LOSE: return lose(op, x, now);
  default: return CHANGE_STAYS;
  }
}

// A request whose time is over becomes expired when it is next looked at, and stays so even if the clock is set back.
enum approvals_verdict approvals_change(struct approvals_op *op) {
  struct approval *x = &op->request;
  int64_t now = approvals_now(op->of);
  op->before = x->state;
  if (op->kind == OP_EXPIRE || !approvals_is_over(op->of, x)) return apply(op, x, now);
  approval_set_state(x, APPROVAL_STATE_EXPIRED, now, STR_NONE, STR_NONE, &op->arena);
  apply(op, x, now);
  return CHANGE_STORES;
}
