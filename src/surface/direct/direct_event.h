// SPDX-License-Identifier: Apache-2.0
// Forwards notifications from upstreams to the right clients. Sends upstreams the log levels that clients set.
#pragma once
#include "mcp/server/session.h"

struct surface;
struct lane;
struct link_call;

void direct_notification(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
// Must be called when a lane has a new connection to its upstream: sends log levels and subscriptions again.
void direct_lane_ready(struct surface *d, struct lane *lane);
void direct_set_level(struct surface *d, struct request *r);
