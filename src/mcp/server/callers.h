// SPDX-License-Identifier: Apache-2.0
// Stateless clients. A request says itself who asks and what that client can do; it is checked here, and lent a session
// for as long as it takes.
//
// A client that cannot be asked anything shares one session with all others of its principal. One that can be asked, or
// wants log messages, has its session alone: what an upstream asks during its call reaches that call and no other. Such
// a session is kept for a while, with the connections that were opened for it, for the next request of a client that
// calls itself the same, can do the same and has the same credential. A request that listens has one for itself.
#pragma once
#include "mcp/server/session.h"

struct callers_options {
  const struct outlet_ops *outlet;
  void *channel;     // of every session
  bool one_client;   // all come from one client (stdio): it need not be kept apart from itself
  uint64_t idle_ms;  // how long a session is kept
};

struct callers {
  struct mcp_server *server;
  struct callers_options opt;
  struct map shared;  // sessions that several requests may have at once, by key
  struct list idle;   // those lent to nobody, the longest idle first
  struct list quiet;  // the same of those that can be had at any time again: they stay while there is room
  struct timer sweep;
};

// Why a request is refused.
struct refusal {
  int code;
  int status;  // of HTTP, where this matters; 0: the usual one
  char message[256];
  char data[512];  // raw JSON, or empty
};

void callers_init(struct callers *c, struct mcp_server *m, const struct callers_options *opt);
void callers_done(struct callers *c);  // closes every session

// Does this message belong here, i.e. does it claim to be stateless?
bool callers_claims(const struct request *r);

// Reads and checks the request: a JSON-RPC request whose _meta is whole. False: out says why, nothing has happened.
bool callers_check(struct request *r, struct refusal *out);
bool callers_speaks(struct request *r, struct refusal *out);  // ... in a revision that we speak

// A session for a request that was checked; session_serve is next. NULL: there are too many, out says so.
struct session *callers_lend(struct callers *c, struct request *r, struct client_identity who, struct refusal *out);

// A request is refused: tells the surface, puts the answer into `out` and discards the request. Also for a
// notification, which gets no answer.
void callers_refuse(struct callers *c, struct request *r, struct client_identity who, const struct refusal *why,
                    struct buf *out);

// Room is needed: closes it, if nobody has it. False: somebody does.
bool callers_let_go(struct callers *c, struct session *s);

// The same, for one that nobody had since long, whoever's it was. False: there is none.
bool callers_let_go_oldest(struct callers *c);

// What it was lent for is over (or some of it). May free the session.
void callers_return(struct callers *c, struct session *s);

void callers_touch(struct session *s);  // it is of use, though nobody has it: not idle since long

void callers_forget(struct callers *c, struct session *s);  // it is being closed

// notifications/cancelled on a pipe: true when the request was one of ours.
bool callers_cancel(struct callers *c, struct request *notification);

// We are stopping: requests that only listen are answered. busy: others are still under way.
void callers_drain(struct callers *c);
void callers_expire(struct callers *c, int64_t now);  // the same for those whose credential is no longer good
bool callers_busy(const struct callers *c);
