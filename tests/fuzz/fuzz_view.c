// SPDX-License-Identifier: Apache-2.0
// Views and envelopes. The input is a selector, a newline, and the bytes to look at. Whatever they are, a view is UTF-8
// within its limit and goes on behind what it showed; the same bytes as a tool's result become a result again.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/envelope/envelope.h"
#include "result/text_cut.h"
#include "result/view/view.h"
#include "text/tokens.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_OUT = 1 << 20, BUDGET = 60 };

static void check_view(struct arena *a, str selector, str bytes) {
  struct fault f = {0};
  struct buf out;
  struct json *v = json_parse(a, selector, &json_default_limits, &f);
  if (!v) return;
  buf_init(&out, MAX_OUT);
  if (view_select(bytes, v, VIEW_TOKENS_MIN, STR("…"), &out, &f)) {
    ASSERT(!out.over && utf8_valid(buf_view(&out)) && tokens_fit(buf_view(&out), VIEW_TOKENS_MIN));
  } else {
    ASSERT(out.n == 0 && f.code && f.message[0]);
  }
  buf_done(&out);
}

// Counting in blocks is the same as going on from any line or character to the next.
static void check_measures(str bytes) {
  size_t lines = 0, chars = 0, at;
  for (str rest = bytes; rest.n; lines++) {
    ASSERT((size_t)(rest.p - bytes.p) == measure_skip_lines(bytes, lines));
    measure_next_line(&rest);
    if (lines > 200) return;
  }
  ASSERT(lines == measure_lines(bytes));
  for (str rest = bytes; rest.n; rest = str_from(rest, at)) chars += measure_chars(rest, 1, &at);
  ASSERT(chars == measure_all_chars(bytes));
}

static void check_envelope(struct arena *a, str bytes) {
  struct fault f = {0};
  struct buf out;
  struct json *v = json_parse(a, bytes, &json_default_limits, &f);
  if (!v) return;
  struct store_options opt = {.clock = &clock_system, .rand = &rand_system, .limits = store_default_limits};
  struct store *store = store_new(&opt);
  struct piece_batch *batch = NULL;
  struct envelope_order order = {
      .result = v, .tool_id = STR("a:b#00000000"), .store = store, .batch = &batch, .budget = BUDGET};
  buf_init(&out, 6 * bytes.n + MAX_OUT);
  bool passed = envelope_make(&order, a, &out);
  ASSERT(!out.over && json_parse(a, buf_view(&out), &json_default_limits, &f));
  ASSERT(!passed || str_eq(buf_view(&out), json_span(v)));
  buf_done(&out);
  piece_batch_free(&batch);
  store_close(&store, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  str selector, bytes = STR("");
  str_cut((str){(const char *)data, n}, '\n', &selector, &bytes);
  if (!bytes.p) bytes = STR("");
  arena_init(&arena);
  check_view(&arena, selector, bytes);
  check_measures(bytes);
  check_envelope(&arena, bytes);
  arena_done(&arena);
  return 0;
}
