// SPDX-License-Identifier: Apache-2.0
// Memory for secrets: whole pages, locked out of swap and core files, empty in a forked process, overwritten before
// they are freed.
#pragma once
#include "base/arena.h"
#include "base/buf.h"

// Returns zeroed memory, never NULL. Pages that exceed RLIMIT_MEMLOCK are not locked and can be swapped.
void *locked_alloc(size_t n);
void locked_free(void *p, size_t n);  // n must be the size given to locked_alloc; p may be NULL

// Initializes an arena that uses locked memory. After arena_done, the arena uses ordinary memory.
void arena_init_secret(struct arena *a);

// Overwrites the contents of an ordinary buffer and frees it like buf_done.
void buf_wipe(struct buf *b);
