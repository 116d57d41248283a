// SPDX-License-Identifier: Apache-2.0
// Calls beside a conversation, and conversations. Whatever the JSON is: a plan has every call behind those it depends
// on, what is sent and what is written is JSON, and turns cover a conversation without a gap.
#include "base/assert.h"
#include "context/conversation.h"
#include "context/messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 16 << 20 };

static void answer(void *ctx, struct planned_call *call, str params, struct arena *a) {
  struct fault f = {0};
  const struct json *sent = json_parse(a, arena_str(a, params), &json_default_limits, &f);
  ASSERT(json_is(sent, JSON_OBJECT));
  ASSERT(!json_get(json_get(sent, STR("arguments")), STR("depends")));
  if (call->id.n % 5 == 4) fault_set(&f, FAULT_UPSTREAM_ERROR, "no");
  if (f.code) messages_take_fault(call, &f, a);
  else messages_take_result(call, sent, a);
}

static void check_plan(const struct json *v, struct arena *a) {
  struct messages_plan plan;
  struct fault f = {0};
  struct buf out;
  if (!messages_plan(v, a, &plan, &f)) {
    ASSERT(f.code && f.message[0]);
    return;
  }
  for (size_t i = 0; i < plan.count; i++)
    for (size_t k = 0; k < plan.calls[i].depend_count; k++) ASSERT(plan.calls[i].depends[k] < i);
  messages_run(&plan, answer, NULL, a);
  for (int shape = MESSAGES_SEED; shape <= MESSAGES_OPENAI; shape++) {
    buf_init(&out, MAX_OUT);
    messages_write(&plan, (enum messages_shape)shape, a, &out);
    const struct json *told = out.over ? NULL : json_parse(a, buf_view(&out), &json_default_limits, &f);
    size_t before = json_get(v, STR("messages"))->count;
    ASSERT(out.over || json_get(told, STR("messages"))->count == before + 2 * plan.count);
    buf_done(&out);
  }
}

static void check_conversation(const struct json *v, struct arena *a) {
  struct conversation c;
  struct fault f = {0};
  size_t count;
  if (!conversation_read(v, a, &c, &f)) return;
  size_t *turns = conversation_turns(&c, a, &count);
  ASSERT((count == 0) == (c.leading == c.count) && (!count || turns[0] == c.leading));
  for (size_t i = 1; i < count; i++) ASSERT(turns[i] > turns[i - 1] && turns[i] < c.count);
  for (size_t i = 0; i < c.count; i++) {
    ASSERT(conversation_quarters(c.messages[i], a) <= conversation_text(c.messages[i], a).n);
    conversation_tokens(c.messages[i], a);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f = {0};
  arena_init(&a);
  const struct json *v = n > 1 << 14 ? NULL : json_parse(&a, (str){(const char *)data, n}, &json_default_limits, &f);
  if (v) check_plan(v, &a);
  if (v) check_conversation(v, &a);
  arena_done(&a);
  return 0;
}
