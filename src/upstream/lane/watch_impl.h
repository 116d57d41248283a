// SPDX-License-Identifier: Apache-2.0
// The interface between watch.c (subscriptions) and listen.c (the stream of a stateless server); used only by these
// files.
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "upstream/lane/watch.h"
#include "upstream/upstream_impl.h"

enum { WATCH_KINDS = 2 };

enum watch_state {
  WATCH_IDLE,     // not yet requested
  WATCH_ASKED,    // requested, waits for the server's answer
  WATCH_AGREED,   // the upstream sends changes
  WATCH_REFUSED,  // refused by the server; requested again for a new watcher, and when the lane is opened again
  WATCH_LEAVING,  // resources/unsubscribe was sent, waits for the server's answer
};

// One watched resource or task.
struct lane_watch {
  struct list node;  // in the lane's watches
  struct watches *home;
  struct share *share;  // share in which the watch counts: that of the principal that subscribed first
  enum watch_kind kind;
  enum watch_state state;
  // Lists of struct watcher: `waiting` for the server's answer, `settling` while `settled` is called for them, `agreed`
  // when they are active.
  struct list waiting, settling, agreed;
  struct link_call call;  // resources/subscribe or unsubscribe
  bool honoured;          // temporary: the acknowledgement includes this watch
  str id;
  char text[];
};

// All watches of a lane. While callbacks run, this struct may still exist after the lane was freed.
struct watches {
  struct lane *lane;  // NULL after the lane has closed
  struct loop *loop;
  unsigned busy;
  struct map by_id[WATCH_KINDS];
  struct shares shares;    // number of watches of each principal
  struct list list, todo;  // lists of struct lane_watch; `todo` has the watches that watches_next has not returned yet
  struct deferred gather;  // sends all requests at the end of a turn of the loop
  // The streams of a stateless server: `current` is acknowledged; `next` will replace it.
  struct listen *current, *next;
  struct timer retry;
  unsigned tries;
  bool refused;  // the server rejected subscriptions/listen, or acknowledged no notifications
  bool shrunk;   // a watch that the stream includes is no longer needed
  bool gap;      // there was no stream for some time, so changes may have been lost
};

// Iterate over all watches: call watches_enter, watches_next until it returns NULL, then watches_leave. Callbacks
// during the iteration cannot free a watch.
void watches_enter(struct watches *home);
struct lane_watch *watches_next(struct watches *home);
void watches_leave(struct watches *home);

// Sends requests for the watches in state WATCH_IDLE at the end of this turn of the loop.
void watches_gather(struct watches *home);

// Passes the server's answer to all watchers of `t` that wait. If `refusal` and `f` are NULL, the subscription has
// succeeded.
void watch_settle(struct lane_watch *t, const struct rpc_message *refusal, const struct fault *f);

void listen_init(struct watches *home);
void listen_update(struct watches *home);  // opens, replaces or ends the stream, depending on the watches
void listen_close(struct watches *home);
bool listen_receive(struct watches *home, struct link_call **via, const struct rpc_message *m);
bool listen_wanted(const struct watches *home);
