// SPDX-License-Identifier: Apache-2.0
// A request that comes with a requestState answers questions it was asked before. What the state says is checked before
// anything else is done.
#include "call/steps/step_resume.h"
#include "call/about.h"
#include "call/bridge/park.h"

bool call_is_stateless(const struct call *c) {
  return c->session->revision->stateless;
}

bool call_may_ask(const struct call *c) {
  str method = str_of(c->method->name);
  return str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get")) ||
         str_eq(method, STR("resources/read"));
}

struct resume_state {
  bool ticketed;  // the request came with a ticket
  struct ticket ticket;
};

const struct ticket *call_ticket(const struct call *c) {
  const struct resume_state *s = call_state(c, &step_resume);
  return s->ticketed ? &s->ticket : NULL;
}

// The call that waits gets the request; this one, made for it, was never needed. If the rules no longer allow the call
// that waits, it is given up, and this one is refused like any new call (step_find).
static enum call_result take_up(struct call *c, uint64_t number) {
  struct call *parked = park_find(c->context, number);
  if (!parked)
    return call_refuse(c, RPC_INVALID_PARAMS,
                       "the call that asked is over: its server ended, or the answers came too late; "
                       "call again without requestState",
                       STR_NONE);
  if (!park_allowed(parked, c)) {
    park_give_up(parked, "the rules no longer allow it");
    return CALL_NEXT;
  }
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
    return call_refuse(c, RPC_INVALID_PARAMS, "requestState must be the string that was given", STR_NONE);
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
    .does = "Is it the answer to a question that was asked before?",
    .state = sizeof(struct resume_state),
    .run = run,
    .detach = detach,
};
