// SPDX-License-Identifier: Apache-2.0
// Reads and writes server-sent events (WHATWG HTML, section 9.2): CR, LF and CRLF end lines, a BOM is skipped, several
// data lines are joined with LF, comments are ignored, an event without a blank line at its end is dropped.
#pragma once
#include "base/buf.h"

struct sse_event {
  str type;  // type of the event; "message" if it has no type field
  str data;
  str id;         // last event id so far; empty if there was no id
  bool has_data;  // the event has a data line; an event with an id and empty data is a priming event
  bool has_id;    // the event has an id field
};

struct sse_parser {
  struct buf line, data, type, id;
  bool any_data, any_id;  // for the current event
  bool in_data;           // the current line is a data line: its bytes are appended to `data` directly
  bool after_cr, at_start;
  bool *gone;        // while sse_feed runs: points to a flag that sse_done sets
  int64_t retry_ms;  // value of the last `retry` field, or -1 if no field was received
  void (*on_event)(void *ctx, const struct sse_event *e);
  void *ctx;
};

// `max_event` is the maximum size of the data of an event, and of any other line. on_event is called for every block
// with a data or an id field, even if the data is empty (unlike in a browser). A block without these fields (only
// comments, `event` or `retry`) is not an event. The slices of the event are valid until the callback returns. The
// callback may set p->on_event to NULL: all further bytes are then dropped. The callback may call sse_done and then
// free the parser: sse_feed then returns at once. It must not call sse_feed on the same parser.
void sse_init(struct sse_parser *p, size_t max_event, void (*on_event)(void *ctx, const struct sse_event *), void *ctx);
void sse_done(struct sse_parser *p);

// Parses bytes. Returns false if a line or an event exceeds the limit, and then also in all later calls.
bool sse_feed(struct sse_parser *p, str bytes);

// Appends one event. Leaves out `type` if it is empty and `id` if id.p is NULL; also leaves out either of them if it
// contains CR, LF or NUL, which a field cannot carry. Writes `data` as one or more lines, split at LF, CR and CRLF,
// because a reader ends a line at each of these.
void sse_write(struct buf *out, str type, str id, str data);
