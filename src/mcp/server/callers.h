// SPDX-License-Identifier: Apache-2.0
// Lends sessions to stateless requests. Each request has its client's identity and capabilities, which are checked
// here, and borrows a session until its answer.
//
// Clients that accept no requests of servers share one session for each principal. A client that does, or that wants
// log messages, borrows a session alone, so that requests of an upstream reach the call they belong to. Such a session
// stays idle for a while with its lanes, for the next request with the same client information, capabilities and
// credential. A listening request has a session alone, too.
#pragma once
#include "mcp/server/session.h"

struct callers_options {
  const struct outlet_ops *outlet;
  void *channel;     // of every session
  bool one_client;   // all requests come from one client (stdio): it shares sessions with itself
  uint64_t idle_ms;  // how long an idle session stays
};

struct callers {
  struct mcp_server *server;
  struct callers_options opt;
  struct map shared;  // sessions that several requests may borrow at once, by key
  struct list idle;   // idle sessions with lanes of their own, longest idle first
  struct list quiet;  // idle sessions that stay while there is room, longest idle first
  struct timer sweep;
};

// Why a request is refused.
struct refusal {
  int code;
  int status;  // HTTP status; 0: the usual one
  char message[256];
  char data[512];  // raw JSON, or empty
};

void callers_init(struct callers *c, struct mcp_server *m, const struct callers_options *opt);
void callers_done(struct callers *c);  // closes every session

// Returns whether this message claims to be stateless.
bool callers_claims(const struct request *r);

// Reads and checks a request: JSON-RPC with a complete _meta. Returns false with the reason in *out.
bool callers_check(struct request *r, struct refusal *out);
bool callers_speaks(struct request *r, struct refusal *out);  // checks the revision

// Returns a session for a checked request; session_serve is next. Returns NULL, with the reason in *out, if there are
// too many sessions.
struct session *callers_lend(struct callers *c, struct request *r, struct client_identity who, struct refusal *out);

// Refuses a request: reports it to the surface, writes the answer to `out` and discards the request. For a notification
// the caller ignores the answer.
void callers_refuse(struct callers *c, struct request *r, struct client_identity who, const struct refusal *why,
                    struct buf *out);

// Closes the session if it is idle, to make room. Returns false if it is in use.
bool callers_let_go(struct callers *c, struct session *s);

// Closes the session of any principal that has been idle for the longest time. Returns false if none was idle for
// idle_ms.
bool callers_let_go_oldest(struct callers *c);

// A request or parked call of the session has ended. May free the session.
void callers_return(struct callers *c, struct session *s);

void callers_touch(struct session *s);  // restarts the idle time of an idle session

void callers_forget(struct callers *c, struct session *s);  // called when the session closes

// Handles notifications/cancelled on a pipe. Returns whether it named a stateless request.
bool callers_cancel(struct callers *c, struct request *notification);

// Answers the requests that only listen: all, or those whose credential has expired.
void callers_drain(struct callers *c);
void callers_expire(struct callers *c, int64_t now);
bool callers_busy(const struct callers *c);  // whether other requests are in flight
