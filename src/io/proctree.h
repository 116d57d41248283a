// SPDX-License-Identifier: Apache-2.0
// The processes below a process, as /proc shows them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Sends sig to every process below `top` (not to itself) that is not a zombie; gives their number.
// A process group other than 0 is left out: the caller has signalled it as a whole, which no fork can slip through.
size_t proctree_signal(pid_t top, int sig, pid_t but_group);

// Kills and reaps everything below the calling process, which is a subreaper, so that what is orphaned on the way
// comes to it. False when something was still there after within_ms.
bool proctree_sweep(uint64_t within_ms);
