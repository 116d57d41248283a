// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server on the loop. It supports keep-alive, limits on heads, bodies and queues, deadlines for slow
// clients, and streamed responses with back-pressure. Each connection serves one request at a time; pipelined requests
// wait.
//
// When there are too many connections in total or from one address, a new connection replaces another. Candidates are,
// in this order: the oldest one that is not trusted (see http_exchange_trust and `admit`); the trusted one that is idle
// for the longest time; the oldest trusted one that still sends its request or reads its response. If the handler is
// answering a request on every connection, the new connection is refused with 503, except for requests that `vital`
// allows.
//
// The handler receives an exchange: a whole request, which it can answer now or later. Head and body are valid until
// the handler returns; it must copy the parts that it needs later. Every exchange is ended by exactly one of
// http_reply, http_stream_end, http_exchange_drop, or the client. If the client ends it, on_abort is called, if set.
#pragma once
#include "base/fault.h"
#include "io/http/http.h"
#include "io/http/intake.h"
#include "io/loop.h"

struct http_server;

struct http_exchange {
  const struct http_head *head;
  str body;
  void *owner;                                // set by the handler
  void (*on_abort)(struct http_exchange *x);  // the client has left; the exchange is freed when this returns
  void (*on_drain)(struct http_exchange *x);  // all of a streamed response has been sent; may be NULL
};

struct http_server_options {
  struct http_limits limits;
  size_t max_connections;
  size_t max_per_address;  // maximum connections from one client address; 0 if there is no limit
  size_t max_queued;  // maximum bytes of a response that wait for a slow client; if more wait, the connection is closed
  uint64_t head_ms;   // time limit for a request's head, from its first byte; for the first request, from the accept
  uint64_t body_ms;   // time limit for a request with its body
  uint64_t idle_ms;   // time limit between requests
  uint64_t write_ms;  // time limit for the client to read all queued bytes
  // Returns whether this request may send its body. If not, the handler gets the request without a body, and the
  // connection ends after the response. May be NULL. May set *out_principal, which is empty before the call and which
  // the server copies: the memory of the body counts for this principal. A connection with a principal is trusted (see
  // http_exchange_trust).
  bool (*admit)(void *ctx, const struct http_head *head, str *out_principal);
  struct intake *intake;  // limits the memory of requests that arrive in pieces; may be NULL
  // Returns whether to serve this request even if there are too many connections. If `vital` is NULL, no request is
  // served in this case.
  bool (*vital)(void *ctx, const struct http_head *head);
};

struct http_server *http_server_new(struct loop *l, const struct http_server_options *opt,
                                    void (*on_request)(void *ctx, struct http_exchange *x), void *ctx);

// Binds an address. If port is 0, the system chooses a free port. *out_port is the port in use.
bool http_server_listen(struct http_server *s, str host, uint16_t port, uint16_t *out_port, struct fault *f);

// Stops listening. Requests in progress are answered, with "Connection: close". Connections without a request are
// closed after a short time. Calls `drained` when no connection is left.
void http_server_drain(struct http_server *s, void (*drained)(void *ctx), void *ctx);

// Closes all connections at once. Calls on_abort for exchanges in progress.
void http_server_free(struct http_server **s);

size_t http_server_connections(const struct http_server *s);

// Sends a complete response. `headers`: additional header lines, each with CRLF, or STR_NONE.
void http_reply(struct http_exchange *x, int status, str headers, str content_type, str body);
void http_reply_from(struct http_exchange *x, int status, str headers, str content_type, struct payload body);

void http_stream_begin(struct http_exchange *x, int status, str headers, str content_type);
// Sends a part of a streamed response. Returns false if the client is too slow or has left: the exchange is then over,
// and on_abort is not called.
bool http_stream_write(struct http_exchange *x, struct payload bytes);
void http_stream_end(struct http_exchange *x);
size_t http_stream_queued(const struct http_exchange *x);

// http_exchange_peer writes the numeric address of the client to `out`, or an empty text if the client has left.
enum { HTTP_PEER_SIZE = 64 };
void http_exchange_peer(const struct http_exchange *x, char out[HTTP_PEER_SIZE]);
// Writes the address that the client has connected to, in the form of a Host header (IPv6 in brackets), or an empty
// text if the client has left.
void http_exchange_local(const struct http_exchange *x, char out[HTTP_PEER_SIZE]);

// Marks the connection as trusted, because its client may use the server: when there are too many connections, trusted
// connections are closed last.
void http_exchange_trust(struct http_exchange *x);

// Closes the connection without sending the rest of the response. Calls no callback.
void http_exchange_drop(struct http_exchange *x);
