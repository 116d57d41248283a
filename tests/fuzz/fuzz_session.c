// SPDX-License-Identifier: Apache-2.0
// Sessions and the prompts made from them. Whatever the lines are, a fault names what is wrong; and a pack is UTF-8
// within its budget, in which every candidate has its place.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "context/pack.h"
#include "text/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct session_limits limits = {1 << 16, 1 << 14, 200};

static void check_pack(const struct pack_order *order, struct arena *a) {
  struct pack p;
  struct fault f = {0};
  struct buf out;
  ASSERT(pack_build(order, a, &p, &f));
  ASSERT(utf8_valid(p.prompt) && tokens_fit(p.prompt, p.budget) && tokens_count(p.prompt) == p.tokens);
  ASSERT(p.fates[PACK_INCLUDED] <= p.count && p.frame_tokens <= p.tokens);
  buf_init(&out, 8 << 20);
  struct json_writer w = json_writer(&out);
  pack_put(&w, order, &p, true);
  ASSERT(!out.over && json_parse(a, buf_view(&out), &json_default_limits, &f));
  buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct fault f = {0};
  struct event_log log;
  arena_init(&a);
  if (session_read(&a, (str){(const char *)data, n}, &limits, &log, &f)) {
    struct pack_order order = {.log = &log, .query = STR("open invoices"), .budget = 100 + n % 400};
    for (int phase = 0; phase < PACK_PHASES; phase++) {
      order.phase = (enum pack_phase)phase;
      order.floor = (enum event_level)(n % (LEVEL_COUNT + 1));
      order.redact = phase & 1;
      check_pack(&order, &a);
    }
  } else {
    ASSERT(f.code && f.message[0]);
  }
  arena_done(&a);
  return 0;
}
