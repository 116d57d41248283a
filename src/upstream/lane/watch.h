// SPDX-License-Identifier: Apache-2.0
// Subscriptions to changes of resources and tasks. If several clients subscribe to the same resource, their lane
// subscribes once. A server with a handshake gets requests resources/subscribe. A stateless server gets one request
// subscriptions/listen, whose stream also reports list changes. After a restart, a lane subscribes again.
#pragma once
#include "upstream/upstream.h"

enum watch_kind { WATCH_RESOURCE, WATCH_TASK };  // WATCH_TASK requires a stateless server

// The subscription of one client, embedded in a struct of the code that uses this module.
struct watcher {
  struct list node;
  struct lane_watch *watch;  // NULL if the watcher is not active
  str payer;                 // principal in whose share the subscription counts on a shared lane; may be empty
  // May be NULL. Called once, perhaps before watch_start returns. On success, `refusal` and `f` are NULL. On failure,
  // `refusal` is the upstream's error reply, or `f` is the reason why there is no reply; the watcher is then not
  // active.
  void (*settled)(struct watcher *w, const struct rpc_message *refusal, const struct fault *f);
};

// Subscribes to changes of a resource or task. The lane must be ready. `id` is the URI on the upstream, or the task's
// id; it is copied.
void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w);
void watch_stop(struct watcher *w);  // `settled` is not called afterwards; does nothing if `w` is not active

// Returns the lane that `w` uses, or NULL if `w` is not active. The lane can change, because the lanes of a server are
// joined if the server turns out to be stateless.
struct lane *watch_lane(const struct watcher *w);
