// SPDX-License-Identifier: Apache-2.0
// The server role: a client's session, and the requests it has under way. Knows the protocol, not the transport
// beneath (an outlet) nor what is served (a surface).
//
// Requests of the stateless revision have no session of their own. They are lent one (mcp/server/callers.h), so that
// the surface need not know the difference, unless it asks session->revision->stateless.
#pragma once
#include "base/map.h"
#include "base/rate.h"
#include "base/shares.h"
#include "io/http/intake.h"
#include "io/loop.h"
#include "mcp/meta.h"
#include "mcp/revision.h"
#include "mcp/server/clients.h"
#include "rpc/large_message.h"
#include "rpc/pending.h"
#include "json/write.h"

struct session;
struct request;

// How messages reach the client.
struct outlet_ops {
  // One message; `related` is the request during which it is sent, or NULL.
  void (*send)(struct session *s, struct request *related, str message);
  // The answer to r, or none (message.text.p == NULL: it was cancelled). r is over.
  void (*answer)(struct request *r, struct payload message);
  // The answer will take a while: let go of the connection, if the client will come back for it. May be NULL.
  void (*suspend)(struct request *r);
  // Room is needed for another: ends the session, if nobody uses it. False: somebody does. May be NULL: always.
  bool (*let_go)(struct session *s);
};

// What is served. All are called on the loop; none may free the session.
struct surface_ops {
  void (*attached)(void *ctx, struct session *s);  // what the client can do is known; before all others
  // The members of the result of initialize, or of server/discover, that are the surface's: capabilities, instructions.
  void (*describe)(void *ctx, struct session *s, struct json_writer *w);
  void (*opened)(void *ctx, struct session *s);  // the handshake is complete
  void (*closed)(void *ctx, struct session *s);  // every request has been cancelled before
  // Ends, now or later, in request_reply, request_fail or one of their kin.
  void (*request)(void *ctx, struct request *r);
  void (*notification)(void *ctx, struct session *s, const struct rpc_message *m);
  // The client sent a notification, which is not `taken` unless its revision has it; or (m NULL) a message that was
  // refused: `value` is what there is of it. May be NULL.
  void (*heard)(void *ctx, struct session *s, const struct rpc_message *m, const struct json *value, bool taken);
  // A request is about to be refused without `request`; it may get a note. May be NULL.
  void (*refused)(void *ctx, struct request *r);
  // The client reads slower than we write to it (go = false), or has caught up.
  void (*flow)(void *ctx, struct session *s, bool go);
  // We are stopping: a request that only listens is answered now.
  void (*stopping)(void *ctx, struct request *r);
  // A request with a note is over: answered with this message, or (message.p == NULL) cancelled.
  void (*over)(void *ctx, struct request *r, str message);
};

// The work on a request until its answer, embedded in whatever does it. Who answers the request, or parts from it, sets
// r->work to NULL.
struct work {
  const struct work_ops *ops;
};
struct work_ops {
  const char *name;
  // The client gave up, or its session ends: lets go of the request. r->work is NULL already, r is gone afterwards.
  void (*cancel)(struct work *w, struct request *r, str reason);
};

// What all sessions share; owned by main.
struct mcp_server {
  struct loop *loop;
  const struct surface_ops *surface;
  void *surface_ctx;
  struct list sessions;
  struct shares shares;       // of the sessions there may be: who has how many
  size_t principal_sessions;  // of one principal; 0: any number, within its share
  str agent;                  // who comes without one; empty: nobody in particular
  str local;                  // the name of whoever comes without a credential, as a visitor's
  bool one_client;            // all sessions are one client's, which reads them from one pipe (stdio)
  size_t max_in_flight;       // requests of one session under way
  size_t max_held;            // and the memory that they may hold before no more are taken
  struct intake intake;       // limits the memory of messages from clients
  struct list free_requests;  // kept for reuse, with their memory
  size_t free_count;
  struct buf scratch;                 // a message being composed; valid until the next is
  struct json_limits limits;          // for any message
  struct json_limits request_limits;  // for messages from clients
};

// How a session of the operator differs from a client's: a command such as `toolgate browse`, in the gateway's own
// process or on its control socket. It gets structuredContent and whole lists, its calls are not recorded, and no rules
// apply unless it names an agent.
struct session_operator {
  uint64_t wait_ms;      // how long its lists wait for servers that are starting
  size_t result_tokens;  // budget of a result; 0: the configured one
  bool skips_installs;   // its lists do not wait for servers that are being installed
};

// Who comes, and by which door.
struct client_identity {
  int principal;  // by its credential (mcp/auth/principals.h); -1: none is needed
  int mode;       // what of the surface it sees: the surface's own numbers
  str name;       // of the principal, the same in every run; empty without one
  str agent;      // that the credential is bound to; empty: it says nothing of that
  str subject;    // who the credential says it is, or what its token is called: to be told in logs
  str issuer;     // and who says so; empty: a token of the configuration
  int64_t until;  // seconds since 1970, when the credential expires; 0: it does not
  const struct session_operator *as_operator;  // NULL: a client. Must outlive the session; name and agent are then used
                                               // without a principal
};

enum session_state { SESSION_NEW, SESSION_INITIALIZED, SESSION_OPEN };

// Levels of logging/setLevel, most verbose first.
enum { SESSION_LOG_UNSET = -1, SESSION_LOG_ERROR = 4 };  // levels as session_log_level numbers them

// [tgNNNNNNNNN] and a NUL. A server learns the digits only if an agent sends them to it; a result that contains the
// mark is masked (docs/results.md). Each session has digits of its own; sessions that are lent to stateless requests of
// one principal and agent share them. The operator's sessions have "…": no model reads those.
enum { SESSION_MARK_SIZE = 16 };

struct session {
  uint32_t magic;
  struct list node;
  struct mcp_server *server;
  enum session_state state;
  char id[RAND_ID_SIZE];
  char mark[SESSION_MARK_SIZE];  // begins each line that the gateway itself writes into a result
  int principal;                 // as its visitor's
  int mode;
  str principal_name, agent, subject, issuer;
  int64_t until;                               // the credential that it was last used with is good
  const struct session_operator *as_operator;  // NULL: a client's session
  int64_t since;                               // wall clock in milliseconds when the session was made
  const struct mcp_revision *revision;
  struct arena arena;
  str client;                      // the client's name and version, as it wrote them; STR_NONE: it did not
  const struct client_row *known;  // by that name; NULL: unknown
  bool asks_structured;            // it asked for structuredContent at the handshake (mcp/server/clients.h)
  str capabilities;                // what it can do, as it wrote it
  str profile;                     // the same in canonical form: equal for clients that can do the same
  str forwarded;                   // the same, as sent to a stateless server
  bool can_sample, can_elicit, can_list_roots, has_tasks;
  int log_level;
  struct list requests;
  size_t in_flight, held;
  struct intake_account *account;  // of its principal
  size_t kept;                     // bytes counted in `account` for large client information
  struct share *share;             // of its principal's sessions
  struct list by_use;              // among them: whichever was used last comes last
  uint64_t recorded;               // bytes that were written down of its calls
  struct rate noted;               // audit lines of what it sends besides requests
  bool away;                       // the client listened before and does not any more
  bool used;                       // had a request after initialize
  struct rpc_pending asks;         // our requests to the client
  const struct outlet_ops *outlet;
  void *channel;  // the outlet's
  void *surface;  // the surface's
  // Lent to stateless requests:
  struct callers *callers;  // by these; NULL: a client's own
  struct list idle;         // in callers->idle, while nobody has it
  str key;                  // whose requests may have it
  enum { LENT_SHARED, LENT_ALONE, LENT_ONCE } lent;
  unsigned parked;  // calls that wait for the client's answers, and keep it meanwhile
  uint64_t idle_since;
  bool has_lanes;  // connections were opened for it
  bool closing;
};

// An HTTP header of a request that repeats an argument of a call (Mcp-Param-*).
struct request_param_header {
  str name, value;  // name without the prefix, in lower case
};

struct request {
  uint32_t magic;
  struct list node;
  struct session *session;
  struct arena arena;  // holds the message
  const struct json *value;
  struct rpc_message msg;  // once a session has received it
  struct meta meta;        // of a stateless request, once it was checked
  str id;                  // raw
  size_t holds;            // bytes, counted in the session and in its account
  int status;              // for the outlet: the HTTP status of an error answer; 0: 200
  bool mirrored;           // it came by HTTP: arguments must be repeated in headers where a tool wants that
  struct request_param_header *param_headers;
  size_t param_header_count;
  str traceparent, tracestate;       // of its HTTP headers; or STR_NONE
  str chain;                         // gateways that it has passed (mcp/gateway_chain.h); STR_NONE: none
  str marks;                         // of gateways that its sender passes on, from its header; STR_NONE: none
  void *channel;                     // the outlet's
  struct work *work;                 // NULL: nobody works on it
  struct audit_recorder_note *note;  // the surface's, for the end of it; NULL: it need not hear of that
  struct allowance *accounting;      // so is this
  int code;                          // of the JSON-RPC error that it is answered with; 0: none
};

struct mcp_server_limits {
  size_t max_sessions, principal_sessions, max_in_flight, max_held, max_message;
  // 0: any number
  size_t max_values;                        // in a message of a client
  size_t held_bytes, principal_held_bytes;  // of memory: all requests, requests of one principal
};

void mcp_server_init(struct mcp_server *m, struct loop *l, const struct surface_ops *surface, void *ctx,
                     const struct mcp_server_limits *limits);
void mcp_server_done(struct mcp_server *m);  // every session must be closed

// Sees that there is room for another session of this visitor. Those who have a credential leave room for others: when
// a principal has its share, that one of its own sessions ends that nobody uses and that was used longest ago. Nobody
// else's does. Without a credential, the oldest session without one ends that was not used after initialize.
enum session_room {
  SESSION_ROOM,
  SESSION_ROOM_NONE,   // there are too many
  SESSION_ROOM_SHARE,  // this principal has too many, and uses all of them
};
enum session_room sessions_make_room(struct mcp_server *m, struct client_identity who);

// A new session, before its handshake.
struct session *session_new(struct mcp_server *m, const struct outlet_ops *outlet, void *channel,
                            struct client_identity who);

void session_used(struct session *s);  // just now, by its client

// The mark of every session that is lent to this principal and agent, as long as the process runs.
void session_share_mark(struct session *s);

// Cancels what is under way, tells the surface, frees. Sets *s to NULL.
void session_close(struct session **s);

// Whose it is, by name: what is kept for it on disk is found under this name by the next run too.
str session_principal(const struct session *s);

// The agent that its credential is bound to, or the one that is configured for those without; empty: none.
str session_agent(const struct session *s);

// Can the client be asked something, or told something that a pipe does not say the addressee of? Then both must find
// their way to it and to no other.
bool session_askable(const struct session *s);

// A copy of one message of a client, parsed, not yet given to a session. NULL: it is no JSON, f says why.
struct request *request_parse(struct mcp_server *m, str text, struct fault *f);
void request_discard(struct mcp_server *m, struct request *r);

// Takes r, whatever it is: a request, which then is under way, a notification or a reply. channel: for the
// outlet, when it is a request. False: it was no message, *err says why, and nothing happened.
bool session_receive(struct session *s, struct request *r, void *channel, struct rpc_error *err);

// The same for a session that was lent to r by mcp/server/callers.h.
void session_serve(struct session *s, struct request *r, void *channel);

// Reports a message that is no request to the surface, as surface_ops.heard says.
void session_heard(struct session *s, const struct rpc_message *m, const struct json *value, bool taken);
void session_heard_unread(struct session *s, str text);  // the text is no JSON that is accepted

// A call of this session waits for the client's answers, or no longer does.
void session_park(struct session *s);
void session_unpark(struct session *s);  // may free a session that was lent

// The request with this id that is under way; NULL: none.
struct request *session_find_request(struct session *s, const struct json *id);

// What the client can do, from its capabilities: both sorts of sessions start with this.
void session_take_client(struct session *s, const struct json *capabilities, const struct json *client);

// "info" → 1; SESSION_LOG_UNSET: no level.
int session_log_level(const struct json *v);
const char *session_log_name(int level);

// Sends a message; `related` may be NULL.
void session_send(struct session *s, struct request *related, str message);
void session_notify(struct session *s, struct request *related, str method, str params);

// Ends a request. result is a raw JSON object; data may be empty. A stateless client gets what its revision adds to
// every result. If the result has _meta, that is its first member and not empty.
void request_reply(struct request *r, str result);
void request_reply_whole(struct request *r, str result);              // to which nothing is added
void request_send(struct request *r, struct buf *message, int code);  // a whole reply; code: of the error it is, or 0
void request_reply_as(struct request *r, const struct rpc_message *reply);  // forwards a reply under r's id
void request_fail(struct request *r, int code, const char *message, str data);
void request_suspend(struct request *r);  // its answer will take a while
// Counts `besides` bytes in addition to the arena of the request until it ends.
void request_holds(struct request *r, size_t besides);
// The outlet lost the client during r, which can no longer be answered.
void request_cancel(struct request *r, str reason);

// Does a stateless client say, with this request, that it knows this extension?
bool request_knows(const struct request *r, str extension);

// The raw progress token of a request, or STR_NONE.
const struct json *request_progress_token(const struct request *r);
