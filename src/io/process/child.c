// SPDX-License-Identifier: Apache-2.0
// Sends requests to the guard process and handles its reports. Requests wait in one queue and are sent only from a
// callback of the loop, so that no callback of a child runs while its owner calls a function of this file.
#include "io/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/crypto/locked.h"
#include "base/mem.h"
#include "io/process/guard_priv.h"
#include "io/process/proctree.h"

enum {
  HOST_MAGIC = 0x74676831,
  CHILD_MAGIC = 0x74676332,
  // Maximum number of starts in progress. Each start passes descriptors through the socket, and the kernel limits the
  // number of descriptors that a socket holds.
  MAX_UNANSWERED = 64,
  MAX_QUEUED = 1 << 20,      // maximum bytes of queued requests; a guard that leaves more bytes unread is stuck
  MAX_GRACE_MS = 60 * 1000,  // maximum grace period of a child, so that the gateway ends in limited time
  END_SLACK_MS = GUARD_SWEEP_MS + 1000,
};

struct child_host {
  uint32_t magic;
  struct loop *loop;
  struct guard guard;
  uv_poll_t poll;
  // The guard has died. The socket stays open until the poll handle is closed, so that its descriptor is not reused.
  bool lost;
  bool closing;
  struct list children;  // children that their owners have not freed
  struct buf queue;      // contains struct guard_ask
  size_t unanswered;     // number of starts without an answer
  uint64_t last_id;
  uint64_t quiet_by;     // time (system clock) when the last grace period is over
  struct timer failing;  // calls on_fail of the children for which no start request could be sent
  void (*on_lost)(void *ctx);
  void *ctx;
};

enum child_state { WAITING, ASKED, RUNNING, GONE };

struct child {
  uint32_t magic;
  enum child_state state;
  struct child_host *host;  // NULL after the host was freed
  struct list node;
  uint64_t id;
  int pid;
  int fds[3];  // the gateway's ends of the child's pipes until on_start; -1 if not open
  const struct child_events *events;
  void *ctx;
  struct buf strings;  // program, arguments and environment (see guard_priv.h); kept until the child runs
  uint32_t argc, envc;
  bool launcher, unconfined;
  // Errno if the start request could not be sent (E2BIG: the strings exceed GUARD_MAX_STRINGS), otherwise 0.
  int refused;
};

static void drop_fds(struct child *c) {
  for (int i = 0; i < 3; i++) {
    if (c->fds[i] >= 0) close(c->fds[i]);
    c->fds[i] = -1;
  }
}

static struct child *find_child(struct child_host *h, uint64_t id) {
  LIST_EACH(it, &h->children) {
    struct child *c = CONTAINER_OF(it, struct child, node);
    if (c->id == id) return c;
  }
  return NULL;
}

// ---- callbacks; each may free the child ----

static void start_failed(struct child *c, const struct fault *f) {
  ASSERT(c->state == WAITING || c->state == ASKED);
  c->state = GONE;
  drop_fds(c);
  c->events->on_fail(c->ctx, c, f);
}

static void started(struct child *c, int pid) {
  int fds[3];
  ASSERT(c->state == ASKED && pid > 1);
  memcpy(fds, c->fds, sizeof fds);
  c->fds[0] = c->fds[1] = c->fds[2] = -1;
  c->state = RUNNING;
  c->pid = pid;
  buf_wipe(&c->strings);
  c->events->on_start(c->ctx, c, fds[0], fds[1], fds[2]);
}

static void exited(struct child *c, int status) {
  ASSERT(c->state == RUNNING);
  c->state = GONE;
  c->events->on_exit(c->ctx, c, status);
}

// ---- why a child could not be started ----

static const char *nth_string(const struct child *c, size_t n) {
  const char *s = c->strings.p;
  while (n--) s += strlen(s) + 1;
  return s;
}

static const char *path_variable(const struct child *c) {
  for (size_t i = 0; i < c->envc; i++) {
    const char *s = nth_string(c, 2 + c->argc + i);
    if (strncmp(s, "PATH=", 5) == 0) return s + 5;
  }
  return GUARD_DEFAULT_PATH;
}

static void describe_exec(const char *file, int error, struct fault *f) {
  const char *why = strerror(error);
  if (error == ENOENT) why = "no such file";
  if (error == EACCES) why = "permission denied, or not an executable file";
  if (error == ENOEXEC) why = "neither a program for this machine nor a script with a #! line";
  fault_set(f, FAULT_IO, "cannot start \"%s\": %s", file, why);
}

static void describe_failure(const struct child *c, enum guard_stage stage, int error, struct fault *f) {
  const char *file = nth_string(c, 0), *cwd = nth_string(c, 1);
  if (stage == GUARD_LOOKUP)
    fault_set(f, FAULT_IO, "cannot start \"%s\": no such program in PATH (%s)", file, path_variable(c));
  else if (stage == GUARD_CHDIR && error == ENOENT)
    fault_set(f, FAULT_IO, "cannot start \"%s\": cwd \"%s\" does not exist", file, cwd);
  else if (stage == GUARD_CHDIR)
    fault_set(f, FAULT_IO, "cannot start \"%s\": cannot change to its cwd \"%s\": %s", file, cwd, strerror(error));
  else if (stage == GUARD_INTERPRETER)
    fault_set(f, FAULT_IO, "cannot start \"%s\": its script interpreter or dynamic loader does not exist", file);
  else if (stage == GUARD_EXEC) describe_exec(file, error, f);
  else
    fault_set(f, FAULT_IO, "cannot start \"%s\": %s%s", file, stage == GUARD_FORK ? "cannot create a process: " : "",
              strerror(error));
}

// ---- the queue ----

static void update_poll(struct child_host *h);

static bool may_send(const struct child_host *h) {
  if (h->queue.n == 0) return false;
  ASSERT(h->queue.n % sizeof(struct guard_ask) == 0);
  const struct guard_ask *first = (const struct guard_ask *)h->queue.p;
  return first->kind != GUARD_SPAWN || h->unanswered < MAX_UNANSWERED;
}

static bool send_ask(struct child_host *h, const struct guard_ask *ask, const int *fds, size_t fd_count) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(GUARD_FDS * sizeof(int))];
  } control = {0};
  ASSERT(fd_count <= GUARD_FDS);
  struct iovec part = {(void *)ask, sizeof *ask};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd_count) {
    m.msg_control = &control;
    m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    control.header = (struct cmsghdr){CMSG_LEN(fd_count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
  }
  return sendmsg(h->guard.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *ask;
}

static int strings_file(const struct child *c) {
  int fd = memfd_create("tg-child", MFD_CLOEXEC);
  if (fd < 0) return -1;
  for (size_t at = 0; at < c->strings.n;) {
    ssize_t n = write(fd, c->strings.p + at, c->strings.n - at);
    if (n < 0) {
      close(fd);
      return -1;
    }
    at += (size_t)n;
  }
  return fd;
}

// Opens the descriptors for the guard (`theirs`) and for the gateway (c->fds). On failure, descriptors that were not
// opened stay -1.
static bool open_fds(struct child *c, int theirs[GUARD_FDS]) {
  theirs[0] = strings_file(c);
  if (theirs[0] < 0) return false;
  for (int i = 0; i < 3; i++) {
    int pair[2], mine = i == 0 ? 1 : 0;
    if (pipe2(pair, O_CLOEXEC) != 0) return false;
    c->fds[i] = pair[mine];
    theirs[i + 1] = pair[!mine];
    fcntl(pair[mine], F_SETFL, O_NONBLOCK);
  }
  return true;
}

// Sends a request to start a child. Returns false and sets errno on failure; EAGAIN means to try again later.
static bool send_spawn(struct child_host *h, const struct guard_ask *ask, struct child *c) {
  int theirs[GUARD_FDS] = {-1, -1, -1, -1};
  bool sent = open_fds(c, theirs) && send_ask(h, ask, theirs, GUARD_FDS);
  int error = errno;
  for (int i = 0; i < GUARD_FDS; i++)
    if (theirs[i] >= 0) close(theirs[i]);
  if (!sent) drop_fds(c);
  errno = error;
  return sent;
}

// Reports later, from a timer, that the child could not be started.
static void refuse(struct child *c, int error) {
  c->refused = error;
  timer_start(c->host->loop, &c->host->failing, 0);
}

// Asks the guard to start a child. Returns false if the request must stay in the queue for another attempt.
static bool start_child(struct child_host *h, const struct guard_ask *ask) {
  struct child *c = find_child(h, ask->id);
  if (!c) return true;  // the owner has freed the child
  if (send_spawn(h, ask, c)) {
    h->unanswered++;
    c->state = ASKED;
    return true;
  }
  if (errno == EAGAIN || errno == EINTR) return false;
  refuse(c, errno);
  return true;
}

static void flush(struct child_host *h) {
  while (may_send(h)) {
    const struct guard_ask ask = *(struct guard_ask *)h->queue.p;
    if (ask.kind == GUARD_SPAWN) {
      if (!start_child(h, &ask)) return;
    } else if (!send_ask(h, &ask, NULL, 0)) {
      if (errno == EAGAIN || errno == EINTR) return;
      // The request to stop this child cannot be sent. So the guard is killed, which ends all children.
      kill(h->guard.pid, SIGKILL);
    }
    buf_drop(&h->queue, sizeof ask);
  }
}

static void ask_guard(struct child_host *h, const struct guard_ask *ask) {
  buf_add(&h->queue, ask, sizeof *ask);
  // The guard is stuck, so it is killed: the keepers then kill all children, and the gateway sees the socket close.
  if (h->queue.over) kill(h->guard.pid, SIGKILL);
  update_poll(h);
}

// ---- reports ----

static void on_news(struct child_host *h, const struct guard_news *news) {
  struct child *c = find_child(h, news->id);
  bool answers = news->kind == GUARD_STARTED || news->kind == GUARD_FAILED;
  if (answers && h->unanswered) h->unanswered--;
  if (!c) return;
  struct fault f;
  switch ((enum guard_news_kind)news->kind) {
  case GUARD_STARTED:
    if (c->state == ASKED) started(c, news->value);
    break;
  case GUARD_FAILED:
    if (c->state != ASKED) break;
    describe_failure(c, (enum guard_stage)news->stage, news->value, &f);
    start_failed(c, &f);
    break;
  case GUARD_EXITED:
    if (c->state == RUNNING) exited(c, news->value);
    break;
  case GUARD_SERVING:
    if (c->state == RUNNING && c->events->on_serving) c->events->on_serving(c->ctx, c);
    break;
  }
}

// ---- children that end without a report ----

// Returns the next child whose owner gets no report from the guard: the guard has died, or was not asked to start the
// child. Each search begins at the first child, because a callback may free any child.
static struct child *find_unreported(struct child_host *h) {
  LIST_EACH(it, &h->children) {
    struct child *c = CONTAINER_OF(it, struct child, node);
    if (c->state != GONE && (h->lost || c->refused)) return c;
  }
  return NULL;
}

static void describe_unreported(const struct child *c, struct fault *f) {
  if (c->refused == E2BIG)
    fault_set(f, FAULT_LIMIT, "cannot start a child process: its command and environment have more than %d bytes",
              (int)GUARD_MAX_STRINGS);
  else if (c->host->lost)
    fault_set(f, FAULT_IO,
              "the guard of child processes has died: no process can be started until the gateway is restarted");
  else describe_failure(c, GUARD_SETUP, c->refused, f);
}

static void end_unreported(struct child_host *h) {
  for (struct child *c; !h->closing && (c = find_unreported(h));) {
    struct fault f;
    describe_unreported(c, &f);
    if (c->state == RUNNING) exited(c, 128 + SIGKILL);
    else start_failed(c, &f);
  }
}

static void on_failing(struct timer *t) {
  struct child_host *h = CONTAINER_OF(t, struct child_host, failing);
  end_unreported(h);
  if (!h->closing) update_poll(h);
}

static void lose_guard(struct child_host *h) {
  log_error(h->loop->log, "the guard of child processes has died; all child processes are killed");
  h->lost = true;
  uv_poll_stop(&h->poll);
  waitpid(h->guard.pid, NULL, 0);
  buf_done(&h->queue);
  end_unreported(h);
  if (!h->closing && h->on_lost) h->on_lost(h->ctx);
}

// ---- the socket ----

// Reads one report of the guard. Returns false if no report is waiting. Sets *lost to whether the guard has ended.
static bool read_news(int fd, struct guard_news *out, bool *lost) {
  ssize_t n = recv(fd, out, sizeof *out, MSG_DONTWAIT);
  *lost = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
  return n == (ssize_t)sizeof *out;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  struct child_host *h = poll->data;
  ASSERT_MAGIC(h, HOST_MAGIC);
  struct guard_news news;
  bool lost = false;
  struct loop *l = h->loop;
  loop_begin(l);
  while (!h->closing && read_news(h->guard.fd, &news, &lost)) on_news(h, &news);
  if (lost && !h->closing) {
    lose_guard(h);
  } else if (!h->closing) {
    flush(h);
    if (!h->closing) update_poll(h);
  }
  loop_end(l, LOOP_CHILD, "");
}

static bool awaits_news(const struct child_host *h) {
  LIST_EACH(it, &h->children) {
    const struct child *c = CONTAINER_OF(it, struct child, node);
    if (c->state != GONE) return true;
  }
  return false;
}

// Sets the events to wait for. Without children and requests, the poll handle must not keep the loop alive.
static void update_poll(struct child_host *h) {
  if (h->lost) return;
  uv_poll_start(&h->poll, UV_READABLE | (may_send(h) ? UV_WRITABLE : 0), on_poll);
  if (h->queue.n || awaits_news(h)) uv_ref((uv_handle_t *)&h->poll);
  else uv_unref((uv_handle_t *)&h->poll);
}

// ---- host ----

struct child_host *child_host_new(struct loop *l, const struct guard *g) {
  ASSERT(g->fd >= 0 && g->pid > 1);
  struct child_host *h = MEM_NEW(struct child_host);
  h->magic = HOST_MAGIC;
  h->loop = l;
  h->guard = *g;
  list_init(&h->children);
  buf_init(&h->queue, MAX_QUEUED);
  timer_init(&h->failing, on_failing);
  ASSERT(uv_poll_init(&l->uv, &h->poll, g->fd) == 0);
  h->poll.data = h;
  update_poll(h);
  return h;
}

void child_host_on_lost(struct child_host *h, void (*lost)(void *ctx), void *ctx) {
  ASSERT_MAGIC(h, HOST_MAGIC);
  h->on_lost = lost;
  h->ctx = ctx;
}

bool child_host_runs(const struct child_host *h, int pid) {
  ASSERT_MAGIC(h, HOST_MAGIC);
  return proctree_has(h->guard.pid, pid);
}

static void on_closed(uv_handle_t *handle) {
  struct child_host *h = handle->data;
  ASSERT_MAGIC(h, HOST_MAGIC);
  ASSERT(h->closing && list_empty(&h->children));
  h->magic = 0;
  mem_free(h);
}

// Asks the guard to end and waits until it closes its end of the socket. Ignores its remaining reports.
static void see_guard_off(struct child_host *h) {
  uint64_t now = clock_mono_ms(&clock_system), until = now + END_SLACK_MS;
  if (h->quiet_by > now) until = h->quiet_by + END_SLACK_MS;
  buf_add(&h->queue, &(struct guard_ask){.kind = GUARD_BYE}, sizeof(struct guard_ask));
  h->unanswered = 0;
  bool lost = false;
  while (!lost && now < until) {
    struct guard_news news;
    struct pollfd p = {h->guard.fd, (short)(POLLIN | (h->queue.n ? POLLOUT : 0)), 0};
    poll(&p, 1, (int)(until - now));
    while (read_news(h->guard.fd, &news, &lost)) continue;
    flush(h);
    now = clock_mono_ms(&clock_system);
  }
  if (!lost) kill(h->guard.pid, SIGKILL);
  waitpid(h->guard.pid, NULL, 0);
}

void child_host_free(struct child_host **hp) {
  struct child_host *h = *hp;
  if (!h) return;
  ASSERT_MAGIC(h, HOST_MAGIC);
  *hp = NULL;
  h->closing = true;
  // Sets the host of the remaining children to NULL, because their owners may free them later.
  for (struct list *n; (n = list_pop(&h->children));) {
    struct child *c = CONTAINER_OF(n, struct child, node);
    c->state = GONE;
    c->host = NULL;
  }
  if (!h->lost) see_guard_off(h);
  timer_stop(&h->failing);
  buf_done(&h->queue);
  uv_close((uv_handle_t *)&h->poll, on_closed);
  close(h->guard.fd);
}

// ---- child ----

static void add_string(struct buf *b, const char *s) {
  buf_add(b, s, strlen(s) + 1);
}

static uint32_t add_strings(struct buf *b, const char *const *list) {
  uint32_t count = 0;
  for (; list[count] && !b->over; count++) add_string(b, list[count]);
  return count;
}

static size_t size_of_strings(const char *const *list) {
  size_t n = 0;
  while (*list) n += strlen(*list++) + 1;
  return n;
}

// Writes the strings for the guard. Reserves the whole size first, because a growing buffer would leave copies of the
// environment in freed memory.
static void write_strings(struct child *c, const struct child_spec *spec) {
  buf_init(&c->strings, GUARD_MAX_STRINGS);
  buf_room(&c->strings, strlen(spec->file) + 1 + (spec->cwd ? strlen(spec->cwd) : 0) + 1 + size_of_strings(spec->argv) +
                            size_of_strings(spec->envp));
  add_string(&c->strings, spec->file);
  add_string(&c->strings, spec->cwd ? spec->cwd : "");
  c->argc = add_strings(&c->strings, spec->argv);
  c->envc = add_strings(&c->strings, spec->envp);
}

struct child *child_spawn(struct child_host *h, const struct child_spec *spec, const struct child_events *ev,
                          void *ctx) {
  ASSERT_MAGIC(h, HOST_MAGIC);
  ASSERT(spec->file && ev);
  struct child *c = MEM_NEW(struct child);
  *c = (struct child){
      .magic = CHILD_MAGIC, .host = h, .id = ++h->last_id, .fds = {-1, -1, -1}, .events = ev, .ctx = ctx};
  write_strings(c, spec);
  c->launcher = spec->launcher;
  c->unconfined = spec->unconfined;
  list_push(&h->children, &c->node);
  if (c->strings.over) refuse(c, E2BIG);
  else if (h->lost) refuse(c, EPIPE);
  else
    ask_guard(h, &(struct guard_ask){.kind = GUARD_SPAWN,
                                     .id = c->id,
                                     .argc = c->argc,
                                     .envc = c->envc,
                                     .launcher = c->launcher,
                                     .unconfined = c->unconfined});
  return c;
}

int child_pid(const struct child *c) {
  ASSERT_MAGIC(c, CHILD_MAGIC);
  return c->pid;
}

void child_serves(struct child *c) {
  ASSERT_MAGIC(c, CHILD_MAGIC);
  if (!c->launcher || c->state != RUNNING || c->host->lost) return;
  c->launcher = false;
  ask_guard(c->host, &(struct guard_ask){.kind = GUARD_SERVES, .id = c->id});
}

void child_free(struct child **cp, uint64_t grace_ms) {
  child_leave(cp, 0, grace_ms);
}

void child_leave(struct child **cp, uint64_t leave_ms, uint64_t grace_ms) {
  struct child *c = *cp;
  if (!c) return;
  ASSERT_MAGIC(c, CHILD_MAGIC);
  *cp = NULL;
  list_remove(&c->node);
  struct child_host *h = c->host;
  ASSERT(h || c->state == GONE);
  if ((c->state == ASKED || c->state == RUNNING) && !h->lost) {
    if (leave_ms > MAX_GRACE_MS) leave_ms = MAX_GRACE_MS;
    if (grace_ms > MAX_GRACE_MS) grace_ms = MAX_GRACE_MS;
    uint64_t by = clock_mono_ms(&clock_system) + leave_ms + grace_ms;
    if (by > h->quiet_by) h->quiet_by = by;
    ask_guard(h, &(struct guard_ask){.kind = GUARD_STOP, .id = c->id, .leave_ms = leave_ms, .grace_ms = grace_ms});
  }
  drop_fds(c);
  buf_wipe(&c->strings);
  c->magic = 0;
  mem_free(c);
}
