// SPDX-License-Identifier: Apache-2.0
// Server-sent events, both ways (WHATWG HTML, section 9.2): CR, LF and CRLF end lines, a BOM is skipped,
// several data lines join with LF, comments are ignored, an event without a blank line at its end is dropped.
#pragma once
#include "base/buf.h"

struct sse_event {
  str type;  // "message" unless named
  str data;
  str id;         // last event id so far, empty when none
  bool has_data;  // at least one data line; an event with an id and empty data is a priming event
  bool has_id;    // this event carried an id field
};

struct sse_parser {
  struct buf line, data, type, id;
  bool any_data, any_id;  // in the block so far
  bool in_data;           // the current line is a data line: its bytes are appended to `data` directly
  bool after_cr, at_start;
  bool *gone;        // while sse_feed runs: set by sse_done
  int64_t retry_ms;  // last `retry` field, -1 when none
  void (*on_event)(void *ctx, const struct sse_event *e);
  void *ctx;
};

// max_event limits the data of an event, and the value of any other line.
// on_event is called for every block with a data or an id field, even if the data is empty (unlike in a browser); a
// block with neither (comments, only `event` or `retry`) is not an event. The slices of the event are valid until the
// callback returns. It may set p->on_event to NULL: the rest of the bytes and all further bytes are then dropped. It
// may call sse_done, and then free the parser, which ends the sse_feed it was called from. It must not call sse_feed on
// the same parser.
void sse_init(struct sse_parser *p, size_t max_event, void (*on_event)(void *ctx, const struct sse_event *), void *ctx);
void sse_done(struct sse_parser *p);

// Returns false if a line or an event exceeds the limit, and at every call after that.
bool sse_feed(struct sse_parser *p, str bytes);

// Appends one event. type is left out when empty, id when id.p is NULL, either when it holds CR, LF or NUL, which no
// field can carry. data is split into lines, at least one, at LF; CR and CRLF too, as the reader ends a line there.
void sse_write(struct buf *out, str type, str id, str data);
