// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of bytes into lines at LF (a CR before it is dropped), without copying a line that came whole.
#pragma once
#include "base/buf.h"

struct lines {
  struct buf carry;  // an incomplete line
  bool skipping;     // the rest of a line that was too long
  char head[96];     // how the last such line began
  size_t head_n;
  void (*on_line)(void *ctx, str line);
  void *ctx;
  bool stop;  // set by on_line to end parsing: the rest of the bytes is dropped
};

void lines_init(struct lines *l, size_t max_line, void (*on_line)(void *ctx, str line), void *ctx);
void lines_done(struct lines *l);

// Returns false, once for each such line, if a line exceeds the maximum; skips the rest of that line.
bool lines_feed(struct lines *l, str bytes);

// Returns a JSON message as one line: replaces line breaks, which JSON allows only between tokens, with blanks.
// Returns `message` itself if it has no line breaks, else a copy in `scratch`.
str lines_flatten(str message, struct buf *scratch);
