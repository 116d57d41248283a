// SPDX-License-Identifier: Apache-2.0
#include "io/process/proctree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

enum { SWEEP_STEP_MS = 5 };

struct process {
  pid_t pid, parent, group;
  bool zombie;
};

struct process_table {
  struct process *all;  // sorted by pid
  size_t count, cap;
};

// Parses "pid (name) state parent group …". The name may contain any character, even parentheses, so the fields start
// after the last parenthesis.
static bool parse_stat(const char *text, struct process *out) {
  const char *p = strrchr(text, ')');
  if (!p || p[1] != ' ' || !p[2]) return false;
  out->zombie = p[2] == 'Z' || p[2] == 'X';
  char *at;
  out->parent = (pid_t)strtol(p + 3, &at, 10);
  out->group = (pid_t)strtol(at, NULL, 10);
  return true;
}

// Reads the beginning of /proc/PID/NAME, followed by a zero byte. Returns an empty text if the process has ended.
static str read_file_of(pid_t pid, const char *name, char *text, size_t size) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = 0;
  return (str){text, n > 0 ? (size_t)n : 0};
}

static int by_pid(const void *a, const void *b) {
  pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
  return (x > y) - (x < y);
}

static void read_table(struct process_table *t) {
  DIR *dir = opendir("/proc");
  if (!dir) return;
  for (struct dirent *e; (e = readdir(dir));) {
    char text[512];
    struct process p = {.pid = (pid_t)strtol(e->d_name, NULL, 10)};
    if (p.pid <= 0 || !read_file_of(p.pid, "stat", text, sizeof text).n || !parse_stat(text, &p)) continue;
    if (t->count == t->cap) {
      t->cap = t->cap ? t->cap * 2 : 256;
      t->all = mem_grow(t->all, t->cap * sizeof *t->all);
    }
    t->all[t->count++] = p;
  }
  closedir(dir);
  if (t->count) qsort(t->all, t->count, sizeof *t->all, by_pid);
}

static const struct process *find_process(const struct process_table *t, pid_t pid) {
  return t->count ? bsearch(&(struct process){.pid = pid}, t->all, t->count, sizeof *t->all, by_pid) : NULL;
}

// Returns the child of `top` that is `p` or an ancestor of `p`, or NULL if `p` is not below `top`. The number of steps
// is bounded, because the table is not a snapshot: its parent entries may even form a ring.
static const struct process *branch_of(const struct process_table *t, const struct process *p, pid_t top) {
  for (size_t steps = 0; p && steps < t->count; steps++) {
    if (p->parent == top) return p;
    p = find_process(t, p->parent);
  }
  return NULL;
}

static bool is_below(const struct process_table *t, const struct process *p, pid_t top) {
  return branch_of(t, p, top) != NULL;
}

// Between read_table and kill, a process could end and its pid could be given to a new process. This is very unlikely,
// because the kernel uses all other pids first.
size_t proctree_signal(pid_t top, int sig, pid_t but_group) {
  ASSERT(top > 0 && but_group >= 0);
  struct process_table t = {0};
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

size_t proctree_signal_rest(pid_t top, int sig, bool (*kept)(const void *ctx, pid_t child), const void *ctx) {
  ASSERT(top > 0 && kept);
  struct process_table t = {0};
  size_t found = 0;
  read_table(&t);
  for (size_t i = 0; i < t.count; i++) {
    const struct process *p = &t.all[i];
    const struct process *branch = branch_of(&t, p, top);
    if (p->pid == top || p->zombie || !branch || kept(ctx, branch->pid)) continue;
    found++;
    kill(p->pid, sig);
  }
  mem_free(t.all);
  return found;
}

// Follows the parents of `pid` up to `top`. The number of steps is bounded, because parents may change in the meantime.
bool proctree_has(pid_t top, pid_t pid) {
  enum { DEEPEST = 4096 };
  for (int steps = 0; steps < DEEPEST; steps++) {
    char text[512];
    struct process p;
    if (pid == top) return true;
    if (pid <= 1) return false;
    if (!read_file_of(pid, "stat", text, sizeof text).n || !parse_stat(text, &p) || p.zombie) return true;
    pid = p.parent;
  }
  return true;
}

// Returns the resident memory of a process in bytes. The second number in /proc/PID/statm is its number of pages.
static uint64_t memory_of(pid_t pid) {
  char text[128];
  str first, rest, pages, more;
  uint64_t count = 0;
  str_cut(read_file_of(pid, "statm", text, sizeof text), ' ', &first, &rest);
  str_cut(rest, ' ', &pages, &more);
  return str_to_u64(pages, &count) ? count * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

struct proctree_size proctree_size(pid_t top) {
  struct process_table t = {0};
  struct proctree_size size = {0};
  read_table(&t);
  for (size_t i = 0; i < t.count; i++) {
    const struct process *p = &t.all[i];
    if (p->zombie || (p->pid != top && !is_below(&t, p, top))) continue;
    size.count++;
    size.bytes += memory_of(p->pid);
  }
  mem_free(t.all);
  return size;
}

// ---- the program of a launcher

struct proctree_pipe proctree_pipe(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return (struct proctree_pipe){0};
  return (struct proctree_pipe){st.st_dev, st.st_ino};
}

static bool has_pipe(pid_t pid, int fd, struct proctree_pipe p) {
  char path[48];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
  return p.number && stat(path, &st) == 0 && st.st_dev == p.device && st.st_ino == p.number;
}

static bool is_launcher_name(str name) {
  static const str names[] = {STR("npx"),      STR("npm"),  STR("npx-cli.js"), STR("npm-cli.js"), STR("bunx"),
                              STR("bun"),      STR("pnpm"), STR("pnpx"),       STR("pnpm.cjs"),   STR("pnpm.mjs"),
                              STR("pnpx.cjs"), STR("yarn"), STR("yarn.js"),    STR("yarn.cjs"),   STR("corepack"),
                              STR("uvx"),      STR("uv"),   STR("pipx"),       STR("dnx"),        STR("dotnet")};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_eq(name, names[i])) return true;
  return false;
}

// Recognizes a launcher by its command line: by the name of the program (npm changes its own to "npm exec …"), or of
// the script that the program runs. A child of a launcher also counts as a launcher until it calls execve, because it
// has the command line of its parent.
static bool is_launcher(pid_t pid) {
  char text[1024];
  str all = read_file_of(pid, "cmdline", text, sizeof text), first, second, rest, word;
  // The process has ended and has no command line. Returns true, so that it does not count as the launcher's program.
  if (!all.n) return true;
  bool more = str_cut(all, 0, &first, &rest);
  str_cut(first, ' ', &word, &second);
  if (is_launcher_name(str_base_name(word))) return true;
  str_cut(more ? rest : STR_NONE, 0, &second, &rest);
  return is_launcher_name(str_base_name(second));
}

bool proctree_has_heir(pid_t top, pid_t but, struct proctree_pipe in, struct proctree_pipe out) {
  struct process_table t = {0};
  bool found = false;
  read_table(&t);
  for (size_t i = 0; i < t.count && !found; i++) {
    const struct process *p = &t.all[i];
    if (p->pid == but || p->zombie || !is_below(&t, p, top)) continue;
    found = has_pipe(p->pid, 0, in) && has_pipe(p->pid, 1, out) && !is_launcher(p->pid);
  }
  mem_free(t.all);
  return found;
}

// ---- ending processes

void proctree_wait(uint64_t within_ms) {
  uint64_t until = clock_mono_ms(&clock_system) + within_ms;
  for (;;) {
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    if ((pid < 0 && errno == ECHILD) || clock_mono_ms(&clock_system) >= until) return;
    nanosleep(&(struct timespec){.tv_nsec = SWEEP_STEP_MS * 1000000L}, NULL);
  }
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
