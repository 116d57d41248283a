// SPDX-License-Identifier: Apache-2.0
// Subscriptions to changes of resources and tasks. A lane subscribes once for all clients. A server with a handshake
// gets resources/subscribe requests; a stateless server gets one subscriptions/listen request, whose stream also
// reports list changes. A restarted lane subscribes again.
#pragma once
#include "upstream/upstream.h"

enum watch_kind { WATCH_RESOURCE, WATCH_TASK };  // WATCH_TASK requires a stateless server

// The subscription of one client, embedded in a struct of the client's code.
struct watcher {
  struct list node;
  struct lane_watch *watch;  // NULL if the watcher is not active
  str payer;                 // principal in whose share the subscription counts on a shared lane; may be empty
  // Called once, perhaps before watch_start returns. On success, `refusal` and `f` are NULL. Otherwise `refusal` is the
  // upstream's error reply, or `f` says why there is no reply, and the watcher has stopped. May be NULL.
  void (*settled)(struct watcher *w, const struct rpc_message *refusal, const struct fault *f);
};

// Starts watching. The lane must be ready. `id` is a URI of the upstream, or a task id; it is copied.
void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w);
void watch_stop(struct watcher *w);  // does nothing if `w` is not watching; `settled` is not called afterwards

// Returns the lane that `w` uses, or NULL. The lane can change: if a server turns out to be stateless, its lanes are
// joined.
struct lane *watch_lane(const struct watcher *w);
