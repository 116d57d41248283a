// SPDX-License-Identifier: Apache-2.0
#include "app/visit/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/control_place.h"
#include "base/mem.h"
#include "io/file.h"
#include "rpc/message.h"

enum {
  HELLO_MS = 3000,  // a gateway that does not say hello within this time is passed over
  TICK_MS = 1000,
  READ_SIZE = 65536,
  MOST_ANSWER = 256 << 20,
};

struct remote {
  int fd;
  int pid;
  unsigned others;
  struct arena arena;
  str stale;
  uint64_t next_id, patience_ms;
  struct buf in;  // what was read and is no whole line yet
  void (*waiting)(void *ctx, const struct json *status);
  void *ctx;
};

// ---- messages

static bool lost(struct fault *f) {
  fault_set(f, FAULT_SHUTTING_DOWN, "the gateway ended before it answered");
  return false;
}

static bool send_all(struct remote *r, str text, struct fault *f) {
  while (text.n) {
    ssize_t n = send(r->fd, text.p, text.n, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return lost(f);
    text = str_from(text, (size_t)n);
  }
  return true;
}

static bool send_request(struct remote *r, uint64_t id, str method, str params, struct fault *f) {
  struct str_digits digits;
  struct buf b;
  buf_init(&b, params.n + 4096);
  rpc_put_request(&b, str_from_u64(id, &digits), method, params);
  // No JSON text has a line break that matters.
  for (size_t i = 0; i < b.n; i++)
    if (b.p[i] == '\n' || b.p[i] == '\r') b.p[i] = ' ';
  buf_char(&b, '\n');
  bool ok = send_all(r, buf_view(&b), f);
  buf_done(&b);
  return ok;
}

enum arrival { ARRIVED, NOT_YET, LOST };

// A line, copied into the arena and taken out of what was read.
static enum arrival read_line(struct remote *r, int wait_ms, struct arena *a, str *out) {
  for (size_t seen = 0;;) {
    const char *end = r->in.n > seen ? memchr(r->in.p + seen, '\n', r->in.n - seen) : NULL;
    if (end) {
      size_t n = (size_t)(end - r->in.p);
      *out = arena_str(a, (str){r->in.p, n});
      buf_drop(&r->in, n + 1);
      return ARRIVED;
    }
    seen = r->in.n;
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    int ready = poll(&p, 1, wait_ms);
    if (ready == 0) return NOT_YET;
    if (ready < 0 && errno == EINTR) return NOT_YET;
    char *room = buf_room(&r->in, READ_SIZE);
    ssize_t n = room ? recv(r->fd, room, READ_SIZE, 0) : -1;
    if (n <= 0) return LOST;
    r->in.n += (size_t)n;
  }
}

// The answer in a line. NULL, with FAULT_NONE: it is that of another request.
static const struct json *read_answer(struct arena *a, str line, uint64_t id, struct fault *f) {
  struct json_limits limits = {.max_bytes = MOST_ANSWER, .max_depth = JSON_DEEPEST};
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

// Meanwhile the status is asked for, once a second; its answer may come first.
static void tell_waiting(struct remote *r, uint64_t *asked) {
  struct fault f;
  if (r->waiting && !*asked && send_request(r, r->next_id + 1, STR("toolgate/status"), STR_NONE, &f))
    *asked = ++r->next_id;
}

static bool is_status(struct remote *r, struct arena *a, str line, uint64_t *asked) {
  struct fault f;
  const struct json *status = *asked ? read_answer(a, line, *asked, &f) : NULL;
  if (!status) return false;
  *asked = 0;
  r->waiting(r->ctx, status);
  return true;
}

static const struct json *await(struct remote *r, struct arena *a, uint64_t id, uint64_t until, struct fault *f) {
  uint64_t asked = 0;
  str line;
  for (;;) {
    switch (read_line(r, TICK_MS, a, &line)) {
    case LOST: lost(f); return NULL;
    case NOT_YET:
      if (until && clock_mono_ms(&clock_system) >= until) {
        fault_set(f, FAULT_UPSTREAM_TIMEOUT, "the gateway does not answer");
        return NULL;
      }
      tell_waiting(r, &asked);
      continue;
    case ARRIVED: break;
    }
    if (is_status(r, a, line, &asked)) continue;
    const struct json *result = read_answer(a, line, id, f);
    if (result || f->code) return result;
  }
}

const struct json *remote_request(struct remote *r, struct arena *a, str method, str params, struct fault *f) {
  uint64_t id = ++r->next_id;
  uint64_t until = r->patience_ms ? clock_mono_ms(&clock_system) + r->patience_ms : 0;
  return send_request(r, id, method, params, f) ? await(r, a, id, until, f) : NULL;
}

const struct json *remote_ask(struct remote *r, struct arena *a, enum surface_mode mode, str method, str params,
                              struct fault *f) {
  struct buf b;
  buf_init(&b, params.n + 6 * method.n + 256);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("mode"), str_of(mode_names[mode]));
  json_member_str(&w, STR("method"), method);
  if (params.n) json_member_raw(&w, STR("params"), params);
  json_end_object(&w);
  const struct json *result = remote_request(r, a, STR("toolgate/ask"), buf_view(&b), f);
  buf_done(&b);
  return result;
}

void remote_patience(struct remote *r, uint64_t ms) {
  r->patience_ms = ms;
}

void remote_on_wait(struct remote *r, void (*waiting)(void *ctx, const struct json *status), void *ctx) {
  r->waiting = waiting;
  r->ctx = ctx;
}

// ---- opening

static const struct json *say_hello(struct remote *r, const struct session_operator *terms, str agent,
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
  uint64_t id = ++r->next_id, until = clock_mono_ms(&clock_system) + HELLO_MS;
  bool sent = send_request(r, id, STR("toolgate/hello"), buf_view(&b), f);
  buf_done(&b);
  return sent ? await(r, &r->arena, id, until, f) : NULL;
}

// False, with FAULT_INVALID: it is of another version, and nobody knows what it would answer.
static bool take_hello(struct remote *r, const struct json *said, struct fault *f) {
  str version = STR("?");
  json_string(json_get(said, STR("version")), &r->arena, &version);
  json_string(json_get(said, STR("stale")), &r->arena, &r->stale);
  if (str_eq(version, STR(TOOLGATE_VERSION))) return true;
  fault_set(f, FAULT_INVALID,
            "the running gateway (pid %d) is version %.*s and this command is version " TOOLGATE_VERSION
            ": restart the gateway, or use --fresh where a command has it",
            r->pid, STR_ARG(version));
  return false;
}

static struct remote *remote_new(int fd, int pid) {
  struct remote *r = MEM_NEW(struct remote);
  r->fd = fd;
  r->pid = pid;
  arena_init(&r->arena);
  buf_init(&r->in, MOST_ANSWER);
  return r;
}

void remote_close(struct remote **remote) {
  struct remote *r = *remote;
  if (!r) return;
  *remote = NULL;
  close(r->fd);
  buf_done(&r->in);
  arena_done(&r->arena);
  mem_free(r);
}

static struct remote *try_one(int folder, const struct control_socket *s, const struct session_operator *terms,
                              str agent, struct fault *f) {
  int fd = control_connect(folder, s);
  if (fd < 0) return NULL;
  struct remote *r = remote_new(fd, s->pid);
  const struct json *said = control_trusts(fd) ? say_hello(r, terms, agent, f) : NULL;
  if (said && take_hello(r, said, f)) return r;
  if (!said) {
    fprintf(stderr, "toolgate: the gateway with pid %d does not answer\n", s->pid);
    f->code = FAULT_NOT_FOUND;
  }
  remote_close(&r);
  return NULL;
}

// Lists the pids of gateways that live, with commas. Removes the sockets of those that are gone, too.
static size_t list_strangers(int folder, const struct control_socket *all, size_t n, struct buf *out_pids) {
  size_t living = 0;
  for (size_t i = 0; i < n; i++) {
    int fd = all[i].ours ? -1 : control_connect(folder, &all[i]);
    if (fd < 0) continue;
    close(fd);
    buf_printf(out_pids, "%s%d", living++ ? ", " : "", all[i].pid);
  }
  return living;
}

// Whether a gateway was started with this configuration file or, if there is none, with these servers.
static bool has_file(struct remote *r, const struct config *c) {
  struct file_path room;
  struct fault f;
  str path = STR_NONE;
  remote_patience(r, HELLO_MS);
  const struct json *status = remote_request(r, &r->arena, STR("toolgate/status"), STR_NONE, &f);
  remote_patience(r, 0);
  str key = c->config_file.n ? STR("config") : STR("servers");
  json_string(json_get(json_get(status, STR("files")), key), &r->arena, &path);
  return path.n && str_eq(path, file_real_path(c->config_file.n ? c->config_file : c->mcp_config, &room));
}

// A configuration that cannot be read may name files that the id of its gateway is made of, so gateways are asked for
// their files. The newest one that fits is taken.
static struct remote *find_by_file(int folder, const struct control_socket *all, size_t n, const struct config *c,
                                   const struct session_operator *terms, str agent) {
  for (size_t i = 0; i < n; i++) {
    struct fault ignored;
    struct remote *r = all[i].ours ? NULL : try_one(folder, &all[i], terms, agent, &ignored);
    if (r && has_file(r, c)) return r;
    remote_close(&r);
  }
  return NULL;
}

// Gateways of the same configuration besides the one with this pid, as far as their processes live.
static unsigned count_others(const struct control_socket *all, size_t n, int pid) {
  unsigned others = 0;
  for (size_t i = 0; i < n; i++) others += all[i].ours && all[i].pid != pid && kill(all[i].pid, 0) == 0;
  return others;
}

static void none(int folder, const struct control_socket *all, size_t n, struct fault *f) {
  struct buf pids;
  buf_init(&pids, 16 * CONTROL_MOST);
  size_t others = folder < 0 ? 0 : list_strangers(folder, all, n, &pids);
  if (others)
    fault_set(f, FAULT_NOT_FOUND,
              "no gateway serves this configuration; %zu run%s with other files (pid %.*s): name them with --config, "
              "--mcp-config, --rules and --catalog as `toolgate serve` got them",
              others, others == 1 ? "s" : "", STR_ARG(buf_view(&pids)));
  else fault_set(f, FAULT_NOT_FOUND, "no gateway serves this configuration; start one with: toolgate serve");
  buf_done(&pids);
}

struct remote *remote_open(const struct config *c, char *const *env, const struct session_operator *terms, str agent,
                           struct fault *f) {
  struct control_socket all[CONTROL_MOST];
  char id[CONTROL_ID + 1];
  struct remote *r = NULL;
  int folder = control_folder(c, env, false, f);
  control_id(c, id);
  size_t n = folder < 0 ? 0 : control_list(folder, id, all);
  f->code = FAULT_NOT_FOUND;
  for (size_t i = 0; !r && f->code == FAULT_NOT_FOUND && i < n; i++)
    if (all[i].ours) r = try_one(folder, &all[i], terms, agent, f);
  if (!r && c->broken && f->code == FAULT_NOT_FOUND) r = find_by_file(folder, all, n, c, terms, agent);
  if (r) r->others = count_others(all, n, r->pid);
  else if (f->code == FAULT_NOT_FOUND) none(folder, all, n, f);
  if (folder >= 0) close(folder);
  return r;
}

void remote_say_broken(const struct remote *r) {
  fprintf(stderr,
          "toolgate: asking the running gateway (pid %d) all the same; it serves what it read before the error\n",
          r->pid);
}

int remote_pid(const struct remote *r) {
  return r->pid;
}
unsigned remote_others(const struct remote *r) {
  return r->others;
}
str remote_stale(const struct remote *r) {
  return r->stale;
}
