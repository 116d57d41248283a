// SPDX-License-Identifier: Apache-2.0
// Reports how a result was obtained (with repaired arguments, after several attempts, from the cache, or by an earlier
// call with the same idempotency key), and how it violates the output schema of its tool. The report is part of the
// envelope of a meta-tool, or of _meta if the result passes unchanged.
#include "call/bridge/translate.h"
#include "call/steps/steps.h"
#include "json/write.h"

str call_provenance(struct call *c) {
  struct arena *a = &c->request->arena;
  struct buf b;
  str repairs = repair_list(c);
  unsigned retries = call_retries(c);
  bool cached = cache_answered(c);
  bool replayed = call_is_replayed(c);
  str report = output_report(c);
  if (!repairs.n && !retries && !cached && !replayed && !report.n) return STR_NONE;
  buf_init(&b, repairs.n + report.n + 256);
  struct json_writer w = json_writer(&b);
  if (repairs.n) json_member_raw(&w, STR("arg_repairs"), repairs);
  if (retries && !cached) json_member_u64(&w, STR("attempts"), retries + 1);
  if (cached) json_member_bool(&w, STR("cache_hit"), true);
  if (cache_is_degraded(c)) json_member_bool(&w, STR("degraded"), true);
  if (replayed) json_member_bool(&w, STR("replayed"), true);
  if (call_first_id(c).n) json_member_str(&w, STR("first_tool_call_id"), call_first_id(c));
  if (report.n) json_member_raw(&w, STR("output_schema"), report);
  str members = arena_str(a, buf_view(&b));
  buf_done(&b);
  return members;
}

str call_fault_details(struct call *c, const struct fault *f) {
  struct buf b;
  unsigned retries = call_retries(c);
  if (!f->after_ms && !retries) return STR_NONE;
  buf_init(&b, 128);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  if (f->after_ms) json_member_seconds(&w, STR("retry_after"), f->after_ms);
  if (retries) json_member_u64(&w, STR("attempts"), retries + 1);
  json_end_object(&w);
  str details = arena_str(&c->request->arena, buf_view(&b));
  buf_done(&b);
  return details;
}

const struct rpc_message *call_read_again(struct call *c, str text) {
  struct arena *a = &c->request->arena;
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  struct rpc_message *new = ARENA_NEW(a, struct rpc_message);
  struct rpc_error err;
  struct fault f;
  const struct json *root = json_parse(a, text, &limits, &f);
  return root && rpc_read(root, a, new, &err) ? new : NULL;
}

const struct rpc_message *call_with_meta(struct call *c, const struct rpc_message *reply, str meta) {
  struct arena *a = &c->request->arena;
  struct json_edit edit = {STR("_meta"), meta};
  struct json_edit whole = {STR("result"), json_edited(a, reply->result, &edit, 1)};
  const struct rpc_message *new = call_read_again(c, json_edited(a, reply->root, &whole, 1));
  return new ? new : reply;
}

bool call_keep_reply(struct call *c) {
  const struct rpc_message *reply = c->reply;
  if (!reply || c->answer.p || call_large(c)) return true;
  bool result = reply->kind == RPC_RESULT;
  str raw = json_span(result ? reply->result : reply->error);
  // The result of a task is only a part of the server's message, so the message is written again.
  reply = call_read_again(c, arena_printf(&c->request->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%.*s}",
                                          STR_ARG(c->request->id), result ? "result" : "error", STR_ARG(raw)));
  if (reply) c->reply = reply;
  return reply;
}

static enum call_result run(struct call *c, void *state) {
  const struct rpc_message *reply = c->reply;
  struct arena *a = &c->request->arena;
  bool unchanged = !call_is_bounded(c) && !c->failure && reply && reply->kind == RPC_RESULT;
  if (!unchanged || call_large(c) || !json_is(reply->result, JSON_OBJECT))
    return CALL_NEXT;  // a large result gets no report, because it would have to be copied
  if (result_type(c, reply) == RESULT_INPUT_REQUIRED) return CALL_NEXT;
  const struct json *meta = json_get(reply->result, STR("_meta"));
  str members = call_provenance(c);
  if (!members.n || (meta && !json_is(meta, JSON_OBJECT)) || json_is_folded(meta)) return CALL_NEXT;
  struct json_edit edit = {STR("toolgate/provenance"), arena_printf(a, "{%.*s}", STR_ARG(members))};
  c->reply = call_with_meta(c, reply, json_edited(a, meta ? meta : &json_empty_object, &edit, 1));
  return CALL_NEXT;
}

const struct call_step step_provenance = {
    .name = "provenance",
    .does = "Adds to the result a report of how it came about.",
    .run = run,
};
