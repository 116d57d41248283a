// SPDX-License-Identifier: Apache-2.0
// Decides whether a failed call is repeated, and after which delay.
//
//   delay_k = min(base · 2^k, max) · (1 − jitter · u), u from [0, 1), k = 0 for the first repetition
#pragma once
#include "base/crypto/rand.h"
#include "base/fault.h"

struct retry_rule {
  unsigned max_attempts;     // 1: no repetition
  uint64_t base_ms, max_ms;  // base and maximum of the delay
  unsigned jitter_permille;  // 0 if delays are not random; 1000 if they are random between 0 and the full delay
  uint64_t codes;            // bits of enum fault_code: faults after which a call is repeated
  bool unsafe;               // also repeat calls that may have run, unless the tool is marked destructive
};

// A failed attempt of a call, and facts about the call.
struct retry_case {
  const struct fault *fault;
  unsigned attempts;  // number of attempts so far, including the failed one
  bool sent;          // the server may have received and carried out the request
  bool repeatable;    // the server marks the tool read-only or idempotent
  bool destructive;   // the tool is marked destructive
  uint64_t after_ms;  // minimum delay that the server asked for, or 0
  uint64_t left_ms;   // time until the deadline of the call
};

static inline uint64_t retry_bit(enum fault_code code) {
  return UINT64_C(1) << code;
}

// Sets *out_ms to the delay before the next attempt. Returns false if the call must not be repeated.
//
// A request that was sent but not answered (a timeout, a broken connection) may have run. Its call is not repeated if
// the tool is marked destructive. Otherwise it is repeated if the tool is marked read-only or idempotent, or if
// `unsafe` is set. A delay that the server asks for is respected; if it would end after the call's deadline, the call
// is not repeated.
bool retry_delay(const struct retry_rule *b, const struct retry_case *c, const struct rand_source *rand,
                 uint64_t *out_ms);
