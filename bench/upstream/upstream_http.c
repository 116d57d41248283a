// SPDX-License-Identifier: Apache-2.0
// A benchmark upstream over Streamable HTTP: upstream_http PORT [handshake|modern [TOOLS]]
//
// The fastest end of the line that we could write, in one thread: HTTP/1.1 with keep-alive and pipelining on epoll, one
// write for what was read together. It trusts the HTTP of its client: the purpose is to be measured through.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "mcp.h"

enum { MAX_BYTES = 64 << 20, READ_SIZE = 65536, EVENTS = 256 };

struct conn {
  int fd;
  bool wants_write;
  struct buf in, out;
};

struct upstream {
  struct mcp mcp;
  int listener, epoll;
  struct buf body;  // of the answer being made
  uint64_t sessions;
};

struct head {
  str method;
  size_t size, content_length;
  struct mcp_headers mcp;
};

static void take_header(struct head *h, str name, str value) {
  uint64_t length;
  if (str_eq_nocase(name, STR("content-length")) && str_to_u64(value, &length)) h->content_length = length;
  else if (str_eq_nocase(name, STR("mcp-protocol-version"))) h->mcp.version = value;
  else if (str_eq_nocase(name, STR("mcp-method"))) h->mcp.method = value;
  else if (str_eq_nocase(name, STR("mcp-name"))) h->mcp.name = value;
}

// False when the head is not complete.
static bool parse_head(str in, struct head *out) {
  const char *end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
  if (!end) return false;
  struct head h = {.size = (size_t)(end - in.p) + 4};
  str line, rest = {in.p, h.size}, tail;
  str_cut(rest, ' ', &h.method, &tail);
  for (; str_cut(rest, '\n', &line, &tail); rest = tail) {
    str name, value;
    if (!str_cut(line, ':', &name, &value)) continue;
    if (value.n && value.p[value.n - 1] == '\r') value.n--;
    take_header(&h, name, str_trim(value));
  }
  *out = h;
  return true;
}

static str status_of(enum mcp_answer kind) {
  if (kind == MCP_REFUSED) return STR("HTTP/1.1 400 Bad Request\r\n");
  if (kind == MCP_UNKNOWN) return STR("HTTP/1.1 404 Not Found\r\n");
  return STR("HTTP/1.1 200 OK\r\n");
}

static void answer(struct upstream *u, struct conn *c, const struct head *h, str body) {
  bool sessions = u->mcp.era == MCP_HANDSHAKE;
  if (sessions && str_eq(h->method, STR("DELETE")))
    return buf_str(&c->out, STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  if (!str_eq(h->method, STR("POST")))
    return buf_printf(&c->out, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST%s\r\nContent-Length: 0\r\n\r\n",
                      sessions ? ", DELETE" : "");
  buf_reset(&u->body);
  enum mcp_answer kind = mcp_handle(&u->mcp, &h->mcp, body, &u->body);
  if (kind == MCP_NOTHING) return buf_str(&c->out, STR("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"));
  buf_str(&c->out, status_of(kind));
  buf_str(&c->out, STR("Content-Type: application/json\r\n"));
  if (kind == MCP_INITIALIZED)
    buf_printf(&c->out, "Mcp-Session-Id: bench-%d-%llu\r\n", (int)getpid(), (unsigned long long)++u->sessions);
  buf_str(&c->out, STR("Content-Length: "));
  buf_u64(&c->out, u->body.n);
  buf_str(&c->out, STR("\r\n\r\n"));
  buf_str(&c->out, buf_view(&u->body));
}

static void answer_requests(struct upstream *u, struct conn *c) {
  str in = buf_view(&c->in);
  struct head h;
  while (parse_head(in, &h) && in.n - h.size >= h.content_length) {
    answer(u, c, &h, (str){in.p + h.size, h.content_length});
    in = str_from(in, h.size + h.content_length);
  }
  buf_drop(&c->in, c->in.n - in.n);
}

static void watch(struct upstream *u, struct conn *c, int operation) {
  struct epoll_event event = {.events = EPOLLIN | (c->wants_write ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(u->epoll, operation, c->fd, &event);
}

static void accept_all(struct upstream *u) {
  int fd, on = 1;
  while ((fd = accept4(u->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct conn *c = MEM_NEW(struct conn);
    c->fd = fd;
    buf_init(&c->in, MAX_BYTES);
    buf_init(&c->out, MAX_BYTES);
    watch(u, c, EPOLL_CTL_ADD);
  }
}

// False when the connection is over.
static bool read_some(struct conn *c) {
  char *room = buf_room(&c->in, READ_SIZE);
  ssize_t k = room ? recv(c->fd, room, READ_SIZE, 0) : 0;
  if (k < 0) return errno == EAGAIN || errno == EINTR;
  c->in.n += (size_t)k;
  return k > 0;
}

static bool write_some(struct conn *c) {
  if (!c->out.n) return true;
  ssize_t k = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
  if (k < 0) return errno == EAGAIN || errno == EINTR;
  buf_drop(&c->out, (size_t)k);
  return true;
}

static void serve(struct upstream *u, struct conn *c, uint32_t events) {
  bool alive = !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || read_some(c);
  if (alive) answer_requests(u, c);
  if (!alive || !write_some(c) || c->out.over) {
    close(c->fd);
    buf_done(&c->in);
    buf_done(&c->out);
    mem_free(c);
    return;
  }
  bool wants_write = c->out.n > 0;
  if (wants_write == c->wants_write) return;
  c->wants_write = wants_write;
  watch(u, c, EPOLL_CTL_MOD);
}

static int listen_on(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 1024)) return -1;
  return fd;
}

int main(int argc, char **argv) {
  uint64_t port = 0, tools = 10;
  str era = str_of(argc > 2 ? argv[2] : "handshake");
  bool modern = str_eq(era, STR("modern"));
  if (argc < 2 || !str_to_u64(str_of(argv[1]), &port) || port > UINT16_MAX ||
      (!modern && !str_eq(era, STR("handshake"))) || (argc > 3 && !str_to_u64(str_of(argv[3]), &tools))) {
    fputs("usage: upstream_http PORT [handshake|modern [TOOLS]]\n", stderr);
    return 2;
  }
  struct upstream u = {.listener = listen_on((uint16_t)port), .epoll = epoll_create1(EPOLL_CLOEXEC)};
  if (u.listener < 0) {
    perror("upstream_http");
    return 3;
  }
  mcp_init(&u.mcp, modern ? MCP_MODERN : MCP_HANDSHAKE, (unsigned)tools);
  buf_init(&u.body, MAX_BYTES);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
  epoll_ctl(u.epoll, EPOLL_CTL_ADD, u.listener, &event);
  for (;;) {
    int n = epoll_wait(u.epoll, events, EVENTS, -1);
    for (int i = 0; i < n; i++)
      if (events[i].data.ptr) serve(&u, events[i].data.ptr, events[i].events);
      else accept_all(&u);
  }
}
