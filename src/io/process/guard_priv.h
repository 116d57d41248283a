// SPDX-License-Identifier: Apache-2.0
// Messages between the gateway (child.c), the guard (guard.c) and the keepers (keeper.c).
//
// For each child the guard forks a keeper, which is a subreaper: the processes of a child are exactly those below its
// keeper, even if they fork, change their session or lose their parents. The keeper starts the child, reaps processes,
// reports, and ends when no process is left below it.
//
// The gateway sends struct guard_ask to the guard, one per packet; a GUARD_SPAWN carries GUARD_FDS descriptors. A
// keeper sends struct guard_news to the guard, which forwards it to the gateway. All keepers write to one pipe; a write
// of this size is atomic.
#pragma once
#include <stdint.h>
#include <sys/types.h>

enum guard_ask_kind {
  GUARD_SPAWN,
  GUARD_STOP,    // SIGTERM after leave_ms, and SIGKILL grace_ms later
  GUARD_SERVES,  // message of the gateway: the launcher's program has responded, so its installation is complete
  GUARD_BYE,     // the gateway is about to end: kill the children that are not being stopped yet, and end
};

// GUARD_SPAWN comes with GUARD_FDS descriptors: a file with strings, then 0, 1 and 2 of the child. The strings, each
// with its NUL, are: the program, its directory (empty to keep the current one), argc arguments, envc environment
// variables.
enum { GUARD_FDS = 4, GUARD_MAX_STRINGS = 1 << 20 };

struct guard_ask {
  uint64_t id;
  uint64_t leave_ms, grace_ms;
  uint32_t kind;
  uint32_t argc, envc;
  uint32_t launcher, unconfined;  // GUARD_SPAWN: see child_spec
};

enum guard_news_kind {
  GUARD_STARTED,  // value: pid
  GUARD_FAILED,   // value: errno; `stage` is the step that failed
  GUARD_EXITED,   // value: exit code, or 128 + signal
  GUARD_SERVING,  // report of a keeper: a launcher has started its program
};

enum guard_stage { GUARD_FORK, GUARD_SETUP, GUARD_CHDIR, GUARD_LOOKUP, GUARD_EXEC, GUARD_INTERPRETER };

struct guard_news {
  uint64_t id;
  uint32_t kind;
  uint32_t stage;
  int32_t value;
  uint32_t unused;
};

enum { GUARD_SWEEP_MS = 5000 };

// PATH for a child without PATH in its environment.
#define GUARD_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

// The main function of a keeper, in a process that the guard has just forked. Writes to the pipe `reports`; never
// returns.
_Noreturn void keeper_run(const struct guard_ask *ask, const int fds[GUARD_FDS], int reports, pid_t guard);
