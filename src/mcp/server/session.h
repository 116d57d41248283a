// SPDX-License-Identifier: Apache-2.0
// The server role of MCP: the sessions of clients. A session implements the protocol. Its transport is called its
// outlet; the callbacks that answer its requests are called the surface.
//
// Stateless requests have no session of their own. They borrow a session (mcp/server/callers.h), so that the surface
// can handle all requests alike. session->revision->stateless is true for a borrowed session.
#pragma once
#include "base/map.h"
#include "base/rate.h"
#include "base/shares.h"
#include "govern/run.h"
#include "io/http/intake.h"
#include "io/loop.h"
#include "mcp/meta.h"
#include "mcp/revision.h"
#include "mcp/server/clients.h"
#include "mcp/server/request.h"
#include "rpc/pending.h"
#include "json/write.h"

struct session;

// The transport of a session.
struct outlet_ops {
  // Sends one message. `related` is the request that the message belongs to, or NULL.
  void (*send)(struct session *s, struct request *related, str message);
  // Sends the answer to r. If r was cancelled, message.text.p is NULL, and r ends without an answer.
  void (*answer)(struct request *r, struct payload message);
  // Called if the answer will take a while. Releases the connection if the client can get the answer later. May be
  // NULL.
  void (*suspend)(struct request *r);
  // Ends the session to make room for another one. Returns false if the session is in use. NULL if this transport never
  // ends sessions to make room.
  bool (*let_go)(struct session *s);
};

// The code that answers the requests of clients. All operations run on the event loop's thread; none may free the
// session.
struct surface_ops {
  // Called before all other operations, when the capabilities of the client are known.
  void (*attached)(void *ctx, struct session *s);
  // Writes the members `capabilities` and `instructions` of the result of initialize or server/discover.
  void (*describe)(void *ctx, struct session *s, struct json_writer *w);
  void (*opened)(void *ctx, struct session *s);  // the handshake is complete
  void (*closed)(void *ctx, struct session *s);  // the session has closed; all its requests have been cancelled
  // Answers r, now or later, with a function of mcp/server/request.h.
  void (*request)(void *ctx, struct request *r);
  void (*notification)(void *ctx, struct session *s, const struct rpc_message *m);
  // Reports a notification (`taken` is true if the client's revision allows it) or a rejected message (m is NULL and
  // `value` is the message). May be NULL.
  void (*received)(void *ctx, struct session *s, const struct rpc_message *m, const struct json *value, bool taken);
  // Called when a request is refused before `request` is called. May set the note of the request. May be NULL.
  void (*refused)(void *ctx, struct request *r);
  // Called with go = false when too many messages for the client are unsent, and with go = true when the client has
  // read them.
  void (*flow)(void *ctx, struct session *s, bool go);
  // Called when the gateway stops or the client must authenticate again. Must answer r, a listening request
  // (subscriptions/listen).
  void (*stopping)(void *ctx, struct request *r);
  // Called when a request with a note or accounting has ended. `message` is the answer; message.p is NULL if the
  // request was cancelled.
  void (*over)(void *ctx, struct request *r, str message);
};

// The state that all sessions share; owned by main.
struct mcp_server {
  struct loop *loop;
  const struct surface_ops *surface;
  void *surface_ctx;
  struct list sessions;
  struct shares shares;  // counts the sessions of each principal, and shares max_sessions among principals
  // Maximum sessions of one principal. If 0, its fair share of max_sessions is the only limit.
  size_t principal_sessions;
  str agent;                  // agent of clients without a credential; may be empty
  str local;                  // principal name of clients without a credential; if empty, "local" is used
  bool one_client;            // all sessions belong to one client, which reads them from one pipe (stdio)
  size_t max_in_flight;       // maximum number of requests in flight for each session
  size_t max_held;            // maximum bytes of the requests of one session; above it, new requests are refused
  struct intake intake;       // limits the memory of messages from clients
  struct list free_requests;  // freed requests, kept with their arenas for reuse
  size_t free_count;
  struct buf scratch;                 // for one outgoing message; valid until the next message is composed
  struct json_limits limits;          // for any message
  struct json_limits request_limits;  // for messages from clients
};

// Options of an operator's session, which belongs to a command such as `toolgate browse`, in its own process or on the
// control socket. Such a session gets structuredContent and complete lists. Its calls are not recorded, and rules apply
// only if the session names an agent.
struct session_operator {
  uint64_t wait_ms;      // how long its lists wait for servers that are starting
  size_t result_tokens;  // maximum tokens of a result; 0 for the configured maximum
  bool skips_installs;   // its lists do not wait for servers that are being installed
};

// The identity of the client of a session or a stateless request, and the mode in which the client sees the catalog.
struct client_identity {
  int principal;  // number of the principal (mcp/auth/principals.h); -1 if clients need no credential
  int mode;       // one of the surface's modes
  str name;       // name of the principal, the same in every run; empty without a principal
  str agent;      // agent that the credential is bound to; may be empty
  str subject;    // subject of the credential, or name of the token; for logs
  str issuer;     // issuer of the credential; empty for a token of the configuration
  str claims;     // claims of a JSON Web Token, a JSON object; STR_NONE if they are not needed
  str workload;   // subject of the workload token; STR_NONE without such a token
  int64_t until;  // expiry of the credential in seconds since 1970; 0 if it does not expire
  // NULL for a client. For an operator, `name` and `agent` are used without a principal. Must outlive the session.
  const struct session_operator *as_operator;
};

enum session_state { SESSION_NEW, SESSION_INITIALIZED, SESSION_OPEN };

// Log levels of logging/setLevel are numbered from 0 (debug, the most verbose) to 7.
enum { SESSION_LOG_UNSET = -1, SESSION_LOG_ERROR = 4 };

// Size of a mark: the prefix [tgNNNNNNNNN] of the gateway's own lines in results, and a NUL. A server does not know the
// digits unless an agent sends them to the server; a mark in a server's result is masked (docs/reference/results.md).
// Each session has its own digits; but sessions lent to stateless requests of one principal and agent have the same
// digits. Operators' sessions use "…" as mark, because no model reads their results.
enum { SESSION_MARK_SIZE = 16, SESSION_MAGIC = 0x73657373 };

struct session {
  uint32_t magic;
  struct list node;
  struct mcp_server *server;
  enum session_state state;
  char id[RAND_ID_SIZE];
  char mark[SESSION_MARK_SIZE];  // prefix of each line that the gateway writes into a result
  int principal;                 // as in client_identity
  int mode;
  str principal_name, agent, subject, issuer;
  str claims, workload;                        // as in client_identity; they do not change while the session lasts
  struct run_context *run;                     // of the last caller, for call/caller.c; NULL if none is needed
  int64_t until;                               // expiry of the credential that the client last used
  const struct session_operator *as_operator;  // NULL for a client's session
  int64_t since;                               // creation time: wall clock in milliseconds
  const struct mcp_revision *revision;
  struct arena arena;
  str client;                      // clientInfo as the client wrote it, or STR_NONE
  const struct client_row *known;  // row of this client in clients_known; NULL if it is unknown
  bool asks_structured;            // the client asked for structuredContent at the handshake (mcp/server/clients.h)
  str capabilities;                // the client's capabilities as it wrote them
  str profile;                     // capabilities in canonical form, for comparison
  str forwarded;                   // capabilities as sent to stateless servers
  bool can_sample, can_elicit, can_list_roots, has_tasks;
  int log_level;
  struct list requests;
  size_t in_flight, held;
  struct intake_account *account;
  size_t kept;  // bytes of client information, as counted in `account`
  struct share *share;
  struct list by_use;       // in share->members, least recently used first
  uint64_t recorded;        // bytes that the audit recorder has written for its calls
  struct rate noted;        // limits audit lines for notifications and rejected messages
  bool stream_closed;       // the client has closed its event stream
  bool left;                // the client itself ends the session
  bool used;                // had a request after initialize
  struct rpc_pending asks;  // requests that the gateway has sent to the client
  const struct outlet_ops *outlet;
  void *channel;  // owned by the outlet
  void *surface;  // owned by the surface
  // The following members are only used for sessions that are lent to stateless requests.
  struct callers *callers;  // lends this session to requests; NULL for the session of one client
  struct list idle;         // in callers->idle or callers->quiet while no request uses it
  str key;                  // identifies the requests that may borrow it
  enum { LENT_SHARED, LENT_ALONE, LENT_ONCE } lent;
  unsigned parked;  // number of parked calls, which keep the session open
  uint64_t idle_since;
  bool has_lanes;  // connections to servers were opened for this session
  bool closing;
};

struct mcp_server_limits {
  size_t max_sessions, principal_sessions, max_in_flight, max_held, max_message;
  // In the following members, 0 means that there is no limit.
  size_t max_values;                        // JSON values in a message of a client
  size_t held_bytes, principal_held_bytes;  // maximum bytes of all requests, and of the requests of one principal
};

void mcp_server_init(struct mcp_server *m, struct loop *l, const struct surface_ops *surface, void *ctx,
                     const struct mcp_server_limits *limits);
void mcp_server_done(struct mcp_server *m);  // must be called after all sessions were closed

// Whether another session can be created.
enum session_room {
  SESSION_ROOM,
  SESSION_ROOM_NONE,   // too many sessions exist
  SESSION_ROOM_SHARE,  // the principal has too many sessions, and all of them are in use
};
// Makes room for another session of this client. If the principal has used up its share, ends its least recently used
// session that is not in use; sessions of other principals stay. Clients without a credential have one share in common:
// the oldest of their sessions that was not used after initialize ends first.
enum session_room sessions_make_room(struct mcp_server *m, struct client_identity who);

// Creates a session, before its handshake.
struct session *session_new(struct mcp_server *m, const struct outlet_ops *outlet, void *channel,
                            struct client_identity who);

void session_used(struct session *s);  // must be called when the client uses the session

// Gives the session the mark (the prefix of the gateway's lines in results) that all lent sessions of its principal and
// agent have in this process.
void session_share_mark(struct session *s);

// Cancels the requests in flight, calls surface_ops.closed and frees the session. Sets *s to NULL.
void session_close(struct session **s);

// Returns whether this client may use session s: its principal and claims must be those of the session.
bool session_belongs(const struct session *s, struct client_identity who);

// Returns the name of the principal, which is the same in every run, so that it can be used as a key for stored data.
str session_principal(const struct session *s);

// Returns the agent of the credential or, without one, the configured agent; may be empty.
str session_agent(const struct session *s);

// Returns whether the client accepts requests or log messages of servers, which no other client may receive.
bool session_askable(const struct session *s);

// Starts a request, or handles a notification or a reply. `channel` is an object of the outlet, stored in r. Returns
// false, with the reason in *err, if r is not a valid message.
bool session_receive(struct session *s, struct request *r, void *channel, struct rpc_error *err);

// Starts a request for which mcp/server/callers.h has lent this session.
void session_serve(struct session *s, struct request *r, void *channel);

// Reports a received message to surface_ops.received.
void session_message_received(struct session *s, const struct rpc_message *m, const struct json *value, bool taken);
void session_text_received(struct session *s, str text);  // reports text that is not accepted as JSON

// Counts one more parked call: the session stays open for it until session_unpark.
void session_park(struct session *s);
void session_unpark(struct session *s);  // counts one parked call less; may free a lent session

// Returns the request in flight with this id, or NULL.
struct request *session_find_request(struct session *s, const struct json *id);

// Sets the client information and capabilities of a new session.
void session_take_client(struct session *s, const struct json *capabilities, const struct json *client);

// Returns the number of a level ("info" is 1), or SESSION_LOG_UNSET.
int session_log_level(const struct json *v);
const char *session_log_name(int level);

// Sends a message; `related` may be NULL.
void session_send(struct session *s, struct request *related, str message);
void session_notify(struct session *s, struct request *related, str method, str params);
