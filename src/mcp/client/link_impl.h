// SPDX-License-Identifier: Apache-2.0
// Between link.c, link_open.c and the transports; not for others.
#pragma once
#include "base/rate.h"
#include "mcp/client/link.h"

enum link_state { LINK_NEW, LINK_OPENING, LINK_HANDSHAKE, LINK_CONFIRMING, LINK_READY, LINK_CLOSED };

struct link_transport {
  bool exchanges;                // each request has an exchange of its own: to close it is to cancel the request
  void (*open)(struct link *l);  // ends in link_connected or link_broken
  // call: the request this is, and its method; NULL for anything else.
  void (*send)(struct link *l, str message, struct link_call *call, str method);
  // The revision is known. Sends notifications/initialized, if there is a message; ends in link_confirmed.
  void (*confirm)(struct link *l, str message);
  // The call is over, by its answer or not: drop what belongs to it.
  void (*forget)(struct link *l, struct link_call *call, bool answered);
  void (*flow)(struct link *l, bool go);
  void (*close)(struct link *l);     // frees the transport
  int (*pid)(const struct link *l);  // of its process. NULL: it has none
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
  bool installed;  // its launcher has started its program, or it has none
  unsigned busy;   // transport callbacks on the stack
  bool dead;       // freed by the owner while busy
  struct rpc_pending pending;
  struct timer start_timer, probe_timer;
  struct link_call hello;     // the initialize request
  struct link_call discover;  // the server/discover request; over one pipe both may be under way
  bool undecided;             // why discover failed says nothing of the server's era: set by the transport
  bool doubt;                 // discover may be what went wrong
  struct arena inbox;         // the message being received
  struct rate complaints;     // log lines about what it sends
  struct arena arena;         // what the handshake told
  const struct mcp_revision *revision;
  const struct json *server_capabilities;
  str instructions;
  str meta;  // of our own requests, in the stateless revision
};

static inline bool link_is_stateless(const struct link *l) {
  return l->revision && l->revision->stateless;
}

struct link *link_new(const struct link_options *opt, const struct link_transport *ops, void *transport,
                      const struct link_events *ev, void *ctx);

// The header lines of every HTTP request: Host, User-Agent, and what is configured. LINK_HEAD_MAX is more than a URL
// and headers of the configuration can come to.
enum { LINK_HEAD_MAX = 1 << 21 };
void link_put_headers(struct buf *out, const struct http_url *url, str configured);
// Writes the chain header, which may differ from request to request.
void link_put_chain(const struct link *l, struct buf *out);

// Around every callback that a transport gets from below. After leave, link and transport may be gone.
void link_enter(struct link *l);
void link_leave(struct link *l);

void link_connected(struct link *l);
void link_installed(struct link *l);  // its launcher is done: the time to start begins
void link_confirmed(struct link *l);
void link_broken(struct link *l, const struct fault *f);
// A server without a lasting connection could be reached (f NULL), or could not.
void link_reachable(struct link *l, const struct fault *f);
// The server no longer knows our session, and so did not carry out this call (may be NULL).
void link_session_lost(struct link *l, struct link_call *c);
// Its program said something for people.
void link_said(struct link *l, str line);
// One message's text, and the buffer that it is in, which may be empty afterwards, or NULL. via: the call on whose
// stream it came, or NULL.
void link_receive(struct link *l, str text, struct buf *memory, struct link_call *via);
// A message that is larger than the limit came and was not read but for its beginning: the call that it answers fails,
// if that can be told.
void link_overlong(struct link *l, str head);
// One call failed, the link lives.
void link_call_fail(struct link_call *c, const struct fault *f);
// It is not wanted any more: without a word to the server, or a callback. Fine when it is not under way.
void link_call_drop(struct link_call *c);

// The timers of opening (link_open.c).
void link_start_late(struct timer *t);
void link_probe_late(struct timer *t);

// Advice to append to a status of 401 or 403; "" for any other. headers: those that are sent.
const char *link_credentials_hint(int status, str headers);
