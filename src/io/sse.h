// SPDX-License-Identifier: Apache-2.0
// Server-sent events, both ways (WHATWG HTML, section 9.2): CR, LF and CRLF end lines, a BOM is skipped,
// several data lines join with LF, comments are ignored, an event without a blank line at its end is dropped.
#pragma once
#include "base/buf.h"

struct sse_event {
  str type;      // "message" unless named
  str data;
  str id;        // last event id so far, empty when none
  bool has_data; // at least one data line; an event with an id and empty data is a priming event
  bool has_id;   // this event carried an id field
};

struct sse_parser {
  struct buf line, data, type, id;
  bool after_cr, any_data, any_id, at_start;
  int64_t retry_ms;  // last `retry` field, -1 when none
  void (*on_event)(void *ctx, const struct sse_event *e);  // an event with a blank line; data may be empty
  void *ctx;
};

// max_event bounds a line and an event's data.
void sse_init(struct sse_parser *p, size_t max_event, void (*on_event)(void *ctx, const struct sse_event *), void *ctx);
void sse_done(struct sse_parser *p);

// False when an event is over the limit. The callback may set p->on_event to NULL to hear nothing more.
bool sse_feed(struct sse_parser *p, str bytes);

// Appends one event; id and type may be STR_NONE; data is split at LF into lines.
void sse_write(struct buf *out, str type, str id, str data);
