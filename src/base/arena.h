// SPDX-License-Identifier: Apache-2.0
// Memory by lifetime: allocations live until the arena is reset or done and are never freed alone.
// Allocation never fails (see base/mem.h); callers bound the size of their input first.
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
  struct arena_chunk *head;  // the chunk being filled; it links to older ones
  char *p, *end;             // free space in the head chunk
  size_t total;              // bytes of all chunks
};

void arena_init(struct arena *a);   // takes no memory yet
void arena_done(struct arena *a);   // frees everything; the arena is as after arena_init
void arena_reset(struct arena *a);  // drops the contents, keeps one chunk for the next use

// A position in the arena. arena_rewind frees everything allocated after it.
struct arena_mark {
  struct arena_chunk *head;
  char *p;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *to);

void *arena_alloc(struct arena *a, size_t n);  // aligned for any type, not cleared; never NULL, even when n is 0
void *arena_zero(struct arena *a, size_t n);   // cleared
str arena_str(struct arena *a, str s);         // a copy, followed by a NUL
char *arena_cstr(struct arena *a, str s);      // the same as a C string
str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type) ((type *)arena_zero((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_zero((a), sizeof(type) * (count)))
