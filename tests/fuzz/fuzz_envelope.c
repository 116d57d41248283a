// SPDX-License-Identifier: Apache-2.0
// Envelopes of any result. The first line of the input is the order: a budget, then letters: r a resource, p a prompt,
// t without structured content, x the rest of the input is the text of a tool and not a result. Whatever comes, the
// answer is JSON, the same each time, and within the budget as far as the handles alone are.
#include "base/assert.h"
#include "result/envelope/envelope.h"
#include "text/tokens.h"
#include "json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 1 << 22, ROOM_FOR_HANDLES = 75 };

static void read_order(str line, struct envelope_order *order, bool *is_text) {
  for (size_t i = 0; i < line.n; i++) {
    char c = line.p[i];
    if (c >= '0' && c <= '9' && order->budget < 100000) order->budget = order->budget * 10 + (size_t)(c - '0');
    if (c == 'r') order->kind = ENVELOPE_RESOURCE;
    if (c == 'p') order->kind = ENVELOPE_PROMPT;
    if (c == 't') order->text_only = true;
    if (c == 'x') *is_text = true;
  }
}

static str as_result(struct arena *a, str text) {
  str quoted = json_escaped(a, text);
  return arena_printf(a, "{\"content\":[{\"type\":\"text\",\"text\":%.*s}]}", STR_ARG(quoted));
}

static bool make(const struct envelope_order *order, struct arena *a, struct buf *out) {
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  struct store *store = store_new(&opt);
  struct piece_batch *batch = NULL;
  struct envelope_order o = *order;
  o.store = store;
  o.batch = &batch;
  bool passed = envelope_make(&o, a, out);
  ASSERT(!out->over);
  piece_batch_free(&batch);
  store_close(&store, NULL, NULL);
  return passed;
}

static void check_within(struct arena *a, const struct envelope_order *order, const struct json *v) {
  size_t budget = order->budget ? order->budget : ENVELOPE_TOKENS;
  if (budget < ROOM_FOR_HANDLES) budget = ROOM_FOR_HANDLES;
  const struct json *structured = json_get(v, STR("structuredContent"));
  ASSERT(!structured || tokens_fit(json_span(structured), budget));
  const struct json *first = json_at(json_get(v, STR("content")), 0);
  str text = STR_NONE;
  if (!order->text_only && json_string(json_get(first, STR("text")), a, &text)) ASSERT(tokens_fit(text, budget));
}

static void check(struct arena *a, struct envelope_order *order, str result) {
  struct fault f;
  struct buf out, again;
  order->result = json_parse(a, result, &json_default_limits, &f);
  if (!order->result) return;
  buf_init(&out, 6 * result.n + MAX_OUT);
  buf_init(&again, 6 * result.n + MAX_OUT);
  bool passed = make(order, a, &out);
  make(order, a, &again);
  ASSERT(str_eq(buf_view(&out), buf_view(&again)));
  const struct json *v = json_parse(a, buf_view(&out), &json_default_limits, &f);
  ASSERT(v && (!passed || str_eq(buf_view(&out), json_span(order->result))));
  if (!passed) check_within(a, order, v);
  buf_done(&out);
  buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct envelope_order order = {.tool_id = STR("a:b#00000000"), .owner = STR("o")};
  str line, rest = STR("");
  bool is_text = false;
  str_cut((str){(const char *)data, n}, '\n', &line, &rest);
  if (!rest.p) rest = STR("");
  read_order(line, &order, &is_text);
  arena_init(&arena);
  check(&arena, &order, is_text ? as_result(&arena, rest) : rest);
  arena_done(&arena);
  return 0;
}
