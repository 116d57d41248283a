// SPDX-License-Identifier: Apache-2.0
// The interface between link.c, link_open.c and the transports; private to them.
#pragma once
#include "base/rate.h"
#include "mcp/client/link.h"

enum link_state { LINK_NEW, LINK_OPENING, LINK_HANDSHAKE, LINK_CONFIRMING, LINK_READY, LINK_CLOSED };

struct link_transport {
  bool exchanges;                // each request has its own exchange; closing this exchange cancels the request
  void (*open)(struct link *l);  // calls link_connected or link_broken later
  // Sends a message. `call` and `method` describe a request; for any other message, `call` is NULL.
  void (*send)(struct link *l, str message, struct link_call *call, str method);
  // Called when the revision is known. Sends `message` (notifications/initialized) unless it is empty, and calls
  // link_confirmed.
  void (*confirm)(struct link *l, str message);
  // Called when the call has ended, with or without an answer. Frees its exchange.
  void (*forget)(struct link *l, struct link_call *call, bool answered);
  void (*flow)(struct link *l, bool go);
  void (*close)(struct link *l);
  int (*pid)(const struct link *l);  // returns the process id; NULL if there is no process
};

enum { LINK_LAST_WORDS = 256 };

struct link {
  uint32_t magic;
  struct link_options opt;
  const struct link_transport *ops;
  void *transport;
  const struct link_events *ev;
  void *ctx;
  char last_words[LINK_LAST_WORDS];
  size_t last_words_n;
  enum link_state state;
  bool wrong_transport, unreachable;
  bool installed;  // false while a launcher is still installing the server's program
  unsigned busy;   // number of transport callbacks on the stack
  bool dead;       // freed by the owner while busy
  struct rpc_pending pending;
  struct timer start_timer, probe_timer;
  struct link_call hello;     // the initialize request
  struct link_call discover;  // the server/discover request; on a pipe, `hello` may be in flight at the same time
  bool undecided;             // the failure of `discover` does not show the server's era; set by the transport
  bool doubt;                 // the server may have failed because it received server/discover
  struct arena inbox;         // the message being received
  struct rate complaints;
  struct arena arena;  // data of the handshake
  const struct mcp_revision *revision;
  const struct json *server_capabilities;
  str instructions;
  str server_version;  // STR_NONE if the server states no version
  str server_name;     // STR_NONE if the server has no name
  str meta;            // _meta of the gateway's own requests to a stateless server
};

static inline bool link_is_stateless(const struct link *l) {
  return l->revision && l->revision->stateless;
}

struct link *link_new(const struct link_options *opt, const struct link_transport *ops, void *transport,
                      const struct link_events *ev, void *ctx);

// Maximum size of a request head, larger than any URL and headers that can be configured.
enum { LINK_HEAD_MAX = 1 << 21 };
// Writes the header lines that every HTTP request has: Host, User-Agent and the configured lines.
void link_put_headers(struct buf *out, const struct http_url *url, str configured);
// Writes the header Toolgate-Chain (mcp/gateway_chain.h), which may differ from request to request.
void link_put_chain(const struct link *l, struct buf *out);

// link_enter must be called at the start of every callback of a transport, and link_leave at the end. link_leave may
// free the link and the transport.
void link_enter(struct link *l);
void link_leave(struct link *l);

void link_connected(struct link *l);
// Reports that the launcher has started the server's program. The time limit start_ms begins now.
void link_installed(struct link *l);
void link_confirmed(struct link *l);
void link_broken(struct link *l, const struct fault *f);
// Reports that a server without a permanent connection was reached (f is NULL) or could not be reached.
void link_reachable(struct link *l, const struct fault *f);
// Reports that the server has lost the session, and so did not run call c (may be NULL).
void link_session_lost(struct link *l, struct link_call *c);
// Stores a line from stderr as the last words of the program (link_last_words).
void link_said(struct link *l, str line);
// Receives one message. `memory` is the buffer that contains it, which the link may take over, or NULL. `via` is the
// call on whose stream the message arrived, or NULL.
void link_receive(struct link *l, str text, struct buf *memory, struct link_call *via);
// Receives the beginning of a message that exceeds the size limit. If the beginning contains the id of a call, fails
// that call.
void link_overlong(struct link *l, str head);
// Fails one call; the link stays open.
void link_call_fail(struct link_call *c, const struct fault *f);
// Ends a call without a message to the server and without a callback. Does nothing if the call is not in flight.
void link_call_drop(struct link_call *c);

// Timer callbacks of link_open.c: the link was not open in time (start), or server/discover was not answered in time
// (probe).
void link_start_late(struct timer *t);
void link_probe_late(struct timer *t);

// Returns advice to append to a message about status 401 or 403, or "" if there is no advice. `headers`: the configured
// header lines of the request.
const char *link_credentials_hint(int status, str headers);
