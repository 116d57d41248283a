// SPDX-License-Identifier: Apache-2.0
// Subscriptions to changes of resources and tasks. A lane subscribes once for all clients: with resources/subscribe,
// or, for a stateless server, with one subscriptions/listen stream, which also reports list changes. A restarted lane
// subscribes again.
#pragma once
#include "upstream/upstream.h"

enum watch_kind { WATCH_RESOURCE, WATCH_TASK };  // WATCH_TASK is possible only on stateless lanes

// The subscription of one client, embedded in a struct of the client's code.
struct watcher {
  struct list node;
  struct lane_watch *watch;  // NULL if it is not watching
  str payer;                 // the principal whose share of a shared lane it uses; may be empty
  // Called once, perhaps before watch_start returns. `refusal` and `f` are NULL if the upstream has agreed; otherwise
  // `refusal` is the upstream's error reply, or `f` says why it could not be reached, and the watcher has stopped. May
  // be NULL.
  void (*settled)(struct watcher *w, const struct rpc_message *refusal, const struct fault *f);
};

// The lane must be ready. `id` is a URI of the upstream or a task id; it is copied.
void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w);
void watch_stop(struct watcher *w);  // does nothing if `w` is not watching; `settled` is not called afterwards

// Returns the lane that `w` uses, or NULL. The lane changes when two lanes of a stateless server are joined.
struct lane *watch_lane(const struct watcher *w);
