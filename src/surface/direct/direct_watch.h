// SPDX-License-Identifier: Apache-2.0
// Subscriptions of clients to resources and tasks. A client with a session subscribes to one resource per request
// (resources/subscribe); a stateless client lists all its subscriptions in one request (subscriptions/listen). If
// several clients subscribe to the same resource, the upstream gets one subscription (upstream/lane/watch.h).
#pragma once
#include "call/call.h"
#include "upstream/lane/watch.h"

struct surface;
struct surface_client;

void direct_unsubscribe(struct surface *d, struct request *r);
void direct_unsubscribe_all(struct surface_client *client);
void direct_unsubscribe_denied(struct surface *d);  // ends subscriptions that the rules no longer allow

// Continues a call of resources/subscribe after the connection to the upstream was chosen.
enum call_result direct_subscribe(void *surface, struct call *c);
void direct_subscribe_over(void *surface, struct call *c);

void direct_watch_anew(struct surface *d);  // opens connections for subscriptions whose connection was lost
// Renews lost subscriptions on a lane whose connection is ready.
void direct_watch_again(struct surface_client *client, struct lane *lane);
void direct_task_changed(struct surface *d, struct lane *lane, const struct rpc_message *m);
void direct_resource_updated(struct surface *d, struct lane *lane, const struct rpc_message *m);

// Adds one subscription of an open subscriptions/listen. `shown` is the URI or task id as the client names it. Ignores
// a resource or task that the client may not see.
void direct_listen_to(struct surface_client *client, enum watch_kind kind, str shown);
void direct_put_agreed(const struct surface_client *client, enum watch_kind kind, struct json_writer *w);
