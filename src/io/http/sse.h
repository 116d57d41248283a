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
  bool in_data;           // the line that is coming in is data, and goes there at once
  bool after_cr, at_start;
  bool *gone;        // while sse_feed runs: set by sse_done
  int64_t retry_ms;  // last `retry` field, -1 when none
  void (*on_event)(void *ctx, const struct sse_event *e);
  void *ctx;
};

// max_event bounds an event's data; a line of any kind may be as long as one of so much data.
// on_event hears of every block with a data or an id field, unlike in a browser also when the data is empty; a block
// with neither (comments, only `event` or `retry`) is no event. The slices of the event last until it returns.
// It may set p->on_event to NULL to hear nothing more: what is left of the bytes is then dropped, as is all that
// follows. It may call sse_done, and then free the parser, which ends the sse_feed it was called from. It may not
// call sse_feed on the same parser.
void sse_init(struct sse_parser *p, size_t max_event, void (*on_event)(void *ctx, const struct sse_event *), void *ctx);
void sse_done(struct sse_parser *p);

// False when a line or an event is over the limit, then and from then on.
bool sse_feed(struct sse_parser *p, str bytes);

// Appends one event. type is left out when empty, id when id.p is NULL, either when it holds CR, LF or NUL, which no
// field can carry. data is split into lines, at least one, at LF; CR and CRLF too, as the reader ends a line there.
void sse_write(struct buf *out, str type, str id, str data);
