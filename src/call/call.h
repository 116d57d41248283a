// SPDX-License-Identifier: Apache-2.0
// One governed execution: from a client's request to the upstream's answer.
//
// A call walks through the steps of the table in pipeline.c, in order: out to the upstream, and home with what came of
// it. A step lets it go on (CALL_NEXT), parks it until a callback resumes it (CALL_WAIT), or has ended it (CALL_DONE).
// Every call ends in exactly one answer to its request, or in call_cancel.
//
// A step is a row of that table (call/pipeline.h), and all of it is in one file: to add a control is to add both.
//   - On the way out it reads c->item and the request's params. It ends the call with call_refuse or call_end; with an
//     answer of its own (a cache) it sets c->reply and has call_restart(c, &step_firewall) take it home.
//   - The outcome is c->reply, or c->failure, or both: an error that the upstream reported. Both are in memory that is
//     only good until the step returns, until step_firewall has made c->answer of it, which is the call's own. So a
//     step before that copies what it keeps, and one that waits comes after it (or forgets the outcome, and sends the
//     call out again: call_restart(c, &step_connect)).
//   - A step that waits keeps its timer and its place in a list in its own state, and its row's `cancel` stops the
//     waiting: the client may cancel any time.
//
// Where the two sides of a call are of different eras, the bridge is here too: translate.c (what differs in a message),
// park.c and ask.c (a server asks its client during a call), rounds.c (a stateless server answers with questions).
#pragma once
#include <stddef.h>

#include "call/bridge/ticket.h"
#include "call/caller.h"
#include "call/controls/controls.h"
#include "catalog/naming/naming.h"
#include "context/recorder.h"
#include "observe/trace.h"
#include "result/artifacts.h"
#include "schema/schema.h"
#include "upstream/lane/turns.h"

struct call;

enum call_result { CALL_NEXT, CALL_WAIT, CALL_DONE };

struct call_step;

// How a method names what it is for.
enum call_target {
  CALL_BY_NAME,  // params.name: a tool or a prompt
  CALL_BY_URI,   // params.uri: a resource
  CALL_BY_REF,   // params.ref: a prompt or a resource (completion)
  CALL_BY_TASK,  // params.taskId: where the task was made
  CALL_BY_ONLY,  // nothing: to the one upstream there is
};

enum call_era { CALL_ANY_ERA, CALL_WITH_SESSION, CALL_STATELESS };

// How the end of a call is told.
enum call_form {
  CALL_DIRECT,  // as the protocol does: results as they are, failures as JSON-RPC errors
  CALL_META,    // as the result of a meta-tool: an envelope, or a fault
  CALL_RULED,   // results as they are, unless they are to be bounded; failures as results that name the rule
};

struct call_method {
  const char *name;
  enum call_target target;
  enum item_kind kind;  // CALL_BY_NAME
  enum call_era era;    // of clients that have it
  bool local;           // carried out by the surface, once its lane is there
  enum call_form form;  // CALL_DIRECT if nothing is said
};

// Why a call has not brought what was asked for. In the request's arena.
struct call_failure {
  struct fault fault;
  str server;     // that was called; or STR_NONE
  int code;       // of the JSON-RPC error that this is
  str data;       // raw: what that error says besides, as the protocol has it; or STR_NONE
  str details;    // raw object: what the caller can act on; or STR_NONE
  bool upstream;  // the code and the data are the upstream's
};

// What meta-tools answer with.
struct call_results {
  size_t budget;                      // tokens
  size_t max_budget;                  // tokens that a caller may ask for
  enum client_structured structured;  // when they carry structuredContent
  bool bounded;                       // of CALL_RULED too
  bool scrub;                         // what looks like a secret is masked, also in what is kept
  bool keep_hidden;                   // hidden characters stay in the texts of servers
};

// What the caller wants besides.
struct caller_options {
  bool dry_run;         // everything but the call
  uint64_t timeout_ms;  // no longer than this; 0: as long as the operator allows
  size_t max_tokens;    // of the result, up to results.max_budget; 0: as configured
  str agent;            // who it says it is; STR_NONE: it does not
};

// What is called, by the names that its operator and its server gave.
struct call_place {
  str server, tool;
};

enum { CALL_MAX_ROUTES = 8, CALL_MAX_STEPS = 48 };

// What calls share; owned by the surface.
struct call_context {
  struct upstreams *upstreams;
  struct loop *loop;
  struct list free_calls;  // kept for reuse
  size_t free_count;
  size_t call_size;                   // of a call, with the states of its steps
  uint32_t state_at[CALL_MAX_STEPS];  // where those are, after the call
  struct buf params;                  // being composed
  struct list unsettled;              // calls for what nobody has, while upstreams are still starting
  struct buf text;                    // any other message being composed
  struct list asks;                   // questions of servers that clients are thinking about
  struct deferred due;                // some of them are to be told to stateless clients
  uint64_t next_ask;
  struct map parked;     // calls without a request, that wait for their client's answers: by number
  struct list parkings;  // those, and those that a request has taken up
  uint64_t next_parked;
  struct tickets tickets;
  const struct rulebook *rules;  // as they are now
  struct tasks *tasks;
  // Until when (loop time) may a request of this session wait for upstreams that are starting?
  uint64_t (*wait_until)(void *ctx, const struct session *s);
  // A call of a `local` method has its lane: ends, now or later, like a step.
  enum call_result (*local)(void *ctx, struct call *c);
  void (*local_over)(void *ctx, struct call *c);  // one is over, or was given up
  // A CALL_META call for this (as its client named it) has gone well.
  void (*used)(void *ctx, const struct session *s, str about);
  // What somebody sees of a catalog, and what it is called; until this is asked again.
  struct naming (*names)(void *ctx, const struct caller *c, const struct catalog *catalog);
  // The id of a tool of the catalog as it is now; STR_NONE: it has none.
  str (*id_of)(void *ctx, const struct item *tool);
  // Its client-safe name; STR_NONE: it has none.
  str (*safe_of)(void *ctx, const struct item *tool);
  void *ctx;
  struct checkers *checkers;  // compiled input schemas
  // the controls
  struct controls controls;
  struct limiter *limiter;        // NULL: nothing is limited
  struct allowances *allowances;  // NULL: neither is what a principal uses
  struct result_cache *cache;     // NULL: nothing is remembered
  // the firewall
  struct store *store;  // where it keeps what is too much
  struct call_results results;
  struct arena scratch;       // reset after each use
  struct recorder *recorder;  // writes calls down; NULL: nobody does
  struct metrics *metrics;    // counts them; NULL: nobody does
  struct tracer *tracer;      // collects their spans; NULL: nobody does
  struct tracer *records;     // sends log records of them; NULL: nobody does
  const struct chain *chain;  // for loop detection; NULL: disabled
};

// Something that the call names and its caller may not see. The caller hears that there is no such thing; the audit
// log, metrics and spans have it.
struct call_hidden {
  unsigned source;
  str tool;  // STR_NONE: it is none
};

// The part of a call that all steps share. The steps' own states follow it: call_state.
struct call {
  uint32_t magic;
  struct work work;  // on `request`
  size_t step;
  struct call_context *context;
  // the request
  struct request *request;  // to be answered; NULL while it is parked. Of another session than `session` when it was
  struct session *session;  // whose it is
  struct session *owner;    // whose connection it uses: the same, unless a task lives on another's
  const struct call_method *method;
  str about;                // what it is for, as the caller named it: CALL_META
  str named;                // the agent that the request names; STR_NONE: none
  struct call_place place;  // where it goes, as its caller named it; server.p NULL: it did not
  struct caller_options options;
  // the caller
  struct caller caller;   // by the rules as they were when it began, or was taken up again
  struct policy *policy;  // those rules; NULL: there are none
  // the item
  struct catalog *catalog;                       // as it was when the call began
  const struct item *item;                       // what it is for, when that is a tool or a prompt
  str task_tool;                                 // the tool of the task that it is for; STR_NONE: none
  struct catalog_route routes[CALL_MAX_ROUTES];  // where it may go; several only when a URI is not listed
  size_t route_count, route;
  bool placed;  // its surface has said where it goes
  // the connection
  struct lane *lane;
  struct turn turn;                     // on that lane
  struct list node;                     // in the lane's calls, once it was sent
  struct link_call link;                // what was sent
  struct large_message *large_message;  // that its answer is in, when that is large; while it is being read, too
  bool sent;                            // its server may have got it
  bool to_stateless;                    // its upstream is stateless, as it was when the call was last sent
  struct parking *parking;              // while it is parked, and afterwards
  // the clock
  uint64_t began;         // loop time
  uint64_t began_us;      // finer, if that is counted
  struct timer deadline;  // when the caller wants no longer to wait
  uint64_t held_ms;       // what is left until then, while a person answers; 0: the deadline is not held
  // the outcome
  const struct rpc_message *reply;   // until step_firewall has returned
  struct call_failure *failure;      // NULL: none
  const char *failed_in;             // the name of the step that it came to when it failed; NULL: it did not
  str answer;                        // the result that is sent, raw; STR_NONE: the reply as it is
  str meta;                          // the _meta that the reply gets, raw; STR_NONE: its own
  const struct json *shown;          // the answer, in memory of the request; NULL: none
  bool tool_failed;                  // its tool answered, and says so
  str rule;                          // that refused it, as a dotted path; STR_NONE: none did
  const struct call_hidden *hidden;  // in memory of the request; NULL: nothing was
  // how it came about
  str repairs;        // what was done to its arguments: raw, or STR_NONE
  unsigned attempts;  // that failed, and were followed by another
  bool recalled;      // its result was remembered
  bool limited;       // a rehearsal of what would be one too many
  max_align_t state[];
};

struct call_options {
  struct loop *loop;
  size_t max_message;
  uint64_t input_ms;             // how long a call waits for its client's answers
  const struct rulebook *rules;  // NULL: there are none
  struct call_results results;
  struct schema_options schemas;          // of tools
  const struct controls *controls;        // copied; what they point to must outlive the calls. NULL: none
  struct recorder *recorder;              // NULL: calls are not written down
  struct audit_recorder *audit_recorder;  // NULL: there is no audit log
  struct metrics *metrics;                // NULL: nothing is counted
  struct tracer *tracer;                  // NULL: nobody collects spans
  struct tracer *records;                 // NULL: nobody collects log records
  const struct chain *chain;              // NULL: loops are not looked for
};

void call_context_init(struct call_context *x, struct upstreams *u, const struct call_options *opt);
void call_context_done(struct call_context *x);

// Other limits of each principal, from now on. The use that was counted counts on.
void calls_limit_principals(struct call_context *x, const struct allowance_limits *limits);

// Takes the request over.
void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about);

// The same for an item of the catalog as it is now, which goes to that item's server and to no other, whatever else has
// the name or the URI that the request gives. name: what it is called there.
void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct caller_options *options);

// The same for a tool that the caller names by its server: whether there is such a tool is told to those alone who may
// use it.
void call_start_for(struct call_context *x, struct request *r, const struct call_method *method,
                    const struct call_place *place, const struct caller_options *options);

// An upstream has told what it has, or failed: calls that wait for that may look again.
void calls_settled(struct call_context *x);

// May this session use a meta-tool once more? Counts it. False: f says why not, and *details (raw) what to do.
bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details);

// A request begins, and may, by what its principal has used; or not: f says why, *details (raw) what to do. When it is
// over, so is what it was let in for; answer.p == NULL: there is none.
bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details);
void calls_leave(struct call_context *x, struct request *r, str answer);

// A request for a call was refused before it became one: counted, and a span, as a call that ended so.
struct call_refused {
  str server, tool, agent;  // STR_NONE: not known
  enum fault_code code;
};
void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c);
// One was refused with this code: is it that nobody knows who asks?
void calls_count_unknown(struct call_context *x, enum fault_code code);

// The session is about to end: what waits for its client's answers is given up.
void calls_forget(struct call_context *x, struct session *s);

// Whose artifacts those of its calls are: whoever has the same credential, and says that it is the same agent, may look
// at them. agent: as the request names it, or STR_NONE. In the arena, or the session's.
str call_owner(struct arena *a, const struct session *s, str agent);

// What a server said, or is said of it, on one line, for those who call it (spec_public_text).
str call_said(struct arena *a, const struct upstream_spec *by, str text);

// For steps, and for what carries out a local method.
void call_resume(struct call *c);                                 // goes on after the step that waits
void call_restart(struct call *c, const struct call_step *from);  // goes to a step, back or forth
bool call_try_next(struct call *c);                               // a URI that was routed by guessing: elsewhere, then

// What the arguments of its tool must follow; NULL: nothing. False: the tool has no schema that we take, f says why.
bool call_schema(struct call *c, const struct schema **out, struct fault *f);

// Takes the call home: with what the upstream answered, or with a fault of the upstream's, which gets its name.
enum call_result call_answer(struct call *c, const struct rpc_message *reply);
enum call_result call_fault(struct call *c, const struct fault *f);

// Ends the call: with a failure that is not the upstream's. code: of the JSON-RPC error; data and details are raw, in
// any memory, see call_failure.
enum call_result call_end(struct call *c, const struct fault *f, int code, str details);
enum call_result call_refuse(struct call *c, int code, const char *message, str data);
enum call_result call_reply(struct call *c, str result);  // with a result of our own: raw

// ---- questions of servers to clients: sampling, elicitation, roots

void calls_ask(struct call_context *x, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void calls_ask_cancelled(struct call_context *x, struct lane *lane, const struct rpc_message *m);
// The lane is ready, perhaps again: what its server asked before, nobody waits for.
void calls_lane_ready(struct call_context *x, struct lane *lane);

// A notification or a request of a server without hidden characters, masked: with result.scrub without secrets, and if
// it reports an error always without secrets and addresses. Returns m, a copy in the arena, or NULL: it cannot be
// masked, do not pass it on.
const struct rpc_message *calls_scrub(const struct call_context *x, const struct lane *lane,
                                      const struct rpc_message *m, struct arena *a);

// Whose is what came from a lane: its session, and the request during which it came (may be NULL). NULL: it cannot be
// told. A log message on a pipe of a stateless server is the call's that is alone there, if it wants any.
struct session *calls_addressee(struct lane *lane, struct link_call *via, struct request **out_related);
struct request *calls_logged(struct lane *lane, struct link_call *via);
