// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/control_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/control_place.h"
#include "base/assert.h"
#include "base/mem.h"
#include "io/file.h"
#include "rpc/message.h"

enum {
  HELLO_MS = 3000,  // a gateway that does not answer the greeting in this time is skipped
  TICK_MS = 1000,
  READ_SIZE = 65536,
  MAX_ANSWER = 256 << 20,
};

enum { CONTROL_CLIENT_MAGIC = 0x63636c69 };

struct control_client {
  uint32_t magic;
  int fd;
  int pid;
  unsigned others;
  struct arena arena;
  str stale;
  uint64_t next_id, timeout_ms;
  struct buf in;  // received bytes that are not yet returned as lines
  void (*waiting)(void *ctx, const struct json *status);
  void *ctx;
};

// ---- messages

static bool lost(struct fault *f) {
  fault_set(f, FAULT_SHUTTING_DOWN, "the gateway ended before it answered");
  return false;
}

static bool send_all(struct control_client *r, str text, struct fault *f) {
  while (text.n) {
    ssize_t n = send(r->fd, text.p, text.n, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return lost(f);
    text = str_from(text, (size_t)n);
  }
  return true;
}

static bool send_request(struct control_client *r, uint64_t id, str method, str params, struct fault *f) {
  struct str_digits digits;
  struct buf b;
  buf_init(&b, params.n + 4096);
  rpc_put_request(&b, str_from_u64(id, &digits), method, params);
  ASSERT(!b.over);
  // The message must be one line. Line breaks in JSON text are only white space, so they can be replaced.
  for (size_t i = 0; i < b.n; i++)
    if (b.p[i] == '\n' || b.p[i] == '\r') b.p[i] = ' ';
  buf_char(&b, '\n');
  bool ok = send_all(r, buf_view(&b), f);
  buf_done(&b);
  return ok;
}

enum arrival { ARRIVED, NOT_YET, LOST };

// Moves the next line into the arena. Waits at most wait_ms for each read.
static enum arrival read_line(struct control_client *r, int wait_ms, struct arena *a, str *out) {
  for (size_t seen = 0;;) {
    const char *end = r->in.n > seen ? memchr(r->in.p + seen, '\n', r->in.n - seen) : NULL;
    if (end) {
      size_t n = (size_t)(end - r->in.p);
      *out = arena_str(a, (str){r->in.p, n});
      buf_drop(&r->in, n + 1);
      return ARRIVED;
    }
    ASSERT(seen <= r->in.n);
    seen = r->in.n;
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    int ready = poll(&p, 1, wait_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return NOT_YET;
    char *room = buf_room(&r->in, READ_SIZE);
    ssize_t n = room ? recv(r->fd, room, READ_SIZE, 0) : -1;
    if (n <= 0) return LOST;
    r->in.n += (size_t)n;
  }
}

// Returns the result in the line if it answers the request `id`. Returns NULL with a fault if the answer is an error,
// or NULL with FAULT_NONE if the line answers another request.
static const struct json *read_answer(struct arena *a, str line, uint64_t id, struct fault *f) {
  struct json_limits limits = {.max_bytes = MAX_ANSWER, .max_depth = JSON_DEEPEST};
  int64_t number = -1;
  str message = STR("the gateway refused the request");
  const struct json *v = json_parse(a, line, &limits, f), *error = json_get(v, STR("error"));
  if (!v) return NULL;
  f->code = FAULT_NONE;
  if (!json_int(json_get(v, STR("id")), &number) || (uint64_t)number != id) return NULL;
  if (json_get(v, STR("result"))) return json_get(v, STR("result"));
  json_string(json_get(error, STR("message")), a, &message);
  json_int(json_get(error, STR("code")), &number);
  fault_set(f, number == RPC_INVALID_PARAMS ? FAULT_INVALID : FAULT_UPSTREAM_ERROR, "%.*s", STR_ARG(message));
  return NULL;
}

// ---- waiting

// Waits for the result of the request `id`. While it waits, requests the status once a second and passes it to the
// callback `waiting`. The status may arrive before the result.
static const struct json *await(struct control_client *r, struct arena *a, uint64_t id, uint64_t until,
                                struct fault *f) {
  uint64_t status_id = 0;
  struct fault ignored;
  str line;
  ASSERT(id && id <= r->next_id);
  for (;;) {
    switch (read_line(r, TICK_MS, a, &line)) {
    case LOST: lost(f); return NULL;
    case NOT_YET:
      if (until && clock_mono_ms(&clock_system) >= until) {
        fault_set(f, FAULT_UPSTREAM_TIMEOUT, "the gateway did not answer in time: run the command again");
        return NULL;
      }
      if (r->waiting && !status_id && send_request(r, r->next_id + 1, STR("toolgate/status"), STR_NONE, &ignored))
        status_id = ++r->next_id;
      continue;
    case ARRIVED: break;
    }
    const struct json *status = status_id ? read_answer(a, line, status_id, &ignored) : NULL;
    if (status) {
      status_id = 0;
      r->waiting(r->ctx, status);
      continue;
    }
    const struct json *result = read_answer(a, line, id, f);
    if (result || f->code) return result;
  }
}

const struct json *control_client_request(struct control_client *r, struct arena *a, str method, str params,
                                          struct fault *f) {
  ASSERT_MAGIC(r, CONTROL_CLIENT_MAGIC);
  ASSERT(r->fd >= 0);
  uint64_t id = ++r->next_id;
  uint64_t until = r->timeout_ms ? clock_mono_ms(&clock_system) + r->timeout_ms : 0;
  return send_request(r, id, method, params, f) ? await(r, a, id, until, f) : NULL;
}

const struct json *control_client_mcp_request(struct control_client *r, struct arena *a, enum surface_mode mode,
                                              str method, str params, struct fault *f) {
  ASSERT((int)mode < MODE_COUNT);
  struct buf b;
  buf_init(&b, params.n + 6 * method.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("mode"), str_of(mode_names[mode]));
  json_member_str(&w, STR("method"), method);
  if (params.n) json_member_raw(&w, STR("params"), params);
  json_end_object(&w);
  ASSERT(!b.over);
  const struct json *result = control_client_request(r, a, STR("toolgate/ask"), buf_view(&b), f);
  buf_done(&b);
  return result;
}

void control_client_set_timeout(struct control_client *r, uint64_t ms) {
  r->timeout_ms = ms;
}

void control_client_on_wait(struct control_client *r, void (*waiting)(void *ctx, const struct json *status),
                            void *ctx) {
  ASSERT_MAGIC(r, CONTROL_CLIENT_MAGIC);
  ASSERT(waiting);
  r->waiting = waiting;
  r->ctx = ctx;
}

// ---- opening

static const struct json *say_hello(struct control_client *r, const struct session_operator *terms, str agent,
                                    struct fault *f) {
  struct buf b;
  buf_init(&b, agent.n * 6 + 1024);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("version"), STR(TOOLGATE_VERSION));
  if (agent.n) json_member_str(&w, STR("agent"), agent);
  json_member_u64(&w, STR("wait_ms"), terms->wait_ms);
  json_member_u64(&w, STR("result_tokens"), terms->result_tokens);
  json_end_object(&w);
  ASSERT(!b.over);
  uint64_t id = ++r->next_id, until = clock_mono_ms(&clock_system) + HELLO_MS;
  bool sent = send_request(r, id, STR("toolgate/hello"), buf_view(&b), f);
  buf_done(&b);
  return sent ? await(r, &r->arena, id, until, f) : NULL;
}

// Reads the answer to the greeting. Returns false with FAULT_INVALID if the gateway has another version: the form of
// its answers is then unknown.
static bool take_hello(struct control_client *r, const struct json *said, struct fault *f) {
  str version = STR("?");
  json_string(json_get(said, STR("version")), &r->arena, &version);
  json_string(json_get(said, STR("stale")), &r->arena, &r->stale);
  if (str_eq(version, STR(TOOLGATE_VERSION))) return true;
  fault_set(f, FAULT_INVALID,
            "the running gateway (pid %d) is version %.*s and this command is version " TOOLGATE_VERSION
            ": restart the gateway, or use --fresh if the command has it",
            r->pid, STR_ARG(version));
  return false;
}

void control_client_close(struct control_client **remote) {
  struct control_client *r = *remote;
  if (!r) return;
  ASSERT_MAGIC(r, CONTROL_CLIENT_MAGIC);
  *remote = NULL;
  close(r->fd);
  buf_done(&r->in);
  arena_done(&r->arena);
  r->magic = 0;
  mem_free(r);
}

static struct control_client *try_one(int folder, const struct control_socket *s, const struct session_operator *terms,
                                      str agent, struct fault *f) {
  int fd = control_connect(folder, s);
  if (fd < 0) return NULL;
  struct control_client *r = MEM_NEW(struct control_client);
  r->magic = CONTROL_CLIENT_MAGIC;
  r->fd = fd;
  r->pid = s->pid;
  arena_init(&r->arena);
  buf_init(&r->in, MAX_ANSWER);
  const struct json *said = control_trusts(fd) ? say_hello(r, terms, agent, f) : NULL;
  if (said && take_hello(r, said, f)) return r;
  if (!said) {
    fprintf(stderr, "toolgate: the gateway with pid %d does not answer\n", s->pid);
    f->code = FAULT_NOT_FOUND;
  }
  control_client_close(&r);
  return NULL;
}

// Appends the process ids of gateways with other configurations, separated by commas, and returns their number. Removes
// the sockets of gateways that have ended.
static size_t list_others(int folder, const struct control_socket *all, size_t n, struct buf *out_pids) {
  size_t alive = 0;
  for (size_t i = 0; i < n; i++) {
    int fd = all[i].ours ? -1 : control_connect(folder, &all[i]);
    if (fd < 0) continue;
    close(fd);
    buf_printf(out_pids, "%s%d", alive++ ? ", " : "", all[i].pid);
  }
  return alive;
}

// Returns whether the gateway was started with the configuration file of `c` or, if `c` has no configuration file, with
// the same file of servers.
static bool serves_file(struct control_client *r, const struct config *c) {
  struct file_path room;
  struct fault f;
  str path = STR_NONE;
  control_client_set_timeout(r, HELLO_MS);
  const struct json *status = control_client_request(r, &r->arena, STR("toolgate/status"), STR_NONE, &f);
  control_client_set_timeout(r, 0);
  str key = c->config_file.n ? STR("config") : STR("servers");
  json_string(json_get(json_get(status, STR("files")), key), &r->arena, &path);
  return path.n && str_eq(path, file_real_path(c->config_file.n ? c->config_file : c->mcp_config, &room));
}

// Asks every gateway for its files, and returns the newest gateway for which serves_file is true. Needed if the
// configuration is broken: the usual id cannot be computed, because it depends on files that the configuration names.
static struct control_client *find_by_file(int folder, const struct control_socket *all, size_t n,
                                           const struct config *c, const struct session_operator *terms, str agent) {
  for (size_t i = 0; i < n; i++) {
    struct fault ignored;
    struct control_client *r = all[i].ours ? NULL : try_one(folder, &all[i], terms, agent, &ignored);
    if (r && serves_file(r, c)) return r;
    control_client_close(&r);
  }
  return NULL;
}

static void set_not_found(int folder, const struct control_socket *all, size_t n, struct fault *f) {
  struct buf pids;
  buf_init(&pids, 16 * CONTROL_MOST);
  size_t others = folder < 0 ? 0 : list_others(folder, all, n, &pids);
  ASSERT(!pids.over && others <= n);
  if (others)
    fault_set(f, FAULT_NOT_FOUND,
              "no gateway serves this configuration; %zu run%s with other files (pid %.*s): give the same --config, "
              "--mcp-config, --rules and --catalog as for `toolgate serve`",
              others, others == 1 ? "s" : "", STR_ARG(buf_view(&pids)));
  else fault_set(f, FAULT_NOT_FOUND, "no gateway serves this configuration; start one with: toolgate serve");
  buf_done(&pids);
}

struct control_client *control_client_open(const struct config *c, char *const *env,
                                           const struct session_operator *terms, str agent, struct fault *f) {
  struct control_socket all[CONTROL_MOST];
  char id[CONTROL_ID + 1];
  struct control_client *r = NULL;
  int folder = control_folder(c, env, false, f);
  control_id(c, id);
  size_t n = folder < 0 ? 0 : control_list(folder, id, all);
  ASSERT(n <= CONTROL_MOST);
  f->code = FAULT_NOT_FOUND;
  for (size_t i = 0; !r && f->code == FAULT_NOT_FOUND && i < n; i++)
    if (all[i].ours) r = try_one(folder, &all[i], terms, agent, f);
  if (!r && c->broken && f->code == FAULT_NOT_FOUND) r = find_by_file(folder, all, n, c, terms, agent);
  for (size_t i = 0; r && i < n; i++) r->others += all[i].ours && all[i].pid != r->pid && kill(all[i].pid, 0) == 0;
  if (!r && f->code == FAULT_NOT_FOUND) set_not_found(folder, all, n, f);
  if (folder >= 0) close(folder);
  return r;
}

void control_client_warn_broken(const struct control_client *r) {
  fprintf(stderr,
          "toolgate: using the running gateway (pid %d), which still serves the configuration from before the error\n",
          r->pid);
}

int control_client_pid(const struct control_client *r) {
  return r->pid;
}
unsigned control_client_others(const struct control_client *r) {
  return r->others;
}
str control_client_stale(const struct control_client *r) {
  return r->stale;
}
