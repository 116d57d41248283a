// SPDX-License-Identifier: Apache-2.0
// Splits a stream of bytes into lines at LF (and drops a CR before it). Does not copy a line that arrives in one piece.
#pragma once
#include "base/buf.h"

struct lines {
  struct buf carry;  // an incomplete line
  bool skipping;     // the rest of a line that is too long is being skipped
  char head[96];     // beginning of the last line that was too long
  size_t head_n;
  void (*on_line)(void *ctx, str line);
  void *ctx;
  bool stop;  // on_line sets this to end parsing: the remaining bytes are dropped
};

void lines_init(struct lines *l, size_t max_line, void (*on_line)(void *ctx, str line), void *ctx);
void lines_done(struct lines *l);

// Calls on_line for each complete line in `bytes`. If a line exceeds the maximum, returns false once and skips the rest
// of the line.
bool lines_feed(struct lines *l, str bytes);

// Returns a JSON message as one line: replaces line breaks, which JSON allows only between tokens, with blanks. Returns
// `message` itself if it has no line breaks, otherwise a copy in `scratch`.
str lines_flatten(str message, struct buf *scratch);
