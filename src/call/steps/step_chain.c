// SPDX-License-Identifier: Apache-2.0
// Loop detection: a call names the gateways that it has passed. A call must not pass a gateway twice, or pass too many
// gateways. On a pipe, the names are in _meta.
#include "call/steps/steps.h"
#include "mcp/gateway_chain.h"

bool call_chain_out(struct call *c, str *out, struct fault *f) {
  struct request *r = c->request;
  *out = STR_NONE;
  return !r->chain.n || !c->context->chain || chain_extend(c->context->chain, r->chain, &r->arena, out, f);
}

// A chain in _meta is preferred, because it names more gateways than the HTTP header. step_options removes it from
// _meta.
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
