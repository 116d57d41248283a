// SPDX-License-Identifier: Apache-2.0
// JsonLogic. The input is an expression, a newline, and the data. What is refused is refused with a reason; evaluation
// stays within its budget, fails with a reason only, and gives the same result twice.
#include "base/assert.h"
#include "govern/logic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { STEPS = 20000, BYTES = 1 << 18, OVERHEAD = 1 << 18 };

static enum logic_verdict test(const struct logic *l, const struct json *data) {
  struct arena scratch;
  struct logic_budget budget = {STEPS, BYTES};
  const char *why = NULL;
  arena_init(&scratch);
  enum logic_verdict verdict = logic_test(l, data, &scratch, &budget, &why);
  ASSERT((verdict == LOGIC_ERROR) == (why != NULL));
  ASSERT(budget.steps <= STEPS && budget.bytes <= BYTES);
  ASSERT(scratch.total <= 4 * (size_t)BYTES + OVERHEAD);
  arena_done(&scratch);
  return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct fault f = {0};
  str expression, value = STR("");
  str_cut((str){(const char *)data, n}, '\n', &expression, &value);
  arena_init(&arena);
  struct json *source = json_parse(&arena, expression, &json_default_limits, &f);
  struct json *root = source && value.p ? json_parse(&arena, value, &json_default_limits, &f) : NULL;
  if (root) {
    const struct logic *l = logic_compile(&arena, source, &f);
    if (l) ASSERT(test(l, root) == test(l, root));
    else ASSERT(f.code && f.message[0]);
  }
  arena_done(&arena);
  return 0;
}
