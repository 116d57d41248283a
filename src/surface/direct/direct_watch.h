// SPDX-License-Identifier: Apache-2.0
// Subscriptions: which resources a client wants to hear of. A client with a session names them one by one
// (resources/subscribe), a stateless one in the request that listens. The upstream is asked once for all
// (upstream/lane/watch.h).
#pragma once
#include "surface/surface_impl.h"

void direct_unsubscribe(struct surface *d, struct request *r);
void direct_unsubscribe_all(struct client *client);
void direct_unsubscribe_denied(struct surface *d);  // the rules are others

// A call for resources/subscribe has found its lane.
enum call_result direct_subscribe(void *surface, struct call *c);
void direct_subscribe_over(void *surface, struct call *c);
void direct_watch_anew(struct surface *d);                          // what is watched on connections that were given up
void direct_watch_again(struct client *client, struct lane *lane);  // its lane is ready, perhaps a new one
void direct_task_changed(struct surface *d, struct lane *lane, const struct rpc_message *m);
void direct_resource_updated(struct surface *d, struct lane *lane, const struct rpc_message *m);
void direct_listen_to(struct client *client, enum watch_kind kind, str shown);  // one more thing
void direct_put_agreed(const struct client *client, enum watch_kind kind, struct json_writer *w);
