// SPDX-License-Identifier: Apache-2.0
// What the tests over a loopback HTTP server share: a loop whose clock only the test moves, so that no deadline passes
// by itself; the server; and raw clients, which write and read the bytes themselves.
//
// Waiting is turning the loop until something is there, with a deadline of real time that only a failure reaches.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/sockios.h>

#include "base/mem.h"
#include "io/http/http_server.h"

enum { DEADLINE_MS = 20000, CLIENT_MAX = 64 << 20 };

struct world {
  uint64_t now;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct http_server *server;
  uint16_t port;
};

static inline uint64_t world_mono(void *ctx) {
  return ((struct world *)ctx)->now;
}
static inline int64_t world_wall(void *ctx) {
  return 0;
}

static inline void world_no_request(void *ctx, struct http_exchange *x) {
  fail_msg("a request to a server that expects none");
}

// on_request may be NULL: the test sends no requests to the server.
static inline void world_open(struct world *w, const struct http_server_options *opt,
                              void (*on_request)(void *ctx, struct http_exchange *x), void *ctx) {
  struct fault f;
  *w = (struct world){.now = 1000000, .clock = {world_mono, world_wall, w}, .log = {-1, LOG_OFF, NULL}};
  loop_init(&w->loop, &w->log, &w->clock, &rand_system);
  w->server = http_server_new(&w->loop, opt, on_request ? on_request : world_no_request, ctx);
  assert_true(http_server_listen(w->server, STR("127.0.0.1"), 0, &w->port, &f));
}

static inline void world_close(struct world *w) {
  http_server_free(&w->server);
  loop_run(&w->loop);
  loop_done(&w->loop);
}

static inline uint64_t real_ms(void) {
  return clock_mono_ms(&clock_system);
}

// One turn of the loop, and a short wait for something to happen when it had nothing to do.
static inline void turn(struct world *w, int fd, uint64_t until) {
  uv_run(&w->loop.uv, UV_RUN_NOWAIT);
  struct pollfd fds[] = {{uv_backend_fd(&w->loop.uv), POLLIN, 0}, {fd, POLLIN, 0}};
  poll(fds, fd < 0 ? 1 : 2, 5);
  assert_true(real_ms() < until);
}

static inline void some_turns(struct world *w) {
  for (int i = 0; i < 20; i++) uv_run(&w->loop.uv, UV_RUN_NOWAIT);
}

static inline void wait_for(struct world *w, const int *counter, int value) {
  for (uint64_t until = real_ms() + DEADLINE_MS; *counter < value;) turn(w, -1, until);
}

static inline void wait_connections(struct world *w, size_t count) {
  for (uint64_t until = real_ms() + DEADLINE_MS; http_server_connections(w->server) != count;) turn(w, -1, until);
}

static inline void advance(struct world *w, uint64_t ms) {
  some_turns(w);
  w->now += ms;
  timer_run_due(&w->loop);
  some_turns(w);
}

// ---- a raw client

struct client {
  struct world *w;
  int fd;
  struct buf in;  // received and not yet expected
  bool ended;     // the server has closed or reset the connection
};

// receive_buffer: of the kernel; 0 takes the default.
static inline void client_open_narrow(struct client *c, struct world *w, int receive_buffer) {
  *c = (struct client){.w = w, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  buf_init(&c->in, CLIENT_MAX);
  if (receive_buffer) setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  assert_int_equal(connect(c->fd, (struct sockaddr *)&a, sizeof a), 0);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static inline void client_open(struct client *c, struct world *w) {
  client_open_narrow(c, w, 0);
}

static inline void client_close(struct client *c) {
  close(c->fd);
  buf_done(&c->in);
}

// Reads what there is; false when there is nothing more for now.
static inline bool client_read(struct client *c) {
  char chunk[65536];
  ssize_t n = recv(c->fd, chunk, sizeof chunk, MSG_DONTWAIT);
  if (n > 0) buf_add(&c->in, chunk, (size_t)n);
  else if (n == 0 || errno != EAGAIN) c->ended = true;
  return n > 0;
}

// Sends, and comes back when the server has read it all. A server that has closed the connection does not matter.
static inline void client_send(struct client *c, str bytes) {
  uint64_t until = real_ms() + DEADLINE_MS;
  while (bytes.n) {
    ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return;
    if (n > 0) bytes = str_from(bytes, (size_t)n);
    else turn(c->w, -1, until);
  }
  // What the server's side has taken it acknowledges, if not at once: then a few turns are enough.
  for (int left = 1, turns = 0; left > 0 && turns < 4; turns++) {
    if (ioctl(c->fd, SIOCOUTQ, &left) != 0) return;
    uv_run(&c->w->loop.uv, UV_RUN_NOWAIT);
  }
  uv_run(&c->w->loop.uv, UV_RUN_NOWAIT);
}

static inline void client_says(struct client *c, const char *text) {
  client_send(c, str_of(text));
}

// The next bytes are exactly these.
static inline void expect(struct client *c, const char *text) {
  size_t n = strlen(text);
  uint64_t until = real_ms() + DEADLINE_MS;
  for (;;) {
    while (client_read(c)) {
    }
    size_t have = c->in.n < n ? c->in.n : n;
    if (have && memcmp(c->in.p, text, have) != 0)
      fail_msg("got '%.*s' instead of '%s'", STR_ARG(buf_view(&c->in)), text);
    if (c->in.n >= n) break;
    if (c->ended) fail_msg("the connection ended after '%.*s' instead of '%s'", STR_ARG(buf_view(&c->in)), text);
    turn(c->w, c->fd, until);
  }
  buf_drop(&c->in, n);
}

// Reads on until this text comes; what is before it, and it, is dropped.
static inline void expect_later(struct client *c, const char *text) {
  const char *at = NULL;
  for (uint64_t until = real_ms() + DEADLINE_MS;;) {
    while (client_read(c)) {
    }
    if (c->in.n) at = memmem(c->in.p, c->in.n, text, strlen(text));
    if (at) break;
    if (c->ended) fail_msg("the connection ended after '%.*s', without '%s'", STR_ARG(buf_view(&c->in)), text);
    turn(c->w, c->fd, until);
  }
  buf_drop(&c->in, (size_t)(at - c->in.p) + strlen(text));
}

// Everything that came is what was expected, and the connection is open.
static inline void expect_silence(struct client *c) {
  some_turns(c->w);
  client_read(c);
  if (c->in.n) fail_msg("got '%.*s' instead of nothing", STR_ARG(buf_view(&c->in)));
  assert_false(c->ended);
}

// Reads to the end of the connection; what comes before it stays in c->in.
static inline void read_to_end(struct client *c) {
  for (uint64_t until = real_ms() + DEADLINE_MS; !c->ended;)
    if (!client_read(c) && !c->ended) turn(c->w, c->fd, until);
}

static inline void expect_end(struct client *c) {
  read_to_end(c);
  if (c->in.n) fail_msg("got '%.*s' instead of the end", STR_ARG(buf_view(&c->in)));
}
