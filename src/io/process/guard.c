// SPDX-License-Identifier: Apache-2.0
// The guard: forks a keeper for each child, stops children, passes news up, and outlives the gateway just long
// enough to leave nothing behind.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/process/child.h"
#include "io/process/guard_priv.h"
#include "io/process/lockdown.h"
#include "io/process/proctree.h"

// The first moment is for the keeper to end by itself, which is the usual case; then it gets slower.
enum { KILL_STEP_MS = 5, KILL_STEP_MAX_MS = 640, ORPHAN_GRACE_MS = 2000, SOCKET_FD = 3 };

struct kept {
  struct list node;
  uint64_t id;
  pid_t keeper;
  pid_t root;           // 0 before it started, and when it is gone
  bool started, ended;  // reported so
  bool installing;      // a launcher that has not started its program
  bool term_held;       // SIGTERM waits until the child has started
  uint64_t term_at;     // 0: not to be asked to end
  uint64_t kill_at;     // 0: not to be killed
  uint64_t kill_step;
};

struct guard_watch {
  int socket;
  int reports[2];
  int signals;
  pid_t pid;
  bool bye;          // the gateway needs nothing more
  bool gone;         // the gateway is gone
  uint64_t rest_at;  // 0: no keeper was killed; else when what it kept is killed next
  uint64_t rest_step;
  struct list kept;
};

static uint64_t now_ms(void) {
  return clock_mono_ms(&clock_system);
}

static void tell(const struct guard_watch *w, const struct guard_news *news) {
  ssize_t n;
  do n = send(w->socket, news, sizeof *news, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
}

static struct kept *find_kept(struct guard_watch *w, uint64_t id) {
  LIST_EACH(it, &w->kept) {
    struct kept *k = CONTAINER_OF(it, struct kept, node);
    if (k->id == id) return k;
  }
  return NULL;
}

// ---- signals ----

static void signal_tree(const struct kept *k, int sig) {
  if (k->root) kill(-k->root, sig);
  proctree_signal(k->keeper, sig, k->root);
}

// Asks the child to end, or does so when it starts.
static void terminate(struct kept *k) {
  if (k->started) signal_tree(k, SIGTERM);
  else k->term_held = true;
}

static void kill_from(struct kept *k, uint64_t at) {
  if (k->kill_at && k->kill_at <= at) return;
  k->kill_at = at;
  k->kill_step = KILL_STEP_MS;
}

static void stop(struct kept *k, uint64_t leave_ms, uint64_t grace_ms) {
  uint64_t now = now_ms();
  if (leave_ms) k->term_at = now + leave_ms;
  else if (grace_ms) terminate(k);
  kill_from(k, now + leave_ms + grace_ms);
}

// Again and again until the keeper ends: what forks while it is being killed is met the next time.
static void kill_due(struct guard_watch *w) {
  uint64_t now = now_ms();
  LIST_EACH(it, &w->kept) {
    struct kept *k = CONTAINER_OF(it, struct kept, node);
    if (k->term_at && k->term_at <= now) {
      k->term_at = 0;
      terminate(k);
    }
    if (!k->kill_at || k->kill_at > now) continue;
    signal_tree(k, SIGKILL);
    kill(k->keeper, SIGCONT);  // a server may have stopped it
    k->kill_at = now + k->kill_step;
    if (k->kill_step < KILL_STEP_MAX_MS) k->kill_step *= 2;
  }
}

static bool is_keeper(const void *ctx, pid_t pid) {
  const struct guard_watch *w = ctx;
  LIST_EACH(it, &w->kept)
    if (CONTAINER_OF(it, struct kept, node)->keeper == pid) return true;
  return false;
}

// A keeper that is killed leaves its processes to the guard. They are below no keeper.
static void kill_rest(struct guard_watch *w) {
  uint64_t now = now_ms();
  if (!w->rest_at || w->rest_at > now) return;
  w->rest_at = proctree_signal_rest(w->pid, SIGKILL, is_keeper, w) ? now + w->rest_step : 0;
  if (w->rest_step < KILL_STEP_MAX_MS) w->rest_step *= 2;
}

static void kill_rest_from(struct guard_watch *w, uint64_t at) {
  w->rest_at = at;
  w->rest_step = KILL_STEP_MS;
}

static int until_next_kill(const struct guard_watch *w) {
  uint64_t now = now_ms(), next = w->rest_at ? w->rest_at : UINT64_MAX;
  LIST_EACH(it, &w->kept) {
    const struct kept *k = CONTAINER_OF(it, struct kept, node);
    if (k->term_at && k->term_at < next) next = k->term_at;
    if (k->kill_at && k->kill_at < next) next = k->kill_at;
  }
  if (next == UINT64_MAX) return -1;
  uint64_t left = next > now ? next - now : 0;
  return left < 60000 ? (int)left : 60000;
}

// ---- what keepers say ----

static void on_news(struct guard_watch *w, const struct guard_news *news) {
  struct kept *k = find_kept(w, news->id);
  if (!k) return;
  if (news->kind == GUARD_STARTED) {
    k->started = true;
    k->root = news->value;
  } else if (news->kind == GUARD_SERVING) {
    k->installing = false;
  } else {
    k->ended = true;
    k->root = 0;
  }
  tell(w, news);
  if (news->kind == GUARD_STARTED && k->term_held) terminate(k);
  // What a launcher leaves behind may have been started after it was asked to end: it is asked again.
  if (news->kind == GUARD_EXITED && k->installing && k->kill_at) {
    signal_tree(k, SIGTERM);
    kill_from(k, now_ms() + ORPHAN_GRACE_MS);
  }
  // A server whose first process is gone has no business left; one that is being stopped keeps its grace.
  if (news->kind == GUARD_EXITED && !k->kill_at) kill_from(k, now_ms() + KILL_STEP_MS);
}

static void read_news(struct guard_watch *w) {
  struct guard_news news;
  while (read(w->reports[0], &news, sizeof news) == (ssize_t)sizeof news) on_news(w, &news);
}

// What a keeper said last is in the pipe by the time it is reaped. One that was killed has not said everything.
static void on_keeper_end(struct guard_watch *w, struct kept *k) {
  read_news(w);
  if (!k->ended) {
    struct guard_news news = {.id = k->id, .kind = GUARD_EXITED, .value = 128 + SIGKILL};
    if (!k->started)
      news = (struct guard_news){.id = k->id, .kind = GUARD_FAILED, .stage = GUARD_FORK, .value = EAGAIN};
    tell(w, &news);
  }
  list_remove(&k->node);
  mem_free(k);
}

// Others than keepers are children that could not be started, and orphans of keepers that were killed.
// A keeper that a server has stopped is continued at once.
static void reap(struct guard_watch *w) {
  struct signalfd_siginfo info;
  while (read(w->signals, &info, sizeof info) > 0) continue;
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;)
    LIST_EACH(it, &w->kept) {
      struct kept *k = CONTAINER_OF(it, struct kept, node);
      if (k->keeper != pid) continue;
      if (WIFSTOPPED(status)) {
        kill(pid, SIGCONT);
        break;
      }
      on_keeper_end(w, k);
      if (WIFSIGNALED(status)) kill_rest_from(w, now_ms());
      break;
    }
}

// ---- what the gateway asks ----

static void spawn(struct guard_watch *w, const struct guard_ask *ask, const int fds[GUARD_FDS]) {
  pid_t pid = _Fork();  // without what libraries do at fork: libuv would close descriptors that are no longer its own
  if (pid < 0) {
    tell(w, &(struct guard_news){.id = ask->id, .kind = GUARD_FAILED, .stage = GUARD_FORK, .value = errno});
    return;
  }
  if (pid == 0) {
    close(w->socket);
    close(w->signals);
    close(w->reports[0]);
    keeper_run(ask, fds, w->reports[1], w->pid);
  }
  struct kept *k = MEM_NEW(struct kept);
  k->id = ask->id;
  k->keeper = pid;
  k->installing = ask->launcher;
  list_push(&w->kept, &k->node);
}

static void on_bye(struct guard_watch *w) {
  w->bye = true;
  LIST_EACH(it, &w->kept) {
    struct kept *k = CONTAINER_OF(it, struct kept, node);
    if (k->kill_at) continue;
    if (k->installing) stop(k, 0, CHILD_INSTALL_GRACE_MS);
    else kill_from(k, now_ms());
  }
}

// Nobody is left to report to. Only what is being installed gets time to end.
static void on_gone(struct guard_watch *w) {
  w->gone = true;
  LIST_EACH(it, &w->kept) {
    struct kept *k = CONTAINER_OF(it, struct kept, node);
    if (!k->installing) kill_from(k, now_ms());
  }
  on_bye(w);
}

// A launcher that replaces itself by its program, or whose program is no process below it (docker), looks as if it
// were installing for ever. The gateway knows better, and the keeper need not look any more.
static void on_serves(struct kept *k) {
  if (k->installing) kill(k->keeper, SIGUSR1);
  k->installing = false;
}

static void on_ask(struct guard_watch *w, const struct guard_ask *ask, const int *fds, size_t fd_count) {
  struct kept *k = find_kept(w, ask->id);
  if (ask->kind == GUARD_SPAWN && fd_count == GUARD_FDS) spawn(w, ask, fds);
  else if (ask->kind == GUARD_SPAWN)  // no room for the descriptors
    tell(w, &(struct guard_news){.id = ask->id, .kind = GUARD_FAILED, .stage = GUARD_SETUP, .value = EMFILE});
  else if (ask->kind == GUARD_BYE) on_bye(w);
  else if (k && ask->kind == GUARD_SERVES) on_serves(k);
  else if (k && ask->kind == GUARD_STOP) stop(k, ask->leave_ms, ask->grace_ms);
}

static size_t take_fds(struct msghdr *m, int fds[GUARD_FDS]) {
  struct cmsghdr *c = CMSG_FIRSTHDR(m);
  if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) return 0;
  size_t bytes = c->cmsg_len - CMSG_LEN(0);
  memcpy(fds, CMSG_DATA(c), bytes);
  return bytes / sizeof fds[0];
}

// False: the gateway is gone.
static bool read_ask(struct guard_watch *w) {
  struct guard_ask ask;
  int fds[GUARD_FDS];
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof fds)];
  } control;
  struct iovec part = {&ask, sizeof ask};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n = recvmsg(w->socket, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  size_t fd_count = take_fds(&m, fds);
  if (n == (ssize_t)sizeof ask) on_ask(w, &ask, fds, fd_count);
  for (size_t i = 0; i < fd_count; i++) close(fds[i]);
  return true;
}

// ---- its life ----

_Noreturn static void end(bool swept) {
  static const char complaint[] = "toolgate: some child processes cannot be killed\n";
  if (!swept) {
    ssize_t ignored = write(2, complaint, sizeof complaint - 1);
    (void)ignored;
  }
  _exit(swept ? 0 : 1);
}

_Noreturn static void run(struct guard_watch *w) {
  for (;;) {
    struct pollfd fds[] = {{w->gone ? -1 : w->socket, POLLIN, 0}, {w->reports[0], POLLIN, 0}, {w->signals, POLLIN, 0}};
    poll(fds, 3, until_next_kill(w));
    if (fds[1].revents) read_news(w);
    if (fds[2].revents) reap(w);
    if (fds[0].revents && !read_ask(w)) on_gone(w);
    kill_due(w);
    kill_rest(w);
    if (w->bye && list_empty(&w->kept)) end(proctree_sweep(GUARD_SWEEP_MS));
  }
}

// Leaves open only the socket and stderr: the guard must not keep a client's pipe from closing.
static bool settle_files(struct guard_watch *w, int socket) {
  // Out of the way of 0, 1 and 2, which may have been closed when the gateway was started.
  socket = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET_FD);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (socket < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) return false;
  if (fcntl(2, F_GETFD) < 0 && dup2(null, 2) < 0) return false;
  if (socket != SOCKET_FD && dup3(socket, SOCKET_FD, O_CLOEXEC) < 0) return false;
  w->socket = SOCKET_FD;
  closefrom(SOCKET_FD + 1);
  return true;
}

// Whoever asks the gateway to end, asks the gateway; the guard ends after it. Its own session keeps it out of what
// a terminal or a kill of the gateway's process group sends.
static bool settle_signals(struct guard_watch *w) {
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if it came ignored, nothing could be waited for
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  w->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  return w->signals >= 0 && setsid() >= 0;
}

static bool settle(struct guard_watch *w, int socket) {
  list_init(&w->kept);
  w->pid = getpid();
  if (!settle_files(w, socket) || !settle_signals(w)) return false;
  prctl(PR_SET_NAME, "tg-guard");
  if (pipe2(w->reports, O_CLOEXEC) != 0 || fcntl(w->reports[0], F_SETFL, O_NONBLOCK) != 0) return false;
  return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

_Noreturn static void guard_main(int socket) {
  struct guard_watch w = {.socket = socket};
  lockdown_process();
  int error = settle(&w, socket) ? 0 : errno;
  ssize_t n = send(w.socket, &error, sizeof error, MSG_NOSIGNAL);
  if (error || n < 0) _exit(1);
  run(&w);
}

// The guard has its own session and its own files before anything else happens here.
static bool wait_ready(struct guard *g, struct fault *f) {
  int error = EPIPE;
  ssize_t n;
  do n = recv(g->fd, &error, sizeof error, 0);
  while (n < 0 && errno == EINTR);
  if (n > 0 && error == 0) return true;
  fault_set(f, FAULT_IO, "the guard of child processes could not be set up: %s", strerror(error));
  close(g->fd);
  waitpid(g->pid, NULL, 0);
  return false;
}

bool guard_start(struct guard *g, struct fault *f) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    fault_set(f, FAULT_IO, "no socket for the guard of child processes: %s", strerror(errno));
    return false;
  }
  pid_t pid = fork();
  if (pid == 0) {
    close(pair[0]);
    guard_main(pair[1]);
  }
  int error = errno;
  close(pair[1]);
  if (pid > 0) {
    *g = (struct guard){pair[0], pid};
    return wait_ready(g, f);
  }
  close(pair[0]);
  fault_set(f, FAULT_IO, "no process for the guard of child processes: %s", strerror(error));
  return false;
}
