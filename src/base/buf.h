// SPDX-License-Identifier: Apache-2.0
// A growing byte buffer with a mandatory maximum. An addition that exceeds the maximum sets `over`; all later additions
// then do nothing. So callers need to check `over` only once, at the end.
#pragma once
#include "base/str.h"

struct buf {
  char *p;
  size_t n, cap, max;
  bool over;
};

void buf_init(struct buf *b, size_t max);   // allocates no memory yet
void buf_done(struct buf *b);               // frees the memory; the buffer may be used again, with the same maximum
void buf_reset(struct buf *b);              // empties the buffer, but keeps its memory
void buf_trim(struct buf *b, size_t keep);  // frees the memory if the buffer is empty and its capacity exceeds `keep`

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, str s);
void buf_u64(struct buf *b, uint64_t v);  // decimal
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Returns space for n more bytes, which the caller fills and adds to b->n. Returns NULL and sets `over` if the bytes
// would exceed the maximum.
char *buf_grow(struct buf *b, size_t n);
static inline char *buf_room(struct buf *b, size_t n) {
  bool fits = !b->over && n <= b->cap - b->n;  // cap never exceeds the maximum, so this also checks the maximum
  return fits ? b->p + b->n : buf_grow(b, n);
}

// Removes the first n bytes.
void buf_drop(struct buf *b, size_t n);

static inline void buf_char(struct buf *b, char c) {
  char *to = buf_room(b, 1);
  if (!to) return;
  *to = c;
  b->n++;
}

static inline str buf_view(const struct buf *b) {
  return (str){b->p, b->n};
}

// Bytes to send. If `memory` is set, it is the buffer that contains `text`, and the owner of the buffer no longer needs
// the contents. A sender that cannot write all bytes at once may then take the memory of this buffer and leave the
// buffer empty. If `memory` is NULL, the sender copies the bytes that it cannot write at once.
struct payload {
  str text;
  struct buf *memory;
};
