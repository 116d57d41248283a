// SPDX-License-Identifier: Apache-2.0
// What the operator says about the controls on the way of a call. Nothing said: none of them does anything.
#pragma once
#include "call/controls/allowance.h"
#include "call/controls/backoff.h"
#include "call/controls/limiter.h"
#include "call/controls/result_cache.h"

struct controls {
  bool tolerant_args;
  struct backoff retry;
  bool cache;  // results of tools that say that they only read are kept
  struct result_cache_limits cache_limits;
  const str *cache_allow;  // ids or patterns of the only tools whose results are; none: any
  size_t cache_allow_count;
  const struct limiter_rule *rules;
  size_t rule_count;
  struct allowance_limits principal;  // of each
  size_t max_principals;
  size_t max_books;  // sessions that are counted at once
  uint64_t idle_ms;  // a client without a session that makes no call for so long begins anew
};
