// SPDX-License-Identifier: Apache-2.0
// Lends sessions to stateless requests: checks the client information and capabilities in each request, and gives the
// request a session until it is answered.
//
// All clients of a principal that do not accept requests of servers share one session. If a client accepts such
// requests, or wants log messages, each of its requests borrows a session that no other request uses, so that a
// server's request reaches the call to which it belongs. Such a session stays idle for a while, with its connections to
// servers, for the next request with the same client information, capabilities and credential. A listening request
// (subscriptions/listen) also gets its own session.
#pragma once
#include "mcp/server/session.h"

struct callers_options {
  const struct outlet_ops *outlet;
  void *channel;
  bool one_client;   // all requests come from one client (stdio), so they can always share sessions
  uint64_t idle_ms;  // time after which an idle session is closed
};

struct callers {
  struct mcp_server *server;
  struct callers_options opt;
  struct map shared;  // sessions that several requests may borrow at the same time, by key
  struct list idle;   // idle sessions with their own lanes, the longest idle first
  // Idle sessions that are kept until room is needed, starting with the session that has been idle for the longest
  // time.
  struct list quiet;
  struct timer sweep;
};

// The error with which a request is refused.
struct refusal {
  int code;
  int status;  // HTTP status of the response; 0 for the default status of `code`
  char message[256];
  char data[512];  // raw JSON, or empty
};

void callers_init(struct callers *c, struct mcp_server *m, const struct callers_options *opt);
void callers_done(struct callers *c);

// Returns whether the _meta of this message contains a revision, as only stateless messages do.
bool callers_claims(const struct request *r);

// Reads and checks a request: it must be JSON-RPC with a complete _meta. Returns false, with the reason in *out.
bool callers_check(struct request *r, struct refusal *out);
bool callers_speaks(struct request *r, struct refusal *out);  // checks only the revision

// Returns a session for a checked request; the caller must call session_serve next. Returns NULL, with the reason in
// *out, if there are too many sessions.
struct session *callers_lend(struct callers *c, struct request *r, struct client_identity who, struct refusal *out);

// Refuses a request: reports it to the server's callbacks (surface_ops), writes the answer to `out` and discards the
// request. If the message was a notification, the caller must not send the answer.
void callers_refuse(struct callers *c, struct request *r, struct client_identity who, const struct refusal *why,
                    struct buf *out);

// Closes the session, to make room, if the session is idle. Returns false if the session is in use.
bool callers_let_go(struct callers *c, struct session *s);

// To make room, closes the shared session that has been idle for the longest time, of any principal. Returns false if
// no such session has been idle for at least idle_ms.
bool callers_let_go_oldest(struct callers *c);

// Must be called when a request or parked call of the session has ended. May free the session.
void callers_return(struct callers *c, struct session *s);

void callers_touch(struct session *s);  // restarts the idle time of an idle session

void callers_forget(struct callers *c, struct session *s);  // called when the session closes

// Handles notifications/cancelled on a pipe. Returns whether it cancelled a stateless request.
bool callers_cancel(struct callers *c, struct request *notification);

// callers_drain answers all listening requests (subscriptions/listen). callers_expire answers only those with a
// credential that has expired at the time `now` (seconds since 1970).
void callers_drain(struct callers *c);
void callers_expire(struct callers *c, int64_t now);
bool callers_busy(const struct callers *c);  // returns whether a request other than a listening request is in flight
