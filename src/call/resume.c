// SPDX-License-Identifier: Apache-2.0
// A request that comes with a requestState answers questions it was asked before. What the state says is checked before
// anything else is done.
#include "call/bridge.h"

bool call_is_stateless(const struct call *c) {
  return c->session->revision->stateless;
}

bool call_may_ask(const struct call *c) {
  str method = str_of(c->method->name);
  return str_eq(method, STR("tools/call")) || str_eq(method, STR("prompts/get")) ||
         str_eq(method, STR("resources/read"));
}

// The call that waits gets the request; this one, made for it, was never needed.
static enum call_result take_up(struct call *c) {
  struct call *parked = park_find(c->context, c->ticket.number);
  if (!parked)
    return call_refuse(c, RPC_INVALID_PARAMS,
                       "the call that asked is over: its server ended, or the answers came too late; "
                       "call again without requestState",
                       STR_NONE);
  struct request *r = c->request;
  call_discard(c);
  park_resume(parked, r);
  return CALL_DONE;
}

enum call_result step_resume(struct call *c) {
  const struct request *r = c->request;
  const struct json *state =
      call_is_stateless(c) && call_may_ask(c) ? json_get(r->msg.params, STR("requestState")) : NULL;
  if (!state) return CALL_NEXT;
  str text;
  struct fault f;
  struct ticket_use use = call_use(c);
  if (!json_string(state, &c->request->arena, &text))
    return call_refuse(c, RPC_INVALID_PARAMS, "requestState must be the string that was given", STR_NONE);
  if (!ticket_redeem(&c->context->tickets, text, &use, &c->request->arena, &c->ticket, &f))
    return call_refuse(c, RPC_INVALID_PARAMS, f.message, STR_NONE);
  c->ticketed = true;
  return c->ticket.kind == TICKET_PARKED ? take_up(c) : CALL_NEXT;
}
