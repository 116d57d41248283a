// SPDX-License-Identifier: Apache-2.0
// The keeper of one child: starts it, reaps processes and reports. Runs in its own process, below the guard.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/process/child.h"
#include "io/process/guard_priv.h"
#include "io/process/lockdown.h"
#include "io/process/proctree.h"

struct keeper_program {
  const char *file, *cwd;
  char **argv, **envp;
  void *strings;  // the mapping that holds all strings
  size_t size;
  bool unconfined;
};

struct keeper {
  uint64_t id;
  int reports;
  pid_t guard, root;
  bool installing;               // the child is a launcher that has not started its program yet
  struct proctree_pipe in, out;  // standard input and output of a launcher
};

enum { LOOK_MS = 100 };  // time between two checks of a launcher's processes

// The report that a child sends to its keeper if the child cannot run its program.
struct mishap {
  uint32_t stage;
  int32_t error;
};

static void report(const struct keeper *k, enum guard_news_kind kind, enum guard_stage stage, int value) {
  struct guard_news news = {.id = k->id, .kind = kind, .stage = stage, .value = value};
  ssize_t n;
  do n = write(k->reports, &news, sizeof news);
  while (n < 0 && errno == EINTR);
}

_Noreturn static void give_up(const struct keeper *k, enum guard_stage stage, int error) {
  report(k, GUARD_FAILED, stage, error);
  _exit(1);
}

static char *next_string(char **at, const char *end) {
  char *s = *at, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;
  if (!nul) return NULL;
  *at = nul + 1;
  return s;
}

static char **next_strings(char **at, const char *end, size_t count) {
  if (count > GUARD_MAX_STRINGS) return NULL;
  char **list = mem_zero((count + 1) * sizeof *list);
  for (size_t i = 0; i < count; i++)
    if (!(list[i] = next_string(at, end))) return NULL;
  return list;
}

// Reads the program, directory, arguments and environment of the child. Never frees the memory that it allocates: exec
// or the end of the keeper does.
static bool read_program(int fd, const struct guard_ask *ask, struct keeper_program *out) {
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size <= 0) return false;
  struct keeper_program p = {.size = (size_t)st.st_size, .unconfined = ask->unconfined};
  p.strings = mmap(NULL, p.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (p.strings == MAP_FAILED) return false;
  char *at = p.strings;
  const char *end = at + p.size;
  p.file = next_string(&at, end);
  p.cwd = next_string(&at, end);
  p.argv = next_strings(&at, end, ask->argc);
  p.envp = p.argv ? next_strings(&at, end, ask->envc) : NULL;
  if (!p.file || !p.cwd || !p.envp) return false;
  *out = p;
  return true;
}

// ---- in the child, between fork and exec ----

// Resets the handlers of all signals. Uses the system call directly, because the C library refuses to change two
// internal signals, which would stay ignored if the parent ignored them.
static void default_signals(void) {
  struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
  } action = {.handler = SIG_DFL};
  for (int sig = 1; sig < NSIG; sig++) syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof action.mask);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_up(const struct keeper_program *p, const int fds[GUARD_FDS], pid_t keeper) {
  if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (getppid() != keeper) _exit(1);  // the keeper died before prctl was called, so its death would go unnoticed
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (!p->unconfined) lockdown_capabilities();
  default_signals();
  for (int i = 0; i < 3; i++) {
    // 0, 1 and 2 are open in the keeper, so the pipes have higher numbers, and dup2 does not overwrite one of them.
    ASSERT(fds[i + 1] > 2);
    if (dup2(fds[i + 1], i) < 0) return false;
  }
  return true;
}

static const char *find_variable(char *const *envp, const char *name) {
  size_t n = strlen(name);
  for (; *envp; envp++)
    if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') return *envp + n + 1;
  return NULL;
}

// Returns only on failure.
static void try_exec(const char *path, const struct keeper_program *p, struct mishap *out) {
  execve(path, p->argv, p->envp);
  int error = errno;
  *out = (struct mishap){GUARD_EXEC, error};
  // The file exists, but its interpreter does not.
  if (error == ENOENT && access(path, F_OK) == 0) out->stage = GUARD_INTERPRETER;
}

// Searches PATH like execvp, with two exceptions: an empty element of PATH does not mean the current directory, and a
// file that is not a program is not given to a shell.
static void search_exec(const struct keeper_program *p, struct mishap *out) {
  const char *path = find_variable(p->envp, "PATH");
  str rest = str_of(path ? path : GUARD_DEFAULT_PATH), dir;
  *out = (struct mishap){GUARD_LOOKUP, ENOENT};
  while (rest.n) {
    char full[PATH_MAX];
    if (!str_cut(rest, ':', &dir, &rest)) rest = STR_NONE;
    if (!dir.n || (size_t)snprintf(full, sizeof full, "%.*s/%s", STR_ARG(dir), p->file) >= sizeof full) continue;
    struct mishap m;
    try_exec(full, p, &m);
    if (m.stage == GUARD_EXEC && (m.error == ENOENT || m.error == ENOTDIR)) continue;
    *out = m;
    if (m.error != EACCES) return;
  }
}

_Noreturn static void become(const struct keeper_program *p, const int fds[GUARD_FDS], pid_t keeper, int mishaps) {
  struct mishap m = {GUARD_SETUP, 0};
  if (!set_up(p, fds, keeper)) m.error = errno;
  else if (*p->cwd && chdir(p->cwd) != 0) m = (struct mishap){GUARD_CHDIR, errno};
  else if (strchr(p->file, '/') || !*p->file) try_exec(p->file, p, &m);
  else search_exec(p, &m);
  ssize_t ignored = write(mishaps, &m, sizeof m);
  (void)ignored;
  _exit(127);
}

// ---- in the keeper ----

// Starts the child. If the program cannot run, the child reports that through a pipe. Every descriptor from 3 on is
// close-on-exec: when the program runs, the pipe closes without a report.
static void start(struct keeper *k, const struct keeper_program *p, const int fds[GUARD_FDS]) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) give_up(k, GUARD_SETUP, errno);
  pid_t keeper = getpid();
  k->root = _Fork();
  if (k->root < 0) give_up(k, GUARD_FORK, errno);
  if (k->root == 0) become(p, fds, keeper, pipe_fds[1]);
  munmap(p->strings, p->size);  // the keeper must not keep the server's environment
  close(pipe_fds[1]);
  k->in = proctree_pipe(fds[1]);
  k->out = proctree_pipe(fds[2]);
  // Closes the keeper's copies of the child's pipes, so that the gateway notices when the child closes its own.
  for (int i = 0; i < GUARD_FDS; i++) close(fds[i]);
  struct mishap m;
  ssize_t n;
  do n = read(pipe_fds[0], &m, sizeof m);
  while (n < 0 && errno == EINTR);
  close(pipe_fds[0]);
  if (n == (ssize_t)sizeof m) give_up(k, (enum guard_stage)m.stage, m.error);
  ASSERT(k->root > 1);
  report(k, GUARD_STARTED, GUARD_EXEC, k->root);
}

static void reap(const struct keeper *k) {
  pid_t pid;
  int status;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    if (pid == k->root)
      report(k, GUARD_EXITED, GUARD_EXEC, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  if (pid < 0 && errno == ECHILD) _exit(0);
}

static bool guard_gone(const struct keeper *k) {
  return getppid() != k->guard;
}

// Blocks the signals that wait_signal waits for. SIGCHLD means that a process has ended, SIGTERM that the guard may
// have died, SIGUSR1 that a launcher's program runs.
static void watch_signals(sigset_t *out) {
  sigemptyset(out);
  sigaddset(out, SIGCHLD);
  sigaddset(out, SIGTERM);
  sigaddset(out, SIGUSR1);
  sigprocmask(SIG_BLOCK, out, NULL);
  signal(SIGTERM, SIG_DFL);  // the kernel discards a signal that is ignored
  signal(SIGUSR1, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

// Waits for a signal. If the child is a launcher, also checks every LOOK_MS whether the launcher's program runs.
static void wait_signal(struct keeper *k, const sigset_t *watched) {
  struct timespec step = {.tv_nsec = LOOK_MS * 1000000L};
  if (!k->installing) {
    sigwaitinfo(watched, NULL);
    return;
  }
  if (sigtimedwait(watched, NULL, &step) == SIGUSR1) {
    k->installing = false;
    return;
  }
  if (!proctree_has_heir(getpid(), k->root, k->in, k->out)) return;
  k->installing = false;
  report(k, GUARD_SERVING, GUARD_EXEC, 0);
}

// Called when the guard has died. Kills the server and ends; a launcher first gets time to finish its installation.
_Noreturn static void end_alone(const struct keeper *k) {
  if (k->installing) {
    proctree_signal(getpid(), SIGTERM, 0);
    proctree_wait(CHILD_INSTALL_GRACE_MS);
  }
  _exit(proctree_sweep(GUARD_SWEEP_MS) ? 0 : 1);
}

void keeper_run(const struct guard_ask *ask, const int fds[GUARD_FDS], int reports, pid_t guard) {
  struct keeper k = {.id = ask->id, .reports = reports, .guard = guard, .installing = ask->launcher};
  struct keeper_program p;
  sigset_t watched;
  watch_signals(&watched);
  prctl(PR_SET_NAME, "tg-keeper");
  // The keeper gets its own process group. If the guard dies while a server has stopped the keeper, this group becomes
  // an orphan, so the kernel continues the keeper.
  setpgid(0, 0);
  if (guard_gone(&k)) _exit(1);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) give_up(&k, GUARD_SETUP, errno);
  if (!read_program(fds[0], ask, &p)) give_up(&k, GUARD_SETUP, EINVAL);
  if (!p.unconfined && !lockdown_domain()) give_up(&k, GUARD_SETUP, errno);
  start(&k, &p, fds);
  for (;;) {
    reap(&k);
    wait_signal(&k, &watched);
    if (guard_gone(&k)) end_alone(&k);
  }
}
