// SPDX-License-Identifier: Apache-2.0
// The interface between the files of this folder; private to them.
#pragma once
#include "base/shares.h"
#include "mcp/gateway_chain.h"
#include "upstream/definition_cache.h"
#include "upstream/kind.h"
#include "upstream/upstream.h"

enum { LANE_MAGIC = 0x6c616e65, MAX_PROFILES = 32 };  // item.seen has 32 bits

// The list of definitions for clients with certain capabilities. A server may offer more to clients with more
// capabilities, and different lists on different connections.
struct profile {
  str key;                          // capabilities in canonical form; owned
  struct definitions *definitions;  // NULL if this place is free
  str instructions;                 // owned
  bool kept;                        // stored by an earlier run; clients without a list see it until a lane has listed
  bool base;                        // the list for clients with these capabilities and no lane
  unsigned lanes;                   // number of lanes that show this list
};

struct upstream {
  struct upstreams *all;
  unsigned index;
  unsigned order;                         // position in the current configuration
  struct arena arena;                     // memory of the spec and of values derived from it
  const struct upstream_spec *spec;       // copy of the configuration
  struct list lanes;                      // struct lane, oldest first
  struct lane *common;                    // lane of LANE_OF_ALL; may be NULL
  struct map by_owner[LANE_SCOPES];       // shared lanes of agents and principals, by name
  struct shares own;                      // number of lanes of each principal, without the common lane
  struct profile profiles[MAX_PROFILES];  // a profile keeps its index; a stored profile has index 0
  size_t profile_count, next_profile;     // number of used places; where the search for a free place starts
  uint64_t version;                       // counts changes of the profiles
  uint64_t starts, restarts, losses;  // numbers of connections that were opened, reopened after a failure, or failed
  bool gone;                          // removed from the configuration; its index stays reserved
  bool left;                          // removed or replaced: opens no more lanes
  struct list node;                   // in upstreams.leaving after it was replaced
  uint64_t quiet_at;
  bool unsaved;  // the definitions must still be stored
  // Detected era and the time of the detection, for the protocol "auto".
  enum link_era era;
  uint64_t era_at;
  // stdio
  struct child_spec child;
  enum upstream_launcher launcher;
  str npm_cache;              // installation folder of UPSTREAM_NPX
  bool installed;             // the launcher has started the program in this run
  unsigned install_failures;  // number of consecutive failures
  struct tail *tail;          // stderr output of its processes
  // http
  struct http_url url;
  struct http_origin *origin;
  str headers;
  struct chain_marks marks;  // marks of the gateways that are clients and may use this server
};

// Lanes whose launcher waits (first attempts before retries), lanes whose launcher installs, and launchers that are
// being stopped.
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
  struct catalog *catalog, *reported;  // `reported` is the catalog that the owner was last notified of
  bool outdated;                       // profiles have changed since `catalog` was built
  uint64_t generation;
  struct timer tell, save;
  struct definition_cache *cache;  // may be NULL
  bool ahead;                      // upstreams_start was called: lanes are opened before clients connect
  str client;                      // canonical capabilities of the last client that used a lane; owned, may be empty
  bool unsaved;                    // `client` must still be stored
  struct tls_client *tls;
  struct buf scratch;   // memory for one message to an upstream
  uint64_t lane_count;  // number of lanes created so far
  struct list leaving;  // struct upstream: replaced upstreams with calls in flight
  struct timer drain;
  bool stopping;
  struct timer stop_timer;
  uint64_t stop_at;
  void (*stopped)(void *ctx);
  void *stopped_ctx;
};

// Copies the spec. Returns NULL, with the reason in `f`, on failure.
struct upstream *upstream_new(struct upstreams *all, unsigned index, const struct upstream_spec *spec, struct fault *f);
void upstream_close(struct upstream *u);  // closes all lanes of the upstream
void upstream_free(struct upstream **u);  // the upstream must have no lanes
str upstream_copy(str s);                 // copies to the heap

// Returns the list that new connections with these capabilities would show, or NULL.
struct profile *profile_find(struct upstream *u, str key);
// Returns the stored list if no lane has listed yet, or NULL.
struct profile *profile_kept(struct upstream *u);
// Returns the list that clients of a lane see: the lane's own, else that of lanes with the same capabilities, else
// NULL.
struct profile *profile_of(const struct lane *lane);
bool upstream_serves(const void *spec, str tool);  // spec_serves as a callback for catalogs
// Returns the list that a client sees: that of its lane, else that of another lane, else NULL.
struct profile *profile_seen(struct upstream *u, const struct lane_user *who);
// Returns whether lanes with different capabilities show the same list: then the list probably does not depend on
// capabilities.
bool profiles_alike(struct upstream *u);
// Records that a client starts to use a lane: lanes opened ahead declare its capabilities from now on.
void profiles_note_client(struct upstreams *all, const struct lane_user *who);
// Sets the list of a lane, and takes ownership of `definitions`. A change leads to a new catalog.
void profile_set(struct lane *lane, struct definitions *definitions, str instructions);
void profile_leave(struct lane *lane);  // the lane closes or will be opened again

str upstream_instructions(const struct upstream *u);  // instructions of the first list that has any

void profiles_init(struct upstreams *all);  // loads the stored capabilities of the last client
void profiles_keep(struct upstreams *all);  // stores lists that are not stored yet
void profiles_done(struct upstreams *all);
void profiles_forget(struct upstream *u);
void profiles_load(struct upstream *u);     // loads the stored list
void catalog_outdated(struct upstream *u);  // schedules a new catalog

// Replaced upstreams (reconfigure.c).
void replace_init(struct upstreams *all);
void replace_stop(struct upstreams *all);  // closes all lanes of replaced upstreams
void replace_done(struct upstreams *all);

// Reports a new catalog to the owner.
void catalog_report(struct upstreams *all);

// Requests the definitions of all stale kinds, then calls lane_listed.
void listing_start(struct lane *lane);
void listing_free(struct lane *lane);
void lane_listed(struct lane *lane);
void lane_refresh(struct lane *lane);  // lists all kinds again, because notifications may have been lost
struct lane *lane_new(struct upstream *u, struct session *s, const struct lane_owner *owner);
void lane_free(struct lane **lane);
void lane_start(struct lane *lane);
void lane_rest(struct lane *lane);  // closes the connection until its next use
// Ends the use of a lane, except for calls in flight. Waiters receive `f`.
void lane_retire(struct lane *lane, const struct fault *f);
// Handles a connection that was lost or could not be opened. `said`: the last output of the program, for the operator
// only. `installing`: the launcher had not started the program yet. The owner is notified last (restart.c).
void lane_down(struct lane *lane, const struct fault *f, str said, bool installing);
void lane_settled(struct upstreams *all);                             // notifies the owner that a lane is ready or down
void lane_release_waiters(struct lane *lane, const struct fault *f);  // `f` is NULL if the lane is ready
bool lane_is_idle(const struct lane *lane);  // returns whether there are no calls, requests or waiters
// Sets the capabilities that the lane declares: those of `s` or, if `s` is NULL, of all clients of the lane's owner.
void lane_speak_for(struct lane *lane, struct session *s);
// Sets the capabilities that the lane declares to those of an expected client, in canonical form.
void lane_speak_ahead(struct lane *lane, str capabilities);
str lane_shared_profile(const struct upstream *u);  // returns the profile of lanes that several sessions share

// Owners of lanes (lanes.c).
struct lane_user lanes_user(const struct upstreams *all,
                            const struct session *s);  // uses the agent of the session
bool lanes_have_own(const struct upstream *u, const struct session *s);
// Returns the profile of the lane that the session has or would get.
str lanes_profile(const struct upstream *u, const struct session *s);
struct lane *lanes_find(const struct upstream *u, const struct lane_user *who);
struct lane *lanes_get(struct upstream *u, const struct lane_user *who, struct fault *f);  // created if necessary
struct lane *lanes_common(struct upstream *u);  // creates the lane if necessary
// Reopens an unused lane that was opened ahead with the capabilities of this client, if its list may depend on them.
// The lane still has no owner. Returns false if nothing was done.
bool lanes_suit(struct upstream *u, const struct session *s);
struct lane *lanes_shared(const struct upstream *u, const struct lane_owner *owner);  // may be NULL
void lanes_on_idle(struct timer *t);
void lanes_idle_start(struct lane *lane);  // starts the timer that closes the lane after its idle time
void lanes_own(struct lane *lane, const struct lane_owner *owner);  // copies the owner
void lanes_disown(struct lane *lane);
void lanes_enter(struct lane *lane);  // registers the lane with its owner
void lanes_leave(struct lane *lane);

// The queue of launchers that install (install.c).
void installs_init(struct upstreams *all);
void installs_stop(struct upstreams *all);  // from now on, no launcher starts
void install_prepare(struct upstream *u);   // sets child_spec of the upstream
bool install_enter(struct lane *lane);      // returns false if the lane must wait; then lane_begin is called later
void install_leave(struct lane *lane);      // the installation has ended or was given up
void lane_begin(struct lane *lane);

void lane_refresh_soon(struct lane *lane);                     // lists stale kinds again after a short delay
void lane_say_down(const struct lane *lane, struct fault *f);  // sets `f` to the reason why the lane cannot be used

// Events of a lane for its turns (turns.c).
void turns_kick(struct lane *lane);                         // lets waiting calls start if there is room
void turns_fail(struct lane *lane, const struct fault *f);  // fails the waiting calls
void turns_done(struct lane *lane);                         // the lane closes: no call holds it any more

// Events of a lane for its watches (watch.c). watches_fail passes `f` to the waiting watchers.
void watches_ready(struct lane *lane);
void watches_lost(struct lane *lane);
void watches_fail(struct lane *lane, const struct fault *f);
void watches_move(struct lane *from, struct lane *to);
void watches_free(struct lane *lane);
bool watches_wanted(const struct lane *lane);  // returns whether anything is watched
// Returns whether this notification is only for watchers. Otherwise sets *via to NULL if the notification came on a
// subscription stream.

bool watches_receive(struct lane *lane, struct link_call **via, const struct rpc_message *m);
