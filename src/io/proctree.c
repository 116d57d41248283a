// SPDX-License-Identifier: Apache-2.0
#include "io/proctree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { SWEEP_STEP_MS = 5 };

struct process {
  pid_t pid, parent, group;
  bool zombie;
};

struct table {
  struct process *all;  // by pid
  size_t count, cap;
};

// "pid (name) state parent group …". The name may hold anything, also parentheses: the fields start behind the last.
static bool parse_stat(const char *text, struct process *out) {
  const char *p = strrchr(text, ')');
  if (!p || p[1] != ' ' || !p[2]) return false;
  out->zombie = p[2] == 'Z' || p[2] == 'X';
  char *at;
  out->parent = (pid_t)strtol(p + 3, &at, 10);
  out->group = (pid_t)strtol(at, NULL, 10);
  return true;
}

static bool read_process(int proc, const char *name, struct process *out) {
  char path[32], text[512];
  long pid = strtol(name, NULL, 10);
  if (pid <= 0) return false;
  snprintf(path, sizeof path, "%ld/stat", pid);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  out->pid = (pid_t)pid;
  return parse_stat(text, out);
}

static int by_pid(const void *a, const void *b) {
  pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
  return (x > y) - (x < y);
}

static void read_table(struct table *t) {
  DIR *dir = opendir("/proc");
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));) {
    struct process p;
    if (!read_process(dirfd(dir), e->d_name, &p)) continue;
    if (t->count == t->cap) {
      t->cap = t->cap ? t->cap * 2 : 256;
      t->all = mem_grow(t->all, t->cap * sizeof *t->all);
    }
    t->all[t->count++] = p;
  }
  closedir(dir);
  if (t->count) qsort(t->all, t->count, sizeof *t->all, by_pid);
}

static const struct process *find_process(const struct table *t, pid_t pid) {
  return t->count ? bsearch(&(struct process){.pid = pid}, t->all, t->count, sizeof *t->all, by_pid) : NULL;
}

// The table is not a snapshot, so parents may even form a ring in it: the way up is bounded.
static bool is_below(const struct table *t, const struct process *p, pid_t top) {
  for (size_t steps = 0; p && steps < t->count; steps++) {
    if (p->parent == top) return true;
    p = find_process(t, p->parent);
  }
  return false;
}

// That a pid ends and is given to someone else between reading and signalling would take a whole round of the
// kernel's pid counter in that time.
size_t proctree_signal(pid_t top, int sig, pid_t but_group) {
  struct table t = {0};
  size_t found = 0;
  read_table(&t);
  for (size_t i = 0; i < t.count; i++) {
    const struct process *p = &t.all[i];
    if (p->pid == top || p->zombie || !is_below(&t, p, top)) continue;
    found++;
    if (!but_group || p->group != but_group) kill(p->pid, sig);
  }
  mem_free(t.all);
  return found;
}

bool proctree_sweep(uint64_t within_ms) {
  uint64_t until = clock_mono_ms(&clock_system) + within_ms;
  for (;;) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    if (pid < 0 && errno == ECHILD) return true;
    if (clock_mono_ms(&clock_system) >= until) return false;
    proctree_signal(getpid(), SIGKILL, 0);
    nanosleep(&(struct timespec){.tv_nsec = SWEEP_STEP_MS * 1000000L}, NULL);
  }
}
