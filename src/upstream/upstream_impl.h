// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of upstream/ share. Other folders of src/ must not include this header.
#pragma once
#include "base/shares.h"
#include "mcp/gateway_chain.h"
#include "upstream/definition_cache.h"
#include "upstream/kind.h"
#include "upstream/upstream.h"

enum { LANE_MAGIC = 0x6c616e65, MAX_PROFILES = 32 };  // MAX_PROFILES is the number of bits of item.seen

// The definitions that a server has listed on one or more lanes that declare the same client capabilities. A server may
// list more definitions for clients with more capabilities, and different definitions on different connections.
struct profile {
  str key;                          // capabilities in canonical form; owned
  struct definitions *definitions;  // NULL if this element is unused
  str instructions;                 // owned
  bool kept;                        // loaded from disk; clients without a list see it until a lane has listed
  bool base;                        // clients with these capabilities but without a lane see this list
  unsigned lanes;                   // number of lanes whose `view` is this profile
};

struct upstream {
  struct upstreams *all;
  unsigned index;
  unsigned order;                    // position in the current configuration
  struct arena arena;                // memory of the spec and of values derived from it
  const struct upstream_spec *spec;  // copy of the upstream's configuration
  struct list lanes;                 // struct lane, oldest first
  struct lane *common;               // lane of LANE_OF_ALL; may be NULL
  struct map by_owner[LANE_SCOPES];  // shared lanes of agents and of principals, by their names
  struct shares own;                 // number of lanes of each principal, without the common lane
  // A profile never moves to another element; one that was loaded from disk has index 0.
  struct profile profiles[MAX_PROFILES];
  size_t profile_count, next_profile;  // number of used elements; where the search for an unused one starts
  uint64_t version;                    // counts changes of the profiles and of server_info
  str server_info;                     // canonical JSON of the name and version that the server reports, on the heap
  uint64_t starts, restarts, losses;   // number of connections opened, reopened after a failure, and lost
  bool gone;                           // removed from the configuration; its index stays reserved
  bool left;                           // removed or replaced: opens no more lanes
  struct list node;                    // in upstreams.leaving after it was replaced
  uint64_t quiet_at;
  bool unsaved;  // the definitions have changed and must be stored on disk
  // If the configured protocol is "auto": the detected era, and the time when it was detected.
  enum link_era era;
  uint64_t era_at;
  // stdio
  struct child_spec child;
  enum upstream_launcher launcher;
  str npm_cache;              // the npm cache of UPSTREAM_NPX
  bool installed;             // the launcher has started the program in this run
  unsigned install_failures;  // number of consecutive failures
  struct tail *tail;          // stderr output of its processes
  // http
  struct http_url url;
  struct http_origin *origin;
  str headers;
  struct chain_marks marks;  // marks to send to this server (upstreams_note_marks)
};

// Lanes that wait to install their program (first attempts before retries), lanes whose launcher is installing, and
// launchers that are being stopped.
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
  struct catalog *catalog, *reported;  // `reported`: the catalog of the last catalog_changed event
  bool outdated;                       // profiles have changed since `catalog` was built
  uint64_t generation;
  struct timer tell, save;
  struct definition_cache *cache;  // may be NULL
  bool ahead;                      // upstreams_start was called, so lanes are opened before clients connect
  str client;                      // canonical capabilities of the last client that used a lane; owned, may be empty
  bool unsaved;                    // `client` has changed and must be stored on disk
  struct tls_client *tls;
  struct buf scratch;   // reused for each message to an upstream
  uint64_t lane_count;  // number of lanes created so far
  struct list leaving;  // struct upstream: replaced upstreams that are not freed yet
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

// Returns the profile that clients with the capabilities `key` see if they have no lane, or NULL.
struct profile *profile_find(struct upstream *u, str key);
// Returns the profile that was loaded from disk, or NULL if there is no such profile or a lane has replaced it.
struct profile *profile_kept(struct upstream *u);
// Returns the profile that clients of this lane see: the lane's own, otherwise one for the same capabilities, otherwise
// NULL.
struct profile *profile_of(const struct lane *lane);
bool upstream_serves(const void *spec, str tool);  // calls spec_serves; a callback for catalogs
// Returns the profile that a user sees: that of the user's lane or, if there is none, another profile. Returns NULL
// without any profile.
struct profile *profile_seen(struct upstream *u, const struct lane_user *who);
// Returns whether lanes with different capabilities have listed the same definitions. If so, the definitions probably
// do not depend on the capabilities.
bool profiles_alike(struct upstream *u);
// Must be called when a client starts to use a lane. Lanes that are opened in advance afterwards declare the
// capabilities of this client.
void profiles_note_client(struct upstreams *all, const struct lane_user *who);
// Stores the definitions that a lane has listed, and takes ownership of them. If they have changed, the catalog is
// built again.
void profile_set(struct lane *lane, struct definitions *definitions, str instructions);
void profile_leave(struct lane *lane);  // must be called when the lane's connection closes

// Returns the instructions of the upstream's first profile that has any, or an empty string.
str upstream_instructions(const struct upstream *u);

void profiles_init(struct upstreams *all);  // loads the stored capabilities of the last client
void profiles_keep(struct upstreams *all);  // writes changed definitions to disk now
void profiles_done(struct upstreams *all);
void profiles_forget(struct upstream *u);
void profiles_load(struct upstream *u);     // loads the stored definitions of `u`
void catalog_outdated(struct upstream *u);  // marks the catalog as outdated, so that it is built again

// Replaced upstreams (reconfigure.c).
void replace_init(struct upstreams *all);
void replace_stop(struct upstreams *all);  // closes all lanes of replaced upstreams
void replace_done(struct upstreams *all);

// Reports the event catalog_changed if the catalog has changed.
void catalog_report(struct upstreams *all);

// Requests the lists (tools, resources, templates, prompts) that are marked in lane->stale. Calls lane_listed when all
// requests have ended.
void listing_start(struct lane *lane);
void listing_free(struct lane *lane);
void lane_listed(struct lane *lane);
// Lists all definitions again, because notifications of changes may have been lost.
void lane_refresh(struct lane *lane);
struct lane *lane_new(struct upstream *u, struct session *s, const struct lane_owner *owner);
void lane_free(struct lane **lane);
void lane_start(struct lane *lane);
void lane_rest(struct lane *lane);  // closes the connection; the next call opens it again
// Ends the use of a lane, which will close when its calls in flight have ended. Fails the lane's waiters with `f`.
void lane_retire(struct lane *lane, const struct fault *f);
// Handles a connection that was lost or could not be opened. `said` is the last output of the program, for the operator
// only. `installing` means that the launcher had not yet started the program. Calls lane_settled last (restart.c).
void lane_down(struct lane *lane, const struct fault *f, str said, bool installing);
void lane_settled(struct upstreams *all);  // reports the event lane_settled: a lane is ready or has failed
// Calls `go` of all waiters. `f` is NULL if the lane is ready.
void lane_release_waiters(struct lane *lane, const struct fault *f);
bool lane_is_idle(const struct lane *lane);  // returns whether the lane has no calls, requests or waiters
// Sets the capabilities that the lane declares: the capabilities of `s` or, if `s` is NULL, those of a lane that
// several sessions share.
void lane_speak_for(struct lane *lane, struct session *s);
// Sets the capabilities (canonical JSON) that the lane declares. Used for a lane that is opened before its first client
// connects.
void lane_speak_ahead(struct lane *lane, str capabilities);
str lane_shared_profile(const struct upstream *u);  // returns the capabilities of lanes that several sessions share

// Returns the session and the agent that it acts as: the user of a lane (lanes.c).
struct lane_user lanes_user(const struct upstreams *all, const struct session *s);
bool lanes_have_own(const struct upstream *u, const struct session *s);
// Returns the capabilities of the lane that the session has or would get, in canonical form.
str lanes_profile(const struct upstream *u, const struct session *s);
struct lane *lanes_find(const struct upstream *u, const struct lane_user *who);
// Returns the lane of a user; creates it if necessary.
struct lane *lanes_get(struct upstream *u, const struct lane_user *who, struct fault *f);
struct lane *lanes_common(struct upstream *u);  // returns the common lane; creates it if necessary
// If a lane was opened in advance and the definitions may depend on the client's capabilities, reopens the lane with
// the capabilities of this client. The client does not take over the lane. Returns whether the lane was reopened.
bool lanes_suit(struct upstream *u, const struct session *s);
struct lane *lanes_shared(const struct upstream *u, const struct lane_owner *owner);  // may be NULL
void lanes_on_idle(struct timer *t);
void lanes_idle_start(struct lane *lane);  // starts the timer that closes the lane after its idle time
void lanes_own(struct lane *lane, const struct lane_owner *owner);  // sets the owner of the lane to a copy of `owner`
void lanes_disown(struct lane *lane);
void lanes_enter(struct lane *lane);  // registers the lane with its owner
void lanes_leave(struct lane *lane);

// Lanes wait in a queue until their launchers may install a program (install.c).
void installs_init(struct upstreams *all);
void installs_stop(struct upstreams *all);  // from now on, no launcher starts
void install_prepare(struct upstream *u);   // sets u->launcher and u->npm_cache
bool install_enter(struct lane *lane);      // returns false if the lane must wait; then lane_begin is called later
void install_leave(struct lane *lane);      // called when the installation has ended or was given up
void lane_begin(struct lane *lane);

void lane_refresh_soon(struct lane *lane);                     // lists stale kinds again after a short delay
void lane_say_down(const struct lane *lane, struct fault *f);  // sets `f` to the reason why the lane is down

// Functions by which a lane reports events to its turns (turns.c).
void turns_kick(struct lane *lane);                         // lets waiting calls start if there is room
void turns_fail(struct lane *lane, const struct fault *f);  // fails the waiting calls
void turns_done(struct lane *lane);                         // the lane closes: no call holds it any more

// Functions by which a lane reports events to its watches (watch.c). watches_fail passes `f` to the waiting watchers.
void watches_ready(struct lane *lane);
void watches_lost(struct lane *lane);
void watches_fail(struct lane *lane, const struct fault *f);
void watches_move(struct lane *from, struct lane *to);
void watches_free(struct lane *lane);
bool watches_wanted(const struct lane *lane);  // returns whether the lane has any subscription
// Returns whether the notification needs no further handling. Sets *via to NULL if the notification came on the stream
// of subscriptions/listen.
bool watches_receive(struct lane *lane, struct link_call **via, const struct rpc_message *m);
