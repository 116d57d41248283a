// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/locked.h"
#include "base/mem.h"

void buf_init(struct buf *b, size_t max) {
  *b = (struct buf){.max = max};
}

void buf_done(struct buf *b) {
  mem_free(b->p);
  buf_init(b, b->max);
}

void buf_wipe(struct buf *b) {
  if (b->p) explicit_bzero(b->p, b->cap);
  buf_done(b);
}

void buf_reset(struct buf *b) {
  b->n = 0;
  b->over = false;
}

void buf_trim(struct buf *b, size_t keep) {
  if (b->n == 0 && b->cap > keep) buf_done(b);
}

char *buf_grow(struct buf *b, size_t n) {
  if (b->over || n > b->max - b->n) {
    b->over = true;
    return NULL;
  }
  if (b->cap - b->n < n) {
    ASSERT(b->n <= b->cap && b->cap <= b->max);
    size_t cap = b->cap ? b->cap * 2 : 256;
    if (cap < b->n + n) cap = b->n + n;
    if (cap > b->max) cap = b->max;
    b->p = mem_grow(b->p, cap);
    b->cap = cap;
  }
  return b->p + b->n;
}

static inline void add(struct buf *b, const void *p, size_t n) {
  char *to = n ? buf_room(b, n) : NULL;
  if (!to) return;
  memcpy(to, p, n);
  b->n += n;
}

void buf_add(struct buf *b, const void *p, size_t n) {
  add(b, p, n);
}

void buf_str(struct buf *b, str s) {
  add(b, s.p, s.n);
}

void buf_u64(struct buf *b, uint64_t v) {
  struct str_digits digits;
  buf_str(b, str_from_u64(v, &digits));
}

void buf_printf(struct buf *b, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  // Reserves one more byte for the NUL that vsnprintf writes. The NUL is not part of the contents.
  char *to = n < 0 ? NULL : buf_room(b, (size_t)n + 1);
  if (to) {
    vsnprintf(to, (size_t)n + 1, fmt, again);
    b->n += (size_t)n;
  }
  va_end(again);
}

void buf_drop(struct buf *b, size_t n) {
  if (n >= b->n) {
    b->n = 0;
    return;
  }
  memmove(b->p, b->p + n, b->n - n);
  b->n -= n;
}
