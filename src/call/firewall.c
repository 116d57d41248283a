// SPDX-License-Identifier: Apache-2.0
// What a meta-tool's call brings back: the result of a tool, a resource or a prompt as the result of the meta-tool, cut
// to what fits, the rest kept for tool_view. Afterwards the answer is the call's own, whatever becomes of the message
// that it came in.
#include "call/bridge.h"
#include "result/envelope.h"

str call_owner(const struct session *s) {
  return session_principal(s);
}

static enum call_result fail(struct call *c, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  return call_fault(c, &f);
}

static enum envelope_kind envelope_kind(const struct call *c) {
  switch (c->method->kind) {
  case ITEM_TOOL: return ENVELOPE_TOOL;
  case ITEM_PROMPT: return ENVELOPE_PROMPT;
  default: return ENVELOPE_RESOURCE;
  }
}

// Writes what is told into the buffer. False: the result as it is.
static bool envelop(struct call *c, const struct json *result, struct buf *out) {
  struct call_context *x = c->context;
  struct envelope_order order = {
      .result = result,
      .tool_id = c->about,
      .owner = call_owner(c->session),
      .store = x->store,
      .batch = &c->pieces,
      .budget = x->results.budget,
      .text_only = !x->results.structured,
      .provenance = call_provenance(c),
      .kind = envelope_kind(c),
  };
  buf_reset(out);
  return !envelope_make(&order, &x->scratch, out);
}

// In the client's revision, in the memory of the request.
static bool take_answer(struct call *c, struct buf *text) {
  struct arena *a = &c->request->arena;
  struct fault f;
  const struct json *told = text->over ? NULL : json_parse(a, arena_str(a, buf_view(text)), &json_default_limits, &f);
  buf_reset(text);
  if (told) translate_told(c, told, text);
  if (!told || text->over) return false;
  c->answer = arena_str(a, buf_view(text));
  return true;
}

static enum call_result make_answer(struct call *c) {
  struct call_context *x = c->context;
  const struct json *result = c->reply->result;
  bool failed = false;
  json_bool(json_get(result, STR("isError")), &failed);
  if (!failed) x->used(x->ctx, c->session, c->about);
  if (!envelop(c, result, &x->text)) return CALL_NEXT;
  if (!take_answer(c, &x->text)) return fail(c, FAULT_UPSTREAM_ERROR, "answered with more than limits.message allows");
  c->reply = NULL;
  if (c->parcel) parcel_empty(c->parcel);
  return CALL_NEXT;
}

// Not what the client has to answer first.
enum call_result step_firewall(struct call *c) {
  bool direct = c->method->form == CALL_DIRECT;
  if (direct || c->failure || c->reply->kind == RPC_ERROR || result_type(c, c->reply) == RESULT_INPUT_REQUIRED)
    return CALL_NEXT;
  if (!json_is(c->reply->result, JSON_OBJECT))
    return fail(c, FAULT_PROTOCOL, "answered with a result that is no object");
  struct call_context *x = c->context;
  enum call_result next = make_answer(c);
  arena_reset(&x->scratch);
  return next;
}
