// SPDX-License-Identifier: Apache-2.0
// Memory for secrets: whole pages that are not written to swap, are in no core file, are empty in a forked process, and
// are overwritten before they are given back.
#pragma once
#include "base/arena.h"
#include "base/buf.h"

// Zeroed memory; never NULL. Beyond RLIMIT_MEMLOCK the pages can be swapped; all the rest holds.
void *locked_alloc(size_t n);
void locked_free(void *p, size_t n);  // n as for locked_alloc; NULL is fine

// An arena in such memory. arena_done makes it an ordinary one.
void arena_init_secret(struct arena *a);

// Overwrites what an ordinary buffer holds, and frees it like buf_done.
void buf_wipe(struct buf *b);
