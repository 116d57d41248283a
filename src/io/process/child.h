// SPDX-License-Identifier: Apache-2.0
// Child processes, started and reaped by a guard.
//
// The guard is a small process forked off before anything else happens (guard_start, first thing in main, while
// there is one thread and nothing is open). Only it forks: for each child a keeper, which is a subreaper, and which
// forks the child. So even a grandchild that double-forks stays below its keeper, and it is known whose it is. When
// the gateway ends or dies, by kill -9 too, the guard sees its socket close, kills the whole tree and ends. If the
// guard itself is killed, the keepers kill the processes below them, and on_exit is called for each child.
//
// When the child's own process ends, its descendants are killed; if it was being stopped, after the grace.
//
// Children run by execve, without a shell, in a process group and session of their own, with real pipes on 0, 1, 2,
// no other open descriptor, default signals, exactly the environment given, no_new_privs. Their limits and umask are
// those that the gateway had at guard_start, whatever it set for itself since.
#pragma once
#include "base/fault.h"
#include "base/list.h"
#include "io/loop.h"

struct guard {
  int fd;  // our end of the socket
  int pid;
};

// Forks the guard. Must be called first in main. Returns false on failure, with a reason in f.
bool guard_start(struct guard *g, struct fault *f);

struct child_host;  // the gateway's side of the guard, on the loop

struct child_host *child_host_new(struct loop *l, const struct guard *g);
// Sets a callback for the death of the guard, after which no child can be started. It comes after on_exit and on_fail
// of the children.
void child_host_on_lost(struct child_host *h, void (*lost)(void *ctx), void *ctx);
// Kills what still runs (a child that was freed keeps what is left of its grace), waits for the guard to end, frees.
// A child that its owner still holds gets no further callback; freeing it later is fine.
void child_host_free(struct child_host **h);

struct child_spec {
  const char *file;         // looked up in PATH of envp when it has no slash; relative to cwd otherwise
  const char *const *argv;  // argv[0] first, NULL at the end
  const char *const *envp;  // NULL at the end
  const char *cwd;          // NULL: where guard_start was called
  // It is a launcher, such as npx: it installs a program first, then starts it. While it installs it is never killed
  // before CHILD_INSTALL_GRACE_MS have passed since it was asked to end, even if the gateway dies: what it leaves half
  // installed may be broken for good.
  bool launcher;
  bool unconfined;  // it keeps all capabilities and enters no domain (io/process/lockdown.h)
};

enum { CHILD_INSTALL_GRACE_MS = 30 * 1000 };

struct child;

struct child_events {
  // Runs, with our ends of its pipes (to be owned by the callee, e.g. by stream_open_fd) ...
  void (*on_start)(void *ctx, struct child *c, int stdin_fd, int stdout_fd, int stderr_fd);
  // ... or could not be started.
  void (*on_fail)(void *ctx, struct child *c, const struct fault *f);
  // The process (not necessarily its descendants) is gone: exit code, or 128 + signal.
  void (*on_exit)(void *ctx, struct child *c, int status);
  // Of a launcher: a process below it, which is no launcher, has its standard input and output. So it has installed
  // what it starts. Comes at most once, and not from a launcher that replaces itself by the program. May be NULL.
  void (*on_serving)(void *ctx, struct child *c);
};

// Whether a process is one of the children, or below one. A process that has ended counts as one.
bool child_host_runs(const struct child_host *h, int pid);

// Asks the guard to start a child; callbacks come later, unless child_free is called before. Copies spec, but not *ev.
// The strings may have a megabyte in total. All errors are reported by on_fail.
struct child *child_spawn(struct child_host *h, const struct child_spec *spec, const struct child_events *ev,
                          void *ctx);

// For a launcher: reports that its program has responded, so the installation is over. Not needed after on_serving.
void child_serves(struct child *c);

int child_pid(const struct child *c);  // 0 until started

// Forgets the child: no further callback. If it still runs, its whole tree gets SIGTERM, and SIGKILL grace_ms later
// (0: at once; a minute at most); the guard keeps the time. Sets *c to NULL; NULL is fine.
void child_free(struct child **c, uint64_t grace_ms);

// The same, but first it has leave_ms to end by itself: for a server whose stdin was just closed.
void child_leave(struct child **c, uint64_t leave_ms, uint64_t grace_ms);
