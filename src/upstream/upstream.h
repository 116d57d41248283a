// SPDX-License-Identifier: Apache-2.0
// The upstreams: opens, watches and restarts their connections (lanes), and gathers their definitions into the catalog.
//
// A lane is one connection to one upstream. A lane belongs to one agent; calls of other agents never use it. Clients of
// an agent share one lane, except those with sampling, elicitation, roots or tasks: each of these has its own lanes,
// opened with its capabilities, so that requests of an upstream reach this client only. Requests to a stateless
// upstream contain the capabilities, so all clients of an agent share one lane. Clients without an agent are separated
// by credential; clients without a credential use the common lane. `isolation` in the configuration overrides this.
//
// A client can list definitions without a lane: it sees the list of its lane, or else the list of another lane. The
// common lanes that upstreams_start opens have no owner before the first call. Then the calling client takes over the
// lane if the lane was opened with the same capabilities; otherwise the lane is closed and the client gets a new one.
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
  LANE_STARTING,  // connecting, or in the handshake
  LANE_READY,
  LANE_DOWN,  // failed; waits before the next attempt
};

// Kind of owner of a lane that several sessions may share.
enum lane_scope {
  LANE_OF_ALL,        // all clients, or all clients without agent and credential
  LANE_OF_AGENT,      // an agent
  LANE_OF_PRINCIPAL,  // a principal whose credential is bound to no agent
  LANE_SCOPES,
};

struct lane_owner {
  enum lane_scope scope;
  str name;
  str payer;  // principal that first used the lane, and whose share of lanes it counts in; may be empty
};

// The user of a lane: a session, and the agent that the session acts as (may be empty).
struct lane_user {
  struct session *session;
  str agent;
};

struct lane {
  uint32_t magic;
  struct list node;  // in the upstream's lanes
  struct upstream *upstream;
  uint64_t number;          // unique in this process
  struct lane_owner owner;  // copied texts
  struct share *share;      // share of its payer in the lanes of this server; NULL for the common lane
  struct session *session;  // exclusive user; NULL if all clients of the owner may use the lane
  enum lane_state state;
  struct link *link;
  struct list calls;        // struct call: calls in flight; managed by the call layer
  struct list users;        // struct turn: calls that hold the lane
  unsigned busy;            // number of holding calls with a request in flight
  struct turns *turns;      // calls that wait for a turn; NULL before the first
  struct list waiters;      // struct lane_waiter
  char user[RAND_ID_SIZE];  // id of the session that used the lane first
  bool mixed;               // several sessions used the lane: messages of its server may concern any of them
  unsigned asks;            // number of the server's requests that wait for a client's answer
  str capabilities;         // capabilities declared to the upstream
  str profile;              // `capabilities` in canonical form
  char *ahead;  // memory of `capabilities` and `profile` if the lane was opened before its client connected; or NULL
  struct profile *view;              // list of this lane; NULL before the first listing
  bool fresh;                        // was opened and has not listed since
  bool listed;                       // the definitions were requested, and the answer or failure came
  bool announced;                    // "ready" was logged
  bool unreachable;                  // the lane is ready, but the last connection to the server failed
  bool tried;                        // was ready or failed at least once
  bool used;                         // was used for more than listing
  bool asked;                        // the server sent a request before the lane had an owner, and was refused
  bool spare;                        // was replaced while starting: closes after listing
  bool greeted;                      // the first call of a stateless client has waited for requests of the server
  bool rooted;                       // the server has received the roots of a client
  size_t ask_bytes;                  // total size of the requests that wait for answers of stateless clients
  const struct upstream_kind *kind;  // the kind of the server, or kind->other of that kind
  unsigned failures;                 // number of consecutive failures
  uint64_t started_at, ready_at, retry_at, used_at;
  uint64_t kept_until;  // does not close before this time, because the server may be working on a task
  struct timer retry, refresh, idle;
  uint64_t refresh_at;   // time of the last list change
  unsigned refreshes;    // number of list changes without a pause
  struct fault why;      // reason of LANE_DOWN
  char said[256];        // last line that the program printed before that; for the operator only
  struct fault refusal;  // why the server did not list its tools; the message is empty if it did
  struct listing *listing;
  bool stale[ITEM_KINDS];
  bool recheck;         // the next refresh cancels the listing that is running
  struct list install;  // in installs.waiting or installs.running
  enum { INSTALL_NO, INSTALL_WAITS, INSTALL_RUNS } installs;
  uint64_t install_from;    // start of the wait or of the installation
  bool probing;             // is being opened to detect the era
  struct watches *watches;  // NULL before the first watch
};

struct lane_waiter {
  struct list node;
  // The awaited lane. Changes if the upstream turns out to be stateless, since clients then share a lane.
  struct lane *lane;
  // Called once, perhaps before lane_await returns: w->lane is ready, or `f` has the reason why not.
  void (*go)(struct lane_waiter *w, const struct fault *f);
};

struct upstreams_events {
  // The catalog was replaced. `changed`: the kinds whose lists differ; all false if only instructions changed.
  void (*catalog_changed)(void *ctx, const bool changed[ITEM_KINDS]);
  void (*lane_settled)(void *ctx);  // a lane became ready with its definitions, or failed
  void (*request)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  void (*notification)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  // Called after each start and restart of a lane. Must restore the state that the server needs.
  void (*lane_ready)(void *ctx, struct lane *lane);
  // Returns the agent that a session acts as if its requests name no agent. May be NULL if there are no agents.
  str (*agent_of)(void *ctx, const struct session *s);
  // Returns whether a session may use the server. NULL if every session may.
  bool (*may_use)(void *ctx, const struct session *s, unsigned index);
};

struct upstreams_options {
  struct loop *loop;
  struct child_host *children;
  uint64_t request_ms, request_max_ms, start_ms;
  uint64_t install_ms;  // timeout for a launcher (npx, ...) to install its program, before start_ms
  size_t cold_starts;   // maximum number of launchers that install at once; 0: unlimited
  size_t max_message;
  size_t max_values;       // maximum number of JSON values in a message; 0: no limit
  size_t description_max;  // maximum bytes of a title, a description, or a server's instructions; 0: no limit
  size_t max_own_lanes;    // maximum number of agents' and sessions' lanes to one upstream
  size_t max_in_flight;    // maximum calls in flight on one lane; 0: unlimited
  size_t max_waiting;      // maximum number of calls that wait for a turn on one lane
  uint64_t idle_ms;        // idle time after which an agent's lane closes; 0: never
  bool prefix_always;
  bool lazy;                  // an upstream with stored definitions starts only at its first call
  bool once;                  // failed servers are not restarted
  str state_dir;              // folder for stored definitions; empty: nothing is stored
  char *const *env;           // environment of the gateway, of which servers get a few variables
  const struct chain *chain;  // sent to servers for loop detection; NULL: not sent
};

struct upstreams *upstreams_new(const struct upstreams_options *opt, const struct upstream_spec *specs, size_t count,
                                const struct upstreams_events *ev, void *ctx, struct fault *f);

struct upstreams_change {
  size_t added, changed, removed, kept;
};

// Replaces the servers. Servers with an unchanged configuration keep their lanes and processes. Calls in flight on
// changed or removed servers may finish; waiting calls move to the new server. Copies the specs and starts nothing.
// Returns false, with the reason in `f` and nothing changed, on failure.
bool upstreams_replace(struct upstreams *all, const struct upstream_spec *specs, size_t count,
                       struct upstreams_change *out, struct fault *f);

// Closes every lane: ends processes and deletes sessions. Calls `stopped` when these requests are sent, or after a
// short time. The caller must call upstreams_free after that.
void upstreams_stop(struct upstreams *all, void (*stopped)(void *ctx), void *ctx);
void upstreams_free(struct upstreams **upstreams);

// Returns the number of servers, including removed ones: an index is never reused.
size_t upstreams_count(const struct upstreams *all);
bool upstreams_gone(const struct upstreams *all, unsigned index);  // returns whether the server was removed
str upstreams_name(const struct upstreams *all, unsigned index);
const struct upstream_spec *upstreams_spec(const struct upstreams *all, unsigned index);
bool upstreams_find(const struct upstreams *all, str name, unsigned *out_index);  // false: the name is unknown
uint64_t upstreams_timeout(const struct upstreams *all, unsigned index);
// Returns the timeout of a call of this tool.
uint64_t upstreams_tool_timeout(const struct upstreams *all, unsigned index, str tool);
// Returns the configuration key that sets the timeout. `tool` may be STR_NONE.
const char *upstreams_timeout_name(const struct upstreams *all, unsigned index, str tool);
// Returns the configured token budget of a result, or 0. `tool` may be STR_NONE.
size_t upstreams_result_budget(const struct upstreams *all, unsigned index, str tool);
uint64_t upstreams_timeout_max(const struct upstreams *all);
struct catalog *upstreams_catalog(struct upstreams *all);  // borrowed; never NULL

// Opens a lane to each upstream that has listed nothing in this run, so that its definitions are known before its first
// call. The lane declares the capabilities of the last client that used a lane, in this run or an earlier one.
void upstreams_start(struct upstreams *all);

// Stores the gateway marks of a request (mcp/gateway_chain.h), to be sent to the HTTP servers that the client may use.
// A server that has not received these marks yet lists again, so that it can detect a ring of gateways and refuse.
void upstreams_note_marks(struct upstreams *all, const struct session *s, str marks);

// Return a session's lane to an upstream, for use; created if necessary. Return NULL, with the reason in `f`, if there
// are too many lanes and no lane can be closed.
struct lane *upstreams_lane(struct upstreams *all, unsigned index, struct session *s, struct fault *f);
struct lane *upstreams_lane_for(struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);
// Return an existing lane, or NULL.
struct lane *upstreams_lane_find(const struct upstreams *all, unsigned index, const struct session *s);
struct lane *upstreams_lane_find_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Return the lane that shows the upstream's state to this session: the session's lane, else the common one, else any
// lane that has listed.
const struct lane *upstreams_lane_seen(const struct upstreams *all, unsigned index, const struct session *s);
const struct lane *upstreams_lane_seen_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Returns whether this session has, or would get, a lane that no other session uses.
bool upstreams_has_own(const struct upstreams *all, unsigned index, const struct session *s);

// Return the views of the catalog (bits of item.seen) that this session sees of an upstream: the list of its lane, else
// a list for its capabilities, else the list of the common lane, else the first list.
uint32_t upstreams_view(const struct upstreams *all, unsigned index, const struct session *s);
uint32_t upstreams_view_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Returns whether a call of this session would reach the upstream: the session's lane, or the lane it would get, is
// ready and reachable, or not started, because a call starts it. Returns false while the lane is down, while it
// restarts after a failure, and during its first start if only definitions of an earlier run are known.
bool upstreams_available(const struct upstreams *all, unsigned index, const struct session *s);

// Returns whether definitions of the upstream are known, from this run or an earlier one.
bool upstreams_told(const struct upstreams *all, unsigned index);
// Sets `f` to the reason why the user cannot use the upstream: it is down or still starting.
void upstreams_why(const struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);

// Returns whether every upstream has listed for this session or has failed. Opens a lane to each upstream that has no
// lane and has listed nothing in this run.
bool upstreams_settle(struct upstreams *all, struct session *s);
// Like upstreams_settle, for a client that needs exact lists: a lane without an owner that was opened with other
// capabilities is reopened once with this session's capabilities. Adds no lane.
bool upstreams_settle_exactly(struct upstreams *all, struct session *s);
// Like upstreams_settle, but definitions of an earlier run suffice.
bool upstreams_known(struct upstreams *all, struct session *s);
// Like upstreams_settle, for one upstream.
bool upstreams_settle_one(struct upstreams *all, unsigned index, const struct lane_user *who);

// Closes the session's own lanes.
void upstreams_forget(struct upstreams *all, struct session *s);

// Calls w->go when the lane is ready; starts it if necessary. Fails at once while the lane is down.
void lane_await(struct lane *lane, struct lane_waiter *w);
void lane_unwait(struct lane_waiter *w);  // does nothing if `w` does not wait

// Reports that a request of the lane's server waits for a client: one more call may be in flight until the answer.
void lane_asks(struct lane *lane);

// Writes the state of a lane whose launcher (npx, ...) runs or waits: "installing, 40 s" or "waiting to be installed".
// Returns false for other lanes.
enum { LANE_PROGRESS = 64 };
bool lane_progress(const struct lane *lane, char out[LANE_PROGRESS]);

unsigned lane_index(const struct lane *lane);
str lane_name(const struct lane *lane);
const struct upstream_spec *lane_spec(const struct lane *lane);  // the configuration that the lane was opened with
// Returns why the lane cannot list its server, or NULL if it can. `lane` may be NULL.
const char *lane_missing(const struct lane *lane);
// Returns whether the lane is connecting or listing and has not failed since it was last ready. `lane` may be NULL.
bool lane_starting(const struct lane *lane);
bool lane_stateless(const struct lane *lane);  // the lane is ready, and its server is stateless

// Return whether the server declares this capability ("tasks") or extension ("io.modelcontextprotocol/tasks") on any
// lane that is ready.
bool upstreams_capability(const struct upstreams *all, unsigned index, str name);
bool upstreams_extension(const struct upstreams *all, unsigned index, str name);
// Returns the server's instructions for this user, which may be empty.
str upstreams_instructions(const struct upstreams *all, unsigned index, const struct lane_user *who);
// Calls fn for each upstream with its instructions for this session.
void upstreams_each_instructions(const struct upstreams *all, const struct session *s,
                                 void (*fn)(void *ctx, str server, str text), void *ctx);
