// SPDX-License-Identifier: Apache-2.0
// Subscriptions to changes of resources and tasks. A lane subscribes once for all clients: with resources/subscribe,
// or, for a stateless server, with its one subscriptions/listen stream, which also brings list changes. A restarted
// lane subscribes again.
#pragma once
#include "upstream/upstream.h"

enum watch_kind { WATCH_RESOURCE, WATCH_TASK };  // WATCH_TASK: only on stateless lanes

// The subscription of one client, embedded in the struct of its owner.
struct watcher {
  struct list node;
  struct lane_watch *watch;  // NULL: not watching
  str payer;                 // principal that it counts for on a shared lane; may be empty
  // Called once, perhaps before watch_start returns: the upstream has agreed (both NULL), has refused with an error
  // reply, or could not be reached. Unless it agreed, the watcher has stopped. May be NULL.
  void (*settled)(struct watcher *w, const struct rpc_message *refusal, const struct fault *f);
};

// The lane must be ready. id: a URI of the upstream, or a task id; copied.
void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w);
void watch_stop(struct watcher *w);  // does nothing if it does not watch; settled is not called afterwards

// Returns the lane that it watches on, or NULL. It changes when the lanes of a stateless server are joined.
struct lane *watch_lane(const struct watcher *w);
