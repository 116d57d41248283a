// SPDX-License-Identifier: Apache-2.0
// Requests that wait for upstreams that are starting.
#pragma once
#include "mcp/server/session.h"

struct surface;

typedef void surface_then(struct surface *d, struct request *r);
typedef bool surface_ready(struct surface *d, const struct request *r);

// Returns the time up to which a request of this session may wait.
uint64_t surface_wait_until(void *surface, const struct session *s);

// Calls `then` as soon as all upstreams have settled (are ready or have failed), `ready` returns true, or the time of
// surface_wait_until has come. This may happen before surface_wait returns. `ready` may be NULL, except in servers
// mode, where settled upstreams do not end the wait.
void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then);

// Like surface_wait, but waits at most until the time `until`.
void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then);

// Must be called when upstreams are ready or have failed: continues the requests that need not wait any longer.
void surface_waits_check(struct surface *d);
