// SPDX-License-Identifier: Apache-2.0
// subscriptions/listen: a request of a stateless client that stays open and delivers changes of lists, resources and
// tasks. The first message acknowledges the subscriptions that the upstreams accepted.
#pragma once
#include "catalog/catalog.h"
#include "mcp/server/session.h"

struct surface;
struct surface_client;

void direct_listen_init(struct surface_client *client);
void direct_listen(struct surface *d, struct request *r);
void direct_listens_check(struct surface *d);  // must be called when upstreams have settled: continues waiting requests
void direct_listen_settled(struct surface_client *client);  // must be called when an upstream has answered

// Returns whether the client receives changes of this list.
bool direct_listens(const struct surface_client *client, enum item_kind kind);

// Sends a notification to a listening client; does nothing before the acknowledgement. `params` is raw JSON and may be
// empty.
void direct_listen_notify(struct surface_client *client, str method, str params);
void direct_stop_listening(void *surface, struct request *r);
