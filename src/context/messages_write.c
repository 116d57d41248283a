// SPDX-License-Identifier: Apache-2.0
// Writes the calls of a plan (struct messages_plan) and their responses as messages of a conversation.
#include "catalog/naming/names.h"
#include "context/messages.h"
#include "json/write.h"

// Returns the arguments of a call as JSON without `depends`; for a resource, its URI in an object.
static str arguments_text(const struct planned_call *c, struct arena *a) {
  static const struct json_edit without = {STR("depends"), STR_NONE};
  if (c->is_resource) return arena_printf(a, "{\"uri\":%.*s}", STR_ARG(json_escaped(a, c->target)));
  return c->arguments ? json_compacted(a, json_edited(a, c->arguments, &without, 1)) : STR("{}");
}

// ---- MESSAGES_SEED

// Returns a description of a call, such as "tool request using <A>, <B> response: name {arguments}".
static str description(const struct messages_plan *plan, const struct planned_call *c, struct arena *a) {
  struct buf b;
  str arguments = arguments_text(c, a);
  size_t names = 0;
  for (size_t i = 0; i < c->depend_count; i++) names += plan->calls[c->depends[i]].id.n + 4;
  buf_init(&b, names + c->target.n + arguments.n + 64);
  buf_str(&b, c->is_resource ? STR("resource request") : STR("tool request"));
  for (size_t i = 0; i < c->depend_count; i++)
    buf_printf(&b, "%s<%.*s>", i ? ", " : " using ", STR_ARG(plan->calls[c->depends[i]].id));
  if (c->depend_count) buf_str(&b, STR(" response"));
  buf_str(&b, STR(": "));
  buf_str(&b, c->target);
  if (!c->is_resource) buf_char(&b, ' ');
  if (!c->is_resource) buf_str(&b, arguments);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void put_message(struct json_writer *w, str role, str content) {
  json_begin_object(w);
  json_member_str(w, STR("role"), role);
  json_member_str(w, STR("content"), content);
  json_end_object(w);
}

static void put_seed(struct json_writer *w, const struct messages_plan *plan, const struct planned_call *c,
                     struct arena *a) {
  put_message(w, STR("assistant"), description(plan, c, a));
  put_message(w, c->is_resource ? STR("system") : STR("tool"), c->response);
}

// ---- MESSAGES_OPENAI

static str function_name(const struct planned_call *c, struct arena *a) {
  return c->is_resource ? STR("resources_read") : names_safe(a, STR(""), c->target, false, 0);
}

static void put_request(struct json_writer *w, const struct planned_call *c, struct arena *a) {
  json_begin_object(w);
  json_member_str(w, STR("role"), STR("assistant"));
  json_member_raw(w, STR("content"), STR("null"));
  json_put_key(w, STR("tool_calls"));
  json_begin_array(w);
  json_begin_object(w);
  json_member_str(w, STR("id"), c->id);
  json_member_str(w, STR("type"), STR("function"));
  json_put_key(w, STR("function"));
  json_begin_object(w);
  json_member_str(w, STR("name"), function_name(c, a));
  json_member_str(w, STR("arguments"), arguments_text(c, a));
  json_end_object(w);
  json_end_object(w);
  json_end_array(w);
  json_end_object(w);
}

static void put_openai(struct json_writer *w, const struct planned_call *c, struct arena *a) {
  put_request(w, c, a);
  json_begin_object(w);
  json_member_str(w, STR("role"), STR("tool"));
  json_member_str(w, STR("tool_call_id"), c->id);
  json_member_str(w, STR("content"), c->response);
  json_end_object(w);
}

// ---- the conversation

static void put_messages(const struct messages_plan *plan, enum messages_shape shape, struct arena *a,
                         struct buf *out) {
  struct json_writer w = json_writer(out);
  json_begin_array(&w);
  JSON_EACH(it, json_get(plan->input, STR("messages"))) json_put_raw(&w, json_span(it));
  for (size_t i = 0; i < plan->count; i++) {
    if (shape == MESSAGES_OPENAI) put_openai(&w, &plan->calls[i], a);
    else put_seed(&w, plan, &plan->calls[i], a);
  }
  json_end_array(&w);
}

void messages_write(const struct messages_plan *plan, enum messages_shape shape, struct arena *a, struct buf *out) {
  struct buf messages;
  buf_init(&messages, out->max);
  put_messages(plan, shape, a, &messages);
  struct json_edit edits[] = {{STR("messages"), buf_view(&messages)}, {STR("tool_calls"), STR_NONE}};
  json_copy_edited(out, plan->input, edits, 2);
  if (messages.over) out->over = true;
  buf_done(&messages);
}
