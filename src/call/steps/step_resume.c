// SPDX-License-Identifier: Apache-2.0
// Continues an earlier call with a request that contains the client's answers to questions. Such a request has a
// requestState, which is checked before all other steps run.
#include "base/assert.h"
#include "call/bridge/parked_calls.h"
#include "call/steps/steps.h"

struct resume_state {
  bool ticketed;  // the request has a valid ticket
  struct ticket ticket;
};

const struct ticket *call_ticket(const struct call *c) {
  const struct resume_state *s = call_state(c, STEP_RESUME);
  return s->ticketed ? &s->ticket : NULL;
}

// Passes the request of `c` to the parked call with this number, and discards `c`. If the rules no longer allow the
// parked call, cancels it; then step_find refuses `c`.
static enum call_result take_up(struct call *c, uint64_t number) {
  struct call *parked = park_find(c->context, number);
  if (!parked)
    return call_refuse(
        c, RPC_INVALID_PARAMS,
        "the call that asked for input has ended, because its server stopped or the answers came too late; "
        "call again without requestState",
        STR_NONE);
  if (!park_allowed(parked, c)) {
    park_give_up(parked, "the access rules no longer allow the call");
    return CALL_NEXT;
  }
  ASSERT(parked != c && !parked->request);
  struct request *r = c->request;
  call_discard(c);
  park_resume(parked, r);
  return CALL_DONE;
}

static enum call_result run(struct call *c, void *state) {
  const struct request *r = c->request;
  const struct json *sent =
      call_is_stateless(c) && call_may_ask(c) ? json_get(r->msg.params, STR("requestState")) : NULL;
  if (!sent) return CALL_NEXT;
  struct resume_state *s = state;
  str text;
  struct fault f;
  struct ticket_use use = call_use(c);
  if (!json_string(sent, &c->request->arena, &text))
    return call_refuse(c, RPC_INVALID_PARAMS,
                       "requestState must be the unchanged string from the result that contained inputRequests",
                       STR_NONE);
  if (!ticket_redeem(&c->context->tickets, text, &use, &c->request->arena, &s->ticket, &f))
    return call_refuse(c, RPC_INVALID_PARAMS, f.message, STR_NONE);
  s->ticketed = true;
  return s->ticket.kind == TICKET_PARKED ? take_up(c, s->ticket.number) : CALL_NEXT;
}

static void detach(struct call *c, void *state, struct arena *a) {
  struct resume_state *s = state;
  if (a) s->ticket.state = call_kept(a, s->ticket.state);
}

const struct call_step step_resume = {
    .name = "resume",
    .does = "Continues a call whose questions this request answers.",
    .state = sizeof(struct resume_state),
    .run = run,
    .detach = detach,
};
