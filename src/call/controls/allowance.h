// SPDX-License-Identifier: Apache-2.0
// What one principal may use of the gateway, over all its sessions: requests at once, and requests, bytes and tokens
// within a minute. However many sessions and connections it opens, it gets no more.
//
// A request is let in while less than the allowance was used. What it turns out to cost is known when it is over, and
// stands against the next ones: an answer is never cut for it. A minute is the last 60 whole seconds.
//
// Memory is bounded: at most `max` principals are remembered, those with requests under way and those seen last.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

// Each 0: any number.
struct allowance_limits {
  uint64_t in_flight;
  uint64_t requests, bytes, tokens;  // within a minute
};

struct allowances;
struct allowance;  // of one principal

struct allowances *allowances_new(const struct allowance_limits *limits, size_t max, const struct hash_key *seed);
void allowances_free(struct allowances **a);                                         // nothing may be under way
void allowances_limit(struct allowances *a, const struct allowance_limits *limits);  // other limits, from now on

struct allowance_breach {
  const char *scope;  // "principal/requests", "principal/in_flight", …
  uint64_t limit;
  uint64_t after_ms;  // when it is worth another try; 0: when something that is under way is over
};

// A request begins (now: milliseconds that never go back). NULL: it may not, *out says why, and nothing was counted.
struct allowance *allowances_enter(struct allowances *a, str principal, uint64_t now, struct allowance_breach *out);

// It is over, and was so much, both ways together.
void allowances_leave(struct allowances *a, struct allowance *of, uint64_t bytes, uint64_t tokens, uint64_t now);

// Returns whether the tokens of an answer of `bytes` must be counted exactly. Below half of the limit a quarter of the
// bytes is a sufficient estimate.
bool allowances_count_tokens(const struct allowances *a, const struct allowance *of, uint64_t bytes);
