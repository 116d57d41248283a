// SPDX-License-Identifier: Apache-2.0
// subscriptions/listen: a stateless client's request that stays open, and brings what it asks for: changes of the
// lists, of resources, of tasks. It opens with an acknowledgement of what will be told, once the upstreams have agreed.
#pragma once
#include "surface/surface_impl.h"

void direct_listen_init(struct client *client);
void direct_listen(struct surface *d, struct request *r);
void direct_listens_check(struct surface *d);       // upstreams have settled: go on with those that wait for it
void direct_listen_settled(struct client *client);  // one is settled

// Does it want to hear of changes of this list?
bool direct_listens(const struct client *client, enum item_kind kind);

// Tells a listening client; params: raw, may be empty.
void direct_tell(struct client *client, str method, str params);
void direct_stop_listening(void *surface, struct request *r);
