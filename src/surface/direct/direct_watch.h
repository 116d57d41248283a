// SPDX-License-Identifier: Apache-2.0
// Subscriptions of clients to resources and tasks. A client with a session subscribes to one at a time
// (resources/subscribe), a stateless client with subscriptions/listen. Each upstream gets one subscription for all
// clients (upstream/lane/watch.h).
#pragma once
#include "call/call.h"
#include "upstream/lane/watch.h"

struct surface;
struct surface_client;

void direct_unsubscribe(struct surface *d, struct request *r);
void direct_unsubscribe_all(struct surface_client *client);
void direct_unsubscribe_denied(struct surface *d);  // ends those that the rules no longer allow

// A call of resources/subscribe has found its lane.
enum call_result direct_subscribe(void *surface, struct call *c);
void direct_subscribe_over(void *surface, struct call *c);

void direct_watch_anew(struct surface *d);                                  // repeats those of abandoned connections
void direct_watch_again(struct surface_client *client, struct lane *lane);  // repeats those of a lane that is ready
void direct_task_changed(struct surface *d, struct lane *lane, const struct rpc_message *m);
void direct_resource_updated(struct surface *d, struct lane *lane, const struct rpc_message *m);

// Adds a subscription of an open subscriptions/listen; ignores what the client may not see. shown: as the client names
// it.
void direct_listen_to(struct surface_client *client, enum watch_kind kind, str shown);
void direct_put_agreed(const struct surface_client *client, enum watch_kind kind, struct json_writer *w);
