// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/locked.h"
#include "base/mem.h"

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 18, KEEP_AT_MOST = 1 << 14, ALIGN = 16 };

struct arena_chunk {
  struct arena_chunk *older;
  size_t size;  // size of the chunk in bytes, including this header
  bool secret;
};

#define HEADER ((sizeof(struct arena_chunk) + ALIGN - 1) / ALIGN * ALIGN)

void arena_init(struct arena *a) {
  *a = (struct arena){0};
}

static void free_chunk(struct arena_chunk *c) {
  if (c->secret) locked_free(c, c->size);
  else mem_free(c);
}

static void use_chunk(struct arena *a, struct arena_chunk *c) {
  a->head = c;
  a->p = (char *)c + HEADER;
  a->end = (char *)c + c->size;
}

static void push_chunk(struct arena *a, size_t size, bool secret) {
  struct arena_chunk *c = secret ? locked_alloc(size) : mem_alloc(size);
  c->older = a->head;
  c->size = size;
  c->secret = secret;
  a->total += size;
  use_chunk(a, c);
}

void arena_init_secret(struct arena *a) {
  arena_init(a);
  push_chunk(a, FIRST_CHUNK, true);
}

void arena_done(struct arena *a) {
  for (struct arena_chunk *c = a->head, *older; c; c = older) {
    older = c->older;
    free_chunk(c);
  }
  arena_init(a);
}

void arena_reset(struct arena *a) {
  struct arena_chunk *keep = NULL;
  for (struct arena_chunk *c = a->head, *older; c; c = older) {
    older = c->older;
    if (!older && c->size <= KEEP_AT_MOST) keep = c;
    else free_chunk(c);
  }
  arena_init(a);
  if (!keep) return;
  if (keep->secret) explicit_bzero((char *)keep + HEADER, keep->size - HEADER);
  a->total = keep->size;
  use_chunk(a, keep);
}

struct arena_mark arena_mark(const struct arena *a) {
  return (struct arena_mark){a->head, a->p};
}

void arena_rewind(struct arena *a, const struct arena_mark *to) {
  while (a->head != to->head) {
    struct arena_chunk *c = a->head;
    ASSERT(c && a->total >= c->size);  // the mark must belong to this arena
    a->head = c->older;
    a->total -= c->size;
    free_chunk(c);
  }
  a->p = to->p;
  a->end = a->head ? (char *)a->head + a->head->size : NULL;
}

void *arena_alloc(struct arena *a, size_t n) {
  ASSERT(n <= SIZE_MAX / 2);
  n = n ? (n + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
  if ((size_t)(a->end - a->p) < n) {
    size_t size = a->total ? a->total : FIRST_CHUNK;
    if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
    if (size < n + HEADER) size = n + HEADER;
    push_chunk(a, size, a->head && a->head->secret);
  }
  void *p = a->p;
  a->p += n;
  return p;
}

void *arena_zero(struct arena *a, size_t n) {
  return memset(arena_alloc(a, n), 0, n);
}

char *arena_cstr(struct arena *a, str s) {
  char *p = arena_alloc(a, s.n + 1);
  if (s.n) memcpy(p, s.p, s.n);
  p[s.n] = 0;
  return p;
}

str arena_str(struct arena *a, str s) {
  return (str){arena_cstr(a, s), s.n};
}

str arena_printf(struct arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n < 0) n = 0;
  char *p = arena_alloc(a, (size_t)n + 1);
  vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return (str){p, (size_t)n};
}
