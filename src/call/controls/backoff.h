// SPDX-License-Identifier: Apache-2.0
// When a call that failed is tried again: how often, after which faults, after how long.
//
//   delay_k = min(base · 2^k, max) · (1 − jitter · u), u from [0, 1), k = 0 for the first repetition
#pragma once
#include "base/crypto/rand.h"
#include "base/fault.h"

struct backoff {
  unsigned max_attempts;     // 1: a call is tried once
  uint64_t base_ms, max_ms;  // delay
  unsigned jitter_permille;  // 0: delays are exact; 1000: anything down to none
  uint64_t codes;            // bit of enum fault_code: after these
  bool unsafe;               // also what may have been carried out, of tools that do not say that this is harmless
};

// What is known about a failed attempt.
struct backoff_case {
  const struct fault *fault;
  unsigned attempts;  // so many were made, this one included
  bool sent;          // the request may have reached the server, which may have carried it out
  bool repeatable;    // the tool says that it only reads, or that a repetition changes nothing (unverified)
  bool destructive;   // the tool says that it destroys something
  uint64_t after_ms;  // the server wants to be left alone for so long; 0: it did not say
  uint64_t left_ms;   // until the call's time is up
};

static inline uint64_t backoff_bit(enum fault_code code) {
  return UINT64_C(1) << code;
}

// How long to wait before the next attempt. False: there shall be none.
//
// What was sent and then lost (a timeout, a connection that broke) may have been done. It is repeated when its tool
// says that this is harmless, or when the operator takes the risk for tools that say nothing; never when the tool
// itself says that it destroys. A server's own word on when to come back is respected, and ends the matter when the
// time does not suffice for it.
bool backoff_next(const struct backoff *b, const struct backoff_case *c, const struct rand_source *rand,
                  uint64_t *out_ms);
