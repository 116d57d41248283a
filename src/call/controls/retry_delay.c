// SPDX-License-Identifier: Apache-2.0
#include "call/controls/retry_delay.h"

#include "base/assert.h"

bool retry_delay(const struct retry_rule *b, const struct retry_case *c, const struct rand_source *rand,
                 uint64_t *out_ms) {
  enum fault_code code = c->fault->code;
  ASSERT(code != FAULT_NONE && c->attempts > 0 && b->jitter_permille <= 1000);
  bool listed = fault_retryable(code) && (b->codes & retry_bit(code));
  bool may_repeat = !c->sent || (!c->destructive && (c->repeatable || b->unsafe));
  if (c->attempts >= b->max_attempts || !listed || !may_repeat) return false;
  uint64_t ms = b->base_ms;  // the loop doubles the delay only up to the maximum, so the delay cannot overflow
  for (unsigned k = c->attempts - 1; k && ms < b->max_ms; k--) ms *= 2;
  if (ms > b->max_ms) ms = b->max_ms;
  if (b->jitter_permille && ms) {
    uint32_t u;
    rand_fill(rand, &u, sizeof u);
    double part = (double)b->jitter_permille / 1000 * ((double)u / 4294967296.0);
    ms = (uint64_t)((double)ms * (1 - part) + 0.5);
  }
  if (c->after_ms > ms) ms = c->after_ms;
  if (ms >= c->left_ms) return false;
  *out_ms = ms;
  return true;
}
