// SPDX-License-Identifier: Apache-2.0
// Signs the decision about a governed call for its server, if the governance file says so. The server gets the token in
// _meta and, over Streamable HTTP, in a header. Every attempt of a call gets a new token, because tokens soon expire.
#include "call/steps/steps.h"
#include "govern/signing.h"
#include "mcp/header.h"

struct sign_state {
  str token;  // in the request's memory; STR_NONE if the call is not signed
};

str call_signed(const struct call *c) {
  return ((const struct sign_state *)call_state(c, STEP_SIGN))->token;
}

void call_sign_header(struct call *c, str *headers) {
  struct arena *a = &c->request->arena;
  str token = call_signed(c);
  if (!token.p) return;
  struct buf b;
  buf_init(&b, headers->n + token.n + 64);
  if (headers->n) buf_str(&b, *headers);
  header_put(&b, DECISION_HEADER, token);
  *headers = arena_str(a, buf_view(&b));
  buf_done(&b);
}

static enum call_result run(struct call *c, void *state) {
  struct sign_state *s = state;
  const struct governance_capability *capability = call_capability(c);
  s->token = STR_NONE;
  if (!capability || !governance_signs(capability) || c->method->local || call_continues(c)) return CALL_NEXT;
  struct signed_decision decision = {
      .capability = capability,
      .server = call_server(c),
      .id = call_decision_id(c),
      .mode = call_mode(c),
      .context = c->run->governed.context,
      .args = json_get(c->request->msg.params, STR("arguments")),
      .now = clock_wall_ms(c->context->loop->clock) / 1000,
  };
  struct fault f;
  s->token = governance_sign(c->governance, &decision, &c->request->arena, &f);
  if (s->token.p) return CALL_NEXT;
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

static void detach(struct call *c, void *state, struct arena *a) {
  ((struct sign_state *)state)->token = STR_NONE;
}

const struct call_step step_sign = {
    .name = "sign",
    .does = "Signs the decision about a governed call for its server.",
    .state = sizeof(struct sign_state),
    .governed = true,
    .run = run,
    .detach = detach,
};
