// SPDX-License-Identifier: Apache-2.0
// Handles subscriptions/listen. This request of a stateless client stays open, and notifications about lists, resources
// and tasks are sent as its response. The first message acknowledges the subscriptions that upstreams accepted.
#pragma once
#include "catalog/catalog.h"
#include "mcp/server/session.h"

struct surface;
struct surface_client;

void direct_listen_init(struct surface_client *client);
void direct_listen(struct surface *d, struct request *r);
// Must be called when an upstream has listed its definitions or has failed: continues requests that wait for it.
void direct_listens_check(struct surface *d);
// Must be called when an upstream has answered one subscription.
void direct_listen_settled(struct surface_client *client);

// Returns whether the client has subscribed to changes of this list.
bool direct_listens(const struct surface_client *client, enum item_kind kind);

// Sends a notification to a listening client; does nothing before the acknowledgement. `params` is raw JSON and may be
// empty.
void direct_listen_notify(struct surface_client *client, str method, str params);
void direct_stop_listening(void *surface, struct request *r);
