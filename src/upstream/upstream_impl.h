// SPDX-License-Identifier: Apache-2.0
// The interface between the files of this folder; private to them.
#pragma once
#include "base/shares.h"
#include "mcp/gateway_chain.h"
#include "upstream/definition_cache.h"
#include "upstream/kind.h"
#include "upstream/upstream.h"

enum { LANE_MAGIC = 0x6c616e65, MAX_PROFILES = 32 };  // as many as item.seen has bits

// Definitions that lanes with these capabilities list. A server may offer more to clients with more capabilities, and
// different lists on different connections.
struct profile {
  str key;                          // owned; a lane's profile
  struct definitions *definitions;  // NULL: this place is free
  str instructions;                 // owned
  bool kept;                        // stored by an earlier run: for clients without a list until a lane has listed
  bool base;                        // for clients with these capabilities and without a lane
  unsigned lanes;                   // number of lanes with this list
};

struct upstream {
  struct upstreams *all;
  unsigned index;
  unsigned order;                         // position in the current configuration
  struct arena arena;                     // of the spec and what is made of it
  const struct upstream_spec *spec;       // its own copy
  struct list lanes;                      // struct lane, oldest first
  struct lane *common;                    // LANE_OF_ALL; may be NULL
  struct map by_owner[LANE_SCOPES];       // shared lanes of agents and principals, by name
  struct shares own;                      // lanes of each principal, without the common one
  struct profile profiles[MAX_PROFILES];  // each has a fixed place; the stored one is the first at the start
  size_t profile_count, next_profile;     // used places; where the search for a free place starts
  uint64_t version;                       // of the profiles; counts their changes
  uint64_t starts, restarts, losses;      // of connections: opened, opened again after a failure, failed
  bool gone;                              // removed from the configuration; its index stays reserved
  bool left;                              // gone or replaced: opens no lanes
  struct list node;                       // in `leaving` after it was replaced
  uint64_t quiet_at;
  bool unsaved;  // its definitions are not yet stored
  // Detected era, and the time of the detection; for the protocol "auto".
  enum link_era era;
  uint64_t era_at;
  // stdio
  struct child_spec child;
  enum upstream_launcher launcher;
  str npm_cache;              // UPSTREAM_NPX: installation folder
  bool installed;             // its launcher has started it in this run
  unsigned install_failures;  // consecutive
  struct tail *tail;          // stderr of its processes
  // http
  struct http_url url;
  struct http_origin *origin;
  str headers;
  struct chain_marks marks;  // of gateways that are clients and may use this server
};

// Lanes whose launcher waits (first attempts before retries) or installs, in order; and launchers that are being
// stopped.
struct installs {
  struct list waiting, running, leaving;
  struct timer tell, look;
};

struct upstreams {
  struct upstreams_options opt;
  struct installs installs;
  const struct upstreams_events *ev;
  void *ctx;
  struct upstream **list;  // by index
  size_t count;
  struct catalog *catalog, *reported;  // reported: the last one that the owner has seen
  bool outdated;                       // profiles have changed since `catalog` was built
  uint64_t generation;
  struct timer tell, save;
  struct definition_cache *cache;  // may be NULL
  bool ahead;                      // lanes are opened before clients connect
  str client;                      // canonical capabilities of the last client that used a lane; owned, may be empty
  bool unsaved;                    // `client` is not yet stored
  struct tls_client *tls;
  struct buf scratch;   // one message to an upstream
  uint64_t lane_count;  // lanes created so far
  struct list leaving;  // struct upstream: replaced ones with calls in flight
  struct timer drain;
  bool stopping;
  struct timer stop_timer;
  uint64_t stop_at;
  void (*stopped)(void *ctx);
  void *stopped_ctx;
};

// Copies the spec. Returns NULL with the reason in f.
struct upstream *upstream_new(struct upstreams *all, unsigned index, const struct upstream_spec *spec, struct fault *f);
void upstream_close(struct upstream *u);  // closes its lanes
void upstream_free(struct upstream **u);  // must have no lanes
str upstream_copy(str s);                 // on the heap

// Returns the list for new connections with these capabilities, or NULL.
struct profile *profile_find(struct upstream *u, str key);
// Returns the stored list until a lane has listed, or NULL.
struct profile *profile_kept(struct upstream *u);
// Returns the list that clients of a lane see: its own, else that of similar lanes, else NULL.
struct profile *profile_of(const struct lane *lane);
bool upstream_serves(const void *spec, str tool);  // spec_serves, for catalogs
// Returns the list that a client sees: that of its lane, else of others, else NULL.
struct profile *profile_seen(struct upstream *u, const struct lane_user *who);
// Returns whether lanes with different capabilities have the same list, so that the list does not depend on them.
bool profiles_alike(struct upstream *u);
// A client starts to use a lane: lanes opened ahead declare its capabilities from now on.
void profiles_note_client(struct upstreams *all, const struct lane_user *who);
// Sets the list of a lane. Takes the definitions. A change leads to a new catalog.
void profile_set(struct lane *lane, struct definitions *definitions, str instructions);
void profile_leave(struct lane *lane);  // the lane closes or lists again

str upstream_instructions(const struct upstream *u);  // of the list that is in use

void profiles_init(struct upstreams *all);  // loads the stored client
void profiles_keep(struct upstreams *all);  // stores unsaved lists
void profiles_done(struct upstreams *all);
void profiles_forget(struct upstream *u);
void profiles_load(struct upstream *u);     // loads the stored list
void catalog_outdated(struct upstream *u);  // schedules a new catalog

// Replaced upstreams (reconfigure.c).
void replace_init(struct upstreams *all);
void replace_stop(struct upstreams *all);  // closes their lanes
void replace_done(struct upstreams *all);

// Reports a new catalog to the owner.
void catalog_report(struct upstreams *all);

// Requests the definitions of the stale kinds, and calls lane_listed at the end.
void listing_start(struct lane *lane);
void listing_free(struct lane *lane);
void lane_listed(struct lane *lane);
void lane_refresh(struct lane *lane);  // lists all kinds again, because notifications may have been lost
struct lane *lane_new(struct upstream *u, struct session *s, const struct lane_owner *owner);
void lane_free(struct lane **lane);
void lane_start(struct lane *lane);
void lane_rest(struct lane *lane);  // closes the connection until its next use
// Ends the use of a lane, except for calls in flight. Waiters get f.
void lane_retire(struct lane *lane, const struct fault *f);
// The connection is lost or could not be opened. said: the last output of its program, for the operator only.
// installing: its launcher had not started the program yet. The owner is notified last (restart.c).
void lane_down(struct lane *lane, const struct fault *f, str said, bool installing);
void lane_settled(struct upstreams *all);                             // notifies the owner that a lane is ready or down
void lane_release_waiters(struct lane *lane, const struct fault *f);  // NULL: the lane is ready
bool lane_is_idle(const struct lane *lane);                           // no calls, requests or waiters
void lane_speak_for(struct lane *lane, struct session *s);            // NULL: for all clients of its owner
void lane_speak_ahead(struct lane *lane, str capabilities);           // canonical capabilities of an expected client
str lane_shared_profile(const struct upstream *u);                    // of lanes without an exclusive session

// Owners of lanes (lanes.c).
struct lane_user lanes_user(const struct upstreams *all,
                            const struct session *s);  // by the agent of its session
bool lanes_have_own(const struct upstream *u, const struct session *s);
str lanes_profile(const struct upstream *u, const struct session *s);  // of the lane that it has or would get
struct lane *lanes_find(const struct upstream *u, const struct lane_user *who);
struct lane *lanes_get(struct upstream *u, const struct lane_user *who, struct fault *f);  // created if necessary
struct lane *lanes_common(struct upstream *u);                                             // the same
// Reopens an unused lane that was opened ahead with the capabilities of this client, if its list may depend on them.
// The lane keeps having no owner. Returns false if nothing was done.
bool lanes_suit(struct upstream *u, const struct session *s);
struct lane *lanes_shared(const struct upstream *u, const struct lane_owner *owner);  // may be NULL
void lanes_on_idle(struct timer *t);
void lanes_idle_start(struct lane *lane);                           // closes the lane after its idle time
void lanes_own(struct lane *lane, const struct lane_owner *owner);  // copies
void lanes_disown(struct lane *lane);
void lanes_enter(struct lane *lane);  // adds it to its owner's lanes
void lanes_leave(struct lane *lane);

// The queue of launchers that install (install.c).
void installs_init(struct upstreams *all);
void installs_stop(struct upstreams *all);  // starts no more launchers
void install_prepare(struct upstream *u);   // makes its child_spec
bool install_enter(struct lane *lane);      // false: waits; lane_begin is called later
void install_leave(struct lane *lane);      // the installation has ended
void lane_begin(struct lane *lane);

void lane_refresh_soon(struct lane *lane);                     // lists stale kinds again a moment later
void lane_say_down(const struct lane *lane, struct fault *f);  // sets f to the reason why it cannot be used

// Events of a lane for its turns (turns.c).
void turns_kick(struct lane *lane);                         // there may be room for a waiting call
void turns_fail(struct lane *lane, const struct fault *f);  // fails the waiting calls
void turns_done(struct lane *lane);                         // the lane closes: no call holds it

// Events of a lane for its watches (watch.c). watches_fail gives f to those that wait.
void watches_ready(struct lane *lane);
void watches_lost(struct lane *lane);
void watches_fail(struct lane *lane, const struct fault *f);
void watches_move(struct lane *from, struct lane *to);
void watches_free(struct lane *lane);
bool watches_wanted(const struct lane *lane);  // whether anything is watched
// Returns whether this notification is only for watchers. If not, *via becomes NULL if it came on their stream.

bool watches_receive(struct lane *lane, struct link_call **via, const struct rpc_message *m);
