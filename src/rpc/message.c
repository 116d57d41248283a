// SPDX-License-Identifier: Apache-2.0
#include "rpc/message.h"

#include <stdio.h>

#include "base/assert.h"
#include "rpc/members.h"
#include "json/scan.h"
#include "json/write.h"

static bool refuse(struct rpc_error *err, const struct json *id, const char *why) {
  *err = (struct rpc_error){.code = RPC_INVALID_REQUEST, .message = why};
  bool usable = id && (id->type == JSON_STRING || id->type == JSON_NUMBER) && id->n < RPC_ERROR_ID;
  if (usable) memcpy(err->id, id->p, id->n);
  return false;
}

// The known members of a message. One walk over the message finds all of them; each json_get would walk over the
// message again.
struct rpc_members {
  const struct json *version, *id, *method, *params, *result, *error;
  bool disguised;  // a member name contains escapes, or differs from a known name only in case
};

// Finds the known members. Sets m->disguised for a disguised name, and for a known name with escapes ("\u0069d"): these
// are legal JSON, but a peer that does not unescape names would read another message.
static void read_members(const struct json *value, struct arena *a, struct rpc_members *m) {
  JSON_EACH(it, value) {
    bool escaped = it->flags & JSON_KEY_ESCAPED;
    str key = escaped ? STR_NONE : (str){it->key, it->key_n};
    if (str_eq(key, STR("id"))) m->id = it;
    else if (str_eq(key, STR("jsonrpc"))) m->version = it;
    else if (str_eq(key, STR("method"))) m->method = it;
    else if (str_eq(key, STR("params"))) m->params = it;
    else if (str_eq(key, STR("result"))) m->result = it;
    else if (str_eq(key, STR("error"))) m->error = it;
    else if (members_disguised(json_key(it, a), MEMBERS_ENVELOPE)) m->disguised = true;
    else if (escaped && members_known(json_key(it, a), MEMBERS_ENVELOPE)) m->disguised = true;
  }
}

// Returns the params, result or error of a message, or NULL.
static const struct json *body_of(const struct rpc_message *m, enum members_of *out_what, str *out_name) {
  *out_what = m->params ? MEMBERS_PARAMS : m->result ? MEMBERS_RESULT : MEMBERS_ERROR;
  *out_name = m->params ? STR("params") : m->result ? STR("result") : STR("error");
  return m->params ? m->params : m->result ? m->result : m->error;
}

// Checks the member names inside params, result or error. Returns false with the reason in *err if a name is disguised.
static bool read_body(struct rpc_message *m, struct arena *a, struct rpc_error *err) {
  enum members_of what;
  str name;
  const struct json *body = body_of(m, &what, &name);
  struct members_found found = {0};
  if (body) found = members_check(body, what, a);
  m->reserved = found.reserved;
  if (!found.disguised) return true;
  refuse(err, m->id, "a member name differs from a protocol name only in case; use the exact protocol name");
  if (m->params) err->code = RPC_INVALID_PARAMS;
  return false;
}

bool rpc_read(const struct json *value, struct arena *a, struct rpc_message *out, struct rpc_error *err) {
  if (!json_is(value, JSON_OBJECT)) return refuse(err, NULL, "a JSON-RPC message must be an object");
  struct rpc_members m = {0};
  read_members(value, a, &m);
  if (m.disguised)
    return refuse(err, m.id,
                  "a member name of the message is written with escapes, or differs from \"jsonrpc\", \"id\", "
                  "\"method\", \"params\", \"result\" or \"error\" only in case");
  if (!json_equals_str(m.version, STR("2.0"))) return refuse(err, m.id, "\"jsonrpc\" must be \"2.0\"");
  if (m.id && m.id->type != JSON_STRING && m.id->type != JSON_NUMBER) {
    if (m.method || m.id->type != JSON_NULL) return refuse(err, NULL, "\"id\" must be a string or a number");
    m.id = NULL;
  }
  struct rpc_message msg = {.root = value, .id = m.id};
  if (m.method) {
    if (m.result || m.error)
      return refuse(err, m.id, "a message must have exactly one of \"method\", \"result\" and \"error\"");
    if (!json_string(m.method, a, &msg.method)) return refuse(err, m.id, "\"method\" must be a string");
    if (m.params && m.params->type != JSON_OBJECT && m.params->type != JSON_ARRAY)
      return refuse(err, m.id, "\"params\" must be an object");
    msg.kind = m.id ? RPC_REQUEST : RPC_NOTIFICATION;
    msg.params = m.params;
  } else if (m.result && !m.error) {
    if (!m.id) return refuse(err, NULL, "a message with \"result\" must have an \"id\"");
    msg.kind = RPC_RESULT;
    msg.result = m.result;
  } else if (m.error && !m.result) {
    if (m.error->type != JSON_OBJECT) return refuse(err, m.id, "\"error\" must be an object");
    msg.kind = RPC_ERROR;
    msg.error = m.error;
  } else {
    return refuse(err, m.id, "a message must have exactly one of \"method\", \"result\" and \"error\"");
  }
  ASSERT((msg.kind == RPC_REQUEST || msg.kind == RPC_NOTIFICATION) == (msg.method.p != NULL));
  if (!read_body(&msg, a, err)) return false;
  *out = msg;
  return true;
}

void rpc_put_unreserved(struct buf *out, const struct rpc_message *m, struct arena *a) {
  enum members_of what;
  str name;
  const struct json *body = body_of(m, &what, &name);
  struct buf clean;
  ASSERT(body && m->reserved);
  buf_init(&clean, (size_t)body->n + 1);
  members_put_unreserved(&clean, body, what, a);
  json_copy_edited(out, m->root, &(struct json_edit){name, buf_view(&clean)}, 1);
  buf_done(&clean);
}

bool rpc_same_id(const struct json *a, const struct json *b) {
  if (!a || !b || a->type != b->type) return false;
  if (str_eq(json_span(a), json_span(b))) return true;
  return json_same(a, b);
}

static void open_message(struct buf *out, str id) {
  buf_str(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_str(out, id.p ? id : STR("null"));
}

static void put_method(struct buf *out, str method, str params) {
  buf_str(out, STR("\"method\":"));
  json_escape(out, method);
  if (params.n) {
    buf_str(out, STR(",\"params\":"));
    buf_str(out, params);
  }
  buf_char(out, '}');
}

void rpc_put_request(struct buf *out, str id, str method, str params) {
  open_message(out, id);
  buf_char(out, ',');
  put_method(out, method, params);
}

void rpc_put_notification(struct buf *out, str method, str params) {
  buf_str(out, STR("{\"jsonrpc\":\"2.0\","));
  put_method(out, method, params);
}

void rpc_put_result(struct buf *out, str id, str result) {
  open_message(out, id);
  buf_str(out, STR(",\"result\":"));
  buf_str(out, result);
  buf_char(out, '}');
}

void rpc_put_error(struct buf *out, str id, int code, str message, str data) {
  open_message(out, id);
  buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
  json_escape(out, message);
  if (data.n) {
    buf_str(out, STR(",\"data\":"));
    buf_str(out, data);
  }
  buf_str(out, STR("}}"));
}

void rpc_put_refusal(struct buf *out, const struct rpc_error *err) {
  rpc_put_error(out, err->id[0] ? str_of(err->id) : STR_NONE, err->code, str_of(err->message), STR_NONE);
}

// Finds the member "id" in the text of an object that could not be parsed. The search does not validate values, so the
// value of "id" is parsed afterwards.
static void find_id(str message, char out[RPC_ERROR_ID]) {
  struct json_scan scan = json_scan(message);
  struct json_walk walk;
  str id = STR_NONE;
  json_walk_open(&walk, &scan, json_scan_first(&scan));
  while (!id.n && walk.close == '}' && json_walk_next(&walk))
    if (json_walk_key_is(&walk, STR("id"))) id = json_walk_value(&walk);
  struct json_limits limits = {.max_bytes = RPC_ERROR_ID - 1, .max_depth = 1};
  struct arena a;
  struct fault ignored;
  arena_init(&a);
  const struct json *v = json_parse(&a, id, &limits, &ignored);
  if (json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER)) {
    ASSERT(v->n < RPC_ERROR_ID);
    memcpy(out, v->p, v->n);
  }
  arena_done(&a);
}

void rpc_refuse_unread(str message, const struct fault *why, struct rpc_unread *out) {
  bool limit = why->code == FAULT_LIMIT;
  const char *key = why->limit == LIMIT_VALUES  ? ", limits.request_values"
                    : why->limit == LIMIT_BYTES ? ", limits.request"
                                                : "";
  *out = (struct rpc_unread){.error = {.code = limit ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR}};
  snprintf(out->text, sizeof out->text, "%s: %s (%s%s)", limit ? "Invalid Request" : "Parse error", why->message,
           why->path, key);
  out->error.message = out->text;
  if (limit) find_id(message, out->error.id);
}

void rpc_put_reply_as(struct buf *out, const struct rpc_message *reply, str id) {
  if (reply->root->count <= RPC_REPLY_MEMBERS) {
    json_copy_edited(out, reply->root, &(struct json_edit){STR("id"), id}, 1);
    return;
  }
  open_message(out, id);
  ASSERT(reply->result || reply->error);
  buf_str(out, reply->result ? STR(",\"result\":") : STR(",\"error\":"));
  buf_str(out, json_span(reply->result ? reply->result : reply->error));
  buf_char(out, '}');
}
