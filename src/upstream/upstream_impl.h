// SPDX-License-Identifier: Apache-2.0
// Between the files of this folder; not for others.
#pragma once
#include "base/shares.h"
#include "mcp/gateway_chain.h"
#include "upstream/definition_cache.h"
#include "upstream/kind.h"
#include "upstream/upstream.h"

enum { LANE_MAGIC = 0x6c616e65, MAX_PROFILES = 32 };  // as many as item.seen has bits

// Definitions as some lanes of certain capabilities list them. Servers may offer more to clients that can do more, and
// other things to one connection than to another: when something was done there, or as they like.
struct profile {
  str key;                          // owned; a lane's profile
  struct definitions *definitions;  // NULL: this place is free
  str instructions;                 // owned
  bool kept;                        // of the last run, and nobody listed them yet: seen by whoever has none of his own
  bool base;                        // what whoever of these capabilities sees that has no lane yet
  unsigned lanes;                   // that list this
};

struct upstream {
  struct upstreams *all;
  unsigned index;
  unsigned order;                         // position in the configuration as it is now
  struct arena arena;                     // of the spec and what is made of it
  const struct upstream_spec *spec;       // its own copy
  struct list lanes;                      // as they came
  struct lane *common;                    // of everybody, or of nobody in particular; NULL: there is none
  struct map by_owner[LANE_SCOPES];       // those that an agent, or who has a credential, shares with none but itself
  struct shares own;                      // of the lanes, all but the common one: who has how many
  struct profile profiles[MAX_PROFILES];  // each in its place for good; what was kept is the first, until one comes
  size_t profile_count, next_profile;     // how many there are; where to look for a free place
  uint64_t version;                       // of the profiles; counts their changes
  uint64_t starts, restarts, losses;      // of connections: opened, opened again after a failure, failed
  bool gone;                              // it was removed from the configuration, and its place is kept
  bool left;                              // gone, or replaced: no lane of it is opened any more
  struct list node;                       // in `leaving`, once it was replaced
  uint64_t quiet_at;
  bool unsaved;  // they are to be kept
  // What it was found to be when a lane was last opened, and when; for the protocol "auto".
  enum link_era era;
  uint64_t era_at;
  // stdio
  struct child_spec child;
  enum upstream_launcher launcher;
  str npm_cache;              // UPSTREAM_NPX: the folder that it installs into
  bool installed;             // its launcher has started it in this run
  unsigned install_failures;  // installations that failed in a row
  struct tail *tail;          // what its processes wrote to stderr
  // http
  struct http_url url;
  struct http_origin *origin;
  str headers;
  struct chain_marks marks;  // of gateways that are clients and may use it
};

// Lanes whose launcher waits for its turn (first attempts before retries), or installs, in order; and launchers that
// were given up and are ending.
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
  struct catalog *catalog, *told;  // told: the one that the owner was last told of
  bool outdated;                   // the profiles are others by now
  uint64_t generation;
  struct timer tell, save;
  struct definition_cache *cache;  // NULL: nothing is kept
  bool ahead;                      // lanes are opened before clients come
  str client;    // the capabilities, canonical, of the last client that used a lane; owned, empty: none is known
  bool unsaved;  // they are to be kept
  struct tls_client *tls;
  struct buf scratch;   // a message to an upstream being composed
  uint64_t lane_count;  // that there ever were
  struct list leaving;  // struct upstream: those that others have replaced, while calls are under way on them
  struct timer drain;
  bool stopping;
  struct timer stop_timer;
  uint64_t stop_at;
  void (*stopped)(void *ctx);
  void *stopped_ctx;
};

// Copies the spec. NULL: f says why it cannot be.
struct upstream *upstream_new(struct upstreams *all, unsigned index, const struct upstream_spec *spec, struct fault *f);
void upstream_close(struct upstream *u);  // closes its lanes
void upstream_free(struct upstream **u);  // has no lanes any more
str upstream_copy(str s);                 // on the heap

// What a new connection of these capabilities would list; NULL when nobody asked yet.
struct profile *profile_find(struct upstream *u, str key);
// What was kept; NULL: nothing, or somebody asked meanwhile.
struct profile *profile_kept(struct upstream *u);
// What the clients of a lane see: what it has listed, or else what others like it have. NULL: nobody asked yet.
struct profile *profile_of(const struct lane *lane);
bool upstream_serves(const void *spec, str tool);  // spec_serves, for catalogs
// What a client sees: the list of its own lane, or else what others list. NULL: nothing is known.
struct profile *profile_seen(struct upstream *u, const struct lane_user *who);
// Have lanes of different capabilities listed the same? Then the list does not depend on them.
bool profiles_alike(struct upstream *u);
// A client begins to use a lane: lanes that are opened ahead from now on declare its capabilities.
void profiles_note_client(struct upstreams *all, const struct lane_user *who);
// The lane has listed this. Takes the roster over. When something changed, there will be another catalog.
void profile_set(struct lane *lane, struct definitions *definitions, str instructions);
void profile_leave(struct lane *lane);  // it is going, or will list anew

str upstream_instructions(const struct upstream *u);  // as the definitions came with them

void profiles_init(struct upstreams *all);  // with what was kept
void profiles_keep(struct upstreams *all);  // writes what is to be written
void profiles_done(struct upstreams *all);
void profiles_forget(struct upstream *u);
void profiles_load(struct upstream *u);     // what was kept of it
void catalog_outdated(struct upstream *u);  // there will be another

// Those that were replaced (replace.c).
void replace_init(struct upstreams *all);
void replace_stop(struct upstreams *all);  // closes their lanes
void replace_done(struct upstreams *all);

// Tells the owner now, if there is another catalog than it knows.
void catalog_tell(struct upstreams *all);

// Asks for the definitions of the stale kinds; ends in lane_listed.
void listing_start(struct lane *lane);
void listing_free(struct lane *lane);
void lane_listed(struct lane *lane);
void lane_refresh(struct lane *lane);  // something may have changed unheard: all is asked for again
struct lane *lane_new(struct upstream *u, struct session *s, const struct lane_owner *owner);
void lane_free(struct lane **lane);
void lane_start(struct lane *lane);
void lane_rest(struct lane *lane);  // closes the connection; it is opened when it is next used
// It will not be used any more, but for calls that are under way. Whoever waits for it is told f.
void lane_retire(struct lane *lane, const struct fault *f);
bool lane_is_idle(const struct lane *lane);                 // nothing is under way on it, and nobody waits for anything
void lane_speak_for(struct lane *lane, struct session *s);  // NULL: for all whose it is
void lane_speak_ahead(struct lane *lane, str capabilities);  // canonical: of a client that may come
str lane_shared_profile(const struct upstream *u);           // of its lanes that are no session's

// Which lane is whose (lanes.c).
struct lane_user lanes_user(const struct upstreams *all,
                            const struct session *s);  // as whom it acts, if no request says
bool lanes_have_own(const struct upstream *u, const struct session *s);
str lanes_profile(const struct upstream *u, const struct session *s);  // of the lane that it has, or would have
struct lane *lanes_find(const struct upstream *u, const struct lane_user *who);
struct lane *lanes_get(struct upstream *u, const struct lane_user *who, struct fault *f);  // made, if need be
struct lane *lanes_common(struct upstream *u);                                             // the same
// The lane that was opened ahead is opened again with the capabilities of this client, if it may list something else
// for them, and nobody uses it. It stays nobody's. False: it is as it was.
bool lanes_suit(struct upstream *u, const struct session *s);
struct lane *lanes_shared(const struct upstream *u, const struct lane_owner *owner);  // NULL: there is none
void lanes_on_idle(struct timer *t);
void lanes_idle_start(struct lane *lane);  // it is ready, and closed again when nobody uses it for long
void lanes_own(struct lane *lane, const struct lane_owner *owner);  // copies
void lanes_disown(struct lane *lane);
void lanes_enter(struct lane *lane);  // it is found by whose it is
void lanes_leave(struct lane *lane);

// Launchers take turns to install (install.c).
void installs_init(struct upstreams *all);
void installs_stop(struct upstreams *all);  // none is started any more
void install_prepare(struct upstream *u);   // its child_spec is made
bool install_enter(struct lane *lane);      // may it start now? False: lane_begin is called when it is its turn
void install_leave(struct lane *lane);      // it is installed, or will not be
void lane_begin(struct lane *lane);

void lane_refresh_soon(struct lane *lane);                     // lists again what is stale, a moment later
void lane_say_down(const struct lane *lane, struct fault *f);  // why it cannot be used now

// Turns (turns.c), as the lane comes and goes.
void turns_kick(struct lane *lane);                         // there may be room for one who waits
void turns_fail(struct lane *lane, const struct fault *f);  // those who wait hear it
void turns_done(struct lane *lane);                         // it is going: nobody holds it any more

// What is watched on a lane (watch.c), as the lane comes and goes. Those waiting are told of f when it is down.
void watches_ready(struct lane *lane);
void watches_lost(struct lane *lane);
void watches_fail(struct lane *lane, const struct fault *f);
void watches_move(struct lane *from, struct lane *to);
void watches_free(struct lane *lane);
bool watches_wanted(const struct lane *lane);  // does anybody watch anything?
// Is this notification all about watching? If not, *via becomes NULL when it came on the stream for that.
bool watches_heard(struct lane *lane, struct link_call **via, const struct rpc_message *m);
