// SPDX-License-Identifier: Apache-2.0
// The configuration of the controls that a call passes. If all members are zero, no control is active.
#pragma once
#include "call/controls/allowance.h"
#include "call/controls/limiter.h"
#include "call/controls/result_cache.h"
#include "call/controls/retry_delay.h"
#include "call/controls/run_budgets.h"

struct controls {
  bool tolerant_args;
  struct retry_rule retry;
  bool cache;  // cache results of read-only tools
  struct result_cache_limits cache_limits;
  const str *cache_allow;  // ids or patterns of the tools whose results may be cached; if the list is empty, all tools
  size_t cache_allow_count;
  const struct limiter_rule *rules;
  size_t rule_count;
  struct allowance_limits principal;  // limits of each principal
  size_t max_principals;
  size_t max_books;  // maximum number of books in the limiter (limiter.h: a book counts the uses of a session)
  uint64_t idle_ms;  // the book of a client without a session is dropped after this time without a call
};
