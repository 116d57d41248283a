// SPDX-License-Identifier: Apache-2.0
// The set of upstreams. Opens, watches and restarts connections to them (lanes), and builds the catalog from their
// definitions.
//
// A lane is one connection to one upstream. It belongs to one agent, and calls of other agents never use it. All
// clients of an agent share one lane, except clients with sampling, elicitation, roots or tasks. Each client with such
// a capability has a lane of its own that declares the client's capabilities, so that requests of the upstream reach
// the right client. A stateless upstream needs no such lanes, because each request contains the client's capabilities.
// Clients without an agent are separated by credential; clients without a credential use the common lane. The
// configuration key `isolation` changes these rules.
//
// A client without a lane sees the definitions that another lane has listed. upstreams_start opens a common lane to
// each upstream before clients connect. The first client that calls takes over this lane if the lane declares the
// client's capabilities; otherwise the lane is closed and the client gets a new one.
#pragma once
#include "catalog/catalog.h"
#include "io/process/child.h"
#include "mcp/client/link.h"
#include "mcp/server/session.h"
#include "upstream/spec.h"

struct chain;
struct upstreams;
struct upstream;

enum lane_state {
  LANE_IDLE,      // not started
  LANE_STARTING,  // connecting, installing, or in the handshake
  LANE_READY,
  LANE_DOWN,  // failed; waits before the next attempt
};

// The kind of the owner of a lane.
enum lane_scope {
  LANE_OF_ALL,        // all clients, or all clients without agent and credential
  LANE_OF_AGENT,      // an agent
  LANE_OF_PRINCIPAL,  // a principal whose credential is bound to no agent
  LANE_SCOPES,
};

struct lane_owner {
  enum lane_scope scope;
  str name;
  str payer;  // principal that first used the lane; its share of lanes includes this one; may be empty
};

// The user of a lane: a session, and a text that identifies the agent that the session acts as, and the agent's tenant
// (may be empty).
struct lane_user {
  struct session *session;
  str agent;
};

struct lane {
  uint32_t magic;
  struct list node;  // in the upstream's lanes
  struct upstream *upstream;
  uint64_t number;          // unique in this process
  struct lane_owner owner;  // the strings are copies
  struct share *share;      // the payer's share of the lanes of this server; NULL for the common lane
  struct session *session;  // the only session that may use the lane; NULL if all clients of the owner may
  enum lane_state state;
  struct link *link;
  struct list calls;        // struct call: calls in flight; managed by the call layer
  struct list users;        // struct turn: calls that hold the lane
  unsigned busy;            // number of `users` with a request in flight
  struct turns *turns;      // calls that wait for a turn; NULL before the first such call
  struct list waiters;      // struct lane_waiter
  char user[RAND_ID_SIZE];  // id of the session that first used the current connection
  bool mixed;               // several sessions have used the lane, so a message of its server may concern any of them
  unsigned asks;            // number of the server's requests that wait for a client's answer
  str capabilities;         // capabilities declared to the upstream
  str profile;              // `capabilities` in canonical form
  char *ahead;              // memory of `capabilities` and `profile` if the lane was opened before its client connected
  struct profile *view;     // the definitions that this lane has listed; NULL before that
  bool fresh;               // has not listed its definitions since it was opened
  bool listed;              // a listing has ended, successfully or not
  bool announced;           // "ready" was logged
  bool unreachable;         // the lane is ready, but the last connection to the server failed
  bool tried;               // has been ready or has failed at least once
  bool used;                // was used for more than listing
  bool asked;               // a request of the server was refused because the lane had no owner yet
  bool spare;               // was replaced while starting, and closes after its listing
  bool greeted;             // the first call of a stateless client has waited for requests for roots
  bool rooted;              // the server has received the roots of a client
  size_t ask_bytes;         // total size of the server's requests that wait for answers of stateless clients
  const struct upstream_kind *kind;  // kind to connect with: the kind of the server, or its `other`
  unsigned failures;                 // number of consecutive failures
  uint64_t started_at, ready_at, retry_at, used_at;
  uint64_t kept_until;  // keep the lane open until this time, because the server may be working on a task
  struct timer retry, refresh, idle;
  uint64_t refresh_at;   // time of the last list change
  unsigned refreshes;    // number of list changes that followed each other without a pause
  struct fault why;      // reason of LANE_DOWN
  char said[256];        // the program's last line of output before the failure, for the operator only
  struct fault refusal;  // reason why the server did not list its tools; the message is empty on success
  struct listing *listing;
  bool stale[ITEM_KINDS];
  bool recheck;         // the next refresh cancels a listing that is in progress
  struct list install;  // in installs.waiting or installs.running
  enum { INSTALL_NO, INSTALL_WAITS, INSTALL_RUNS } installs;
  uint64_t install_from;    // when the wait or the installation began
  bool probing;             // the lane is opened to detect the server's era
  struct watches *watches;  // NULL before the first watch
};

struct lane_waiter {
  struct list node;
  // The awaited lane. It changes if the upstream turns out to be stateless and lanes are joined.
  struct lane *lane;
  // Called once, perhaps before lane_await returns. If `f` is NULL, w->lane is ready; otherwise `f` has the reason.
  void (*go)(struct lane_waiter *w, const struct fault *f);
};

struct upstreams_events {
  // Called before a catalog is built from these sources. The pointer may be NULL.
  void (*listed)(void *ctx, const struct catalog_source *sources, size_t count);
  // Returns whether `listed` must also be called when only the identity of a server has changed. The pointer may be
  // NULL.
  bool (*compares)(void *ctx);
  // Called after the catalog was replaced. `changed` marks the kinds whose lists differ; if all are false, only
  // instructions changed.
  void (*catalog_changed)(void *ctx, const bool changed[ITEM_KINDS]);
  void (*lane_settled)(void *ctx);  // called when a lane has listed its definitions or has failed
  void (*request)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  void (*notification)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  // Called after each start and restart of a lane. Must send the state that the server needs, because a restarted
  // server has lost it.
  void (*lane_ready)(void *ctx, struct lane *lane);
  // Returns lane_user.agent for a session whose requests name no agent. The pointer may be NULL if there are no agents.
  str (*agent_of)(void *ctx, const struct session *s);
  // Returns whether a session may use the server `index`. This pointer is NULL if every session may use every server.
  bool (*may_use)(void *ctx, const struct session *s, unsigned index);
};

struct upstreams_options {
  struct loop *loop;
  struct child_host *children;
  uint64_t request_ms, request_max_ms, start_ms;
  uint64_t install_ms;  // timeout for a launcher (npx, ...) to install its program; start_ms begins afterwards
  size_t cold_starts;   // maximum number of launchers that install at once; 0: unlimited
  size_t max_message;
  size_t max_values;       // maximum number of JSON values in a message; 0: no limit
  size_t description_max;  // maximum bytes of a title, a description, or a server's instructions; 0: no limit
  size_t max_own_lanes;    // maximum number of lanes of agents and sessions to one upstream
  size_t max_in_flight;    // maximum calls in flight on one lane; 0: unlimited
  size_t max_waiting;      // maximum number of calls that wait for a turn on one lane
  uint64_t idle_ms;        // idle time after which an agent's lane closes; 0: never
  bool prefix_always;
  bool lazy;                  // start an upstream with stored definitions at its first call only
  bool once;                  // do not restart failed servers
  str state_dir;              // folder for stored definitions; empty: nothing is stored
  char *const *env;           // environment of the gateway; servers get a few of its variables
  const struct chain *chain;  // sent to servers so that they can detect loops of gateways; NULL: not sent
};

struct upstreams *upstreams_new(const struct upstreams_options *opt, const struct upstream_spec *specs, size_t count,
                                const struct upstreams_events *ev, void *ctx, struct fault *f);

struct upstreams_change {
  size_t added, changed, removed, kept;
};

// Replaces the configuration of all servers. Servers with an unchanged configuration keep their lanes and processes.
// Calls in flight on changed or removed servers may finish; waiting calls on changed servers are sent to the new
// server. Copies the specs, and starts no server. On failure, changes nothing and returns false, with the reason in
// `f`.
bool upstreams_replace(struct upstreams *all, const struct upstream_spec *specs, size_t count,
                       struct upstreams_change *out, struct fault *f);

// Closes every lane, which ends processes and deletes sessions. Calls `stopped` when the last messages are sent, or
// after a short time. The caller must call upstreams_free afterwards.
void upstreams_stop(struct upstreams *all, void (*stopped)(void *ctx), void *ctx);
void upstreams_free(struct upstreams **upstreams);

// Returns the number of servers. Removed servers count too, because an index is never reused.
size_t upstreams_count(const struct upstreams *all);
bool upstreams_gone(const struct upstreams *all, unsigned index);  // returns whether the server was removed
str upstreams_name(const struct upstreams *all, unsigned index);
// Returns the name and version that the server has reported, as JSON; empty if they are unknown.
str upstreams_reported(const struct upstreams *all, unsigned index);
const struct upstream_spec *upstreams_spec(const struct upstreams *all, unsigned index);
// Finds a server by its name. Returns false if there is no such server.
bool upstreams_find(const struct upstreams *all, str name, unsigned *out_index);
uint64_t upstreams_timeout(const struct upstreams *all, unsigned index);
// Returns the timeout of a call of this tool.
uint64_t upstreams_tool_timeout(const struct upstreams *all, unsigned index, str tool);
// Returns the configuration key that sets the timeout of calls of this tool. `tool` may be STR_NONE.
const char *upstreams_timeout_name(const struct upstreams *all, unsigned index, str tool);
// Returns the configured token budget of a result, or 0. `tool` may be STR_NONE.
size_t upstreams_result_budget(const struct upstreams *all, unsigned index, str tool);
uint64_t upstreams_timeout_max(const struct upstreams *all);
struct catalog *upstreams_catalog(struct upstreams *all);  // borrowed; never NULL
// Builds a new catalog from the same definitions, and notifies the clients. Must be called when clients may see other
// items than before.
void upstreams_rebuild(struct upstreams *all);

// Opens a lane to each upstream that has not listed any definitions in this run, so that its definitions are known
// before its first call. The lane declares the capabilities of the last client that used a lane, in this run or an
// earlier one.
void upstreams_start(struct upstreams *all);

// A request of another gateway contains the marks of the gateways that it has passed (mcp/gateway_chain.h). Stores
// these marks for the HTTP servers that the client may use; later requests to these servers contain the marks. If marks
// are new for a server, its definitions are requested again, so that a server that is a gateway can detect and refuse a
// loop.
void upstreams_note_marks(struct upstreams *all, const struct session *s, str marks);

// Return a lane for calls of this user, and create it if necessary. Return NULL, with the reason in `f`, if there are
// too many lanes and none of them can be closed.
struct lane *upstreams_lane(struct upstreams *all, unsigned index, struct session *s, struct fault *f);
struct lane *upstreams_lane_for(struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);
// Return an existing lane, or NULL.
struct lane *upstreams_lane_find(const struct upstreams *all, unsigned index, const struct session *s);
struct lane *upstreams_lane_find_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Return the lane whose state this user sees: the user's lane, otherwise the common lane, otherwise any lane that has
// listed its definitions, otherwise NULL.
const struct lane *upstreams_lane_seen(const struct upstreams *all, unsigned index, const struct session *s);
const struct lane *upstreams_lane_seen_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Returns whether this session has, or would get, a lane that no other session uses.
bool upstreams_has_own(const struct upstreams *all, unsigned index, const struct session *s);

// Sets *out to the definition of a tool (JSON) that the server has listed on this connection, or to STR_NONE without
// such a tool. Returns false if the server has not listed its tools on this connection yet, or has reported a change of
// the list since.
bool lane_tool(const struct lane *lane, str name, str *out);

// Return the bit in item.seen that marks the definitions which this user sees. These are the definitions of the user's
// lane, otherwise those for the same capabilities, otherwise those of the common lane, otherwise any others.
uint32_t upstreams_view(const struct upstreams *all, unsigned index, const struct session *s);
uint32_t upstreams_view_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Returns whether a call of this session would probably reach the upstream. This is the case if the session's lane is
// ready and reachable, or not started yet, because the call would start the lane. It is not the case while the lane is
// down, while it restarts after a failure, and during its first start if its definitions come from an earlier run. If
// the session has no lane, the common lane is used instead.
bool upstreams_available(const struct upstreams *all, unsigned index, const struct session *s);

// Returns whether any definitions of the upstream are known, from this run of the gateway or from an earlier one.
bool upstreams_listed(const struct upstreams *all, unsigned index);
// Sets `f` to the reason why the user cannot use the upstream now: its lane has failed, or is still starting.
void upstreams_why(const struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);

// Returns whether each upstream has listed its definitions for this session, or has failed. Opens a lane to each
// upstream that has no lane and has not listed its definitions in this run of the gateway.
bool upstreams_settle(struct upstreams *all, struct session *s);
// Like upstreams_settle, but for a client that needs the definitions for exactly its capabilities. If a lane was opened
// in advance with other capabilities, reopens it once with the capabilities of this session. Adds no lane.
bool upstreams_settle_exactly(struct upstreams *all, struct session *s);
// Like upstreams_settle, but does not wait for upstreams whose definitions an earlier run of the gateway has stored.
bool upstreams_known(struct upstreams *all, struct session *s);
// Like upstreams_settle, for one upstream.
bool upstreams_settle_one(struct upstreams *all, unsigned index, const struct lane_user *who);

// Closes the session's own lanes.
void upstreams_forget(struct upstreams *all, struct session *s);

// Calls w->go when the lane is ready, or when it has failed. Starts the lane if necessary. If the lane is down and must
// wait before its next attempt, calls w->go with the reason immediately.
void lane_await(struct lane *lane, struct lane_waiter *w);
void lane_unwait(struct lane_waiter *w);  // does nothing if `w` is not waiting

// Must be called when a request of the lane's server begins to wait for a client's answer. Until the answer, one more
// call may be in flight on the lane.
void lane_asks(struct lane *lane);

enum { LANE_PROGRESS = 64 };
// Writes the progress of an installation by a launcher (npx, ...): "installing, 40 s" or "waiting to be installed".
// Returns false if the lane does not install.
bool lane_progress(const struct lane *lane, char out[LANE_PROGRESS]);

unsigned lane_index(const struct lane *lane);
str lane_name(const struct lane *lane);
const struct upstream_spec *lane_spec(const struct lane *lane);  // the configuration that the lane was opened with
// Returns the reason why the lane cannot be used, as the end of a sentence ("was not started"), or NULL if it can be
// used. `lane` may be NULL.
const char *lane_missing(const struct lane *lane);
// Returns whether the lane is connecting or listing, and has not failed since it was last ready. `lane` may be NULL.
bool lane_starting(const struct lane *lane);
bool lane_stateless(const struct lane *lane);  // returns whether the lane is ready and its server is stateless

// Return whether the server declares this capability ("tasks") or extension ("io.modelcontextprotocol/tasks") on at
// least one lane that is ready.
bool upstreams_capability(const struct upstreams *all, unsigned index, str name);
bool upstreams_extension(const struct upstreams *all, unsigned index, str name);
// Returns the server's instructions for this user, or an empty string.
str upstreams_instructions(const struct upstreams *all, unsigned index, const struct lane_user *who);
// Calls `fn` for each upstream, with the instructions that this session sees.
void upstreams_each_instructions(const struct upstreams *all, const struct session *s,
                                 void (*fn)(void *ctx, str server, str text), void *ctx);
