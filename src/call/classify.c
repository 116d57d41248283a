// SPDX-License-Identifier: Apache-2.0
// An error that an upstream answers with is a failure of some kind. What the client has to do first (open a URL) is
// none.
#include "call/bridge.h"

enum call_result step_classify(struct call *c) {
  if (!c->reply || c->reply->kind != RPC_ERROR) return CALL_NEXT;
  struct arena *a = &c->request->arena;
  const struct json *error = c->reply->error, *data = json_get(error, STR("data"));
  int64_t code = 0;
  str text = STR("");
  json_int(json_get(error, STR("code")), &code);
  json_string(json_get(error, STR("message")), a, &text);
  if (code == RPC_URL_NEEDED) return CALL_NEXT;
  struct call_failure *f = c->failure = ARENA_NEW(a, struct call_failure);
  fault_set(&f->fault, FAULT_UPSTREAM_ERROR, "%.*s", STR_ARG(text));
  f->server = call_server(c);
  f->upstream = true;
  f->code = (int)code;
  if (data) f->data = arena_str(a, json_span(data));
  return CALL_NEXT;
}
