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
  bool stop;  // set inside on_line: hear nothing more, the rest of the bytes is dropped
};

void lines_init(struct lines *l, size_t max_line, void (*on_line)(void *ctx, str line), void *ctx);
void lines_done(struct lines *l);

// False, once for each, when a line is longer than the maximum; the rest of that line is skipped.
bool lines_feed(struct lines *l, str bytes);

// A message as one line: raw line breaks, which JSON allows between its tokens and nowhere else, become blanks.
// Gives `message` itself when it has none, else a copy in `scratch`.
str lines_flatten(str message, struct buf *scratch);
