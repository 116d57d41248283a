// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/assert.h"
#include "call/bridge/stateless_questions.h"
#include "call/bridge/task_bridge.h"
#include "call/bridge/translate.h"
#include "call/mask_errors.h"
#include "call/steps/steps.h"
#include "govern/signing.h"
#include "mcp/gateway_chain.h"
#include "mcp/meta.h"
#include "json/write.h"

// ---- params

static str edited(struct arena *a, const struct json *object, str key, str raw) {
  return json_edited(a, object, &(struct json_edit){key, raw}, 1);
}

// Returns a copy of _meta in which the member `key` has the value `raw` or, if `raw` is STR_NONE, is missing.
static str meta_with(struct arena *a, const struct json *meta, str key, str raw) {
  return edited(a, json_is(meta, JSON_OBJECT) ? meta : &json_empty_object, key, raw);
}

// Sets *out to an edit of the params that replaces the target's name by its name on the upstream. Returns false if both
// names are equal.
static bool rename_target(struct call *c, struct json_edit *out) {
  const struct json *params = c->request->msg.params;
  struct arena *a = &c->request->arena;
  str name = c->routes[c->route].uri;
  if (c->method->target == CALL_BY_REF) {
    const struct json *ref = json_get(params, STR("ref"));
    str key = call_ref_member(ref);
    if (json_equals_str(json_get(ref, key), name)) return false;
    *out = (struct json_edit){STR("ref"), edited(a, ref, key, json_escaped(a, name))};
    return true;
  }
  str key = c->method->target == CALL_BY_NAME ? STR("name") : STR("uri");
  const struct json *named = json_get(params, key);
  if (!named || json_equals_str(named, name)) return false;
  *out = (struct json_edit){key, json_escaped(a, name)};
  return true;
}

static bool edit_meta(struct call *c, struct json_edit *out) {
  struct request *r = c->request;
  const struct session *s = c->session;
  bool from = call_is_stateless(c), to = c->to_stateless;
  const struct json *meta = json_get(r->msg.params, STR("_meta"));
  const struct json *theirs = request_progress_token(r);
  bool tasked = to && task_kind(c) != TASK_NONE;  // the request declares the tasks extension
  bool ours = json_get(meta, CLIENT_STRUCTURED);  // _meta has a member that only Toolgate reads
  if (from == to && !theirs && !tasked && !ours) return false;
  struct str_digits id;
  str token = theirs ? str_from_u64(call_link(c)->wait.id, &id) : STR_NONE;
  out->key = STR("_meta");
  if (from == to && !tasked) {
    struct json_edit edits[] = {{CLIENT_STRUCTURED, STR_NONE}, {STR("progressToken"), token}};
    out->raw = json_edited(&r->arena, meta, edits, theirs ? 2 : 1);
    return true;
  }
  if (!to && json_is(meta, JSON_OBJECT) && meta_only_stateless(meta)) {
    out->raw = STR_NONE;
    return true;
  }
  // A server with a session sends log messages by default. A stateless server sends log messages only if the request
  // names a level, so the gateway asks for the level "info" by default.
  str level = str_of(s->log_level == SESSION_LOG_UNSET ? "info" : session_log_name(s->log_level));
  struct meta_caller caller = {task_capabilities(c), s->client, level};
  struct buf b;
  buf_init(&b, (meta ? meta->n : 0) + caller.capabilities.n + s->client.n + 1024);
  meta_write(&b, meta, to ? &caller : NULL, token);
  out->raw = arena_str(&r->arena, buf_view(&b));
  buf_done(&b);
  return true;
}

// Adds the trace to the _meta of the params, in *out. If `edited_before` is set, *out already has an edited _meta.
// Returns false if nothing was added.
static bool trace_meta(struct call *c, struct json_edit *out, bool edited_before) {
  struct arena *a = &c->request->arena;
  struct call_trace trace;
  struct fault f;
  // Without a tracer and without a trace in the HTTP headers, the client's _meta already has the right trace, or none.
  if (!c->context->tracer && !c->request->traceparent.n) return false;
  if (!call_trace_out(c, &trace)) return false;
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  if (edited_before) meta = out->raw.n ? json_parse(a, out->raw, &json_default_limits, &f) : NULL;
  struct json_edit edits[] = {{STR("traceparent"), json_escaped(a, trace.parent)},
                              {STR("tracestate"), trace.state.n ? json_escaped(a, trace.state) : STR_NONE}};
  out->key = STR("_meta");
  out->raw = json_edited(a, json_is(meta, JSON_OBJECT) ? meta : &json_empty_object, edits, 2);
  return true;
}

// If another gateway sent the call, adds to _meta the names of the gateways that the call has passed. If
// `edited_before` is set, *out already has an edited _meta. Returns false if nothing was added.
static bool chain_meta(struct call *c, struct json_edit *out, bool edited_before) {
  struct arena *a = &c->request->arena;
  struct fault f;
  str path;
  if (!call_chain_out(c, &path, &f) || !path.n) return false;
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  if (edited_before) meta = out->raw.n ? json_parse(a, out->raw, &json_default_limits, &f) : NULL;
  out->key = STR("_meta");
  out->raw = meta_with(a, meta, CHAIN_META, json_escaped(a, path));
  return true;
}

// Adds the signed decision about the call to _meta. If `edited_before` is set, *out already has an edited _meta.
// Returns false if nothing was added.
static bool decision_meta(struct call *c, struct json_edit *out, bool edited_before) {
  struct arena *a = &c->request->arena;
  struct fault f;
  str token = call_signed(c);
  if (!token.p) return false;
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  if (edited_before) meta = out->raw.n ? json_parse(a, out->raw, &json_default_limits, &f) : NULL;
  out->key = STR("_meta");
  out->raw = meta_with(a, meta, DECISION_META, json_escaped(a, token));
  return true;
}

// Adds the idempotency key to _meta, if the gateway has made it. If `edited_before` is set, *out already has an edited
// _meta. Returns false if nothing was added.
static bool key_meta(struct call *c, struct json_edit *out, bool edited_before) {
  struct arena *a = &c->request->arena;
  struct fault f;
  str key = call_minted_key(c);
  if (!key.p) return false;
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  if (edited_before) meta = out->raw.n ? json_parse(a, out->raw, &json_default_limits, &f) : NULL;
  out->key = STR("_meta");
  out->raw = meta_with(a, meta, IDEMPOTENCY_META, json_escaped(a, key));
  return true;
}

// Makes edits of the params that set or remove inputResponses (the answers to questions) and requestState. Returns the
// number of edits.
static size_t edit_round(struct call *c, struct json_edit *out) {
  struct arena *a = &c->request->arena;
  bool from = call_is_stateless(c), to = c->to_stateless;
  const struct ticket *ticket = to && from ? call_ticket(c) : NULL;
  size_t n = 0;
  if (!to && from) {
    out[n++] = (struct json_edit){STR("inputResponses"), STR_NONE};
    out[n++] = (struct json_edit){STR("requestState"), STR_NONE};
  } else if (ticket) {
    out[n++] = (struct json_edit){STR("requestState"), ticket->has_state ? json_escaped(a, ticket->state) : STR_NONE};
    if (ticket->kind == TICKET_AGAIN) out[n++] = (struct json_edit){STR("inputResponses"), STR_NONE};
  } else if (to && !from) {
    // Add the client's answers, which the gateway has collected (step_rounds). The client's revision does not have
    // these members.
    out[n++] = (struct json_edit){STR("inputResponses"), rounds_responses(c)};
    out[n++] = (struct json_edit){STR("requestState"), rounds_request_state(c)};
  }
  return n;
}

bool translate_params(struct call *c, str *out) {
  const struct json *params = c->request->msg.params;
  bool to = c->to_stateless;
  *out = params ? json_span(params) : STR_NONE;
  if ((params && params->type != JSON_OBJECT) || (!params && !to)) return true;
  struct json_edit edits[6];
  size_t n = 0;
  if (task_edit(c, &edits[n])) n++;
  bool named = c->method->target <= CALL_BY_REF;
  if (named && rename_target(c, &edits[n])) n++;
  bool meta = edit_meta(c, &edits[n]);
  meta |= trace_meta(c, &edits[n], meta);
  meta |= chain_meta(c, &edits[n], meta);
  meta |= decision_meta(c, &edits[n], meta);
  meta |= key_meta(c, &edits[n], meta);
  if (meta) n++;
  n += edit_round(c, &edits[n]);
  ASSERT(n <= sizeof edits / sizeof *edits);
  if (n == 0) return true;
  struct buf *b = &c->context->params;
  buf_reset(b);
  buf_trim(b, 1 << 20);
  json_copy_edited(b, params ? params : &json_empty_object, edits, n);
  *out = buf_view(b);
  return !b->over;
}

// ---- results

enum result_type result_type(const struct call *c, const struct rpc_message *reply) {
  if (reply->kind != RPC_RESULT || !c->to_stateless) return RESULT_COMPLETE;
  const struct json *type = json_get(reply->result, STR("resultType"));
  if (!type || json_equals_str(type, STR("complete"))) return RESULT_COMPLETE;
  if (json_equals_str(type, STR("input_required"))) return RESULT_INPUT_REQUIRED;
  if (json_equals_str(type, STR("task"))) return RESULT_TASK;
  return RESULT_UNKNOWN;
}

static bool is_read(const struct call *c) {
  return str_eq(str_of(c->method->name), STR("resources/read"));
}

// Makes edits that add the members which the stateless revision requires in every result. Returns the number of edits.
static size_t renew(struct call *c, const struct json *result, struct json_edit *out) {
  const struct json *meta = json_get(result, STR("_meta"));
  str all = meta ? meta_with(&c->request->arena, meta, META_SERVER, META_TOOLGATE) : META_OF_TOOLGATE;
  out[0] = (struct json_edit){STR("resultType"), STR("\"complete\"")};
  out[1] = (struct json_edit){STR("_meta"), all};
  return 2;
}

void translate_renewed(struct call *c, const struct json *result, struct buf *out) {
  struct json_edit edits[4];
  size_t n = renew(c, result, edits);
  if (is_read(c)) {
    edits[n++] = (struct json_edit){STR("ttlMs"), STR("0")};
    edits[n++] = (struct json_edit){STR("cacheScope"), STR("\"private\"")};
  }
  json_copy_edited(out, result, edits, n);
}

// Sets *out to an edit of a result's _meta for a client with a session: removes the member with the server's name and
// version and, in a result of tasks/result, adds the task's id. Returns false if _meta need not change.
static bool age_meta(struct call *c, const struct json *meta, struct json_edit *out) {
  struct arena *a = &c->request->arena;
  bool names = json_get(meta, META_SERVER), of_task = str_eq(str_of(c->method->name), STR("tasks/result"));
  if (!names && !of_task) return false;
  *out = (struct json_edit){STR("_meta"), STR_NONE};
  if (names && meta->count > 1) out->raw = meta_with(a, meta, META_SERVER, STR_NONE);
  else if (meta && !names) out->raw = json_span(meta);
  if (!of_task) return true;
  str related = arena_printf(a, "{\"taskId\":%.*s}", STR_ARG(json_escaped(a, task_id(c))));
  struct fault f;
  const struct json *left = out->raw.n ? json_parse(a, out->raw, &json_default_limits, &f) : NULL;
  out->raw = meta_with(a, left, STR("io.modelcontextprotocol/related-task"), related);
  return true;
}

// In revisions with sessions structuredContent must be an object, so any other value is put into an object.
void translate_result(struct call *c, const struct json *result, struct buf *out) {
  ASSERT(json_is(result, JSON_OBJECT));
  const struct json *content = json_get(result, STR("structuredContent"));
  bool wrap = content && (content->type != JSON_OBJECT || (c->item && c->item->wraps_output));
  struct json_edit edits[5] = {{STR("resultType"), STR_NONE}};
  size_t n = 1;
  if (age_meta(c, json_get(result, STR("_meta")), &edits[n])) n++;
  if (is_read(c)) {
    edits[n++] = (struct json_edit){STR("ttlMs"), STR_NONE};
    edits[n++] = (struct json_edit){STR("cacheScope"), STR_NONE};
  }
  struct buf wrapped;
  buf_init(&wrapped, (content ? content->n : 0) + 32);
  if (wrap) {
    buf_str(&wrapped, STR("{\"result\":"));
    buf_str(&wrapped, json_span(content));
    buf_char(&wrapped, '}');
    edits[n++] = (struct json_edit){STR("structuredContent"), buf_view(&wrapped)};
  }
  json_copy_edited(out, result, edits, n);
  buf_done(&wrapped);
}

// Passes a stateless server's questions unchanged to a stateless client. The server's requestState is put into an
// encrypted ticket, so that only the same client can return it, with the same request, to the same server.
static void put_questions(struct call *c, const struct json *result, struct buf *out) {
  struct request *r = c->request;
  const struct json *state = json_get(result, STR("requestState"));
  struct ticket ticket = {.kind = TICKET_UPSTREAM, .source = c->routes[c->route].source, .spent_ms = call_spent(c)};
  ticket.has_state = json_string(state, &r->arena, &ticket.state);
  if (!ticket.has_state) {
    buf_str(out, json_span(result));
    return;
  }
  struct ticket_use use = call_use(c);
  struct buf b;
  buf_init(&b, ticket.state.n * 2 + 1024);
  buf_char(&b, '"');
  ticket_issue(&c->context->tickets, &ticket, &use, &b);
  buf_char(&b, '"');
  json_copy_edited(out, result, &(struct json_edit){STR("requestState"), buf_view(&b)}, 1);
  buf_done(&b);
}

// ---- errors

// Returns the error code for the client: `code`, or another one if the client's protocol revision does not have `code`.
static int translate_code(const struct call *c, const struct json *error, int code) {
  bool names_uri = json_get(json_get(error, STR("data")), STR("uri"));
  if (call_is_stateless(c)) {
    if (code == RPC_RESOURCE_NOT_FOUND) return RPC_INVALID_PARAMS;
    return code == RPC_URL_NEEDED ? RPC_INTERNAL_ERROR : code;
  }
  if (code == RPC_INVALID_PARAMS && is_read(c) && names_uri) return RPC_RESOURCE_NOT_FOUND;
  bool new = code == RPC_HEADER_MISMATCH || code == RPC_MISSING_CAPABILITY || code == RPC_UNSUPPORTED_VERSION;
  return new ? RPC_INTERNAL_ERROR : code;
}

// Returns whether the answer must be translated. This is necessary if only one of client and server uses sessions, or
// if the result was taken out of a task for which the gateway waited.
static bool crosses(const struct call *c) {
  bool inside = c->to_stateless && task_kind(c) == TASK_AWAITED;
  return inside || call_is_stateless(c) != c->to_stateless;
}

// Returns the data of a "resource not found" error with the requested URI added, or STR_NONE if the data need not
// change.
static str data_with_uri(struct call *c, const struct json *data) {
  struct arena *a = &c->request->arena;
  const struct json *uri = json_get(c->request->msg.params, STR("uri"));
  if (!uri || json_get(data, STR("uri"))) return STR_NONE;
  if (json_is(data, JSON_OBJECT)) return edited(a, data, STR("uri"), json_span(uri));
  return arena_printf(a, "{\"uri\":%.*s}", STR_ARG(json_span(uri)));
}

static int put_error(struct call *c, const struct json *error, struct buf *out) {
  int64_t code = 0;
  char number[16];
  json_int(json_get(error, STR("code")), &code);
  int now = code >= INT32_MIN && code <= INT32_MAX ? (int)code : RPC_INTERNAL_ERROR;
  if (crosses(c)) now = translate_code(c, error, now);
  int n = snprintf(number, sizeof number, "%d", now);
  struct json_edit edits[2] = {{STR("code"), {number, (size_t)n}}};
  size_t count = 1;
  bool not_found = code == RPC_RESOURCE_NOT_FOUND && now != code;
  str data = not_found ? data_with_uri(c, json_get(error, STR("data"))) : STR_NONE;
  if (data.p) edits[count++] = (struct json_edit){STR("data"), data};
  json_copy_edited(out, error, edits, count);
  return now;
}

// A server of revision 2025-11-25 may refuse a call until the user has opened a URL. Turns this error into a question
// for a stateless client, which repeats the call afterwards. Returns false for other errors.
static bool put_urls(struct call *c, const struct rpc_message *reply, struct buf *out) {
  struct request *r = c->request;
  const struct json *urls = json_get(json_get(reply->error, STR("data")), STR("elicitations"));
  int64_t code = 0;
  json_int(json_get(reply->error, STR("code")), &code);
  const struct json *capabilities = json_get(json_get(r->msg.params, STR("_meta")), META_CAPABILITIES);
  bool opens = json_is(json_get(json_get(capabilities, STR("elicitation")), STR("url")), JSON_OBJECT);
  if (code != RPC_URL_NEEDED || c->failure || !opens || !call_may_ask(c) || !json_is(urls, JSON_ARRAY)) return false;
  struct ticket ticket = {.kind = TICKET_AGAIN, .spent_ms = call_spent(c)};
  struct ticket_use use = call_use(c);
  static const struct json_edit gone = {STR("elicitationId"), {0}};
  buf_str(out, STR("{\"resultType\":\"input_required\",\"inputRequests\":{"));
  unsigned count = 0;
  JSON_EACH(it, urls) {
    if (it->type != JSON_OBJECT) continue;
    buf_printf(out, "%s\"url%u\":{\"method\":\"elicitation/create\",\"params\":", count ? "," : "", count + 1);
    json_copy_edited(out, it, &gone, 1);
    buf_char(out, '}');
    count++;
  }
  buf_str(out, STR("},\"requestState\":\""));
  ticket_issue(&c->context->tickets, &ticket, &use, out);
  buf_str(out, STR("\",\"_meta\":"));
  buf_str(out, META_OF_TOOLGATE);
  buf_char(out, '}');
  return true;
}

// ---- the answer

static void begin_answer(struct buf *out, str id, str member) {
  buf_reset(out);
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(out, id);
  buf_str(out, member);
}

// Writes the whole JSON-RPC response. If `reply` is an error, `error` is a copy of the error with secrets masked.
// Returns the error code in the response, or 0 for a result.
static int put_answer(struct call *c, const struct rpc_message *reply, const struct json *error, struct buf *out) {
  str id = c->request->id;
  int code = 0;
  begin_answer(out, id, STR(",\"result\":"));
  if (result_type(c, reply) == RESULT_INPUT_REQUIRED) {
    put_questions(c, reply->result, out);
  } else if (c->meta.n) {
    json_copy_edited(out, reply->result, &(struct json_edit){STR("_meta"), c->meta}, 1);
  } else if (reply->kind == RPC_RESULT) {
    if (call_is_stateless(c)) translate_renewed(c, reply->result, out);
    else translate_result(c, reply->result, out);
  } else if (!call_is_stateless(c) || !put_urls(c, reply, out)) {
    begin_answer(out, id, STR(",\"error\":"));
    code = put_error(c, error, out);
  }
  buf_char(out, '}');
  return code;
}

// `made` contains parts of the server's result, so it may have members that only the server's protocol revision has.
void translate_made(struct call *c, const struct json *made, struct buf *out) {
  struct json_edit edits[2] = {{STR("resultType"), STR_NONE}};
  size_t n = 1;
  if (call_is_stateless(c)) n = renew(c, made, edits);
  else if (age_meta(c, json_get(made, STR("_meta")), &edits[n])) n++;
  json_copy_edited(out, made, edits, n);
}

void translate_reply(struct call *c, const struct rpc_message *reply) {
  struct buf *out = &c->context->text;
  ASSERT(c->request && reply);
  bool strange = reply->kind == RPC_RESULT && !json_is(reply->result, JSON_OBJECT);
  bool same = strange || !crosses(c);
  const struct json *error = mask_error(c, reply);
  bool as_it_is = same && !c->meta.n && error == reply->error && result_type(c, reply) != RESULT_INPUT_REQUIRED;
  int code = as_it_is ? 0 : put_answer(c, reply, error, out);
  // Keeps the large message in memory, because the reply may be part of it.
  struct large_message *held = call_hold_large(c);
  struct request *r = call_release_request(c);
  if (as_it_is) request_reply_as(r, reply);
  else if (out->over)
    request_fail(r, RPC_INTERNAL_ERROR, "the translated answer is larger than limits.message", STR_NONE);
  else request_send(r, out, code);
  large_message_unref(&held);
}
