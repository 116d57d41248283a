// SPDX-License-Identifier: Apache-2.0
// Between watch.c (what is watched) and listen.c (the stream of a stateless server); not for others.
#pragma once
#include "base/map.h"
#include "base/shares.h"
#include "upstream/lane/watch.h"
#include "upstream/upstream_impl.h"

enum { WATCH_KINDS = 2 };

enum watch_state {
  WATCH_IDLE,     // to be asked for
  WATCH_ASKED,    // to be answered
  WATCH_AGREED,   // the upstream tells of it
  WATCH_REFUSED,  // it does not: not asked for again before somebody else wants it, or the lane is opened again
  WATCH_LEAVING,  // unsubscribed from, to be answered
};

// One thing that somebody wants to hear of.
struct lane_watch {
  struct list node;  // in the lane's watches
  struct watches *home;
  struct share *share;  // of the principal that first wanted it
  enum watch_kind kind;
  enum watch_state state;
  struct list waiting, told, agreed;  // struct watcher: those to be told, those being told, those that watch
  struct link_call call;              // resources/subscribe or unsubscribe
  bool honoured;                      // the acknowledgement that is being read names it
  str id;
  char text[];
};

// What is watched on a lane. Lives on without it while callbacks run.
struct watches {
  struct lane *lane;  // NULL: it is gone
  struct loop *loop;
  unsigned busy;
  struct map by_id[WATCH_KINDS];
  struct shares shares;    // by principal
  struct list list, todo;  // struct lane_watch: all of them, and those still to be gone through
  struct deferred gather;  // wishes that come together are asked for together
  // The streams of a stateless server: the one that was acknowledged, and the one that is to replace it.
  struct listen *current, *next;
  struct timer retry;
  unsigned tries;
  bool refused;  // it does not know the method, or what we want
  bool shrunk;   // something that was asked for is no longer wanted
  bool gap;      // there was a time without a stream
};

// Goes through all: whatever happens meanwhile, each is visited at most once, and stays valid until watches_leave.
void watches_enter(struct watches *home);
struct lane_watch *watches_next(struct watches *home);
void watches_leave(struct watches *home);

// Looks, when this turn of the loop is over, at what is to be asked for.
void watches_gather(struct watches *home);

// Tells those who wait: agreed to when both are NULL.
void watch_tell(struct lane_watch *t, const struct rpc_message *refusal, const struct fault *f);

void listen_init(struct watches *home);
void listen_update(struct watches *home);  // opens, replaces or ends the stream, as what is watched needs it
void listen_close(struct watches *home);
bool listen_heard(struct watches *home, struct link_call **via, const struct rpc_message *m);
bool listen_wanted(const struct watches *home);
