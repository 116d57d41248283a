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
  LINGER_MS = 2000,      // time for a refused client to send the rest of its request and to read the refusal
  DRAIN_IDLE_MS = 250,   // time for requests that are already on their way when the server begins to stop
  PIPELINE_MAX = 65536,  // maximum bytes of pipelined requests that are read while another request is answered
  BACKLOG_MAX = 65536,   // maximum bytes of unread responses; above it, the connection's pipelined requests wait
  KEEP_BUFFER = 16384,   // maximum bytes of buffers that an idle connection keeps allocated
};

enum conn_state {
  CONN_IDLE,    // between requests, nothing received
  CONN_HEAD,    // part of a head is in `in`
  CONN_BODY,    // head parsed, body incomplete
  CONN_ANSWER,  // the handler has the request and has not begun a response
  CONN_STREAM,  // a streamed response has begun
  CONN_LINGER,  // the response is sent and the writing side is closed; further input is ignored
};

struct http_server {
  uint32_t magic;
  struct loop *loop;
  struct http_server_options opt;
  void (*on_request)(void *ctx, struct http_exchange *x);
  void *ctx;
  uv_tcp_t *listener;
  // conns[0]: connections that are not trusted, oldest first. conns[1]: trusted connections (conn.known), those with
  // the longest idle time first.
  struct list conns[2];
  size_t count;
  struct peers peers;
  struct rate warnings;
  struct buf out;  // head of the response being written
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
  struct deferred resume;  // continues with pipelined requests after a response
  struct buf in;           // bytes received and not yet consumed; empty on the fast path
  size_t seen;             // bytes of `in` already searched for the end of the head
  struct buf body;         // decoded body of a chunked request
  // The memory of `in` and `body` counts for this account until the request is complete. May be NULL.
  struct intake_account *account;
  size_t held;  // bytes counted for this connection in `account`
  struct http_chunked chunked;
  size_t head_n;   // in CONN_BODY: length of the head at the front of `in`
  uint64_t began;  // time when the request began to arrive; for the first request, when the connection was accepted
  bool chunked_body, keep_alive, http10;
  bool used;       // has received a complete request
  bool known;      // http_exchange_trust was called
  bool over;       // there were too many connections when this one was accepted
  bool admitted;   // the request's body may be read
  bool head_only;  // the request is a HEAD: the response has no body
  bool working;    // a calling function still uses this connection, which must not be freed
  struct http_exchange x;
};

// Returns whether the handler has received the request and has not yet completed the response.
static inline bool conn_answering(const struct conn *c) {
  return c->state == CONN_ANSWER || c->state == CONN_STREAM;
}

// Returns whether the client has left more than BACKLOG_MAX bytes of responses unread. In this case pipelined requests
// wait for on_drain.
static inline bool conn_behind(const struct conn *c) {
  return stream_queued(c->stream) > BACKLOG_MAX;
}

// Closes the connection at once. If `working` is set, the function that has set it frees c later.
void conn_close(struct conn *c);

// Sends queued bytes, then gives the client a moment to read them before the socket is closed.
void conn_linger(struct conn *c);

void conn_wait_for_request(struct conn *c);

// Writes the parts of a response (see stream_write_from). If the write fails, closes the stream and sets c->stream to
// NULL.
void conn_write(struct conn *c, const str *parts, size_t count, struct buf *memory);
