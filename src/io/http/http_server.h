// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server on the loop: keep-alive, one request at a time on a connection (pipelined requests wait), bounded
// heads, bodies and queues, deadlines for slow clients, streamed responses with back-pressure.
//
// When there are too many connections, in total or of one address, a new connection replaces another: the oldest one
// that is not trusted (http_exchange_trust, or `admit` named a principal), else the trusted one that is idle for the
// longest time, else the oldest trusted one that still sends its request or reads its answer. If the handler works for
// every connection, the new one is refused with 503, except for requests that `vital` allows.
//
// The handler gets an exchange: a whole request, and the means to answer it, now or later. Head and body are valid
// until the handler returns; it copies the parts that it needs later. Every exchange is ended by exactly one of
// http_reply, http_stream_end, http_exchange_drop, or the client: then on_abort is called, if set.
#pragma once
#include "base/fault.h"
#include "io/http/http.h"
#include "io/http/intake.h"
#include "io/loop.h"

struct http_server;

struct http_exchange {
  const struct http_head *head;
  str body;
  void *owner;                                // the handler's
  void (*on_abort)(struct http_exchange *x);  // the client has left; the exchange is freed when this returns
  void (*on_drain)(struct http_exchange *x);  // a streamed response has been written out; may be NULL
};

struct http_server_options {
  struct http_limits limits;
  size_t max_connections;
  size_t max_per_address;  // connections of one client address; 0: no such limit
  size_t max_queued;       // bytes of response waiting for a slow client; over that the connection is closed
  uint64_t head_ms;        // to the end of a request's head; from the accept on, later from the request's first byte on
  uint64_t body_ms;        // and to the end of its body
  uint64_t idle_ms;        // between requests
  uint64_t write_ms;       // without the client taking all that is queued
  // Returns whether this request may send its body. If not, the handler gets the request without it, and the connection
  // ends after the answer. May be NULL.
  // *out_principal: the principal to count the memory of the body for; empty before the call, copied after it. A
  // connection with a principal is trusted (see http_exchange_trust).
  bool (*admit)(void *ctx, const struct http_head *head, str *out_principal);
  struct intake *intake;  // limits the memory of requests that arrive in pieces; may be NULL
  // Returns whether to serve this request although there are too many connections. NULL: never.
  bool (*vital)(void *ctx, const struct http_head *head);
};

struct http_server *http_server_new(struct loop *l, const struct http_server_options *opt,
                                    void (*on_request)(void *ctx, struct http_exchange *x), void *ctx);

// Binds an address. Port 0 takes a free port; *out_port is the port in use.
bool http_server_listen(struct http_server *s, str host, uint16_t port, uint16_t *out_port, struct fault *f);

// Stops listening. Requests already under way are answered, with "Connection: close"; `drained` is called
// once no connection is left. Connections without a request get a short grace, then are closed.
void http_server_drain(struct http_server *s, void (*drained)(void *ctx), void *ctx);

// Closes everything at once; on_abort is called for exchanges under way.
void http_server_free(struct http_server **s);

size_t http_server_connections(const struct http_server *s);

// headers: further header lines, each with CRLF, or STR_NONE.
void http_reply(struct http_exchange *x, int status, str headers, str content_type, str body);
void http_reply_from(struct http_exchange *x, int status, str headers, str content_type, struct payload body);

void http_stream_begin(struct http_exchange *x, int status, str headers, str content_type);
// Returns false when the client is too slow or has left: the exchange is over (on_abort is not called).
bool http_stream_write(struct http_exchange *x, struct payload bytes);
void http_stream_end(struct http_exchange *x);
size_t http_stream_queued(const struct http_exchange *x);

// The numeric address of the client; empty when it has left.
enum { HTTP_PEER_SIZE = 64 };
void http_exchange_peer(const struct http_exchange *x, char out[HTTP_PEER_SIZE]);
// The address that the client has connected to, in the form of a Host header: IPv6 in brackets; empty when the client
// has left.
void http_exchange_local(const struct http_exchange *x, char out[HTTP_PEER_SIZE]);

// Marks the connection of a client that may use the server: it is among the last to be closed to make room.
void http_exchange_trust(struct http_exchange *x);

// Closes the connection without (the rest of) an answer; no callback.
void http_exchange_drop(struct http_exchange *x);
