// SPDX-License-Identifier: Apache-2.0
// An error that an upstream answers with is a failure of some kind. What the client has to do first (open a URL) is
// none. What the server said is told on one line and without secrets; the log has the whole.
#include "base/utf8.h"
#include "call/bridge.h"
#include "text/oneline.h"
#include "text/secrets.h"

enum {
  SAID_BYTES = 4096,      // of a message, looked at for secrets; fewer are told
  DATA_BYTES = 8 * 1024,  // of an error's data that is told at most
};

str call_said(struct arena *a, str text) {
  return secrets_mask(a, utf8_cut(oneline(a, text), SAID_BYTES));
}

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
  log_info(c->context->loop->log, "session %.8s: %.*s failed at %.*s: %.*s", c->request->session->id,
           STR_ARG(c->request->msg.method), STR_ARG(call_server(c)), STR_ARG(text));
  fault_set(&f->fault, FAULT_UPSTREAM_ERROR, "%.*s", STR_ARG(call_said(a, text)));
  f->server = call_server(c);
  f->upstream = true;
  f->code = (int)code;
  if (data && data->n <= DATA_BYTES) f->data = secrets_mask_json(a, data);
  return CALL_NEXT;
}
