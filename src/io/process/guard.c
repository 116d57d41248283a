// SPDX-License-Identifier: Apache-2.0
// The guard: forks a keeper for each child, stops children, and forwards reports to the gateway. It ends after the
// gateway, when no child process is left.
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

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "io/process/child.h"
#include "io/process/guard_priv.h"
#include "io/process/lockdown.h"
#include "io/process/proctree.h"

// SIGKILL is repeated until a keeper ends: first after KILL_STEP_MS, because most keepers end quickly, then with delays
// that double up to KILL_STEP_MAX_MS.
enum { KILL_STEP_MS = 5, KILL_STEP_MAX_MS = 640, ORPHAN_GRACE_MS = 2000, SOCKET_FD = 3 };

struct guard_child {
  struct list node;
  uint64_t id;
  pid_t keeper;
  pid_t root;           // 0 before the child has started and after it has ended
  bool started, ended;  // these reports were received
  bool installing;      // a launcher that has not started its program yet
  bool term_held;       // SIGTERM must be sent when the child has started
  uint64_t term_at;     // time of SIGTERM; 0: none
  uint64_t kill_at;     // time of SIGKILL; 0: none
  uint64_t kill_step;
};

struct guard_watch {
  int socket;
  int reports[2];
  int signals;
  pid_t pid;
  bool bye;          // the gateway has asked the guard to end
  bool gone;         // the gateway has closed its end of the socket
  uint64_t rest_at;  // time of the next SIGKILL for processes whose keeper was killed, or 0
  uint64_t rest_step;
  struct list children;
};

static uint64_t now_ms(void) {
  return clock_mono_ms(&clock_system);
}

static void send_news(const struct guard_watch *w, const struct guard_news *news) {
  ssize_t n;
  do n = send(w->socket, news, sizeof *news, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
}

static struct guard_child *find_child(struct guard_watch *w, uint64_t id) {
  LIST_EACH(it, &w->children) {
    struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
    if (k->id == id) return k;
  }
  return NULL;
}

// ---- signals ----

static void signal_tree(const struct guard_child *k, int sig) {
  ASSERT(k->keeper > 1 && k->root != 1 && k->root >= 0);  // kill with pid -1 would signal every process of the user
  if (k->root) kill(-k->root, sig);
  proctree_signal(k->keeper, sig, k->root);
}

// Sends SIGTERM to the processes of the child. If the child has not started yet, they get SIGTERM when it starts.
static void terminate(struct guard_child *k) {
  if (k->started) signal_tree(k, SIGTERM);
  else k->term_held = true;
}

static void kill_from(struct guard_child *k, uint64_t at) {
  if (k->kill_at && k->kill_at <= at) return;
  k->kill_at = at;
  k->kill_step = KILL_STEP_MS;
}

static void stop(struct guard_child *k, uint64_t leave_ms, uint64_t grace_ms) {
  uint64_t now = now_ms();
  if (leave_ms) k->term_at = now + leave_ms;
  else if (grace_ms) terminate(k);
  kill_from(k, now + leave_ms + grace_ms);
}

// Sends the signals that are due. A server may fork a process while its process tree is being killed. Therefore SIGKILL
// is repeated, with growing delays, until the keeper (the process that starts the server) ends.
static void kill_due(struct guard_watch *w) {
  uint64_t now = now_ms();
  LIST_EACH(it, &w->children) {
    struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
    if (k->term_at && k->term_at <= now) {
      k->term_at = 0;
      terminate(k);
    }
    if (!k->kill_at || k->kill_at > now) continue;
    signal_tree(k, SIGKILL);
    kill(k->keeper, SIGCONT);  // a server may have stopped the keeper
    k->kill_at = now + k->kill_step;
    if (k->kill_step < KILL_STEP_MAX_MS) k->kill_step *= 2;
  }
}

static bool is_keeper(const void *ctx, pid_t pid) {
  const struct guard_watch *w = ctx;
  LIST_EACH(it, &w->children)
    if (CONTAINER_OF(it, struct guard_child, node)->keeper == pid) return true;
  return false;
}

// Kills the processes that have become children of the guard because their keeper was killed.
static void kill_rest(struct guard_watch *w) {
  uint64_t now = now_ms();
  if (!w->rest_at || w->rest_at > now) return;
  w->rest_at = proctree_signal_rest(w->pid, SIGKILL, is_keeper, w) ? now + w->rest_step : 0;
  if (w->rest_step < KILL_STEP_MAX_MS) w->rest_step *= 2;
}

static int until_next_kill(const struct guard_watch *w) {
  uint64_t now = now_ms(), next = w->rest_at ? w->rest_at : UINT64_MAX;
  LIST_EACH(it, &w->children) {
    const struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
    if (k->term_at && k->term_at < next) next = k->term_at;
    if (k->kill_at && k->kill_at < next) next = k->kill_at;
  }
  if (next == UINT64_MAX) return -1;
  uint64_t left = next > now ? next - now : 0;
  return left < 60000 ? (int)left : 60000;
}

// ---- reports of keepers ----

static void on_news(struct guard_watch *w, const struct guard_news *news) {
  struct guard_child *k = find_child(w, news->id);
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
  send_news(w, news);
  if (news->kind == GUARD_STARTED && k->term_held) terminate(k);
  // A launcher has ended after its SIGTERM. Processes that it started after this signal may still run, so they get
  // SIGTERM, too.
  if (news->kind == GUARD_EXITED && k->installing && k->kill_at) {
    signal_tree(k, SIGTERM);
    kill_from(k, now_ms() + ORPHAN_GRACE_MS);
  }
  // The server's own process has ended, so its descendants are killed. If the server is being stopped, the descendants
  // keep the rest of the grace period.
  if (news->kind == GUARD_EXITED && !k->kill_at) kill_from(k, now_ms() + KILL_STEP_MS);
}

static void read_news(struct guard_watch *w) {
  struct guard_news news;
  while (read(w->reports[0], &news, sizeof news) == (ssize_t)sizeof news) on_news(w, &news);
}

// Called when a keeper has ended. Reads its last reports, which are already in the pipe. A keeper that was killed may
// not have sent all reports, so this function sends the missing report for it.
static void on_keeper_end(struct guard_watch *w, struct guard_child *k) {
  read_news(w);
  if (!k->ended) {
    struct guard_news news = {.id = k->id, .kind = GUARD_EXITED, .value = 128 + SIGKILL};
    if (!k->started)
      news = (struct guard_news){.id = k->id, .kind = GUARD_FAILED, .stage = GUARD_FORK, .value = EAGAIN};
    send_news(w, &news);
  }
  list_remove(&k->node);
  mem_free(k);
}

// Reaps ended processes: keepers, children that could not be started, and orphans of killed keepers. Sends SIGCONT to
// keepers that a server has stopped.
static void reap(struct guard_watch *w) {
  struct signalfd_siginfo info;
  while (read(w->signals, &info, sizeof info) > 0) continue;
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;)
    LIST_EACH(it, &w->children) {
      struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
      if (k->keeper != pid) continue;
      if (WIFSTOPPED(status)) {
        kill(pid, SIGCONT);
        break;
      }
      on_keeper_end(w, k);
      if (WIFSIGNALED(status)) {
        w->rest_at = now_ms();
        w->rest_step = KILL_STEP_MS;
      }
      break;
    }
}

// ---- requests of the gateway ----

static void spawn(struct guard_watch *w, const struct guard_ask *ask, const int fds[GUARD_FDS]) {
  // _Fork calls no fork handlers: libuv's handler would close descriptors that libuv does not own any more.
  pid_t pid = _Fork();
  if (pid < 0) {
    send_news(w, &(struct guard_news){.id = ask->id, .kind = GUARD_FAILED, .stage = GUARD_FORK, .value = errno});
    return;
  }
  if (pid == 0) {
    close(w->socket);
    close(w->signals);
    close(w->reports[0]);
    keeper_run(ask, fds, w->reports[1], w->pid);
  }
  struct guard_child *k = MEM_NEW(struct guard_child);
  k->id = ask->id;
  k->keeper = pid;
  k->installing = ask->launcher;
  list_push(&w->children, &k->node);
}

static void on_bye(struct guard_watch *w) {
  w->bye = true;
  LIST_EACH(it, &w->children) {
    struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
    if (k->kill_at) continue;
    if (k->installing) stop(k, 0, CHILD_INSTALL_GRACE_MS);
    else kill_from(k, now_ms());
  }
}

// Called when the gateway has ended. Kills all children; only launchers that are still installing get time to end.
static void on_gone(struct guard_watch *w) {
  w->gone = true;
  LIST_EACH(it, &w->children) {
    struct guard_child *k = CONTAINER_OF(it, struct guard_child, node);
    if (!k->installing) kill_from(k, now_ms());
  }
  on_bye(w);
}

static void on_ask(struct guard_watch *w, const struct guard_ask *ask, const int *fds, size_t fd_count) {
  struct guard_child *k = find_child(w, ask->id);
  if (ask->kind == GUARD_SPAWN && fd_count == GUARD_FDS) spawn(w, ask, fds);
  else if (ask->kind == GUARD_SPAWN)  // the descriptors of this request did not arrive
    send_news(w, &(struct guard_news){.id = ask->id, .kind = GUARD_FAILED, .stage = GUARD_SETUP, .value = EMFILE});
  else if (ask->kind == GUARD_BYE) on_bye(w);
  else if (k && ask->kind == GUARD_STOP) stop(k, ask->leave_ms, ask->grace_ms);
  else if (k && ask->kind == GUARD_SERVES) {
    // The launcher's program has responded to the gateway. The keeper cannot detect that the program runs if the
    // launcher has replaced itself with the program, or if the program is not a process below the launcher (docker).
    if (k->installing) kill(k->keeper, SIGUSR1);
    k->installing = false;
  }
}

// Receives and handles a request of the gateway. Returns false if the gateway has ended.
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
  size_t fd_count = 0;
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
    size_t bytes = c->cmsg_len - CMSG_LEN(0);
    ASSERT(bytes <= sizeof fds);
    memcpy(fds, CMSG_DATA(c), bytes);
    fd_count = bytes / sizeof fds[0];
  }
  if (n == (ssize_t)sizeof ask) on_ask(w, &ask, fds, fd_count);
  for (size_t i = 0; i < fd_count; i++) close(fds[i]);
  return true;
}

// ---- life of the guard ----

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
    if (w->bye && list_empty(&w->children)) end(proctree_sweep(GUARD_SWEEP_MS));
  }
}

// Closes all files except the socket and stderr. If the guard kept a pipe of a client open, the client could not notice
// that the gateway has closed it.
static bool settle_files(struct guard_watch *w, int socket) {
  // Moves the socket away from 0, 1 and 2, which may have been closed when the gateway started.
  socket = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET_FD);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (socket < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) return false;
  if (fcntl(2, F_GETFD) < 0 && dup2(null, 2) < 0) return false;
  if (socket != SOCKET_FD && dup3(socket, SOCKET_FD, O_CLOEXEC) < 0) return false;
  w->socket = SOCKET_FD;
  closefrom(SOCKET_FD + 1);
  return true;
}

// Ignores the signals that end the gateway, because the guard must end after the gateway. Also starts a new session, so
// that the guard gets neither the terminal's signals nor signals to the gateway's process group.
static bool settle_signals(struct guard_watch *w) {
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if the parent ignored SIGCHLD, waitpid would find nothing
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  w->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  return w->signals >= 0 && setsid() >= 0;
}

static bool settle(struct guard_watch *w, int socket) {
  list_init(&w->children);
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

// Waits until the guard has its own session and has closed the files that it does not need. Returns false, with a
// reason in f, if the guard could not do so.
static bool wait_ready(struct guard *g, struct fault *f) {
  int error = EPIPE;
  ssize_t n;
  do n = recv(g->fd, &error, sizeof error, 0);
  while (n < 0 && errno == EINTR);
  if (n > 0 && error == 0) return true;
  fault_set(f, FAULT_IO, "cannot set up the guard of child processes: %s", strerror(error));
  close(g->fd);
  waitpid(g->pid, NULL, 0);
  return false;
}

bool guard_start(struct guard *g, struct fault *f) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    fault_set(f, FAULT_IO, "cannot create a socket for the guard of child processes: %s", strerror(errno));
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
  fault_set(f, FAULT_IO, "cannot fork the guard of child processes: %s", strerror(error));
  return false;
}
