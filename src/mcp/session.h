// SPDX-License-Identifier: Apache-2.0
// The server role: a client's session, and the requests it has under way. Knows the protocol, not the transport
// beneath (an outlet) nor what is served (a surface).
#pragma once
#include "base/map.h"
#include "io/loop.h"
#include "mcp/revision.h"
#include "rpc/pending.h"
#include "json/write.h"

struct session;
struct request;

// How messages reach the client.
struct outlet_ops {
  // One message; `related` is the request during which it is sent, or NULL.
  void (*send)(struct session *s, struct request *related, str message);
  // The answer to r, or none (message.p == NULL: it was cancelled). r is over.
  void (*answer)(struct request *r, str message);
  // The answer will take a while: let go of the connection, if the client will come back for it. May be NULL.
  void (*suspend)(struct request *r);
};

// What is served. All are called on the loop; none may free the session.
struct surface_ops {
  // The members of the initialize result that are the surface's: capabilities, instructions.
  void (*describe)(void *ctx, struct session *s, struct json_writer *w);
  void (*opened)(void *ctx, struct session *s);  // the handshake is complete
  void (*closed)(void *ctx, struct session *s);  // every request has been cancelled before
  // Ends, now or later, in request_reply, request_fail or request_drop.
  void (*request)(void *ctx, struct request *r);
  void (*notification)(void *ctx, struct session *s, const struct rpc_message *m);
  // The client reads slower than we write to it (go = false), or has caught up.
  void (*flow)(void *ctx, struct session *s, bool go);
  // The client gave up on r: forget it. It is gone when this returns.
  void (*cancelled)(void *ctx, struct request *r, str reason);
};

// What all sessions share; owned by main.
struct mcp_server {
  struct loop *loop;
  const struct surface_ops *surface;
  void *surface_ctx;
  struct list sessions;
  size_t session_count, max_sessions;
  size_t max_in_flight;       // requests of one session under way
  size_t max_held;            // and the memory that they may hold before no more are taken
  struct list free_requests;  // kept for reuse, with their memory
  size_t free_count;
  struct buf scratch;  // a message being composed; valid until the next is
  struct json_limits limits;
};

enum session_state { SESSION_NEW, SESSION_INITIALIZED, SESSION_OPEN };

// Levels of logging/setLevel, most verbose first.
enum { SESSION_LOG_UNSET = -1 };

struct session {
  uint32_t magic;
  struct list node;
  struct mcp_server *server;
  enum session_state state;
  char id[RAND_ID_SIZE];
  int principal;  // which credential opened it; -1: none is needed
  const struct mcp_revision *revision;
  struct arena arena;
  str capabilities;  // the client's, as it wrote them
  str profile;       // the same in canonical form: equal for clients that can do the same
  bool can_sample, can_elicit, can_list_roots, has_tasks;
  int log_level;
  struct list requests;
  size_t in_flight, held;
  bool away;                // the client listened before and does not any more
  struct rpc_pending asks;  // our requests to the client
  const struct outlet_ops *outlet;
  void *channel;  // the outlet's
  void *surface;  // the surface's
};

struct request {
  uint32_t magic;
  struct list node;
  struct session *session;
  struct arena arena;  // holds the message
  const struct json *value;
  struct rpc_message msg;  // once a session has received it
  str id;                  // raw
  size_t holds;            // bytes, counted in its session
  void *channel;           // the outlet's
  void *work;              // the surface's
};

struct mcp_server_limits {
  size_t max_sessions, max_in_flight, max_held, max_message;
};

void mcp_server_init(struct mcp_server *m, struct loop *l, const struct surface_ops *surface, void *ctx,
                     const struct mcp_server_limits *limits);
void mcp_server_done(struct mcp_server *m);  // every session must be closed

// A new session, before its handshake.
struct session *session_new(struct mcp_server *m, const struct outlet_ops *outlet, void *channel, int principal);

// Cancels what is under way, tells the surface, frees. Sets *s to NULL.
void session_close(struct session **s);

// Can the client be asked something? Then replies to those questions must find their way to it and to no other.
bool session_askable(const struct session *s);

// A copy of one message of a client, parsed, not yet given to a session. NULL: it is no JSON, f says why.
struct request *request_parse(struct mcp_server *m, str text, struct fault *f);
void request_discard(struct mcp_server *m, struct request *r);

// Takes r, whatever it is: a request, which then is under way, a notification or a reply. channel: for the
// outlet, when it is a request. False: it was no message, *err says why, and nothing happened.
bool session_receive(struct session *s, struct request *r, void *channel, struct rpc_error *err);

// Sends a message; `related` may be NULL.
void session_send(struct session *s, struct request *related, str message);
void session_notify(struct session *s, struct request *related, str method, str params);

// Ends a request. result is raw JSON; data may be empty.
void request_reply(struct request *r, str result);
void request_reply_as(struct request *r, const struct rpc_message *reply);  // forwards a reply under r's id
void request_fail(struct request *r, int code, const char *message, str data);
void request_fault(struct request *r, const struct fault *f, str server);
void request_suspend(struct request *r);  // its answer will take a while
// The outlet lost the client during r, which can no longer be answered.
void request_cancel(struct request *r, str reason);

// The raw progress token of a request, or STR_NONE.
const struct json *request_progress_token(const struct request *r);
