// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 client for one origin, with a pool of keep-alive connections. Redirects are not followed.
//
// A fetch is embedded in whatever waits for it. Its callbacks come in order: on_head once, on_body any number
// of times, on_done once, last, when the fetch may be started again or freed. None comes before http_fetch_start has
// returned. http_fetch_cancel ends a fetch without a further callback. Callbacks may start and cancel any fetch and
// free the origin. Their arguments are valid until they return.
#pragma once
#include "base/fault.h"
#include "base/list.h"
#include "io/http/http.h"
#include "io/loop.h"

struct http_origin;
struct tls_client;
struct http_conn_out;
struct proxy;

struct http_fetch {
  struct list node;            // private
  struct http_origin *origin;  // private
  struct http_conn_out *conn;  // private; NULL while it waits for a connection
  str request;                 // private; copy of the bytes to send while it waits
  bool replayable;  // set before start: may be sent again when a kept-alive connection broke before any answer
  bool replayed;    // private
  bool paused;      // private
  void (*on_head)(struct http_fetch *f, const struct http_head *h);
  void (*on_body)(struct http_fetch *f, str bytes);
  // f NULL: the response is complete. Otherwise FAULT_UPSTREAM_UNAVAILABLE, _PROTOCOL or _LIMIT.
  void (*on_done)(struct http_fetch *f, const struct fault *fault);
};

// A zero takes the default.
struct http_origin_options {
  size_t max_connections;     // default 256; further fetches wait their turn
  uint64_t connect_ms;        // default 10 000
  uint64_t idle_ms;           // time after which an idle connection is closed, default 60 000
  const struct proxy *proxy;  // io/http/proxy.h; outlives the origin
  struct http_limits limits;  // of responses; max_head: default 32 KiB; max_body 0: no limit
};

// Takes scheme, host and port from `url`. tls may be NULL for http. opt may be NULL.
struct http_origin *http_origin_new(struct loop *l, const struct http_url *url, struct tls_client *tls,
                                    const struct http_origin_options *opt);
// Ends every fetch (without callback) and connection.
void http_origin_free(struct http_origin **o);

// Sends head (request line and header lines, each with CRLF, without Content-Length, Connection and the empty line)
// and body; the bytes are copied. body.p == NULL: no body, no Content-Length.
void http_fetch_start(struct http_origin *o, struct http_fetch *f, str head, str body);
void http_fetch_cancel(struct http_fetch *f);

// Sends a request and ignores the response. Freeing the origin cancels it.
void http_origin_send(struct http_origin *o, str head, str body);

// Closes idle connections, after a response did not belong to its request: they may be out of step too.
void http_origin_distrust(struct http_origin *o);

// Returns whether no fetch is active.
bool http_origin_quiet(const struct http_origin *o);

// Back-pressure: stops and resumes reading this response. Bytes already read, up to about LOOP_READ_SIZE, are still
// passed to on_body after a pause.
void http_fetch_pause(struct http_fetch *f);
void http_fetch_resume(struct http_fetch *f);

static inline bool http_fetch_active(const struct http_fetch *f) {
  return f->node.next && !list_empty(&f->node);
}
