// SPDX-License-Identifier: Apache-2.0
#include "call/controls/backoff.h"

// In milliseconds, without overflow: from some k on it is the maximum.
static uint64_t delay(const struct backoff *b, unsigned k) {
  uint64_t ms = b->base_ms;
  for (; k && ms < b->max_ms; k--) ms *= 2;
  return ms < b->max_ms ? ms : b->max_ms;
}

static uint64_t jittered(const struct backoff *b, uint64_t ms, const struct rand_source *rand) {
  if (!b->jitter_permille || !ms) return ms;
  uint32_t u;
  rand_fill(rand, &u, sizeof u);
  double part = (double)b->jitter_permille / 1000 * ((double)u / 4294967296.0);
  return (uint64_t)((double)ms * (1 - part) + 0.5);
}

static bool may_repeat(const struct backoff *b, const struct backoff_case *c) {
  return !c->sent || (!c->destructive && (c->repeatable || b->unsafe));
}

bool backoff_next(const struct backoff *b, const struct backoff_case *c, const struct rand_source *rand,
                  uint64_t *out_ms) {
  enum fault_code code = c->fault->code;
  bool listed = fault_retryable(code) && (b->codes & backoff_bit(code));
  if (c->attempts >= b->max_attempts || !listed || !may_repeat(b, c)) return false;
  uint64_t ms = jittered(b, delay(b, c->attempts - 1), rand);
  if (c->after_ms > ms) ms = c->after_ms;
  if (ms >= c->left_ms) return false;
  *out_ms = ms;
  return true;
}
