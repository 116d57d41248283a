// SPDX-License-Identifier: Apache-2.0
// What the gateway itself asks of an address: one URL, one request at a time, over within bounds of time and bytes.
// Embedded in whatever sends it.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "io/http/http_client.h"

struct outgoing;

struct outgoing_options {
  struct loop *loop;
  str url;                                                         // http or https; copied
  uint64_t ms;                                                     // for all of it
  size_t max_answer;                                               // bytes; 0: they are not kept, however many
  void (*on_head)(struct outgoing *e, const struct http_head *h);  // of the answer; may be NULL
  // It is over. f NULL: there is an answer, whatever its status says. The next one may be sent, or all be done with.
  void (*on_back)(struct outgoing *e, const struct fault *f);
};

struct outgoing {
  int status;
  struct buf answer;  // good until the next one

  struct outgoing_options opt;  // private, as is the rest
  struct arena arena;           // of the URL
  struct http_url url;
  struct tls_client *tls;
  struct http_origin *origin;
  struct http_fetch fetch;
  struct timer deadline;
};

// False: f says why.
bool outgoing_init(struct outgoing *e, const struct outgoing_options *opt, struct fault *f);
void outgoing_done(
    struct outgoing *e);  // gives up what is under way, without a callback. Fine after a failure, and on zeros

// headers: lines besides Host and User-Agent, each with CRLF. body.p NULL: none. on_back comes from the loop.
void outgoing_send(struct outgoing *e, const char *method, str headers, str body);
bool outgoing_under_way(const struct outgoing *e);
