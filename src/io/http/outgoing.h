// SPDX-License-Identifier: Apache-2.0
// HTTP requests of the gateway itself (key sets, trace collectors): one URL, one request at a time, with limits on time
// and response size. Embedded in its owner.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "io/http/http_client.h"

struct outgoing;

struct outgoing_options {
  struct loop *loop;
  str url;            // http or https; copied
  uint64_t ms;        // time limit of a request, in milliseconds
  size_t max_answer;  // limit of the response body in bytes; if it is 0, the body is ignored
  // Called when the head of the response has arrived; may be NULL.
  void (*on_head)(struct outgoing *e, const struct http_head *h);
  // Called when the request has ended. f is NULL if a response came, whatever its status. The callback may send again
  // or call outgoing_done.
  void (*on_back)(struct outgoing *e, const struct fault *f);
  // TLS settings for an https URL, which outlive the request. If NULL, the request makes its own, which takes about
  // 30 ms.
  struct tls_client *tls;
};

struct outgoing {
  int status;
  struct buf answer;  // body of the response; valid until the next send

  struct outgoing_options opt;  // private, like all members below
  struct arena arena;           // holds the URL
  struct http_url url;
  struct tls_client *tls;  // NULL unless this request made it
  struct http_origin *origin;
  struct http_fetch fetch;
  struct timer deadline;
};

// Initializes *e. Returns false on failure, with a reason in f.
bool outgoing_init(struct outgoing *e, const struct outgoing_options *opt, struct fault *f);
// Cancels a request in flight without a callback. May be called after a failed outgoing_init, and on a zeroed struct.
void outgoing_done(struct outgoing *e);

// Sends a request; calls on_back later from the loop. `headers`: all lines except Host and User-Agent, each with CRLF.
// If body.p is NULL, there is no body.
void outgoing_send(struct outgoing *e, const char *method, str headers, str body);
bool outgoing_under_way(const struct outgoing *e);
