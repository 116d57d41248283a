// SPDX-License-Identifier: Apache-2.0
// Circuit breakers. A breaker refuses calls of a capability whose server fails again and again, so that callers get an
// answer at once and the server can recover. Each capability has one breaker for each tenant, and all connections of a
// gateway share it.
//
// A breaker opens after consecutive failures, or if too large a share of the calls of the last seconds failed. After
// `open_s` it lets some calls through as probes: the first probe that succeeds closes the breaker, a probe that fails
// opens it again. Open breakers are stored as entries of kind "breaker" (store/shared.h), so that they stay open after
// a restart.
//
// Memory is bounded: the breaker that was not used for the longest time is forgotten first.
#pragma once
#include "base/crypto/hash.h"
#include "govern/limits.h"
#include "store/shared.h"

struct breakers;

// `store` may be NULL. It must outlive the breakers.
struct breakers *breakers_new(const struct hash_key *seed, struct store *store, const struct clock *clock);
void breakers_free(struct breakers **b);

enum breaker_pass { BREAKER_CLOSED, BREAKER_PROBE, BREAKER_OPEN };

// Begins a call. `key` names the capability and the tenant. If `alone` is true, only one probe at a time is let
// through. For BREAKER_OPEN, sets *out_after_ms to the time after which a call may pass.
enum breaker_pass breakers_begin(struct breakers *b, str key, const struct breaker_limits *limits, bool alone,
                                 uint64_t *out_after_ms);

// BREAKER_SKIPPED: the outcome says nothing about the server, for example because the call was not sent.
enum breaker_outcome { BREAKER_SUCCEEDED, BREAKER_FAILED, BREAKER_SKIPPED };
enum breaker_change { BREAKER_SAME, BREAKER_OPENS, BREAKER_CLOSES };

// Ends a call that breakers_begin let through.
enum breaker_change breakers_end(struct breakers *b, str key, const struct breaker_limits *limits, bool probe,
                                 enum breaker_outcome outcome);

size_t breakers_open(const struct breakers *b);  // number of breakers that are not closed
