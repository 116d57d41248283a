// SPDX-License-Identifier: Apache-2.0
// What the tests of children and of their guard share: a world with a guard, a child in it, and looks at /proc.
//
// A process that a test looks for later is a `sleep` with a number that no other test uses ($M in the scripts);
// waiting is polling with a deadline.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/crypto/rand.h"
#include "base/mem.h"
#include "io/process/child.h"

enum { DEADLINE_MS = 20000 };

// ---- a world with a guard, and one child in it ----

struct world {
  struct guard guard;
  struct loop loop;
  struct child_host *host;
  char marker[64];  // "M=3600.…"
  const char *envp[8];
};

struct probe {
  struct child *child;
  int in, out, err;
  int starts, fails, exits, status;
  struct fault fault;
  bool free_in_callback;
};

static inline const char *number_of(const struct world *w) {
  return w->marker + 2;
}

static inline int set_up(void **state) {
  static int worlds;
  struct world *w = MEM_NEW(struct world);
  struct fault f;
  assert_true(guard_start(&w->guard, &f));
  loop_init(&w->loop, NULL, &clock_system, &rand_system);
  w->host = child_host_new(&w->loop, &w->guard);
  snprintf(w->marker, sizeof w->marker, "M=3600.%d%03d", (int)getpid(), worlds++);
  w->envp[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
  w->envp[1] = w->marker;
  *state = w;
  return 0;
}

static inline int tear_down(void **state) {
  struct world *w = *state;
  child_host_free(&w->host);
  loop_done(&w->loop);
  mem_free(w);
  return 0;
}

static inline void on_start(void *ctx, struct child *c, int in, int out, int err) {
  struct probe *p = ctx;
  p->starts++;
  p->in = in;
  p->out = out;
  p->err = err;
  assert_true(child_pid(c) > 0);
  if (p->free_in_callback) child_free(&p->child, 0);
}

static inline void on_fail(void *ctx, struct child *c, const struct fault *f) {
  struct probe *p = ctx;
  p->fails++;
  p->fault = *f;
  if (p->free_in_callback) child_free(&p->child, 0);
}

static inline void on_exit_seen(void *ctx, struct child *c, int status) {
  struct probe *p = ctx;
  p->exits++;
  p->status = status;
  if (p->free_in_callback) child_free(&p->child, 0);
}

static const struct child_events events = {.on_start = on_start, .on_fail = on_fail, .on_exit = on_exit_seen};

static inline void spawn_program(struct world *w, struct probe *p, const char *file, const char *const *argv,
                                 const char *cwd) {
  *p = (struct probe){.in = -1, .out = -1, .err = -1};
  p->child =
      child_spawn(w->host, &(struct child_spec){.file = file, .argv = argv, .envp = w->envp, .cwd = cwd}, &events, p);
}

static inline void spawn_shell(struct world *w, struct probe *p, const char *script) {
  spawn_program(w, p, "sh", (const char *[]){"sh", "-c", script, NULL}, NULL);
}

static inline void close_probe(struct probe *p) {
  child_free(&p->child, 0);
  if (p->in >= 0) close(p->in);
  if (p->out >= 0) close(p->out);
  if (p->err >= 0) close(p->err);
}

static inline uint64_t now_ms(void) {
  return clock_mono_ms(&clock_system);
}

static inline void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
}

static inline void run_until(struct world *w, const int *seen) {
  uint64_t until = now_ms() + DEADLINE_MS;
  while (!*seen && now_ms() < until) {
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    if (!*seen) nap();
  }
  assert_true(*seen);
}

// Reads to the end of the pipe, while the loop goes on.
static inline str read_all(struct world *w, int fd, char *out, size_t size) {
  uint64_t until = now_ms() + DEADLINE_MS;
  size_t n = 0;
  for (;;) {
    ssize_t got = read(fd, out + n, size - n - 1);
    if (got == 0) break;
    if (got > 0) n += (size_t)got;
    else assert_int_equal(errno, EAGAIN);
    assert_true(now_ms() < until);
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    if (got < 0) nap();
  }
  out[n] = 0;
  return (str){out, n};
}

static inline void wait_for_text(struct world *w, int fd, const char *text) {
  char got[4096];
  size_t n = 0;
  uint64_t until = now_ms() + DEADLINE_MS;
  for (got[0] = 0; !strstr(got, text); got[n] = 0) {
    ssize_t k = read(fd, got + n, sizeof got - n - 1);
    if (k > 0) n += (size_t)k;
    assert_true(now_ms() < until);
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    nap();
  }
}

// Runs a script to its end; gives what it printed.
static inline str run_shell(struct world *w, const char *script, char *out, size_t size, int *status) {
  struct probe p;
  spawn_shell(w, &p, script);
  run_until(w, &p.starts);
  str text = read_all(w, p.out, out, size);
  run_until(w, &p.exits);
  *status = p.status;
  close_probe(&p);
  return text;
}

// ---- looking at /proc ----

static inline bool read_proc(const char *pid, const char *file, char *out, size_t size, size_t *n) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got = read(fd, out, size - 1);
  close(fd);
  if (got <= 0) return false;
  out[ *n = (size_t)got] = 0;
  return true;
}

// How many `sleep NUMBER` there are.
static inline int count_sleepers(const char *number) {
  int count = 0;
  DIR *d = opendir("/proc");
  for (struct dirent *e; (e = readdir(d));) {
    char line[256];
    size_t n;
    if (e->d_name[0] < '1' || e->d_name[0] > '9' || !read_proc(e->d_name, "cmdline", line, sizeof line, &n)) continue;
    if (strcmp(line, "sleep") == 0 && n > 6 && strcmp(line + 6, number) == 0) count++;
  }
  closedir(d);
  return count;
}

// Processes whose parent is `parent`, zombies too; the last one's pid in *out.
static inline int count_children(pid_t parent, pid_t *out) {
  int count = 0;
  DIR *d = opendir("/proc");
  for (struct dirent *e; (e = readdir(d));) {
    char line[512];
    size_t n;
    int ppid;
    if (e->d_name[0] < '1' || e->d_name[0] > '9' || !read_proc(e->d_name, "stat", line, sizeof line, &n)) continue;
    if (sscanf(strrchr(line, ')') + 1, " %*c %d", &ppid) != 1 || ppid != parent) continue;
    count++;
    if (out) *out = atoi(e->d_name);
  }
  closedir(d);
  return count;
}

static inline pid_t only_child(pid_t parent) {
  pid_t child = 0;
  assert_int_equal(count_children(parent, &child), 1);
  return child;
}

static inline int count_fds(void) {
  int count = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d)) count++;
  closedir(d);
  return count;
}

// w may be NULL: nothing has to run meanwhile.
static inline void wait_sleepers(struct world *w, const char *number, int want) {
  uint64_t until = now_ms() + DEADLINE_MS;
  while (count_sleepers(number) != want) {
    if (now_ms() >= until) fail_msg("%d sleepers, not %d", count_sleepers(number), want);
    if (w) uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    nap();
  }
}

static inline void wait_no_children(struct world *w, pid_t parent) {
  uint64_t until = now_ms() + DEADLINE_MS;
  while (count_children(parent, NULL)) {
    assert_true(now_ms() < until);
    uv_run(&w->loop.uv, UV_RUN_NOWAIT);
    nap();
  }
}

// Four sleepers: in the group, below a shell, in a session of its own, and one of those without any parent left.
#define TREE \
  "sleep $M & (sleep $M; :) & setsid sleep $M & " \
  "(setsid sh -c 'sleep $M & exit 0' </dev/null >/dev/null 2>&1 &); "
enum { TREE_SIZE = 4 };
