// SPDX-License-Identifier: Apache-2.0
// The webhooks of the governance file in force (govern/webhooks.h): sends messages to the people of a role, and counts
// how many were delivered. The body of a message is {"type": TYPE, "timestamp": TIME, "data": DATA}.
#pragma once
#include "govern/govern.h"
#include "io/http/webhook.h"

struct webhooks;

struct webhooks *webhooks_new(struct loop *l);
void webhooks_free(struct webhooks **w);  // ends the messages that are not yet delivered

// Must be called when a governance file takes effect; `g` may be NULL. A webhook whose role, URL and secret have not
// changed keeps its messages.
void webhooks_take(struct webhooks *w, const struct governance *g);

bool webhooks_serve(const struct webhooks *w, str role);  // returns whether the role has a webhook with a secret

// Sends a message to the people of a role. Returns false if the role has no webhook. `data` is a raw JSON object. A
// message that cannot be delivered is logged and counted. `ended` (io/http/webhook.h) may be NULL; it may be called
// before this function returns.
bool webhooks_send(struct webhooks *w, str role, const char *type, str data, webhook_ended *ended, void *ctx);

struct webhooks_counts {
  uint64_t delivered, failed;
};
struct webhooks_counts webhooks_count(const struct webhooks *w);
