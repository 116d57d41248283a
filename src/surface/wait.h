// SPDX-License-Identifier: Apache-2.0
// Requests that wait for upstreams that are starting.
#pragma once
#include "mcp/server/session.h"

struct surface;

typedef void surface_then(struct surface *d, struct request *r);
typedef bool surface_ready(struct surface *d, const struct request *r);

// Returns the time up to which a request of this session may wait.
uint64_t surface_wait_until(void *surface, const struct session *s);

// Calls `then` when all upstreams have settled, when `ready` (which may be NULL) returns true, or at the time of
// surface_wait_until, whichever is first; this may be at once. In mode servers, `ready` is required, and settled
// upstreams do not end the wait.
void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then);

// Like surface_wait, with another time limit.
void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then);

// Must be called when upstreams have settled: runs the requests that need not wait any longer.
void surface_waits_check(struct surface *d);
