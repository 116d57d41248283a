// SPDX-License-Identifier: Apache-2.0
// What a meta-tool's call brings back: the result of a tool, a resource or a prompt as the result of the meta-tool, cut
// to what fits, the rest kept for tool_view. Afterwards the answer is the call's own, whatever becomes of the message
// that it came in.
#include "call/bridge.h"
#include "result/envelope.h"

str call_owner(const struct session *s) {
  return session_principal(s);
}

// ---- other results as those of tools

static void put_contents(struct json_writer *w, const struct json *contents) {
  JSON_EACH(it, contents) {
    if (it->type != JSON_OBJECT) continue;
    json_begin_object(w);
    json_member_str(w, STR("type"), STR("resource"));
    json_member_raw(w, STR("resource"), json_span(it));
    json_end_object(w);
  }
}

// A message as text that says whose it is; what is no text follows it.
static void put_message(struct json_writer *w, const struct json *message, struct arena *a) {
  const struct json *content = json_get(message, STR("content"));
  str role = STR(""), text = STR("");
  json_string(json_get(message, STR("role")), a, &role);
  bool plain = json_string(json_get(content, STR("text")), a, &text) || json_string(content, a, &text);
  struct buf line;
  buf_init(&line, role.n + text.n + 3);
  buf_char(&line, '[');
  buf_str(&line, role);
  buf_str(&line, STR("] "));
  buf_str(&line, text);
  json_begin_object(w);
  json_member_str(w, STR("type"), STR("text"));
  json_member_str(w, STR("text"), buf_view(&line));
  json_end_object(w);
  buf_done(&line);
  if (!plain && json_is(json_get(content, STR("type")), JSON_STRING)) json_put_raw(w, json_span(content));
}

static void put_messages(struct json_writer *w, const struct json *messages, struct arena *a) {
  JSON_EACH(it, messages)
    if (it->type == JSON_OBJECT) put_message(w, it, a);
}

// NULL: what it becomes is larger than any JSON that we read.
static const struct json *as_tool_result(const struct call *c, const struct json *result, struct arena *a) {
  enum { PART_BYTES = 64 };  // more than is put around a part
  bool is_prompt = c->method->kind == ITEM_PROMPT;
  if (c->method->kind == ITEM_TOOL) return result;
  const struct json *parts = json_get(result, is_prompt ? STR("messages") : STR("contents"));
  bool some = json_is(parts, JSON_ARRAY);
  struct buf b;
  struct fault f;
  buf_init(&b, result->n + PART_BYTES * (some ? (size_t)parts->count : 0) + 4096);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_put_key(&w, STR("content"));
  json_begin_array(&w);
  if (some && is_prompt) put_messages(&w, parts, a);
  else if (some) put_contents(&w, parts);
  json_end_array(&w);
  json_end_object(&w);
  const struct json *made = b.over ? NULL : json_parse(a, arena_str(a, buf_view(&b)), &json_default_limits, &f);
  buf_done(&b);
  return made;
}

// ---- what is told

static enum call_result fail(struct call *c, enum fault_code code, const char *what) {
  struct fault f;
  fault_set(&f, code, "%s", what);
  return call_fault(c, &f);
}

// Writes what is told into the buffer. False: the result as it is.
static bool envelop(struct call *c, const struct json *made, bool same, struct buf *out) {
  struct call_context *x = c->context;
  struct envelope_order order = {
      .result = made,
      .tool_id = c->about,
      .owner = call_owner(c->session),
      .store = x->store,
      .batch = &c->pieces,
      .budget = x->results.budget,
      .text_only = !x->results.structured,
      .provenance = call_provenance(c),
  };
  buf_reset(out);
  return !envelope_make(&order, &x->scratch, out) || !same;
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

// An answer that is large may have members without nodes.
static bool unfold(struct call *c, const struct json *result) {
  static const str members[] = {STR("content"), STR("contents"), STR("messages"), STR("structuredContent")};
  struct fault f;
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (!json_unfold(&c->context->scratch, json_get(result, members[i]), &json_default_limits, NULL, &f)) return false;
  return true;
}

static enum call_result make_answer(struct call *c) {
  if (!unfold(c, c->reply->result)) return fail(c, FAULT_UPSTREAM_ERROR, "answered with too many values");
  struct call_context *x = c->context;
  const struct json *result = c->reply->result, *made = as_tool_result(c, result, &x->scratch);
  if (!made) return fail(c, FAULT_UPSTREAM_ERROR, "answered with too many parts");
  bool failed = false;
  json_bool(json_get(made, STR("isError")), &failed);
  if (!failed) x->used(x->ctx, c->session, c->about);
  if (!envelop(c, made, made == result, &x->text)) return CALL_NEXT;
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
