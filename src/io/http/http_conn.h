// SPDX-License-Identifier: Apache-2.0
// The connections of the HTTP server, shared by http_server.c and http_answer.c only.
#pragma once
#include "base/list.h"
#include "base/rate.h"
#include "io/http/http_server.h"
#include "io/http/peers.h"
#include "io/stream/stream.h"

enum {
  SERVER_MAGIC = 0x68737276,
  CONN_MAGIC = 0x68636f6e,
  LINGER_MS = 2000,      // for a refused client to go on sending, so that it can read the reason
  DRAIN_IDLE_MS = 250,   // for a request that was on its way when the server began to stop
  PIPELINE_MAX = 65536,  // bytes of the next requests that are read while one is answered
  BACKLOG_MAX = 65536,   // bytes of unread answers; over that no further request of the connection is answered
  KEEP_BUFFER = 16384,   // bytes that an idle connection keeps allocated
};

enum conn_state {
  CONN_IDLE,    // between requests, nothing received
  CONN_HEAD,    // part of a head is in `in`
  CONN_BODY,    // head parsed, body incomplete
  CONN_ANSWER,  // the handler has the exchange
  CONN_STREAM,  // a streamed answer has begun
  CONN_LINGER,  // answered and half-closed, discarding further input
};

struct http_server {
  uint32_t magic;
  struct loop *loop;
  struct http_server_options opt;
  void (*on_request)(void *ctx, struct http_exchange *x);
  void *ctx;
  uv_tcp_t *listener;
  struct list conns[2];  // by conn.known; unknown ones by age, known ones by the start of their idle time
  size_t count;
  struct peers peers;
  struct rate warnings;
  struct buf out;  // head of the answer being written
  bool draining;
  struct timer drain_timer;
  void (*drained)(void *ctx);
  void *drained_ctx;
};

struct conn {
  uint32_t magic;
  struct list node;
  struct http_server *server;
  struct peer *peer;
  struct stream *stream;
  enum conn_state state;
  struct timer timer;
  struct deferred resume;          // continues with the requests that were pipelined after the one just answered
  struct buf in;                   // bytes received and not yet consumed; empty on the fast path
  size_t seen;                     // bytes of `in` known to hold no end of head
  struct buf body;                 // of a chunked request
  struct intake_account *account;  // counts these two buffers while the request arrives; NULL: not yet
  size_t held;                     // bytes counted in `account`
  struct http_chunked chunked;
  size_t head_n;   // CONN_BODY: bytes of the head at the front of `in`
  uint64_t began;  // time of the request's first byte; for the first request, of the connection
  bool chunked_body, keep_alive, http10;
  bool used;       // had a request
  bool known;      // http_exchange_trust was called
  bool over;       // there were too many connections when it came
  bool admitted;   // its body may be read
  bool head_only;  // the request is a HEAD: its answer has no body
  bool working;    // a function further up the stack uses this connection: do not free it
  struct http_exchange x;
};

// Returns whether the handler has the exchange.
static inline bool conn_answering(const struct conn *c) {
  return c->state == CONN_ANSWER || c->state == CONN_STREAM;
}

// Returns whether too many answers are unread to answer more pipelined requests. on_drain continues.
static inline bool conn_behind(const struct conn *c) {
  return stream_queued(c->stream) > BACKLOG_MAX;
}

// Closes at once. A function further up the stack may still use c (`working`): then that frees it.
void conn_close(struct conn *c);

// Sends what is queued, then gives the client a moment to read it before the socket is closed.
void conn_linger(struct conn *c);

void conn_wait_for_request(struct conn *c);

// Closes the stream (c->stream is NULL then) when the write fails.
void conn_write(struct conn *c, const str *parts, size_t count, struct buf *memory);
