// SPDX-License-Identifier: Apache-2.0
#include "call/scrub.h"
#include "base/assert.h"
#include "call/steps/steps.h"
#include "result/envelope/envelope.h"
#include "text/hidden.h"
#include "text/secrets.h"
#include "json/write.h"

static const struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};

// Returns the JSON text of `v` with secrets masked, or STR_NONE if `v` contains no secret.
static str masked(struct arena *a, const struct json *v, const struct secrets_known *known) {
  struct buf b;
  buf_init(&b, secrets_json_max(v));
  str text = secrets_put_json(&b, v, known) ? arena_str(a, buf_view(&b)) : STR_NONE;
  buf_done(&b);
  return text;
}

// Returns the JSON text of `params` with secrets masked, or STR_NONE if `params` contain no secret. Three members are
// not masked: _meta, which contains tokens of the protocol; taskId; and url, which the user must be able to open.
static str masked_params(struct arena *a, const struct json *params, const struct secrets_known *known) {
  static const str kept[] = {STR("_meta"), STR("taskId"), STR("url")};
  struct json_edit edits[3];
  size_t count = 0;
  struct fault f;
  if (!json_is(params, JSON_OBJECT)) return STR_NONE;
  str text = masked(a, params, known);
  for (size_t i = 0; text.p && i < 3; i++) {
    const struct json *v = json_get(params, kept[i]);
    if (v) edits[count++] = (struct json_edit){kept[i], json_span(v)};
  }
  const struct json *clean = count ? json_parse(a, text, &limits, &f) : NULL;
  return clean ? json_edited(a, clean, edits, count) : text;
}

// Parses a JSON-RPC message. Returns NULL if `text` is not a valid message.
static const struct rpc_message *read_again(struct arena *a, str text) {
  struct rpc_message *copy = ARENA_NEW(a, struct rpc_message);
  struct rpc_error err;
  struct fault f;
  const struct json *root = json_parse(a, text, &limits, &f);
  return root && rpc_read(root, a, copy, &err) ? copy : NULL;
}

// Returns a copy of the message in which a member has the JSON text `text`, or NULL if the copy is not a valid message.
static const struct rpc_message *replaced(struct arena *a, const struct rpc_message *m, str member, str text) {
  struct json_edit edit = {member, text};
  return read_again(a, json_edited(a, m->root, &edit, 1));
}

const struct rpc_message *calls_unhide(const struct call_context *x, const struct rpc_message *m, struct arena *a) {
  struct buf b;
  str said = json_span(m->root);
  if (x->results.keep_hidden || m->large_message || !hidden_in_json(said)) return m;
  buf_init(&b, hidden_json_max(said));
  if (hidden_put_json(&b, said)) m = read_again(a, arena_str(a, buf_view(&b)));
  buf_done(&b);
  return m;
}

void calls_unhide_text(const struct call_context *x, struct buf *result) {
  struct buf b;
  if (x->results.keep_hidden || result->over || !hidden_in_json(buf_view(result))) return;
  buf_init(&b, hidden_json_max(buf_view(result)));
  if (hidden_put_json(&b, buf_view(result))) {
    buf_reset(result);
    buf_str(result, buf_view(&b));
  }
  buf_done(&b);
}

const struct rpc_message *calls_scrub(const struct call_context *x, const struct lane *lane,
                                      const struct rpc_message *m, struct arena *a) {
  m = calls_unhide(x, m, a);  // must be done before masking, because a hidden character may split a secret
  if (!m) return NULL;
  const struct upstream_spec *spec = lane_spec(lane);
  // A notification reports an error if it says that a task has failed, or if it is a log message of level error or
  // above.
  bool log = str_eq(m->method, STR("notifications/message"));
  bool error =
      spec->hidden.count && (log ? session_log_level(json_get(m->params, STR("level"))) >= SESSION_LOG_ERROR
                                 : str_starts(m->method, STR("notifications/tasks")) && envelope_is_error(m->params));
  const struct secrets_known *known = error ? &spec->hidden : &spec->secrets;
  if (!x->results.scrub && !(error && secrets_in_json(m->params, known))) return m;
  str text = masked_params(a, m->params, known);
  return text.p ? replaced(a, m, STR("params"), text) : m;
}

const struct rpc_message *call_scrub_questions(struct call *c, const struct rpc_message *reply) {
  struct arena *a = &c->request->arena;
  const struct json *asked = json_get(reply->result, STR("inputRequests"));
  if (!c->context->results.scrub || !json_is(asked, JSON_OBJECT)) return reply;
  struct json_edit *edits = ARENA_ARRAY(a, struct json_edit, asked->count + 1);
  size_t count = 0;
  JSON_EACH(it, asked) {
    str text = masked_params(a, json_get(it, STR("params")), &call_spec(c)->secrets);
    struct json_edit params = {STR("params"), text};
    if (text.p) edits[count++] = (struct json_edit){json_key(it, a), json_edited(a, it, &params, 1)};
  }
  ASSERT(count <= asked->count);
  struct json_edit all = {STR("inputRequests"), count ? json_edited(a, asked, edits, count) : STR_NONE};
  return count ? replaced(a, reply, STR("result"), json_edited(a, reply->result, &all, 1)) : reply;
}

// Returns a list of elicitations with secrets masked, except in the URLs that the client opens.
static str masked_urls(struct arena *a, const struct json *urls, const struct secrets_known *known) {
  struct buf b;
  buf_init(&b, secrets_json_max(urls));
  buf_char(&b, '[');
  JSON_EACH(it, urls) {
    str text = masked_params(a, it, known);
    if (it != urls->child) buf_char(&b, ',');
    buf_str(&b, text.p ? text : json_span(it));
  }
  buf_char(&b, ']');
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

const struct rpc_message *call_scrub_url_needed(struct call *c, const struct rpc_message *reply) {
  struct arena *a = &c->request->arena;
  const struct secrets_known *known = &call_spec(c)->hidden;
  const struct json *urls = json_get(json_get(reply->error, STR("data")), STR("elicitations"));
  struct fault f;
  if (!c->context->results.scrub && !secrets_in_json(reply->error, known)) return reply;
  str text = masked(a, reply->error, known);
  if (!text.p) return reply;
  const struct json *clean = json_parse(a, text, &limits, &f);
  if (!clean) return NULL;
  if (json_is(urls, JSON_ARRAY)) {
    struct json_edit list = {STR("elicitations"), masked_urls(a, urls, known)};
    struct json_edit data = {STR("data"), json_edited(a, json_get(clean, STR("data")), &list, 1)};
    text = json_edited(a, clean, &data, 1);
  }
  return replaced(a, reply, STR("error"), text);
}

str call_scrubbed(struct call *c, str result) {
  struct arena *a = &c->request->arena;
  const struct upstream_spec *spec = call_spec(c);
  bool all = c->context->results.scrub;
  struct fault f;
  if (!all && !spec->hidden.count) return result;
  const struct json *v = json_parse(a, result, &json_default_limits, &f);
  if (!v) return STR_NONE;
  bool error = envelope_is_error(v);
  if (!all && !(error && secrets_in_json(v, &spec->hidden))) return result;
  str text = masked(a, v, error ? &spec->hidden : &spec->secrets);
  return text.p ? text : result;
}
