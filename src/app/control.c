// SPDX-License-Identifier: Apache-2.0
#include "app/control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/approvals_answer.h"
#include "app/control_place.h"
#include "app/gateway_client/inventory.h"
#include "app/gateway_client/loopback.h"
#include "app/pins_answer.h"
#include "base/mem.h"
#include "base/rate.h"
#include "io/stream/lines.h"
#include "io/stream/stream.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "rpc/message.h"

enum {
  MOST_PEERS = 32,
  MOST_REQUESTS = 16,       // maximum number of requests in flight of one command
  MOST_LINE = 80 << 20,     // maximum bytes of a request; arguments of `call` may have 64 MiB
  MOST_QUEUED = 256 << 20,  // maximum bytes of answers that a command has not read
  HIGH_WATER = 1 << 20,     // if a command has this many bytes of unread answers, no further requests are read
  QUIET_MS = 60000,         // a command that sends or reads nothing for this time is disconnected
  BACKLOG = 64,
  REFUSALS_PER_SECOND = 1,  // maximum number of log lines per second about refused connections
};

enum { CONTROL_MAGIC = 0x6374726c, PEER_MAGIC = 0x70656572 };

struct control {
  uint32_t magic;
  struct control_options opt;
  struct loop *loop;
  int folder;
  char name[CONTROL_NAME];
  uv_pipe_t *listener;
  struct list peers;
  size_t peer_count;
  struct rate refusals;
};

// The connection of one command.
struct control_peer {
  uint32_t magic;
  struct list node;
  struct control *control;
  struct stream *stream;
  struct lines lines;
  struct arena arena;
  struct session_operator terms;
  str agent, owner;
  struct loopback *clients[MODE_COUNT];
  struct list asked;  // requests in flight (struct asked)
  size_t asked_count;
  bool greeted;
  struct timer quiet;
  struct timer end;  // frees the peer in a later turn of the loop, when none of the peer's callbacks is running
};

struct asked {
  struct list node;
  struct control_peer *peer;
  struct arena arena;
  str id;
  struct approvals_question *approvals;  // NULL if the request is not about approvals
};

// ---- answering

static void asked_free(struct asked *a) {
  ASSERT_MAGIC(a->peer, PEER_MAGIC);
  ASSERT(a->peer->asked_count > 0);
  approvals_answer_cancel(&a->approvals);
  list_remove(&a->node);
  a->peer->asked_count--;
  arena_done(&a->arena);
  mem_free(a);
}

static void peer_free(struct control_peer *p) {
  ASSERT_MAGIC(p, PEER_MAGIC);
  ASSERT(p->control->peer_count > 0);
  for (int mode = 0; mode < MODE_COUNT; mode++) loopback_free(&p->clients[mode]);
  while (!list_empty(&p->asked)) asked_free(CONTAINER_OF(p->asked.next, struct asked, node));
  ASSERT(p->asked_count == 0);
  timer_stop(&p->quiet);
  timer_stop(&p->end);
  stream_close(&p->stream);
  lines_done(&p->lines);
  arena_done(&p->arena);
  list_remove(&p->node);
  p->control->peer_count--;
  p->magic = 0;
  mem_free(p);
}

static void on_end_timer(struct timer *t) {
  peer_free(CONTAINER_OF(t, struct control_peer, end));
}

static void hang_up(struct control_peer *p) {
  ASSERT_MAGIC(p, PEER_MAGIC);
  stream_close(&p->stream);
  p->lines.stop = true;
  if (!timer_running(&p->end)) timer_start(p->control->loop, &p->end, 0);
}

// Sends a message on one line. Replaces line breaks, because a result contains JSON as a server wrote it.
static void send_line(struct control_peer *p, str message) {
  struct buf flat;
  buf_init(&flat, message.n + 1);
  if (!p->stream) return;
  if (!stream_write(p->stream, (str[]){lines_flatten(message, &flat), STR("\n")}, 2)) hang_up(p);
  else if (stream_queued(p->stream) > HIGH_WATER) stream_pause(p->stream);
  buf_done(&flat);
}

static void refuse(struct control_peer *p, str id, int code, const char *message) {
  struct buf b;
  buf_init(&b, id.n + 8192);
  rpc_put_error(&b, id, code, str_of(message), STR_NONE);
  ASSERT(!b.over);
  send_line(p, buf_view(&b));
  buf_done(&b);
}

static void reply(struct control_peer *p, str id, str result) {
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  rpc_put_result(&b, id, result);
  if (b.over) refuse(p, id, RPC_INTERNAL_ERROR, "the answer is too large for the control socket");
  else send_line(p, buf_view(&b));
  buf_done(&b);
}

// Sends the result in the buffer, or an error if the result is too large. Frees the buffer.
static void reply_with(struct control_peer *p, str id, struct buf *result) {
  if (result->over) refuse(p, id, RPC_INTERNAL_ERROR, "the answer is too large for the control socket");
  else reply(p, id, buf_view(result));
  buf_done(result);
}

// ---- requests

struct question {
  struct control_peer *peer;
  str id;
  const struct json *params;
  struct arena *arena;
};

static void hello(const struct question *q) {
  struct control_peer *p = q->peer;
  ASSERT(!p->greeted);
  int64_t number;
  struct buf b;
  p->greeted = true;
  // answers do not wait for servers that are being installed; the gateway continues to install them
  p->terms.skips_installs = true;
  p->agent = p->owner = STR_NONE;
  json_string(json_get(q->params, STR("agent")), &p->arena, &p->agent);
  p->agent = arena_str(&p->arena, p->agent);
  p->owner = p->agent.n ? arena_printf(&p->arena, "local/%.*s", STR_ARG(p->agent)) : STR("local");
  if (json_int(json_get(q->params, STR("wait_ms")), &number) && number > 0) p->terms.wait_ms = (uint64_t)number;
  if (json_int(json_get(q->params, STR("result_tokens")), &number) && number > 0)
    p->terms.result_tokens = (size_t)number;
  buf_init(&b, 8192);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("version"), STR(TOOLGATE_VERSION));
  json_member_int(&w, STR("pid"), getpid());
  model_put_stale(p->control->opt.model->gateway, &w);
  json_end_object(&w);
  reply_with(p, q->id, &b);
}

static void on_asked(void *ctx, const struct json *result, const struct fault *f) {
  struct asked *a = ctx;
  struct control_peer *p = a->peer;
  ASSERT_MAGIC(p, PEER_MAGIC);
  ASSERT(!result != !f);
  if (result) reply(p, a->id, json_span(result));
  else refuse(p, a->id, f->code == FAULT_INVALID ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, f->message);
  asked_free(a);
  if (p->stream) timer_start(p->control->loop, &p->quiet, QUIET_MS);
}

static struct loopback *client_in(struct control_peer *p, enum surface_mode mode) {
  ASSERT(p->greeted && p->owner.n);  // both were set by toolgate/hello
  struct client_identity who = {
      .principal = -1, .mode = (int)mode, .name = p->owner, .agent = p->agent, .as_operator = &p->terms};
  if (!p->clients[mode]) p->clients[mode] = loopback_new(&p->control->opt.model->gateway->server, who);
  return p->clients[mode];
}

static struct loopback *client_of(struct control_peer *p, const struct json *mode) {
  for (int i = 0; i < MODE_COUNT; i++)
    if (json_equals_str(mode, str_of(mode_names[i]))) return client_in(p, (enum surface_mode)i);
  return NULL;
}

static struct asked *asked_new(const struct question *q) {
  struct control_peer *p = q->peer;
  struct asked *a = MEM_NEW(struct asked);
  a->peer = p;
  arena_init(&a->arena);
  a->id = arena_str(&a->arena, q->id);
  list_push(&p->asked, &a->node);
  p->asked_count++;
  ASSERT(p->asked_count <= MOST_REQUESTS);
  return a;
}

static void ask(const struct question *q) {
  struct control_peer *p = q->peer;
  struct loopback *client = client_of(p, json_get(q->params, STR("mode")));
  const struct json *params = json_get(q->params, STR("params"));
  str method;
  if (!client || !json_string(json_get(q->params, STR("method")), q->arena, &method)) {
    refuse(p, q->id, RPC_INVALID_PARAMS, "toolgate/ask needs \"method\" and a valid \"mode\"");
    return;
  }
  struct asked *a = asked_new(q);
  loopback_request(client, method, params ? json_span(params) : STR_NONE, on_asked, a);
}

static void status(const struct question *q) {
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  struct json_writer w = json_writer(&b);
  model_put_status(q->peer->control->opt.model, true, &w);
  reply_with(q->peer, q->id, &b);
}

static void definition_sets(const struct question *q) {
  struct control_peer *p = q->peer;
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  struct json_writer w = json_writer(&b);
  inventory_put_definitions(p->control->opt.model->gateway, loopback_session(client_in(p, MODE_DIRECT)), &w);
  reply_with(p, q->id, &b);
}

static void logs(const struct question *q) {
  struct fault f;
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  struct json_writer w = json_writer(&b);
  if (model_put_logs(q->peer->control->opt.model->gateway, q->params, &w, &f)) {
    reply_with(q->peer, q->id, &b);
    return;
  }
  refuse(q->peer, q->id, RPC_INVALID_PARAMS, f.message);
  buf_done(&b);
}

static void pins(const struct question *q) {
  struct gateway *g = q->peer->control->opt.model->gateway;
  struct pins_operation o = {g->rules.pins, g->rules.governance, g};
  struct fault f;
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  struct json_writer w = json_writer(&b);
  if (pins_answer(&o, q->params, &w, &f)) {
    reply_with(q->peer, q->id, &b);
    return;
  }
  refuse(q->peer, q->id, RPC_INVALID_PARAMS, f.message);
  buf_done(&b);
}

static void on_approvals(void *ctx, str answer, const struct fault *f) {
  struct asked *a = ctx;
  a->approvals = NULL;
  if (f) refuse(a->peer, a->id, fault_retryable(f->code) ? RPC_INTERNAL_ERROR : RPC_INVALID_PARAMS, f->message);
  else reply(a->peer, a->id, answer);
  asked_free(a);
}

static void approvals(const struct question *q) {
  struct approvals *all = q->peer->control->opt.model->gateway->rules.approvals;
  struct asked *a = asked_new(q);
  struct fault f;
  a->approvals = approvals_answer(all, q->params, on_approvals, a, &f);
  if (a->approvals) return;
  refuse(q->peer, q->id, RPC_INVALID_PARAMS, f.message);
  asked_free(a);
}

static void governance(const struct question *q) {
  struct buf b;
  buf_init(&b, MOST_QUEUED);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  govern_metrics_put(metrics_governed(q->peer->control->opt.model->gateway->metrics), &w);
  json_end_object(&w);
  reply_with(q->peer, q->id, &b);
}

static const struct {
  str method;
  void (*answer)(const struct question *q);
} methods[] = {
    {STR("toolgate/hello"), hello},         {STR("toolgate/ask"), ask},
    {STR("toolgate/status"), status},       {STR("toolgate/definitions"), definition_sets},
    {STR("toolgate/logs"), logs},           {STR("toolgate/pins"), pins},
    {STR("toolgate/approvals"), approvals}, {STR("toolgate/governance"), governance},
};

static void answer(struct control_peer *p, const struct rpc_message *m, struct arena *a) {
  struct question q = {p, json_span(m->id), m->params, a};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (!str_eq(m->method, methods[i].method)) continue;
    if (!p->greeted && i > 0) refuse(p, q.id, RPC_INVALID_REQUEST, "send toolgate/hello before any other request");
    else if (p->greeted && i == 0) refuse(p, q.id, RPC_INVALID_REQUEST, "toolgate/hello must be sent only once");
    else if (p->asked_count >= MOST_REQUESTS)
      refuse(p, q.id, RPC_INTERNAL_ERROR, "too many requests in flight: wait for an answer");
    else methods[i].answer(&q);
    return;
  }
  refuse(p, q.id, RPC_METHOD_NOT_FOUND, "Method not found");
}

// ---- one command

static void on_line(void *ctx, str line) {
  struct control_peer *p = ctx;
  ASSERT_MAGIC(p, PEER_MAGIC);
  struct arena a;
  struct fault f;
  struct rpc_message m;
  struct rpc_error err;
  loop_name(p->control->loop, LOOP_LINE);
  arena_init(&a);
  struct json_limits limits = {.max_bytes = MOST_LINE, .max_depth = json_default_limits.max_depth};
  const struct json *value = json_parse(&a, line, &limits, &f);
  if (value && rpc_read(value, &a, &m, &err) && m.kind == RPC_REQUEST) answer(p, &m, &a);
  else hang_up(p);
  arena_done(&a);
}

// Handles received bytes. Moves the peer to the end of the list: the list is ordered by the time at which bytes were
// last received.
static void on_data(void *ctx, str bytes) {
  struct control_peer *p = ctx;
  ASSERT_MAGIC(p, PEER_MAGIC);
  list_remove(&p->node);
  list_push(&p->control->peers, &p->node);
  timer_start(p->control->loop, &p->quiet, QUIET_MS);
  if (!lines_feed(&p->lines, bytes)) hang_up(p);
}

static void on_end(void *ctx, const struct fault *f) {
  hang_up(ctx);
}

static void on_drain(void *ctx) {
  struct control_peer *p = ctx;
  ASSERT_MAGIC(p, PEER_MAGIC);
  timer_start(p->control->loop, &p->quiet, QUIET_MS);
  stream_resume(p->stream);
}

static void on_quiet(struct timer *t) {
  struct control_peer *p = CONTAINER_OF(t, struct control_peer, quiet);
  // A command without traffic is not disconnected if it waits for a slow answer and has read all answers sent so far.
  if (p->asked_count && p->stream && !stream_queued(p->stream)) timer_start(p->control->loop, t, QUIET_MS);
  else hang_up(p);
}

static void peer_new(struct control *c, struct stream *stream) {
  static const struct stream_events events = {on_data, on_end, on_drain};
  struct control_peer *p = MEM_NEW(struct control_peer);
  p->magic = PEER_MAGIC;
  p->control = c;
  p->stream = stream;
  arena_init(&p->arena);
  list_init(&p->asked);
  timer_init(&p->quiet, on_quiet);
  timer_init(&p->end, on_end_timer);
  lines_init(&p->lines, MOST_LINE, on_line, p);
  list_push(&c->peers, &p->node);
  c->peer_count++;
  ASSERT(c->peer_count <= MOST_PEERS);
  timer_start(c->loop, &p->quiet, QUIET_MS);
  stream_start(stream, &events, p);
}

// Returns whether there is room for another command. If necessary, disconnects the command without requests that has
// been silent for the longest time.
static bool make_room(struct control *c) {
  if (c->peer_count < MOST_PEERS) return true;
  LIST_EACH(it, &c->peers) {
    struct control_peer *p = CONTAINER_OF(it, struct control_peer, node);
    if (p->asked_count) continue;
    peer_free(p);
    return true;
  }
  return false;
}

// Returns NULL, or, if the connection must be refused, a description of the connecting process for the log. Servers run
// as the same user as the operator and are descendants of the guard process. They must be refused, because the rules do
// not apply to the operator.
static const char *find_foreign_user(const struct control *c, int fd) {
  int pid = control_peer(fd);
  if (!control_trusts(fd)) return "another user";
  if (pid && child_host_runs(c->opt.model->gateway->children, pid)) return "a server, or of a process that has ended,";
  return control_peer_lives(fd) ? NULL : "a process that has ended";
}

static void on_connection(uv_stream_t *listener, int status) {
  struct control *c = listener->data;
  ASSERT_MAGIC(c, CONTROL_MAGIC);
  struct stream *stream = status < 0 ? NULL : stream_accept(c->loop, listener, MOST_QUEUED);
  if (!stream) return;
  loop_begin(c->loop);
  const char *foreign_user = find_foreign_user(c, stream_fd(stream));
  unsigned more;
  if (foreign_user && rate_allow(&c->refusals, loop_now(c->loop), REFUSALS_PER_SECOND, &more))
    log_warn(c->loop->log, "refused a connection of %s to the control socket (%u earlier refusals were not logged)",
             foreign_user, more);
  if (!foreign_user && make_room(c)) peer_new(c, stream);
  else stream_close(&stream);
  loop_end(c->loop, LOOP_ACCEPT, "");
}

// ---- the socket

static void on_closed(uv_handle_t *handle) {
  mem_free(handle);
}

// Creates the socket and listens on it. The socket gets its final name only after listen(), because commands remove
// sockets on which no process listens.
static int bind_socket(struct control *c, struct fault *f) {
  char unfinished[CONTROL_NAME + 8];
  ASSERT(c->folder >= 0);
  snprintf(unfinished, sizeof unfinished, "%s.new", c->name);
  struct sockaddr_un address = control_address(c->folder, unfinished);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlinkat(c->folder, unfinished, 0);
  bool ok = fd >= 0 && fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            fchmodat(c->folder, unfinished, 0600, 0) == 0 && listen(fd, BACKLOG) == 0 &&
            renameat(c->folder, unfinished, c->folder, c->name) == 0;
  if (ok) return fd;
  fault_set(f, FAULT_IO, "%s", strerror(errno));
  unlinkat(c->folder, unfinished, 0);
  if (fd >= 0) close(fd);
  return -1;
}

static bool start_listening(struct control *c, struct fault *f) {
  int fd = bind_socket(c, f);
  if (fd < 0) return false;
  c->listener = MEM_NEW(uv_pipe_t);
  uv_pipe_init(&c->loop->uv, c->listener, 0);
  c->listener->data = c;
  int err = uv_pipe_open(c->listener, fd);
  if (err < 0) close(fd);
  else err = uv_listen((uv_stream_t *)c->listener, BACKLOG, on_connection);
  if (err < 0) fault_set(f, FAULT_IO, "%s", uv_strerror(err));
  return err == 0;
}

// Removes the sockets of gateways that were killed.
static void remove_stale(const struct control *c, const char *id) {
  struct control_socket all[CONTROL_MOST];
  size_t n = control_list(c->folder, id, all);
  for (size_t i = 0; i < n; i++) {
    if (kill(all[i].pid, 0) == 0 || errno != ESRCH) continue;
    int fd = control_connect(c->folder, &all[i]);
    if (fd >= 0) close(fd);
  }
}

struct control *control_open(const struct control_options *opt) {
  struct control *c = MEM_NEW(struct control);
  struct fault f;
  char id[CONTROL_ID + 1];
  c->magic = CONTROL_MAGIC;
  c->opt = *opt;
  c->loop = &opt->model->gateway->loop;
  list_init(&c->peers);
  control_id(opt->model->gateway->config, id);
  control_name(id, getpid(), c->name);
  c->folder = control_folder(opt->model->gateway->config, opt->env, true, &f);
  if (c->folder >= 0) remove_stale(c, id);
  if (c->folder >= 0 && start_listening(c, &f)) {
    log_debug(c->loop->log, "listening for commands at the control socket %s", c->name);
    return c;
  }
  // FAULT_NOT_FOUND means that there is no folder for the socket. This can be intended, so the message has only level
  // debug.
  log_line(c->loop->log, f.code == FAULT_NOT_FOUND ? LOG_DEBUG : LOG_WARN,
           "no control socket, so toolgate status and other commands cannot reach this gateway: %s", f.message);
  control_close(&c);
  return NULL;
}

void control_close(struct control **control) {
  struct control *c = *control;
  if (!c) return;
  ASSERT_MAGIC(c, CONTROL_MAGIC);
  *control = NULL;
  while (!list_empty(&c->peers)) peer_free(CONTAINER_OF(c->peers.next, struct control_peer, node));
  if (c->listener) {
    unlinkat(c->folder, c->name, 0);
    uv_close((uv_handle_t *)c->listener, on_closed);
  }
  ASSERT(c->peer_count == 0);
  if (c->folder >= 0) close(c->folder);
  c->magic = 0;
  mem_free(c);
}

void control_rename(struct control *c, const char *id) {
  char name[CONTROL_NAME];
  ASSERT_MAGIC(c, CONTROL_MAGIC);
  ASSERT(c->listener && c->folder >= 0);
  control_name(id, getpid(), name);
  if (strcmp(name, c->name) == 0) return;
  if (renameat(c->folder, c->name, c->folder, name) == 0) memcpy(c->name, name, sizeof name);
  else log_warn(c->loop->log, "the control socket cannot be renamed: %s", strerror(errno));
}
