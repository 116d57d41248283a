// SPDX-License-Identifier: Apache-2.0
// An error that an upstream answers with is a failure of some kind: by its code, else by its words, as a last resort.
// What the client has to do first (open a URL) is none. What the server said is told on one line and without secrets;
// the log has the whole.
#include "base/ascii.h"
#include "base/utf8.h"
#include "call/bridge.h"
#include "text/oneline.h"
#include "text/secrets.h"

enum {
  READ_BYTES = 64 << 10,  // of a message, as the server said it
  SAID_BYTES = 4096,      // of a message on one line, looked at for secrets; fewer are told
  DATA_BYTES = 8 * 1024,  // of an error's data that is told at most
};

// ---- the kind of failure

// Errors of the protocol itself are what their code says, whatever words they have.
static bool is_protocol_error(int64_t code) {
  return code == RPC_PARSE_ERROR || code == RPC_INVALID_REQUEST || code == RPC_METHOD_NOT_FOUND ||
         code == RPC_INVALID_PARAMS || code == RPC_RESOURCE_NOT_FOUND;
}

// What is before the first character is behind the last one too.
static bool is_boundary(str text, size_t at) {
  return at >= text.n || !ascii_is_alnum(text.p[at]);
}

static bool has_words(str text, str words) {
  for (size_t i = 0; i + words.n <= text.n; i++)
    if (is_boundary(text, i - 1) && is_boundary(text, i + words.n) && str_eq_nocase((str){text.p + i, words.n}, words))
      return true;
  return false;
}

// Many servers put what happened to them into words only. Whole words: "order 40123 failed" is no 401.
static enum fault_code code_of(str text) {
  static const struct {
    str words;
    enum fault_code code;
  } kinds[] = {
      {STR("401"), FAULT_AUTH_FAILED},
      {STR("unauthorized"), FAULT_AUTH_FAILED},
      {STR("unauthenticated"), FAULT_AUTH_FAILED},
      {STR("authentication"), FAULT_AUTH_FAILED},
      {STR("invalid api key"), FAULT_AUTH_FAILED},
      {STR("403"), FAULT_PERMISSION_DENIED},
      {STR("forbidden"), FAULT_PERMISSION_DENIED},
      {STR("permission denied"), FAULT_PERMISSION_DENIED},
      {STR("access denied"), FAULT_PERMISSION_DENIED},
      {STR("429"), FAULT_RATE_LIMITED},
      {STR("rate limit"), FAULT_RATE_LIMITED},
      {STR("rate limited"), FAULT_RATE_LIMITED},
      {STR("too many requests"), FAULT_RATE_LIMITED},
      {STR("timed out"), FAULT_UPSTREAM_TIMEOUT},
      {STR("timeout"), FAULT_UPSTREAM_TIMEOUT},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (has_words(text, kinds[i].words)) return kinds[i].code;
  return FAULT_UPSTREAM_ERROR;
}

// ---- what is told of it

// On one line; what is known to be secret is masked before, since it may have line breaks itself.
static str line_of(struct arena *a, str text, const struct secrets_known *known) {
  return utf8_cut(oneline(a, secrets_mask_known(a, utf8_cut(text, READ_BYTES), known)), SAID_BYTES);
}

str call_said(struct arena *a, const struct upstream_spec *by, str text) {
  return spec_told(by, a, line_of(a, text, &by->secrets));
}

enum call_result step_classify(struct call *c) {
  if (c->reply && c->reply->kind == RPC_RESULT) json_bool(json_get(c->reply->result, STR("isError")), &c->tool_failed);
  if (!c->reply || c->reply->kind != RPC_ERROR) return CALL_NEXT;
  struct arena *a = &c->request->arena;
  const struct secrets_known *known = &call_spec(c)->secrets;
  const struct json *error = c->reply->error, *data = json_get(error, STR("data"));
  int64_t code = 0;
  str text = STR("");
  json_int(json_get(error, STR("code")), &code);
  json_string(json_get(error, STR("message")), a, &text);
  if (code == RPC_URL_NEEDED) return CALL_NEXT;
  struct call_failure *f = c->failure = ARENA_NEW(a, struct call_failure);
  log_info(c->context->loop->log, "session %.8s: %.*s failed at %.*s: %.*s", c->request->session->id,
           STR_ARG(c->request->msg.method), STR_ARG(call_server(c)),
           STR_ARG(secrets_mask_known(a, utf8_cut(text, READ_BYTES), known)));
  str line = line_of(a, text, known);
  fault_set(&f->fault, is_protocol_error(code) ? FAULT_UPSTREAM_ERROR : code_of(line), "%.*s",
            STR_ARG(secrets_mask(a, line, known)));
  fault_set_path(&f->fault, c->about);
  f->server = call_server(c);
  f->upstream = true;
  f->code = (int)code;
  if (data && data->n <= DATA_BYTES) f->data = secrets_mask_json(a, data, known);
  return CALL_NEXT;
}
