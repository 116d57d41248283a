// SPDX-License-Identifier: Apache-2.0
#include "rpc/message.h"

#include "json/write.h"

static bool refuse(struct rpc_error *err, const struct json *id, const char *why) {
  *err = (struct rpc_error){.code = RPC_INVALID_REQUEST, .message = why};
  bool usable = id && (id->type == JSON_STRING || id->type == JSON_NUMBER) && id->n < RPC_ERROR_ID;
  if (usable) memcpy(err->id, id->p, id->n);
  return false;
}

// The members of a message, each by one comparison; json_get for each would walk the object six times.
struct members {
  const struct json *version, *id, *method, *params, *result, *error;
};

static void read_members(const struct json *value, struct members *m) {
  JSON_EACH(it, value) {
    if (it->flags & JSON_KEY_ESCAPED) continue;
    str key = {it->key, it->key_n};
    if (str_eq(key, STR("id"))) m->id = it;
    else if (str_eq(key, STR("jsonrpc"))) m->version = it;
    else if (str_eq(key, STR("method"))) m->method = it;
    else if (str_eq(key, STR("params"))) m->params = it;
    else if (str_eq(key, STR("result"))) m->result = it;
    else if (str_eq(key, STR("error"))) m->error = it;
  }
}

// Member names written with escapes ("\u0069d") are legal JSON; a peer that reads them and a peer that does not
// would disagree about the message, so they are refused where they hide one of ours.
static bool hides_a_member(const struct json *value) {
  static const str names[] = {STR("id"), STR("jsonrpc"), STR("method"), STR("params"), STR("result"), STR("error")};
  JSON_EACH(it, value) {
    if (!(it->flags & JSON_KEY_ESCAPED)) continue;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (json_get(value, names[i]) == it) return true;
  }
  return false;
}

bool rpc_read(const struct json *value, struct arena *a, struct rpc_message *out, struct rpc_error *err) {
  if (!json_is(value, JSON_OBJECT)) return refuse(err, NULL, "a JSON-RPC message is an object");
  struct members m = {0};
  read_members(value, &m);
  if (hides_a_member(value)) return refuse(err, m.id, "a member name of the message is written with escapes");
  if (!json_equals_str(m.version, STR("2.0"))) return refuse(err, m.id, "\"jsonrpc\" must be \"2.0\"");
  if (m.id && m.id->type != JSON_STRING && m.id->type != JSON_NUMBER) {
    if (m.method || m.id->type != JSON_NULL) return refuse(err, NULL, "\"id\" must be a string or a number");
    m.id = NULL;
  }
  struct rpc_message msg = {.root = value, .id = m.id};
  if (m.method) {
    if (m.result || m.error) return refuse(err, m.id, "a message has either \"method\" or \"result\" or \"error\"");
    if (!json_string(m.method, a, &msg.method)) return refuse(err, m.id, "\"method\" must be a string");
    if (m.params && m.params->type != JSON_OBJECT && m.params->type != JSON_ARRAY)
      return refuse(err, m.id, "\"params\" must be an object");
    msg.kind = m.id ? RPC_REQUEST : RPC_NOTIFICATION;
    msg.params = m.params;
  } else if (m.result && !m.error) {
    if (!m.id) return refuse(err, NULL, "a result needs an \"id\"");
    msg.kind = RPC_RESULT;
    msg.result = m.result;
  } else if (m.error && !m.result) {
    if (m.error->type != JSON_OBJECT) return refuse(err, m.id, "\"error\" must be an object");
    msg.kind = RPC_ERROR;
    msg.error = m.error;
  } else {
    return refuse(err, m.id, "a message has either \"method\" or \"result\" or \"error\"");
  }
  *out = msg;
  return true;
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

void rpc_put_reply_as(struct buf *out, const struct rpc_message *reply, str id) {
  json_copy_edited(out, reply->root, &(struct json_edit){STR("id"), id}, 1);
}
