// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 client for one origin, with a pool of keep-alive connections. Does not follow redirects.
//
// A fetch is one request with its response, embedded in the object that uses it. Its callbacks are called in this
// order: on_head once, on_body any number of times, on_done once. No callback comes before http_fetch_start has
// returned. In and after on_done, the fetch may be started again or freed. http_fetch_cancel ends a fetch without a
// further callback. Callbacks may start and cancel any fetch and free the origin. The arguments of a callback are valid
// until it returns.
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
  struct http_conn_out *conn;  // private; NULL while the fetch waits for a connection
  str request;                 // private; copy of the request while the fetch waits
  // Must be set before http_fetch_start. Allows sending the request again if a kept-alive connection broke without a
  // response.
  bool replayable;
  bool replayed;  // private
  bool paused;    // private
  void (*on_head)(struct http_fetch *f, const struct http_head *h);
  void (*on_body)(struct http_fetch *f, str bytes);
  // fault is NULL if the response is complete; otherwise its code is FAULT_UPSTREAM_UNAVAILABLE, _PROTOCOL or _LIMIT.
  void (*on_done)(struct http_fetch *f, const struct fault *fault);
};

// Options of an origin. A member that is 0 means the default value.
struct http_origin_options {
  size_t max_connections;     // default 256; further fetches wait
  uint64_t connect_ms;        // time limit for connecting, default 10 000
  uint64_t idle_ms;           // time after which an idle connection is closed, default 60 000
  const struct proxy *proxy;  // io/http/proxy.h; outlives the origin
  struct http_limits limits;  // limits of responses: max_head is 32 KiB by default; max_body is 0 if there is no limit
};

// Takes scheme, host and port from `url`. tls may be NULL for http; opt may be NULL.
struct http_origin *http_origin_new(struct loop *l, const struct http_url *url, struct tls_client *tls,
                                    const struct http_origin_options *opt);
// Ends all fetches (without callbacks) and closes all connections.
void http_origin_free(struct http_origin **o);

// Sends `head` and `body`; copies the bytes. `head` is the request line and header lines, each with CRLF, but without
// Content-Length, Connection and the empty line. If body.p is NULL, the request has no body and no Content-Length.
void http_fetch_start(struct http_origin *o, struct http_fetch *f, str head, str body);
void http_fetch_cancel(struct http_fetch *f);

// Sends a request and ignores the response. Freeing the origin cancels the request.
void http_origin_send(struct http_origin *o, str head, str body);

// Closes idle connections. Must be called after a response that did not belong to its request, because the next
// response on an idle connection may also belong to another request.
void http_origin_distrust(struct http_origin *o);

// Returns whether the origin has no waiting and no active fetch.
bool http_origin_quiet(const struct http_origin *o);

// http_fetch_pause stops reading the response (back-pressure), http_fetch_resume continues. After a pause, on_body
// still gets the bytes that were already read, up to about LOOP_READ_SIZE.
void http_fetch_pause(struct http_fetch *f);
void http_fetch_resume(struct http_fetch *f);

static inline bool http_fetch_active(const struct http_fetch *f) {
  return f->node.next && !list_empty(&f->node);
}
