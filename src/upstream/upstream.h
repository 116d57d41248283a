// SPDX-License-Identifier: Apache-2.0
// The upstreams: their connections (lanes), started, watched and restarted; their definitions, gathered into the
// catalog.
//
// A lane is one connection to one upstream, and belongs to one agent: no other's calls use it. Clients of an agent that
// cannot be asked anything share one. A client that can be asked (sampling, elicitation, roots, tasks) has lanes of its
// own, opened with its own capabilities, so that an upstream's questions reach it and no other. A stateless upstream is
// told with each request what that client can do: all of an agent share one. Those who are no agent in particular are
// kept apart by their credentials; who has none uses the common lane. `isolation` in the configuration says otherwise.
//
// To list and to find, no client needs a lane of its own: it sees what its lane listed, or else what another did. The
// common lanes that upstreams_start opens ahead are nobody's until the first call. Then the client that calls takes the
// lane over, if it was opened with that client's capabilities; else that lane is closed and the client gets a new one.
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
  LANE_DOWN,  // failed; waits before the next try
};

// Whose a lane is that several sessions may share.
enum lane_scope {
  LANE_OF_ALL,        // everybody's, or theirs who are nobody in particular
  LANE_OF_AGENT,      // an agent's
  LANE_OF_PRINCIPAL,  // theirs who have a credential, which is no agent's
  LANE_SCOPES,
};

struct lane_owner {
  enum lane_scope scope;
  str name;
  str payer;  // the principal by whom it was first needed, and whose it counts as; empty: nobody's in particular
};

// Who wants to use one: a session, as the agent that it acts as (empty: none in particular).
struct lane_user {
  struct session *session;
  str agent;
};

struct lane {
  uint32_t magic;
  struct list node;  // in the upstream's lanes
  struct upstream *upstream;
  uint64_t number;          // no other ever has it
  struct lane_owner owner;  // the texts are its own copies
  struct share *share;      // what its payer has of this server's lanes; NULL: it is the common one
  struct session *session;  // that has it alone; NULL: all do whose it is
  enum lane_state state;
  struct link *link;
  struct list calls;        // under way on it: struct call, by the call layer
  struct list users;        // struct turn: those that hold it
  unsigned busy;            // how many of them have a request under way
  struct turns *turns;      // those that wait for it; NULL: none ever did
  struct list waiters;      // struct lane_waiter
  char user[RAND_ID_SIZE];  // the session that used it first ...
  bool mixed;               // ... and whether others did: what its server says by itself may be about any of them
  unsigned asks;            // questions of its server that a client is thinking about
  str capabilities;         // what it tells the upstream the client can do
  str profile;              // the same in canonical form
  char *ahead;              // both, of a common lane that was opened for a client that may come; NULL: its clients' own
  struct profile *view;     // what it has listed; NULL: nothing yet
  bool fresh;               // it was opened, and listed nothing since
  bool listed;              // its definitions have been asked for and came (or did not)
  bool announced;           // the log says that it is ready
  bool unreachable;         // ready, but the last connection to it failed
  bool tried;               // it was ready or failed at least once
  bool used;                // somebody wanted it, for more than to know what there is
  bool asked;               // its server asked something while it was nobody's, and was refused
  bool spare;               // it was replaced while it was starting: closed as soon as it has listed
  bool greeted;             // a stateless client's first call was held back for what the server asks at once
  bool rooted;              // its server was told the roots of some client
  size_t ask_bytes;         // of the questions that stateless clients are thinking about
  const struct upstream_kind *kind;  // how it is opened: the kind of its server, or that kind's other
  unsigned failures;                 // in a row
  uint64_t started_at, ready_at, retry_at, used_at;
  uint64_t kept_until;  // its server is at work on a task, perhaps: not closed before
  struct timer retry, refresh, idle;
  uint64_t refresh_at;   // when it was last told of changes to be fetched
  unsigned refreshes;    // without a pause
  struct fault why;      // LANE_DOWN
  char said[256];        // what its program said last before that, for the operator only: it may be anything
  struct fault refusal;  // why it did not list its tools; no message: it did
  struct listing *listing;
  bool stale[ITEM_KINDS];
  bool recheck;         // the next listing does not wait for one that is under way
  struct list install;  // in the queue of launchers, or among those that install
  enum { INSTALL_NO, INSTALL_WAITS, INSTALL_RUNS } installs;
  uint64_t install_from;    // when it began to wait, or to install
  bool probing;             // it is being opened without knowing the upstream's era
  struct watches *watches;  // NULL: none yet
};

struct lane_waiter {
  struct list node;
  // What it waits for. Another than it was told to when that one turned out not to be needed: an upstream that is found
  // to be stateless has one lane for all.
  struct lane *lane;
  // f NULL: w->lane is ready. Called once, perhaps before lane_await returns.
  void (*go)(struct lane_waiter *w, const struct fault *f);
};

struct upstreams_events {
  // There is another catalog. changed: the lists that clients see differently now; none, when only what servers say of
  // themselves changed.
  void (*catalog_changed)(void *ctx, const bool changed[ITEM_KINDS]);
  void (*lane_settled)(void *ctx);  // a lane became ready with its definitions, or failed
  void (*request)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  void (*notification)(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m);
  void (*lane_ready)(void *ctx, struct lane *lane);  // again, too: what was set up on it must be set up anew
  // The agent that a session acts as, if its requests do not say; NULL: none of them is an agent.
  str (*agent_of)(void *ctx, const struct session *s);
  // May it use the server at all? NULL: all may use all.
  bool (*may_use)(void *ctx, const struct session *s, unsigned index);
};

struct upstreams_options {
  struct loop *loop;
  struct child_host *children;
  uint64_t request_ms, request_max_ms, start_ms;
  uint64_t install_ms;  // for a launcher (npx, ...) to install its program, before start_ms
  size_t cold_starts;   // launchers that may install at once; 0: any number
  size_t max_message;
  size_t max_values;       // of JSON in a message; 0: no limit
  size_t description_max;  // bytes of a title, a description, and of a server's instructions; 0: no limit
  size_t max_own_lanes;    // of one upstream: of agents and of sessions
  size_t max_in_flight;    // calls under way on one lane; 0: any number
  size_t max_waiting;      // calls that wait for their turn on one lane
  uint64_t idle_ms;        // an agent's lane that nobody used for so long is closed; 0: never
  bool prefix_always;
  bool lazy;                  // an upstream whose definitions were kept is not started before it is called
  bool once;                  // a server that failed is not started again by itself
  str state_dir;              // where they are kept; empty: nowhere
  char *const *env;           // ours; a few variables are handed on
  const struct chain *chain;  // sent to servers for loop detection; NULL: not sent
};

struct upstreams *upstreams_new(const struct upstreams_options *opt, const struct upstream_spec *specs, size_t count,
                                const struct upstreams_events *ev, void *ctx, struct fault *f);

struct upstreams_change {
  size_t added, changed, removed, kept;
};

// Other servers than before. Those that are configured as they were keep their lanes, and processes. Of those that are
// not, or are there no longer, what is under way may finish, and what waits goes to the new one. Nothing of specs is
// needed afterwards. Nothing is started. False: nothing was changed, f says why.
bool upstreams_replace(struct upstreams *all, const struct upstream_spec *specs, size_t count,
                       struct upstreams_change *out, struct fault *f);

// Closes every lane: processes are asked to leave, sessions are deleted. `stopped` is called once those requests are
// out, or after a moment. Then upstreams_free.
void upstreams_stop(struct upstreams *all, void (*stopped)(void *ctx), void *ctx);
void upstreams_free(struct upstreams **upstreams);

// How many there are, or were: an index is a server's for good, as long as the program runs.
size_t upstreams_count(const struct upstreams *all);
bool upstreams_gone(const struct upstreams *all, unsigned index);  // it was removed
str upstreams_name(const struct upstreams *all, unsigned index);
const struct upstream_spec *upstreams_spec(const struct upstreams *all, unsigned index);
bool upstreams_find(const struct upstreams *all, str name, unsigned *out_index);  // false: none has this name
uint64_t upstreams_timeout(const struct upstreams *all, unsigned index);
// The same for a call of one of its tools.
uint64_t upstreams_tool_timeout(const struct upstreams *all, unsigned index, str tool);
// The setting that this is, in the configuration. STR_NONE: no tool.
const char *upstreams_timeout_name(const struct upstreams *all, unsigned index, str tool);
// Tokens that a result of it may have, as its entry says; tool: STR_NONE for what is no tool's. 0: it does not say.
size_t upstreams_result_budget(const struct upstreams *all, unsigned index, str tool);
uint64_t upstreams_timeout_max(const struct upstreams *all);
struct catalog *upstreams_catalog(struct upstreams *all);  // borrowed; never NULL

// Opens a lane of each upstream that nothing is known of in this run: what it offers is then known before it is used.
// It declares the capabilities of the last client that used a lane, in this run or the last.
void upstreams_start(struct upstreams *all);

// A request of this session came with the marks of gateways (mcp/gateway_chain.h). They are sent to the HTTP servers
// that the client may use, and to no others. Marks that are new make such a server list again, so that it can refuse
// a ring.
void upstreams_note_marks(struct upstreams *all, const struct session *s, str marks);

// A session's lane to an upstream, made if need be, for something that is to use it. NULL: there are too many, and none
// can be closed (f says so).
struct lane *upstreams_lane(struct upstreams *all, unsigned index, struct session *s, struct fault *f);
struct lane *upstreams_lane_for(struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);
// The same, without making one: NULL.
struct lane *upstreams_lane_find(const struct upstreams *all, unsigned index, const struct session *s);
struct lane *upstreams_lane_find_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// The one that tells how the upstream is doing for this session: its own, or else the common one, or any that listed.
const struct lane *upstreams_lane_seen(const struct upstreams *all, unsigned index, const struct session *s);
const struct lane *upstreams_lane_seen_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Has this session, or would it have, a connection to the upstream that no other session uses?
bool upstreams_has_own(const struct upstreams *all, unsigned index, const struct session *s);

// Which of the catalog's views (bits of item.seen) are this session's for an upstream: what its lane has listed, else
// what lanes of its capabilities list, else what the common lane lists, or the first that listed.
uint32_t upstreams_view(const struct upstreams *all, unsigned index, const struct session *s);
uint32_t upstreams_view_for(const struct upstreams *all, unsigned index, const struct lane_user *who);

// Would a call of this session reach its upstream? Its lane, or the one it would get, is ready and in reach, or not
// started: then the call starts it. Not so while it is down, or starts again after it failed, or starts for the first
// time and its definitions are but kept ones, which say nothing of this run.
bool upstreams_available(const struct upstreams *all, unsigned index, const struct session *s);

// Is it known what it offers: in this run, or in the last?
bool upstreams_told(const struct upstreams *all, unsigned index);
// Why it is not there for them: it is down, or still starting.
void upstreams_why(const struct upstreams *all, unsigned index, const struct lane_user *who, struct fault *f);

// Is everything listed that this session could list, or has it failed? Opens a lane only where the upstream has none
// and has listed nothing in this run: the one that this session would use.
bool upstreams_settle(struct upstreams *all, struct session *s);
// The same for a client that shows lists as the servers give them. A lane that is nobody's and was opened with other
// capabilities is reopened once with those of this session. No lane is added, and the list is exactly its own.
bool upstreams_settle_exactly(struct upstreams *all, struct session *s);
// The first, or is it at least known what there was in the last run?
bool upstreams_known(struct upstreams *all, struct session *s);
// The first for one of them.
bool upstreams_settle_one(struct upstreams *all, unsigned index, const struct lane_user *who);

// Closes the session's own lanes.
void upstreams_forget(struct upstreams *all, struct session *s);

// Runs w->go when the lane is ready; starts it if need be. Fails at once while the lane is down.
void lane_await(struct lane *lane, struct lane_waiter *w);
void lane_unwait(struct lane_waiter *w);  // fine when it does not wait

// A question of its server to a client came up: meanwhile another call may be under way.
void lane_asks(struct lane *lane);

// Of a lane that starts, while its launcher (npx, ...) is at work: "installing, 40 s", or "waiting to be installed".
// False: it is not.
enum { LANE_PROGRESS = 64 };
bool lane_progress(const struct lane *lane, char out[LANE_PROGRESS]);

unsigned lane_index(const struct lane *lane);
str lane_name(const struct lane *lane);
const struct upstream_spec *lane_spec(const struct lane *lane);  // as it was opened, whatever is configured now
// Why nobody can tell over it what its server has; NULL: it can be told. The lane may be NULL, too.
const char *lane_missing(const struct lane *lane);
// It is on its way: it connects or lists, and has not failed since it was last ready. The lane may be NULL.
bool lane_starting(const struct lane *lane);
bool lane_stateless(const struct lane *lane);  // it is ready, and its server stateless

// Does any lane of an upstream that is ready declare this server capability ("tasks"), or this extension
// ("io.modelcontextprotocol/tasks")?
bool upstreams_capability(const struct upstreams *all, unsigned index, str name);
bool upstreams_extension(const struct upstreams *all, unsigned index, str name);
// What it says of itself, as it does to them; may be empty.
str upstreams_instructions(const struct upstreams *all, unsigned index, const struct lane_user *who);
// Calls fn for each upstream with its instructions, as it gives them to this session.
void upstreams_each_instructions(const struct upstreams *all, const struct session *s,
                                 void (*fn)(void *ctx, str server, str text), void *ctx);
