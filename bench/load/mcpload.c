// SPDX-License-Identifier: Apache-2.0
// Load generator for MCP over Streamable HTTP.
//
//   mcpload [options] HOST:PORT/PATH         HOST is an IPv4 address
//
//   -c N      connections, each with one request in flight (1)
//   -t N      seconds (5)
//   -w N      requests that are made first and not counted (0)
//   -o OP     what to repeat: call, list or ping (call)
//   -n NAME   the tool to call (echo); its argument is `message`, and it gives that back as text
//   -p N      bytes of the message (32)
//   -e        every connection its own session (one for all)
//   -x ID     call the tool with this id by tool_execute, in a mode with meta-tools
//   --era ERA handshake (2025-11-25), or modern: stateless requests (2026-07-28), which know neither ping nor sessions
//
// Every request has its own id and, for call, its own text; a reply counts only if both are right and, in the modern
// era, the result is said to be complete. The time is that from the first byte handed to the kernel to the arrival of
// the whole reply. One line of JSON goes to stdout.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../jscan.h"
#include "base/mem.h"
#include "response.h"
#include "stats.h"

enum { MAX_BYTES = 64 << 20, READ_SIZE = 65536, EVENTS = 256, MAX_CONNECTIONS = 4096, MAX_ERRORS = 1000 };

static const uint64_t SECOND = 1000000000, GRACE = 5;

struct options {
  uint64_t connections, seconds, warmup, message_bytes;
  str op, tool, era;
  str execute;  // the id of the tool, when it is called with tool_execute
  bool modern;  // is the era
  bool own_sessions;
  str authority, path;
  struct sockaddr_in address;
};

// What a connection waits for an answer to.
enum step { STEP_IDLE, STEP_INITIALIZE, STEP_INITIALIZED, STEP_CALL };

struct conn {
  struct load *load;
  int fd;
  enum step step;
  bool answered;  // the right reply to `id` was seen
  bool writing;   // the socket was full
  uint64_t id, sent_at;
  struct buf out, in, event;
  struct response response;
  char session[SESSION_MAX];
};

struct load {
  struct options opt;
  struct stats stats;
  struct conn *conns;
  int epoll;
  unsigned busy;  // connections that wait for an answer
  bool stopping;
  uint64_t next_id, warmup_left, start, end;
  struct buf body, text;
  struct buf filler;  // the alphabet, over and over
};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

// ---- messages ----

// The text that only the request with this id has.
static str text_of(struct load *l, uint64_t id) {
  buf_reset(&l->text);
  buf_char(&l->text, 'm');
  buf_u64(&l->text, id);
  buf_char(&l->text, '-');
  if (l->text.n < l->opt.message_bytes) buf_add(&l->text, l->filler.p + id % 26, l->opt.message_bytes - l->text.n);
  return buf_view(&l->text);
}

static bool is_call(const struct options *opt) {
  return str_eq(opt->op, STR("call"));
}

static str method_of(const struct options *opt) {
  if (str_eq(opt->op, STR("list"))) return STR("tools/list");
  return is_call(opt) ? STR("tools/call") : STR("ping");
}

static void put_params(struct load *l, uint64_t id) {
  struct buf *b = &l->body;
  if (is_call(&l->opt)) {
    buf_str(b, STR("\"name\":\""));
    buf_str(b, l->opt.execute.n ? STR("tool_execute") : l->opt.tool);
    buf_str(b, STR("\",\"arguments\":{"));
    if (l->opt.execute.n) buf_printf(b, "\"tool_id\":\"%.*s\",\"args\":{", STR_ARG(l->opt.execute));
    buf_str(b, STR("\"message\":\""));
    buf_str(b, text_of(l, id));
    buf_str(b, l->opt.execute.n ? STR("\"}}") : STR("\"}"));
    if (l->opt.modern) buf_char(b, ',');
  }
  if (l->opt.modern)
    buf_str(b, STR("\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                   "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"mcpload\",\"version\":\"1\"},"
                   "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
}

static void put_request(struct load *l, uint64_t id) {
  struct buf *b = &l->body;
  buf_str(b, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
  buf_u64(b, id);
  buf_str(b, STR(",\"method\":\""));
  buf_str(b, method_of(&l->opt));
  buf_str(b, STR("\",\"params\":{"));
  put_params(l, id);
  buf_str(b, STR("}}"));
}

static void put_body(struct load *l, struct conn *c) {
  buf_reset(&l->body);
  if (c->step == STEP_INITIALIZE)
    buf_str(&l->body,
            STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mcpload\",\"version\":\"1\"}}}"));
  else if (c->step == STEP_INITIALIZED)
    buf_str(&l->body, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
  else put_request(l, c->id);
}

static void put_mcp_headers(struct load *l, struct conn *c) {
  struct buf *o = &c->out;
  if (l->opt.modern) {
    buf_str(o, STR("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: "));
    buf_str(o, method_of(&l->opt));
    buf_str(o, STR("\r\n"));
    if (is_call(&l->opt)) buf_printf(o, "Mcp-Name: %.*s\r\n", STR_ARG(l->opt.tool));
  } else if (c->step != STEP_INITIALIZE) {
    buf_str(o, STR("MCP-Protocol-Version: 2025-11-25\r\n"));
  }
  if (c->session[0]) buf_printf(o, "Mcp-Session-Id: %s\r\n", c->session);
}

static void put_http(struct load *l, struct conn *c) {
  struct buf *o = &c->out;
  buf_reset(o);
  buf_printf(o, "POST %.*s HTTP/1.1\r\nHost: %.*s\r\n", STR_ARG(l->opt.path), STR_ARG(l->opt.authority));
  buf_str(o, STR("Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"));
  put_mcp_headers(l, c);
  buf_printf(o, "Content-Length: %zu\r\n\r\n", l->body.n);
  buf_str(o, buf_view(&l->body));
}

// Does the result answer the request with this id as it must?
static bool right_result(struct load *l, uint64_t id, str result) {
  if (l->opt.modern && !jscan_is(jscan_get(result, STR("resultType")), STR("complete"))) return false;
  if (str_eq(l->opt.op, STR("list"))) return jscan_first(jscan_get(result, STR("tools"))).n > 0;
  if (str_eq(l->opt.op, STR("ping"))) return result.n > 0;
  str text = jscan_get(jscan_first(jscan_get(result, STR("content"))), STR("text"));
  return jscan_is(text, text_of(l, id));
}

// ---- connections ----

static void watch(struct conn *c, int operation) {
  struct epoll_event event = {.events = EPOLLIN | (c->writing ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(c->load->epoll, operation, c->fd, &event);
}

static bool conn_open(struct conn *c) {
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, (struct sockaddr *)&c->load->opt.address, sizeof c->load->opt.address)) {
    close(fd);
    return false;
  }
  fcntl(fd, F_SETFL, O_NONBLOCK);
  c->fd = fd;
  c->writing = false;
  buf_reset(&c->in);
  watch(c, EPOLL_CTL_ADD);
  return true;
}

static void conn_close(struct conn *c) {
  if (c->fd >= 0) close(c->fd);  // leaves the epoll set by itself
  c->fd = -1;
}

static bool conn_flush(struct conn *c) {
  ssize_t k = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
  if (k < 0 && errno != EAGAIN && errno != EINTR) return false;
  if (k > 0) buf_drop(&c->out, (size_t)k);
  bool writing = c->out.n > 0;
  if (writing != c->writing) {
    c->writing = writing;
    watch(c, EPOLL_CTL_MOD);
  }
  return true;
}

static void conn_send(struct conn *c, enum step step) {
  struct load *l = c->load;
  if (c->step == STEP_IDLE) l->busy++;
  c->step = step;
  c->answered = false;
  c->id = step == STEP_CALL ? l->next_id++ : 0;
  response_reset(&c->response);
  put_body(l, c);
  put_http(l, c);
  if (c->fd < 0 && !conn_open(c)) stats_error(&l->stats, "cannot connect: errno %d", errno), l->stopping = true;
  c->sent_at = now_ns();
  if (c->fd >= 0 && conn_flush(c)) return;
  conn_close(c);
  c->step = STEP_IDLE;
  l->busy--;
}

static void conn_next(struct conn *c) {
  struct load *l = c->load;
  if (l->stats.errors > MAX_ERRORS) l->stopping = true;
  if (!l->stopping) return conn_send(c, STEP_CALL);
  c->step = STEP_IDLE;
  l->busy--;
}

// ---- answers ----

static void count_reply(struct load *l, uint64_t ns) {
  if (l->warmup_left == 0) return stats_record(&l->stats, ns);
  if (--l->warmup_left) return;
  stats_forget(&l->stats);
  l->start = now_ns();
  l->end = l->start + l->opt.seconds * SECOND;
}

// Looks at one JSON-RPC message; only the reply that the connection waits for matters.
static void take_message(struct conn *c, str message) {
  struct load *l = c->load;
  char id[24];
  snprintf(id, sizeof id, "%llu", (unsigned long long)c->id);
  if (c->answered || !str_eq(jscan_get(message, STR("id")), str_of(id)) || jscan_get(message, STR("method")).n) return;
  str result = jscan_get(message, STR("result"));
  c->answered = true;
  if (!result.n || (c->step == STEP_CALL && !right_result(l, c->id, result)))
    stats_error(&l->stats, "wrong reply: %.*s", message.n > 150 ? 150 : (int)message.n, message.p);
  else if (c->step == STEP_CALL) count_reply(l, now_ns() - c->sent_at);
}

static void take_response(struct conn *c) {
  struct response *r = &c->response;
  if (r->events)
    while (response_next_event(r, &c->event)) take_message(c, buf_view(&c->event));
  else if (r->state == RESPONSE_DONE) take_message(c, buf_view(&r->body));
}

// The session is open: everyone who shares it may start.
static void session_ready(struct conn *c) {
  struct load *l = c->load;
  for (size_t i = 0; !l->opt.own_sessions && i < l->opt.connections; i++) {
    struct conn *other = &l->conns[i];
    if (other == c) continue;
    memcpy(other->session, c->session, sizeof c->session);
    conn_send(other, STEP_CALL);
  }
  conn_send(c, STEP_CALL);
}

static void response_complete(struct conn *c) {
  struct load *l = c->load;
  struct response *r = &c->response;
  if (c->step != STEP_INITIALIZED && !c->answered) stats_error(&l->stats, "no reply, status %d", r->status);
  if (r->close) {
    conn_close(c);
    l->stats.reconnects++;
  }
  if (c->step == STEP_CALL) return conn_next(c);
  if (r->status >= 300 || l->stats.errors) {
    stats_error(&l->stats, "the handshake failed with status %d", r->status);
    l->stopping = true;
    return conn_next(c);
  }
  if (c->step == STEP_INITIALIZED) return session_ready(c);
  memcpy(c->session, r->session, sizeof c->session);
  conn_send(c, STEP_INITIALIZED);
}

static void conn_read(struct conn *c) {
  char *room = buf_room(&c->in, READ_SIZE);
  ssize_t k = room ? recv(c->fd, room, READ_SIZE, 0) : 0;
  if (k < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (k > 0) {
    c->in.n += (size_t)k;
    response_feed(&c->response, &c->in);
  } else {
    response_end(&c->response);
    conn_close(c);
  }
  if (c->step == STEP_IDLE) return;
  take_response(c);
  if (c->response.state == RESPONSE_DONE) return response_complete(c);
  if (k > 0 && c->response.state != RESPONSE_BAD) return;
  stats_error(&c->load->stats, "%s", k > 0 ? "malformed HTTP" : "the connection ended before the answer");
  conn_close(c);
  c->load->stats.reconnects++;
  conn_next(c);
}

// ---- the run ----

static void run(struct load *l) {
  struct epoll_event events[EVENTS];
  size_t first = l->opt.own_sessions || l->opt.modern ? l->opt.connections : 1;
  l->start = now_ns();
  l->end = l->start + l->opt.seconds * SECOND;
  for (size_t i = 0; i < first; i++) conn_send(&l->conns[i], l->opt.modern ? STEP_CALL : STEP_INITIALIZE);
  while (l->busy) {
    int n = epoll_wait(l->epoll, events, EVENTS, 100);
    uint64_t now = now_ns();
    if (l->warmup_left == 0 && now >= l->end) l->stopping = true;
    if (now >= l->end + GRACE * SECOND) return stats_error(&l->stats, "%u requests were never answered", l->busy);
    for (int i = 0; i < n; i++) {
      struct conn *c = events[i].data.ptr;
      if (events[i].events & EPOLLOUT) (void)conn_flush(c);  // a failure shows when reading
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) conn_read(c);
    }
  }
}

static void load_init(struct load *l, const struct options *opt) {
  *l = (struct load){.opt = *opt, .next_id = 1, .warmup_left = opt->warmup, .epoll = epoll_create1(EPOLL_CLOEXEC)};
  buf_init(&l->body, MAX_BYTES);
  buf_init(&l->text, MAX_BYTES);
  buf_init(&l->filler, MAX_BYTES);
  for (size_t i = 0; i < opt->message_bytes + 26; i++) buf_char(&l->filler, (char)('a' + i % 26));
  l->conns = mem_zero(opt->connections * sizeof *l->conns);
  for (size_t i = 0; i < opt->connections; i++) {
    struct conn *c = &l->conns[i];
    c->load = l;
    c->fd = -1;
    buf_init(&c->out, MAX_BYTES);
    buf_init(&c->in, MAX_BYTES);
    buf_init(&c->event, MAX_BYTES);
    response_init(&c->response);
  }
}

static void load_done(struct load *l) {
  for (size_t i = 0; i < l->opt.connections; i++) {
    struct conn *c = &l->conns[i];
    conn_close(c);
    buf_done(&c->out);
    buf_done(&c->in);
    buf_done(&c->event);
    response_done(&c->response);
  }
  mem_free(l->conns);
  buf_done(&l->body);
  buf_done(&l->text);
  buf_done(&l->filler);
  stats_done(&l->stats);
  close(l->epoll);
}

static bool parse_target(str target, struct options *o) {
  str host, port, path;
  uint64_t number;
  char text[64];
  bool has_path = str_cut(target, '/', &o->authority, &path);
  o->path = has_path ? (str){path.p - 1, path.n + 1} : STR("/");
  if (!str_cut(o->authority, ':', &host, &port) || !str_to_u64(port, &number) || number > UINT16_MAX) return false;
  snprintf(text, sizeof text, "%.*s", STR_ARG(host));
  o->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
  return inet_pton(AF_INET, text, &o->address.sin_addr) == 1;
}

// Every era has its operations.
static bool possible(const struct options *o) {
  bool handshake = str_eq(o->era, STR("handshake"));
  if (str_eq(o->op, STR("ping"))) return handshake;
  if (!is_call(o) && !str_eq(o->op, STR("list"))) return false;
  return handshake || (o->modern && !o->own_sessions);
}

static bool parse_options(int argc, char **argv, struct options *out) {
  static const struct option names[] = {{"era", required_argument, NULL, 'E'}, {0}};
  struct options o = {.connections = 1, .seconds = 5, .message_bytes = 32};
  o.op = STR("call");
  o.tool = STR("echo");
  o.era = STR("handshake");
  bool ok = true;
  for (int letter; (letter = getopt_long(argc, argv, "c:t:w:o:n:x:p:e", names, NULL)) != -1;) {
    str value = str_of(optarg);
    if (letter == 'c') ok = ok && str_to_u64(value, &o.connections);
    else if (letter == 't') ok = ok && str_to_u64(value, &o.seconds);
    else if (letter == 'w') ok = ok && str_to_u64(value, &o.warmup);
    else if (letter == 'p') ok = ok && str_to_u64(value, &o.message_bytes);
    else if (letter == 'o') o.op = value;
    else if (letter == 'n') o.tool = value;
    else if (letter == 'x') o.execute = value;
    else if (letter == 'E') o.era = value;
    else if (letter == 'e') o.own_sessions = true;
    else ok = false;
  }
  o.modern = str_eq(o.era, STR("modern"));
  ok = ok && o.connections > 0 && o.connections <= MAX_CONNECTIONS && o.message_bytes < MAX_BYTES / 2;
  if (!ok || !possible(&o) || optind + 1 != argc || !parse_target(str_of(argv[optind]), &o)) return false;
  *out = o;
  return true;
}

int main(int argc, char **argv) {
  struct options opt;
  if (!parse_options(argc, argv, &opt)) {
    fputs("usage: mcpload [-c N] [-t N] [-w N] [-o call|list|ping] [-n TOOL | -x TOOL_ID] [-p N] [-e] "
          "[--era handshake|modern] HOST:PORT/PATH\n",
          stderr);
    return 2;
  }
  struct load l;
  load_init(&l, &opt);
  run(&l);
  stats_print(&l.stats, (unsigned)opt.connections, (double)(now_ns() - l.start) / 1e9);
  int status = l.stats.errors || !l.stats.n;
  load_done(&l);
  return status;
}
