// SPDX-License-Identifier: Apache-2.0
// What an upstream is asked to tell of by itself: changes of resources (and of tasks). Each thing is asked for once on
// a lane, however many clients want it: by resources/subscribe, or, where the server is stateless, by the one
// subscriptions/listen stream that the lane keeps open (which also brings the list changes). A lane that comes up
// again asks anew.
#pragma once
#include "upstream/upstream.h"

enum watch_kind { WATCH_RESOURCE, WATCH_TASK };  // WATCH_TASK: only on stateless lanes

// One client's wish, embedded in whatever keeps it.
struct watcher {
  struct list node;
  struct lane_watch *watch;  // NULL: not watching
  str payer;                 // the principal that what it wants counts for on a lane that several share; empty: nobody
  // Once, perhaps before watch_start returns: the upstream has agreed (both NULL) or refused with an error reply, or
  // could not be asked. Unless it agreed, the watcher watches no longer. May be NULL.
  void (*settled)(struct watcher *w, const struct rpc_message *refusal, const struct fault *f);
};

// The lane must be ready. id: a URI as the upstream knows it, or a task id; copied.
void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w);
void watch_stop(struct watcher *w);  // fine when it does not watch; settled is not called any more

// Where it watches: not always where it was started, since lanes that turn out to be one are joined. NULL: nowhere, it
// never was started, was refused, or its lane is gone.
struct lane *watch_lane(const struct watcher *w);
