// SPDX-License-Identifier: Apache-2.0
// Detects loops of gateways. A call contains the names of the gateways that it has passed (its chain), in an HTTP
// header or, on a pipe, in _meta. Refuses a call that has passed this gateway before, or has passed too many gateways.
#include "call/steps/steps.h"
#include "mcp/gateway_chain.h"

bool call_chain_out(struct call *c, str *out, struct fault *f) {
  struct request *r = c->request;
  *out = STR_NONE;
  return !r->chain.n || !c->context->chain || chain_extend(c->context->chain, r->chain, &r->arena, out, f);
}

// A chain in _meta replaces the chain of the HTTP header, because it may name more gateways. step_options removes the
// chain from _meta.
static enum call_result run(struct call *c, void *state) {
  struct request *r = c->request;
  struct fault f;
  str path;
  json_string(json_get(json_get(r->msg.params, STR("_meta")), CHAIN_META), &r->arena, &r->chain);
  return call_chain_out(c, &path, &f) ? CALL_NEXT : call_end(c, &f, RPC_INVALID_REQUEST, STR_NONE);
}

const struct call_step step_chain = {
    .name = "chain",
    .does = "Refuses a call that has passed this gateway before.",
    .run = run,
};
