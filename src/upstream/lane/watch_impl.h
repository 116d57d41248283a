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
  WATCH_REFUSED,  // refused; requested again when another watcher is added or the lane is opened again
  WATCH_LEAVING,  // unsubscribing, waits for the server's answer
};

// One watched resource or task.
struct lane_watch {
  struct list node;  // in the lane's watches
  struct watches *home;
  struct share *share;  // share of the principal whose watcher was the first
  enum watch_kind kind;
  enum watch_state state;
  // Lists of struct watcher: those that wait for an answer, those that are getting it now, and those that watch.
  struct list waiting, settling, agreed;
  struct link_call call;  // resources/subscribe or unsubscribe
  bool honoured;          // temporary: the acknowledgement includes this watch
  str id;
  char text[];
};

// All watches of a lane. May outlive the lane while callbacks run.
struct watches {
  struct lane *lane;  // NULL: closed
  struct loop *loop;
  unsigned busy;
  struct map by_id[WATCH_KINDS];
  struct shares shares;    // number of watches of each principal
  struct list list, todo;  // struct lane_watch; `todo` has those that watches_next has yet to return
  struct deferred gather;  // sends the requests of one turn of the loop together
  // The streams of a stateless server: `current` is acknowledged; `next` will replace it.
  struct listen *current, *next;
  struct timer retry;
  unsigned tries;
  bool refused;  // the server rejected subscriptions/listen, or agreed to no notifications
  bool shrunk;   // a watch that the stream includes is no longer needed
  bool gap;      // there was no stream for some time: changes may have been lost
};

// Iterate over all watches, each at most once. A watch stays valid until watches_leave.
void watches_enter(struct watches *home);
struct lane_watch *watches_next(struct watches *home);
void watches_leave(struct watches *home);

// Sends requests for the watches in state WATCH_IDLE at the end of this turn of the loop.
void watches_gather(struct watches *home);

// Passes the answer to all watchers that wait for it. If `refusal` and `f` are NULL, the upstream has agreed.
void watch_settle(struct lane_watch *t, const struct rpc_message *refusal, const struct fault *f);

void listen_init(struct watches *home);
void listen_update(struct watches *home);  // opens, replaces or ends the stream as the watches require
void listen_close(struct watches *home);
bool listen_receive(struct watches *home, struct link_call **via, const struct rpc_message *m);
bool listen_wanted(const struct watches *home);
