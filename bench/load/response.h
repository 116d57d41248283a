// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 response, decoded as it arrives: by length, chunked, or until the connection ends.
#pragma once
#include "base/buf.h"

enum response_state {
  RESPONSE_HEAD,
  RESPONSE_BODY,
  RESPONSE_CHUNK_SIZE,
  RESPONSE_UNTIL_CLOSE,
  RESPONSE_DONE,
  RESPONSE_BAD
};

enum { SESSION_MAX = 128 };

struct response {
  enum response_state state;
  int status;
  bool chunked, events, close;  // events: text/event-stream; close: the connection ends behind it
  size_t left;                  // of the body, or of the chunk with its CRLF
  struct buf body;              // decoded, as far as it was not taken
  char session[SESSION_MAX];    // Mcp-Session-Id, or empty
};

void response_init(struct response *r);
void response_done(struct response *r);
void response_reset(struct response *r);  // for the next one on the same connection

// Consumes what it can from the front of `in`; look at state afterwards.
void response_feed(struct response *r, struct buf *in);

// The connection ended: completes a body that has no other end.
void response_end(struct response *r);

// Takes the data of the next whole event off the body into `out`. False when there is none. An event has one data line.
bool response_next_event(struct response *r, struct buf *out);
