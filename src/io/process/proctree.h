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

// The same, except for the children of `top` that are `kept`, and for the processes below these.
size_t proctree_signal_rest(pid_t top, int sig, bool (*kept)(const void *ctx, pid_t child), const void *ctx);

// Whether a process is `top` or below it. A process that has ended, or whose parent ends meanwhile, counts as below.
bool proctree_has(pid_t top, pid_t pid);

// How many processes there are from `top` downwards, itself included, and their resident memory in bytes. Reads all of
// /proc: for commands.
struct proctree_size {
  size_t count;
  uint64_t bytes;
};
struct proctree_size proctree_size(pid_t top);

// A pipe, wherever it is open.
struct proctree_pipe {
  dev_t device;
  ino_t number;  // 0: not a pipe
};
struct proctree_pipe proctree_pipe(int fd);

// Returns whether a process below `top`, other than `but`, has these pipes as its standard input and output and is not
// a launcher (npm, uv, ...) itself. Programs that a package manager runs for an installation do not have these pipes.
bool proctree_has_heir(pid_t top, pid_t but, struct proctree_pipe in, struct proctree_pipe out);

// Reaps processes that end below the calling process, a subreaper, for within_ms or until no process is left.
void proctree_wait(uint64_t within_ms);

// Kills and reaps every process below the calling process, which must be a subreaper, so that orphans become its
// children. Returns false if a process was left after within_ms.
bool proctree_sweep(uint64_t within_ms);
