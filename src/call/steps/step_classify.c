// SPDX-License-Identifier: Apache-2.0
// Gives an error of an upstream its fault code. The code is derived from the JSON-RPC error code or an HTTP status or,
// if they do not identify the failure, from the words of the message. An error that asks the user to open a URL first
// is not a failure. Agents get the server's message on one line, without secrets and addresses; the log has the whole
// message, without secrets.
#include "base/text/utf8.h"
#include "call/failure_text.h"
#include "call/mask_errors.h"
#include "call/scrub.h"
#include "call/steps/steps.h"
#include "text/secrets.h"

enum {
  READ_BYTES = 64 << 10,  // maximum bytes of the server's message that are read
  DATA_BYTES = 8 * 1024,  // larger error data is not sent to agents
  URLS_MOST = 256 << 10,  // a larger error with URLs to open is treated as a failure
};

// ---- the fault code

// Returns the HTTP status in an error, or 0. Some servers send an HTTP status as the error code or in the error data.
static int status_of(int64_t code, const struct json *data) {
  static const str names[] = {STR("status"), STR("statusCode"), STR("status_code"), STR("httpStatus")};
  int64_t status = code;
  for (size_t i = 0; i < sizeof names / sizeof *names && code < 0; i++)
    if (json_int(json_get(data, names[i]), &status)) break;
  return status > 0 && status < 600 ? (int)status : 0;
}

static enum fault_code fault_of(int64_t code, const struct json *data, str line) {
  bool protocol = code == RPC_PARSE_ERROR || code == RPC_INVALID_REQUEST || code == RPC_METHOD_NOT_FOUND ||
                  code == RPC_INVALID_PARAMS || code == RPC_RESOURCE_NOT_FOUND;
  if (protocol) return FAULT_UPSTREAM_ERROR;  // the code identifies the failure; ignore the message
  enum fault_code kind = link_status_code(status_of(code, json_is(data, JSON_OBJECT) ? data : NULL));
  return kind == FAULT_UPSTREAM_ERROR ? failure_text_code(line) : kind;
}

// ---- the message

// Logs a long text as several log messages, because the length of a log message is limited.
static void log_pieces(const struct call *c, const char *what, str text) {
  enum { PIECE = 1024 };
  for (size_t at = 0; text.n; at++) {
    str piece = utf8_cut(text, PIECE);
    if (!piece.n) piece = (str){text.p, text.n < PIECE ? text.n : PIECE};
    log_debug(c->context->loop->log, "session %.8s: %s of server %.*s, part %zu: %.*s", c->request->session->id, what,
              STR_ARG(call_server(c)), at, STR_ARG(piece));
    text = str_from(text, piece.n);
  }
}

// Logs the server's whole error for operators, with the configured secrets masked. If the error data contains a
// configured secret, all text in the data that looks like a secret is masked too, because other copies of the secret
// may be written with escapes.
static void log_detail(struct call *c, str text, const struct json *data) {
  struct arena *a = &c->request->arena;
  const struct secrets_known *known = &call_spec(c)->secrets;
  if (c->context->loop->log->level > LOG_DEBUG) return;
  log_pieces(c, "error message", secrets_mask_known(a, utf8_cut(text, READ_BYTES), known));
  if (!data) return;
  str raw = secrets_in_json(data, known) ? secrets_mask_json(a, data, known) : json_span(data);
  log_pieces(c, "error data", utf8_cut(raw, READ_BYTES));
}

static enum call_result run(struct call *c, void *state) {
  if (c->reply && c->reply->kind == RPC_RESULT) json_bool(json_get(c->reply->result, STR("isError")), &c->tool_failed);
  if (!c->reply || c->reply->kind != RPC_ERROR) return CALL_NEXT;
  struct arena *a = &c->request->arena;
  const struct upstream_spec *spec = call_spec(c);
  const struct json *error = c->reply->error, *data = json_get(error, STR("data"));
  int64_t code = 0;
  str text = STR("");
  json_int(json_get(error, STR("code")), &code);
  json_string(json_get(error, STR("message")), a, &text);
  const struct rpc_message *masked =
      code == RPC_URL_NEEDED && error->n <= URLS_MOST ? call_scrub_url_needed(c, c->reply) : NULL;
  if (masked) {
    c->reply = masked;
    return CALL_NEXT;
  }
  struct call_failure *f = c->failure = ARENA_NEW(a, struct call_failure);
  log_info(c->context->loop->log, "session %.8s: %.*s failed at server %.*s: %.*s", c->request->session->id,
           STR_ARG(c->request->msg.method), STR_ARG(call_server(c)),
           STR_ARG(secrets_mask_known(a, utf8_cut(text, READ_BYTES), &spec->secrets)));
  log_detail(c, text, data);
  str line = mask_line(a, text, &spec->hidden);
  fault_set(&f->fault, fault_of(code, data, line), "%.*s", STR_ARG(secrets_mask(a, line, &spec->hidden)));
  fault_set_path(&f->fault, c->about);
  f->server = call_server(c);
  f->upstream = true;
  f->code = (int)code;
  if (data && data->n <= DATA_BYTES) f->data = secrets_mask_json(a, data, &spec->hidden);
  return CALL_NEXT;
}

const struct call_step step_classify = {
    .name = "classify",
    .does = "Gives an error of the server its fault code.",
    .run = run,
};
