// SPDX-License-Identifier: Apache-2.0
// Finds the descendants of a process in /proc. A process is "below" its ancestors.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Sends sig to every process below `top` that is not a zombie, but not to `top` itself. Skips processes of the group
// `but_group` (if not 0): the caller must have signalled this group as a whole, which also reaches processes that are
// being forked. Returns the number of processes below `top`, including those of the group.
size_t proctree_signal(pid_t top, int sig, pid_t but_group);

// Like proctree_signal, but skips children of `top` for which `kept` returns true, and all processes below them.
size_t proctree_signal_rest(pid_t top, int sig, bool (*kept)(const void *ctx, pid_t child), const void *ctx);

// Returns whether a process is `top` or below it. Returns true if the process or one of its ancestors has ended.
bool proctree_has(pid_t top, pid_t pid);

// Number of processes, and their resident memory in bytes, for `top` and all processes below it. proctree_size reads
// all of /proc, so only commands should call it.
struct proctree_size {
  size_t count;
  uint64_t bytes;
};
struct proctree_size proctree_size(pid_t top);

// Identifies a pipe independently of the process that has it open.
struct proctree_pipe {
  dev_t device;
  ino_t number;  // 0: not a pipe
};
struct proctree_pipe proctree_pipe(int fd);

// Returns whether a process below `top`, other than `but`, has these pipes as its standard input and output and is not
// a launcher (npm, uv, ...). Programs that a package manager runs during an installation do not have these pipes.
bool proctree_has_heir(pid_t top, pid_t but, struct proctree_pipe in, struct proctree_pipe out);

// Reaps ended processes below the calling process, which must be a subreaper, until none is left or within_ms have
// passed.
void proctree_wait(uint64_t within_ms);

// Kills and reaps every process below the calling process, which must be a subreaper, so that orphans become its
// children. Returns false if a process is left after within_ms.
bool proctree_sweep(uint64_t within_ms);
