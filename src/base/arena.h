// SPDX-License-Identifier: Apache-2.0
// An arena frees many allocations together: arena_done and arena_reset free all of them, arena_rewind frees those that
// were made after a mark. Allocation never fails (see base/mem.h), so callers must bound the size of their input first.
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
  struct arena_chunk *head;  // the newest chunk, which is being filled and links to older chunks
  char *p, *end;             // free space in the head chunk
  size_t total;              // bytes of all chunks
};

void arena_init(struct arena *a);   // allocates no memory yet
void arena_done(struct arena *a);   // frees everything; the arena is as after arena_init
void arena_reset(struct arena *a);  // frees the contents, but keeps one chunk of memory

// A position in the arena. arena_rewind frees everything allocated after it.
struct arena_mark {
  struct arena_chunk *head;
  char *p;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *to);

void *arena_alloc(struct arena *a, size_t n);  // returns memory aligned for any type, not zeroed; never NULL
void *arena_zero(struct arena *a, size_t n);   // cleared
str arena_str(struct arena *a, str s);         // returns a copy, followed by a NUL
char *arena_cstr(struct arena *a, str s);      // returns a copy as a C string
str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type) ((type *)arena_zero((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_zero((a), sizeof(type) * (count)))
