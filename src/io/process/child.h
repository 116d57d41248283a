// SPDX-License-Identifier: Apache-2.0
// Child processes, started and reaped by a guard.
//
// The guard is a small process that guard_start forks first in main, while there is one thread and no file is open.
// Only the guard forks: for each child, it forks a keeper, which is a subreaper and forks the child. So even a
// grandchild that double-forks stays below its keeper, which shows to which child it belongs. When the gateway ends or
// dies, even by kill -9, the guard sees its socket close, kills all children with their descendants, and ends. If the
// guard is killed, the keepers kill the processes below them, and on_exit is called for each child.
//
// When the child's own process ends, its descendants are killed: at once, or after the grace period if the child is
// being stopped.
//
// Children are started by execve, without a shell. Each has its own session and process group, pipes on 0, 1 and 2, no
// other open descriptor, default signals, exactly the given environment, and no_new_privs. Its limits and umask are
// those that the gateway had at guard_start, even if the gateway has changed its own since.
#pragma once
#include "base/fault.h"
#include "base/list.h"
#include "io/loop.h"

struct guard {
  int fd;  // the gateway's end of the socket
  int pid;
};

// Forks the guard. Must be called first in main. Returns false on failure, with a reason in f.
bool guard_start(struct guard *g, struct fault *f);

struct child_host;  // runs on the loop: sends requests to the guard, and keeps a list of all children

struct child_host *child_host_new(struct loop *l, const struct guard *g);
// Sets a callback for the death of the guard, after which no child can be started. The callback comes after on_exit and
// on_fail of the children.
void child_host_on_lost(struct child_host *h, void (*lost)(void *ctx), void *ctx);
// Kills running children (a child that was freed before keeps its grace period), waits for the guard to end, and frees
// the host. Children that their owners have not freed get no further callback and may be freed later.
void child_host_free(struct child_host **h);

struct child_spec {
  const char *file;         // searched in PATH of envp if it has no slash; otherwise relative to cwd
  const char *const *argv;  // begins with argv[0] and ends with NULL
  const char *const *envp;  // ends with NULL
  const char *cwd;          // NULL: the directory in which guard_start was called
  // The child is a launcher, such as npx, which installs a program and then starts it. During the installation, it is
  // killed only CHILD_INSTALL_GRACE_MS after it was asked to end, even if the gateway dies, because an incomplete
  // installation may stay broken.
  bool launcher;
  bool unconfined;  // the child keeps all capabilities and enters no Landlock domain (io/process/lockdown.h)
};

enum { CHILD_INSTALL_GRACE_MS = 30 * 1000 };

struct child;

struct child_events {
  // Called when the child runs. The callback then owns the gateway's ends of the child's pipes; it passes them, for
  // example, to stream_open_fd.
  void (*on_start)(void *ctx, struct child *c, int stdin_fd, int stdout_fd, int stderr_fd);
  // Called instead of on_start if the child could not be started.
  void (*on_fail)(void *ctx, struct child *c, const struct fault *f);
  // Called when the process has ended (its descendants may still run). status: exit code, or 128 + signal.
  void (*on_exit)(void *ctx, struct child *c, int status);
  // Called when a launcher has completed its installation. The sign of this is a process below the launcher, but no
  // launcher itself, that has the child's standard input and output. Called at most once, and not if the launcher
  // replaces itself with the program. May be NULL.
  void (*on_serving)(void *ctx, struct child *c);
};

// Returns whether a process is one of the children or a descendant of one. Also returns true if process `pid` has
// ended.
bool child_host_runs(const struct child_host *h, int pid);

// Asks the guard to start a child. Callbacks come later, unless child_free is called before. Copies spec, but not *ev.
// All strings together must not exceed a mebibyte. Reports all errors by on_fail.
struct child *child_spawn(struct child_host *h, const struct child_spec *spec, const struct child_events *ev,
                          void *ctx);

// For a launcher: reports that its program has responded, so the installation is complete. Not needed after on_serving.
void child_serves(struct child *c);

int child_pid(const struct child *c);  // returns 0 until the child is started

// Frees the child; no further callback is called. If the process still runs, the process and its descendants get
// SIGTERM, and SIGKILL grace_ms later (at most a minute). If grace_ms is 0, they get SIGKILL at once. The guard
// measures the time. Sets *c to NULL; *c may be NULL.
void child_free(struct child **c, uint64_t grace_ms);

// Like child_free, but waits leave_ms for the child to end before it sends SIGTERM. Use this after closing the standard
// input of a server.
void child_leave(struct child **c, uint64_t leave_ms, uint64_t grace_ms);
