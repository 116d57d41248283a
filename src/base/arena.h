// SPDX-License-Identifier: Apache-2.0
// Memory by lifetime: allocations live until the arena is reset or done, never freed alone.
// Allocation never fails (see base/mem.h); what goes in is bounded by the limit on the input.
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
  struct arena_chunk *head;  // the chunk being filled, older ones behind it
  char *p, *end;             // free space in it
  size_t total;              // bytes of all chunks
};

void arena_init(struct arena *a);   // takes no memory yet
void arena_done(struct arena *a);   // gives everything back; the arena is as after arena_init
void arena_reset(struct arena *a);  // forgets the contents, keeps one chunk for the next use

// A place to come back to: all that was allocated behind it is forgotten, and its chunks are given back.
struct arena_mark {
  struct arena_chunk *head;
  char *p;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *to);

void *arena_alloc(struct arena *a, size_t n);  // aligned for any type, not cleared; never NULL, even when n is 0
void *arena_zero(struct arena *a, size_t n);   // cleared
str arena_str(struct arena *a, str s);         // a copy, NUL-terminated behind its end
char *arena_cstr(struct arena *a, str s);      // the same as a C string
str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type) ((type *)arena_zero((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_zero((a), sizeof(type) * (count)))
