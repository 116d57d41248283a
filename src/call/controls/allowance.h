// SPDX-License-Identifier: Apache-2.0
// Limits the use of the gateway by each principal, over all its sessions and connections: requests in flight, and
// requests, bytes and tokens within a minute.
//
// A request is admitted while the use is below the limits. The cost of a request is known when the request ends, and
// counts against later requests, so an answer is never cut because of a limit. A minute is the last 60 whole seconds.
//
// Memory is bounded: at most `max` principals are remembered, those with requests in flight and those seen last.
#pragma once
#include "base/crypto/hash.h"
#include "base/str.h"

// 0: no limit.
struct allowance_limits {
  uint64_t in_flight;
  uint64_t requests, bytes, tokens;  // within a minute
};

struct allowances;
struct allowance;  // of one principal

struct allowances *allowances_new(const struct allowance_limits *limits, size_t max, const struct hash_key *seed);
void allowances_free(struct allowances **a);                                         // no request may be in flight
void allowances_limit(struct allowances *a, const struct allowance_limits *limits);  // sets new limits

struct allowance_breach {
  const char *scope;  // "principal/requests", "principal/in_flight", …
  uint64_t limit;
  uint64_t after_ms;  // time until another attempt may succeed; 0 if it may succeed as soon as a request in flight ends
};

// Begins a request. `now` is in milliseconds and must never decrease. If a limit is reached, returns NULL with the
// limit in *out, and counts nothing.
struct allowance *allowances_enter(struct allowances *a, str principal, uint64_t now, struct allowance_breach *out);

// Ends a request. `bytes` and `tokens` are the sums for the request and its answer.
void allowances_leave(struct allowances *a, struct allowance *of, uint64_t bytes, uint64_t tokens, uint64_t now);

// Returns whether the tokens of an answer of `bytes` must be counted exactly. This is necessary only if they could
// raise the principal's use above half of the limit. Otherwise, a quarter of the bytes is a sufficient estimate.
bool allowances_count_tokens(const struct allowances *a, const struct allowance *of, uint64_t bytes);
