// SPDX-License-Identifier: Apache-2.0
// What upstreams tell by themselves, to whom it concerns; subscriptions and log levels, which decide whom.
#pragma once
#include "surface/surface_impl.h"

void direct_notification(struct surface *d, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void direct_lane_ready(struct surface *d, struct lane *lane);
void direct_set_level(struct surface *d, struct request *r);
