// SPDX-License-Identifier: Apache-2.0
// JSON-RPC messages. Whatever is taken for a message is the same message when it is written anew, a reply under another
// id changes in nothing else, and what is refused can be told so. A reader that ignores the case of names reads the
// same.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "rpc/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 64 << 20 };

static struct rpc_message read_again(struct arena *a, const struct buf *b) {
  struct fault f;
  struct rpc_error err;
  struct rpc_message m;
  ASSERT(!b->over);
  const struct json *v = json_parse(a, buf_view(b), &json_default_limits, &f);
  ASSERT(v && rpc_read(v, a, &m, &err));
  return m;
}

static bool same_span(const struct json *a, const struct json *b) {
  return a && b ? str_eq(json_span(a), json_span(b)) : !a && !b;
}

static str span_or_none(const struct json *v) {
  return v ? json_span(v) : STR_NONE;
}

static void put(struct buf *b, const struct rpc_message *m, struct arena *a) {
  str text = STR("");
  int64_t code = 0;
  switch (m->kind) {
  case RPC_REQUEST: rpc_put_request(b, json_span(m->id), m->method, span_or_none(m->params)); break;
  case RPC_NOTIFICATION: rpc_put_notification(b, m->method, span_or_none(m->params)); break;
  case RPC_RESULT: rpc_put_result(b, json_span(m->id), json_span(m->result)); break;
  case RPC_ERROR:
    json_string(json_get(m->error, STR("message")), a, &text);
    json_int(json_get(m->error, STR("code")), &code);
    rpc_put_error(b, span_or_none(m->id), (int)code, text, span_or_none(json_get(m->error, STR("data"))));
    break;
  }
}

static void check_rewritten(struct arena *a, const struct rpc_message *m, struct buf *b) {
  str text;
  buf_reset(b);
  put(b, m, a);
  struct rpc_message again = read_again(a, b);
  ASSERT(again.kind == m->kind);
  ASSERT(same_span(again.id, m->id));
  ASSERT(!m->id || rpc_same_id(again.id, m->id));
  ASSERT(str_eq(again.method, m->method));
  ASSERT(same_span(again.params, m->params));
  ASSERT(same_span(again.result, m->result));
  ASSERT(!m->error == !again.error);
  if (m->error && json_string(json_get(m->error, STR("message")), a, &text))
    ASSERT(json_equals_str(json_get(again.error, STR("message")), text));
  if (m->error) ASSERT(same_span(json_get(again.error, STR("data")), json_get(m->error, STR("data"))));
}

// Every byte before and behind the id is where it was.
static void check_renamed(struct arena *a, const struct rpc_message *m, str id, struct buf *b) {
  buf_reset(b);
  rpc_put_reply_as(b, m, id);
  struct rpc_message again = read_again(a, b);
  ASSERT(again.kind == m->kind);
  ASSERT(str_eq(json_span(again.id), id));
  ASSERT(same_span(again.result, m->result));
  ASSERT(same_span(again.error, m->error));
  const struct json *old = json_get(m->root, STR("id"));
  if (!old || m->root->count > RPC_REPLY_MEMBERS) return;
  str root = json_span(m->root), out = buf_view(b);
  size_t before = (size_t)(old->p - root.p);
  ASSERT(out.n == root.n - old->n + id.n);
  ASSERT(memcmp(out.p, root.p, before) == 0);
  ASSERT(str_eq(str_from(out, before + id.n), str_from(root, before + old->n)));
}

// A reader that ignores case and takes the last of several members, as encoding/json of Go does, and ends a name at a
// NUL, as json-c does.
static bool names(const struct json *member, str name, struct arena *a) {
  str key = json_key(member, a);
  for (size_t i = 0; i < name.n; i++) {
    if (!key.n) return false;
    uint32_t c = utf8_next(&key), want = (unsigned char)name.p[i];
    if (c == 0x17f) c = 's';
    if (c == 0x212a) c = 'k';
    if (c < 0x80 && want < 0x80 && c != want && (c | 0x20) == (want | 0x20) && (c | 0x20) >= 'a' && (c | 0x20) <= 'z')
      c = want;
    if (c != want) return false;
  }
  return key.n == 0 || key.p[0] == '\0';
}

static const struct json *folded(const struct json *object, str name, struct arena *a) {
  const struct json *last = NULL;
  if (!json_is(object, JSON_OBJECT)) return NULL;
  JSON_EACH(it, object)
    if (names(it, name, a)) last = it;
  return last;
}

static void check_read_alike(const struct json *object, const str *known, size_t count, struct arena *a) {
  for (size_t i = 0; i < count; i++) ASSERT(folded(object, known[i], a) == json_get(object, known[i]));
}

static void check_folded(const struct rpc_message *m, struct arena *a) {
  static const str envelope[] = {STR("jsonrpc"), STR("id"), STR("method"), STR("params"), STR("result"), STR("error")};
  static const str params[] = {STR("name"),   STR("arguments"), STR("uri"),   STR("ref"),
                               STR("taskId"), STR("_meta"),     STR("cursor")};
  static const str result[] = {STR("content"), STR("isError"), STR("structuredContent"), STR("tools"), STR("_meta")};
  static const str item[] = {STR("name"), STR("type"), STR("text"), STR("annotations"), STR("_meta")};
  check_read_alike(m->root, envelope, sizeof envelope / sizeof *envelope, a);
  check_read_alike(m->params, params, sizeof params / sizeof *params, a);
  check_read_alike(m->result, result, sizeof result / sizeof *result, a);
  const struct json *tools = json_get(m->result, STR("tools"));
  if (json_is(tools, JSON_ARRAY)) {
    JSON_EACH(it, tools) check_read_alike(it, item, sizeof item / sizeof *item, a);
  }
}

static bool has_key(const struct json *v, str prefix, struct arena *a) {
  if (!json_is(v, JSON_OBJECT)) return false;
  JSON_EACH(it, v)
    if (str_starts(json_key(it, a), prefix)) return true;
  return false;
}

static void check_unreserved(const struct rpc_message *m, struct buf *b, struct arena *a) {
  if (!m->reserved) return;
  buf_reset(b);
  rpc_put_unreserved(b, m, a);
  struct rpc_message again = read_again(a, b);
  ASSERT(again.kind == m->kind && !again.reserved);
  ASSERT(!has_key(json_get(again.params ? again.params : again.result, STR("_meta")), STR("io.toolgate/"), a));
}

static void check_refusal(struct arena *a, const struct rpc_error *err, struct buf *b) {
  ASSERT((err->code == RPC_INVALID_REQUEST || err->code == RPC_INVALID_PARAMS) && err->message[0]);
  ASSERT(strnlen(err->id, RPC_ERROR_ID) < RPC_ERROR_ID);
  buf_reset(b);
  rpc_put_refusal(b, err);
  struct rpc_message m = read_again(a, b);
  ASSERT(m.kind == RPC_ERROR);
  ASSERT(err->id[0] ? str_eq(json_span(m.id), str_of(err->id)) : !m.id);
}

static void check_message(struct arena *a, const struct json *v, struct buf *b) {
  struct rpc_message m;
  struct rpc_error err;
  if (!rpc_read(v, a, &m, &err)) {
    check_refusal(a, &err, b);
    return;
  }
  ASSERT(m.root == v);
  ASSERT((m.kind == RPC_REQUEST || m.kind == RPC_RESULT) <= (m.id != NULL));
  ASSERT((m.kind == RPC_RESULT) == (m.result != NULL));
  ASSERT((m.kind == RPC_ERROR) == (m.error != NULL));
  check_rewritten(a, &m, b);
  check_folded(&m, a);
  check_unreserved(&m, b, a);
  if (m.kind != RPC_RESULT && m.kind != RPC_ERROR) return;
  check_renamed(a, &m, STR("18446744073709551615"), b);
  check_renamed(a, &m, STR("\"\\u0000\""), b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct buf b;
  struct fault f;
  arena_init(&arena);
  buf_init(&b, MAX_OUT);
  const struct json *v = json_parse(&arena, (str){(const char *)data, n}, &json_default_limits, &f);
  if (v) check_message(&arena, v, &b);
  if (json_is(v, JSON_ARRAY)) {
    JSON_EACH(it, v) check_message(&arena, it, &b);
  }
  buf_done(&b);
  arena_done(&arena);
  return 0;
}
