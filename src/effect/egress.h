// SPDX-License-Identifier: Apache-2.0
// Egress budgets: how many calls of a capability a tenant may send, so that a third party does not throttle the
// gateway. A budget has a token bucket (`rate` and `burst`), and limits for each day in UTC. If the server answers that
// it gets too many requests, the bucket is empty until the time that the server names.
//
// Budgets are stored as entries of kind "egress" (store/shared.h) at most once a second, and at the end, so that they
// last over a restart. All connections of a gateway share them. A budget that cannot be read begins with an empty
// bucket.
#pragma once
#include "govern/limits.h"
#include "io/timer.h"
#include "store/shared.h"

struct egress;

// `store` may be NULL. It must outlive the budgets.
struct egress *egress_new(struct loop *loop, struct store *store);
void egress_free(struct egress **e);  // stores the budgets

struct egress_use {
  str key;  // names the capability and the tenant
  const struct egress_limits *limits;
  double cost;
};

// Takes a call from the budget. Returns NULL, or the limit that does not allow the call: "rate", "daily_calls",
// "daily_cost", "upstream" (the server asked to wait) or "budgets" (there are too many). Then *out_after_ms is the time
// after which the call is allowed.
const char *egress_take(struct egress *e, const struct egress_use *use, uint64_t *out_after_ms);
void egress_refund(struct egress *e, const struct egress_use *use);  // the call was not sent
void egress_drain(struct egress *e, str key, uint64_t ms);           // the server accepts no call for this time
