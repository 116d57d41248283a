// SPDX-License-Identifier: Apache-2.0
// Requests that wait for upstreams that are starting.
#pragma once
#include "surface/surface_impl.h"

typedef void surface_then(struct surface *d, struct request *r);
typedef bool surface_ready(struct surface *d, const struct request *r);

// Calls `then`, at once when there is no need to wait. ready: need it not wait for all of them? NULL: it must. In mode
// servers nobody waits for all, and `ready` alone decides.
void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then);

// The same until another time than that of surface_wait_until.
void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then);
void surface_waits_check(struct surface *d);  // upstreams have settled
