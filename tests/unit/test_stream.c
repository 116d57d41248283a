// SPDX-License-Identifier: Apache-2.0
// io/stream: TCP, pipes and files as streams of bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "io/stream/stream.h"

enum { QUEUE = 8 << 20 };

// An owner of a stream that writes down what it is told.
struct owner {
  struct stream *stream;
  struct buf got;
  int data_calls, ends, drains, connects;
  bool clean;  // ended without a fault
  bool close_in_data, close_in_end, close_in_drain, pause_in_data, echo;
  struct fault fault;
};

static void on_data(void *ctx, str bytes) {
  struct owner *o = ctx;
  o->data_calls++;
  buf_str(&o->got, bytes);
  if (o->pause_in_data) stream_pause(o->stream);
  if (o->echo) assert_true(stream_write(o->stream, &bytes, 1));
  if (o->close_in_data) stream_close(&o->stream);
}

static void on_end(void *ctx, const struct fault *f) {
  struct owner *o = ctx;
  o->ends++;
  o->clean = !f;
  if (f) o->fault = *f;
  if (o->close_in_end) stream_close(&o->stream);
}

static void on_drain(void *ctx) {
  struct owner *o = ctx;
  o->drains++;
  if (o->close_in_drain) stream_close(&o->stream);
}

static const struct stream_events events = {on_data, on_end, on_drain};

static void owner_init(struct owner *o) {
  *o = (struct owner){0};
  buf_init(&o->got, 64 << 20);
}

static void owner_done(struct owner *o) {
  stream_close(&o->stream);
  buf_done(&o->got);
}

// A loop, a listener, and one accepted stream whose other end is a plain socket.
struct fixture {
  struct loop loop;
  uv_tcp_t listener;
  uint16_t port;
  int peer;
  struct owner o;
  size_t max_queued;
};

static void on_connection(uv_stream_t *listener, int status) {
  struct fixture *x = listener->data;
  assert_int_equal(status, 0);
  x->o.stream = stream_accept(&x->loop, listener, x->max_queued);
  assert_non_null(x->o.stream);
}

static void listen_on_loopback(struct fixture *x) {
  struct sockaddr_in a;
  int n = sizeof a;
  uv_ip4_addr("127.0.0.1", 0, &a);
  uv_tcp_init(&x->loop.uv, &x->listener);
  x->listener.data = x;
  assert_int_equal(uv_tcp_bind(&x->listener, (struct sockaddr *)&a, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t *)&x->listener, 16, on_connection), 0);
  uv_tcp_getsockname(&x->listener, (struct sockaddr *)&a, &n);
  x->port = ntohs(a.sin_port);
}

static void setup(struct fixture *x) {
  *x = (struct fixture){.max_queued = QUEUE, .peer = -1};
  loop_init(&x->loop, NULL, &clock_system, &rand_system);
  owner_init(&x->o);
  listen_on_loopback(x);
}

static void turn(struct fixture *x) {
  uv_run(&x->loop.uv, UV_RUN_NOWAIT);
}

static int connect_peer(struct fixture *x, int receive_buffer) {
  struct sockaddr_in a;
  uv_ip4_addr("127.0.0.1", x->port, &a);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (receive_buffer) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
  return fd;
}

static void setup_pair(struct fixture *x, int receive_buffer) {
  setup(x);
  x->peer = connect_peer(x, receive_buffer);
  while (!x->o.stream) turn(x);
  stream_start(x->o.stream, &events, &x->o);
}

static void teardown(struct fixture *x) {
  owner_done(&x->o);
  if (x->peer >= 0) close(x->peer);
  uv_close((uv_handle_t *)&x->listener, NULL);
  loop_run(&x->loop);
  loop_done(&x->loop);
}

static void say(int fd, const char *text) {
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void wait_for(struct fixture *x, const int *counter, int value) {
  for (int i = 0; i < 20000 && *counter < value; i++) {
    turn(x);
    if (*counter < value) usleep(100);
  }
  assert_true(*counter >= value);
}

static void wait_bytes(struct fixture *x, size_t n) {
  for (int i = 0; i < 20000 && x->o.got.n < n; i++) {
    turn(x);
    if (x->o.got.n < n) usleep(100);
  }
  assert_int_equal(x->o.got.n, n);
}

static void sleep_turns(struct fixture *x) {
  for (int i = 0; i < 20; i++) {
    turn(x);
    usleep(500);
  }
}

static void abort_connection(int fd) {
  struct linger now = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

// --- reading

static void bytes_arrive_and_an_orderly_end_has_no_fault(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  say(x.peer, "hello");
  wait_bytes(&x, 5);
  say(x.peer, " world");
  close(x.peer);
  x.peer = -1;
  wait_for(&x, &x.o.ends, 1);
  assert_true(str_eq(buf_view(&x.o.got), STR("hello world")));
  assert_true(x.o.clean);
  teardown(&x);
}

static void a_reset_is_told_in_plain_words(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  abort_connection(x.peer);
  x.peer = -1;
  wait_for(&x, &x.o.ends, 1);
  assert_false(x.o.clean);
  assert_int_equal(x.o.fault.code, FAULT_IO);
  assert_string_equal(x.o.fault.message, "connection reset by peer");
  teardown(&x);
}

static void a_stream_closed_in_its_callback_hears_nothing_more(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  x.o.close_in_data = true;
  say(x.peer, "one");
  close(x.peer);
  x.peer = -1;
  wait_for(&x, &x.o.data_calls, 1);
  sleep_turns(&x);
  assert_int_equal(x.o.data_calls, 1);
  assert_int_equal(x.o.ends, 0);
  assert_null(x.o.stream);
  teardown(&x);
}

static void a_stream_may_be_closed_when_it_ended(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  x.o.close_in_end = true;
  close(x.peer);
  x.peer = -1;
  wait_for(&x, &x.o.ends, 1);
  assert_null(x.o.stream);
  teardown(&x);
}

static void a_paused_stream_reads_nothing_until_it_is_resumed(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  stream_pause(x.o.stream);
  say(x.peer, "later");
  close(x.peer);
  x.peer = -1;
  sleep_turns(&x);
  assert_int_equal(x.o.data_calls, 0);
  assert_int_equal(x.o.ends, 0);
  stream_resume(x.o.stream);
  wait_for(&x, &x.o.ends, 1);
  assert_true(str_eq(buf_view(&x.o.got), STR("later")));
  teardown(&x);
}

static void pausing_within_the_callback_holds_back_what_the_kernel_still_has(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  x.o.pause_in_data = true;
  char *large = mem_zero(3 * LOOP_READ_SIZE);
  assert_int_equal(write(x.peer, large, 3 * LOOP_READ_SIZE), 3 * LOOP_READ_SIZE);
  wait_for(&x, &x.o.data_calls, 1);
  sleep_turns(&x);
  assert_int_equal(x.o.data_calls, 1);
  assert_true(x.o.got.n <= LOOP_READ_SIZE);
  x.o.pause_in_data = false;
  stream_resume(x.o.stream);
  wait_bytes(&x, 3 * LOOP_READ_SIZE);
  mem_free(large);
  teardown(&x);
}

// --- writing

static size_t read_some(int fd, struct buf *into) {
  char *to = buf_room(into, 65536);
  assert_non_null(to);
  ssize_t n = recv(fd, to, 65536, MSG_DONTWAIT);
  if (n > 0) into->n += (size_t)n;
  return n > 0 ? (size_t)n : 0;
}

static void parts_are_written_in_order_however_many(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  str parts[50];
  char text[50][8];
  size_t total = 0;
  for (int i = 0; i < 50; i++) {
    snprintf(text[i], sizeof text[i], "%d,", i);
    parts[i] = i == 20 ? STR("") : str_of(text[i]);
    total += parts[i].n;
  }
  assert_true(stream_write(x.o.stream, parts, 50));
  assert_int_equal(stream_queued(x.o.stream), 0);
  struct buf got;
  buf_init(&got, 1 << 20);
  while (got.n < total) read_some(x.peer, &got);
  const char *p = got.p;
  for (int i = 0; i < 50; i++) {
    assert_memory_equal(p, parts[i].p, parts[i].n);
    p += parts[i].n;
  }
  buf_done(&got);
  teardown(&x);
}

// The n-th byte of an endless sequence in which a loss or a swap shows.
static char pattern(size_t i) {
  return (char)((i * 2654435761u) >> 13);
}

static void what_the_kernel_does_not_take_is_queued_and_follows_in_order(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  enum { CHUNK = 70001, CHUNKS = 100 };
  char *bytes = mem_alloc((size_t)CHUNK * CHUNKS);
  for (size_t i = 0; i < (size_t)CHUNK * CHUNKS; i++) bytes[i] = pattern(i);
  struct buf got;
  buf_init(&got, (size_t)CHUNK * CHUNKS + 65536);
  bool queued = false;
  for (int i = 0; i < CHUNKS; i++) {
    str parts[2] = {{bytes + (size_t)i * CHUNK, 1000}, {bytes + (size_t)i * CHUNK + 1000, CHUNK - 1000}};
    assert_true(stream_write(x.o.stream, parts, 2));
    queued |= stream_queued(x.o.stream) > 0;
    if (i % 3) read_some(x.peer, &got);
    if (i % 5) turn(&x);
  }
  assert_true(queued);
  while (got.n < (size_t)CHUNK * CHUNKS) {
    turn(&x);
    read_some(x.peer, &got);
  }
  assert_memory_equal(got.p, bytes, (size_t)CHUNK * CHUNKS);
  sleep_turns(&x);
  assert_int_equal(stream_queued(x.o.stream), 0);
  assert_true(x.o.drains >= 1);
  mem_free(bytes);
  buf_done(&got);
  teardown(&x);
}

static void a_queue_over_its_limit_breaks_the_stream(void **state) {
  struct fixture x;
  setup(&x);
  x.max_queued = 100000;
  x.peer = connect_peer(&x, 4096);
  while (!x.o.stream) turn(&x);
  stream_start(x.o.stream, &events, &x.o);
  char *bytes = mem_zero(65536);
  str part = {bytes, 65536};
  int writes = 0;
  while (stream_write(x.o.stream, &part, 1)) {
    assert_true(stream_queued(x.o.stream) <= 100000);
    assert_true(++writes < 1000);
  }
  assert_false(stream_write(x.o.stream, &part, 1));
  mem_free(bytes);
  teardown(&x);
}

static void closing_with_bytes_still_queued_is_safe(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  char *bytes = mem_zero(4 << 20);
  str part = {bytes, 4 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  assert_true(stream_queued(x.o.stream) > 0);
  mem_free(bytes);
  stream_close(&x.o.stream);
  sleep_turns(&x);
  assert_int_equal(x.o.drains + x.o.ends, 0);
  teardown(&x);
}

static void a_stream_may_be_closed_when_it_has_drained(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  x.o.close_in_drain = true;
  char *bytes = mem_zero(4 << 20);
  str part = {bytes, 4 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  struct buf got;
  buf_init(&got, 5 << 20);
  while (x.o.stream) {
    turn(&x);
    read_some(x.peer, &got);
  }
  assert_int_equal(x.o.drains, 1);
  mem_free(bytes);
  buf_done(&got);
  teardown(&x);
}

static void a_peer_that_goes_while_we_write_ends_the_stream_with_a_fault(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  char *bytes = mem_zero(4 << 20);
  str part = {bytes, 4 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  mem_free(bytes);
  close(x.peer);  // with unread bytes: a reset
  x.peer = -1;
  wait_for(&x, &x.o.ends, 1);
  assert_false(x.o.clean);
  assert_false(stream_write(x.o.stream, &STR("x"), 1));
  teardown(&x);
}

static void a_failed_write_is_told_again_when_reading_ends(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  abort_connection(x.peer);
  x.peer = -1;
  usleep(1000);
  assert_false(stream_write(x.o.stream, &STR("too late"), 1));
  wait_for(&x, &x.o.ends, 1);
  assert_string_equal(x.o.fault.message, "connection reset by peer");
  teardown(&x);
}

// --- ending

static void finishing_ends_the_writing_side_only(void **state) {
  struct fixture x;
  setup_pair(&x, 0);
  assert_true(stream_write(x.o.stream, &STR("bye"), 1));
  stream_finish(x.o.stream);
  assert_false(stream_write(x.o.stream, &STR("more"), 1));
  sleep_turns(&x);
  char got[8];
  assert_int_equal(recv(x.peer, got, sizeof got, 0), 3);
  assert_int_equal(recv(x.peer, got, sizeof got, 0), 0);
  say(x.peer, "and you?");
  wait_bytes(&x, 8);
  teardown(&x);
}

static void a_flushed_close_writes_everything_and_does_not_reset(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  stream_pause(x.o.stream);
  say(x.peer, "something nobody will read");
  char *bytes = mem_zero(4 << 20);
  str part = {bytes, 4 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  mem_free(bytes);
  stream_close_flushed(&x.o.stream, 5000);
  assert_null(x.o.stream);
  struct buf got;
  buf_init(&got, 5 << 20);
  while (got.n < 4 << 20) {
    turn(&x);
    read_some(x.peer, &got);
  }
  sleep_turns(&x);
  char c;
  assert_int_equal(recv(x.peer, &c, 1, 0), 0);
  assert_int_equal(x.loop.timers, 1);  // waits for our end
  close(x.peer);
  x.peer = -1;
  sleep_turns(&x);
  assert_int_equal(x.loop.timers, 0);
  assert_int_equal(x.o.ends + x.o.drains + x.o.data_calls, 0);
  buf_done(&got);
  teardown(&x);
}

static void a_flushed_close_gives_up_after_its_grace(void **state) {
  struct fixture x;
  setup_pair(&x, 4096);
  char *bytes = mem_zero(4 << 20);
  str part = {bytes, 4 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  mem_free(bytes);
  stream_close_flushed(&x.o.stream, 20);
  for (int i = 0; i < 5000 && x.loop.timers; i++) {
    turn(&x);
    usleep(1000);
  }
  assert_int_equal(x.loop.timers, 0);
  teardown(&x);
}

// --- connecting

// The tests have a resolver of their own, in place of the C library's: two.test has a dead address before a live one.
struct answer {
  struct addrinfo info;
  struct sockaddr_in address;
};

static struct addrinfo *resolved(const char *address, const char *port, struct addrinfo *next) {
  struct answer *a = MEM_NEW(struct answer);
  uv_ip4_addr(address, atoi(port), &a->address);
  a->info = (struct addrinfo){.ai_family = AF_INET,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addrlen = sizeof a->address,
                              .ai_addr = (struct sockaddr *)&a->address,
                              .ai_next = next};
  return &a->info;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out) {
  struct in_addr numeric;
  if (inet_pton(AF_INET, host, &numeric) == 1) *out = resolved(host, port, NULL);
  else if (hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
  else if (strcmp(host, "two.test") == 0) *out = resolved("127.0.0.2", port, resolved("127.0.0.1", port, NULL));
  else if (strcmp(host, "one.test") == 0) *out = resolved("127.0.0.1", port, NULL);
  else return EAI_NONAME;
  return 0;
}

void freeaddrinfo(struct addrinfo *list) {
  while (list) {
    struct addrinfo *next = list->ai_next;
    mem_free(list);
    list = next;
  }
}

static void on_connected(void *ctx, struct stream *s, const struct fault *f) {
  struct owner *o = ctx;
  assert_ptr_equal(o->stream, s);
  o->connects++;
  o->clean = !f;
  if (f) o->fault = *f;
  if (o->close_in_end) stream_close(&o->stream);
  if (!f && o->stream) stream_start(s, &events, o);
}

static void echoes_by_name(const char *host) {
  struct fixture x;
  setup(&x);
  x.o.echo = true;
  struct owner c;
  owner_init(&c);
  c.stream = stream_connect(&x.loop, NULL, str_of(host), x.port, NULL, QUEUE, on_connected, &c);
  assert_int_equal(c.connects, 0);
  wait_for(&x, &c.connects, 1);
  assert_true(c.clean);
  while (!x.o.stream) turn(&x);
  stream_start(x.o.stream, &events, &x.o);
  assert_true(stream_write(c.stream, &STR("ping"), 1));
  wait_for(&x, &c.data_calls, 1);
  assert_true(str_eq(buf_view(&c.got), STR("ping")));
  owner_done(&c);
  teardown(&x);
}

static void a_connection_is_made_to_a_numeric_address(void **state) {
  echoes_by_name("127.0.0.1");
}

static void a_connection_is_made_by_name_trying_each_address(void **state) {
  echoes_by_name("one.test");
  echoes_by_name("two.test");
}

static void fails_to_connect(struct fixture *x, str host, uint16_t port, const char *message) {
  struct owner c;
  owner_init(&c);
  c.close_in_end = true;
  c.stream = stream_connect(&x->loop, NULL, host, port, NULL, QUEUE, on_connected, &c);
  assert_int_equal(c.connects, 0);
  wait_for(x, &c.connects, 1);
  assert_false(c.clean);
  assert_string_equal(c.fault.message, message);
  owner_done(&c);
}

static uint16_t unused_port(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
  getsockname(fd, (struct sockaddr *)&a, &n);
  close(fd);
  return ntohs(a.sin_port);
}

static void a_failed_connection_says_where_and_why(void **state) {
  struct fixture x;
  setup(&x);
  char want[128];
  uint16_t port = unused_port();
  snprintf(want, sizeof want, "cannot connect to 127.0.0.1 port %u: connection refused", port);
  fails_to_connect(&x, STR("127.0.0.1"), port, want);
  snprintf(want, sizeof want, "cannot connect to two.test port %u: connection refused", port);
  fails_to_connect(&x, STR("two.test"), port, want);
  fails_to_connect(&x, STR("nobody.test"), 80, "cannot connect to nobody.test port 80: no such host");
  fails_to_connect(&x, STR(""), 80, "cannot connect to port 80: no such host");
  char name[301];
  memset(name, 'a', 300);
  name[300] = 0;
  fails_to_connect(&x, str_of(name), 80, "cannot connect to port 80: no such host");
  teardown(&x);
}

static void connecting_can_be_given_up_at_any_point(void **state) {
  struct fixture x;
  setup(&x);
  struct owner c;
  owner_init(&c);
  const char *hosts[] = {"one.test", "127.0.0.1", "nobody.test", "two.test"};
  for (int turns = 0; turns < 3; turns++) {
    for (size_t i = 0; i < 4; i++) {
      c.stream = stream_connect(&x.loop, NULL, str_of(hosts[i]), x.port, NULL, QUEUE, on_connected, &c);
      for (int t = 0; t < turns; t++) {
        if (c.connects == 0) turn(&x);
        stream_close(&x.o.stream);
      }
      stream_close(&c.stream);
      c.connects = 0;
      sleep_turns(&x);
      stream_close(&x.o.stream);
      assert_int_equal(c.connects, 0);
    }
  }
  owner_done(&c);
  teardown(&x);
}

// --- descriptors

static void a_pipe_is_read_and_its_other_end_finished(void **state) {
  struct fixture x;
  setup(&x);
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  struct fault f;
  struct owner w;
  owner_init(&w);
  x.o.stream = stream_open_fd(&x.loop, fds[0], QUEUE, &f);
  w.stream = stream_open_fd(&x.loop, fds[1], QUEUE, &f);
  stream_start(x.o.stream, &events, &x.o);
  stream_start(w.stream, &events, &w);
  char *bytes = mem_zero(1 << 20);
  str part = {bytes, 1 << 20};
  assert_true(stream_write(w.stream, &part, 1));
  assert_true(stream_queued(w.stream) > 0);
  stream_finish(w.stream);
  wait_for(&x, &x.o.ends, 1);
  assert_int_equal(x.o.got.n, 1 << 20);
  assert_true(x.o.clean);
  assert_int_equal(w.ends, 0);
  mem_free(bytes);
  owner_done(&w);
  teardown(&x);
}

static void a_pipe_that_nobody_reads_any_more_ends_its_writer(void **state) {
  struct fixture x;
  setup(&x);
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  struct fault f;
  x.o.stream = stream_open_fd(&x.loop, fds[1], QUEUE, &f);
  stream_start(x.o.stream, &events, &x.o);
  char *bytes = mem_zero(1 << 20);
  str part = {bytes, 1 << 20};
  assert_true(stream_write(x.o.stream, &part, 1));
  close(fds[0]);
  wait_for(&x, &x.o.ends, 1);
  assert_string_equal(x.o.fault.message, "broken pipe");
  mem_free(bytes);
  teardown(&x);
}

static void a_flushed_close_of_a_pipe_delivers_everything(void **state) {
  struct fixture x;
  setup(&x);
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  struct fault f;
  x.o.stream = stream_open_fd(&x.loop, fds[0], QUEUE, &f);
  stream_start(x.o.stream, &events, &x.o);
  struct stream *w = stream_open_fd(&x.loop, fds[1], QUEUE, &f);
  char *bytes = mem_zero(1 << 20);
  str part = {bytes, 1 << 20};
  assert_true(stream_write(w, &part, 1));
  stream_close_flushed(&w, 5000);
  wait_for(&x, &x.o.ends, 1);
  assert_int_equal(x.o.got.n, 1 << 20);
  assert_int_equal(x.loop.timers, 0);
  mem_free(bytes);
  teardown(&x);
}

static void files_are_read_to_their_end_and_written(void **state) {
  struct fixture x;
  setup(&x);
  FILE *file = tmpfile();
  int fd = dup(fileno(file)), again = dup(fd);
  struct fault f;
  struct stream *w = stream_open_fd(&x.loop, fd, QUEUE, &f);
  assert_non_null(w);
  char *bytes = mem_alloc(200000);
  for (size_t i = 0; i < 200000; i++) bytes[i] = pattern(i);
  str parts[2] = {{bytes, 100}, {bytes + 100, 199900}};
  assert_true(stream_write(w, parts, 2));
  assert_int_equal(stream_queued(w), 0);
  stream_close_flushed(&w, 1000);
  lseek(again, 0, SEEK_SET);
  x.o.stream = stream_open_fd(&x.loop, again, QUEUE, &f);
  stream_start(x.o.stream, &events, &x.o);
  wait_for(&x, &x.o.ends, 1);
  assert_true(x.o.clean);
  assert_true(str_eq(buf_view(&x.o.got), ((str){bytes, 200000})));
  sleep_turns(&x);
  assert_int_equal(x.o.ends, 1);
  mem_free(bytes);
  fclose(file);
  teardown(&x);
}

static void a_terminal_is_read_without_changing_the_mode_others_see(void **state) {
  struct fixture x;
  setup(&x);
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) skip();
  int slave = open(ptsname(master), O_RDWR | O_NOCTTY), shell = dup(slave);
  struct fault f;
  x.o.stream = stream_open_fd(&x.loop, slave, QUEUE, &f);
  assert_non_null(x.o.stream);
  stream_start(x.o.stream, &events, &x.o);
  assert_int_equal(fcntl(shell, F_GETFL) & O_NONBLOCK, 0);
  say(master, "typed\n");
  wait_bytes(&x, 6);
  assert_true(stream_write(x.o.stream, &STR("answer"), 1));
  char got[32] = {0};
  ssize_t n = read(master, got, sizeof got - 1);
  assert_true(n > 0 && strstr(got, "typed"));
  close(shell);
  close(master);
  teardown(&x);
}

static void a_closed_descriptor_is_refused(void **state) {
  struct fixture x;
  setup(&x);
  struct fault f;
  assert_null(stream_open_fd(&x.loop, 9999, QUEUE, &f));
  assert_string_equal(f.message, "cannot use file descriptor 9999: invalid argument");
  teardown(&x);
}

static int ignore_sigpipe(void **state) {
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_arrive_and_an_orderly_end_has_no_fault),
      cmocka_unit_test(a_reset_is_told_in_plain_words),
      cmocka_unit_test(a_stream_closed_in_its_callback_hears_nothing_more),
      cmocka_unit_test(a_stream_may_be_closed_when_it_ended),
      cmocka_unit_test(a_paused_stream_reads_nothing_until_it_is_resumed),
      cmocka_unit_test(pausing_within_the_callback_holds_back_what_the_kernel_still_has),
      cmocka_unit_test(parts_are_written_in_order_however_many),
      cmocka_unit_test(what_the_kernel_does_not_take_is_queued_and_follows_in_order),
      cmocka_unit_test(a_queue_over_its_limit_breaks_the_stream),
      cmocka_unit_test(closing_with_bytes_still_queued_is_safe),
      cmocka_unit_test(a_stream_may_be_closed_when_it_has_drained),
      cmocka_unit_test(a_peer_that_goes_while_we_write_ends_the_stream_with_a_fault),
      cmocka_unit_test(a_failed_write_is_told_again_when_reading_ends),
      cmocka_unit_test(finishing_ends_the_writing_side_only),
      cmocka_unit_test(a_flushed_close_writes_everything_and_does_not_reset),
      cmocka_unit_test(a_flushed_close_gives_up_after_its_grace),
      cmocka_unit_test(a_connection_is_made_to_a_numeric_address),
      cmocka_unit_test(a_connection_is_made_by_name_trying_each_address),
      cmocka_unit_test(a_failed_connection_says_where_and_why),
      cmocka_unit_test(connecting_can_be_given_up_at_any_point),
      cmocka_unit_test(a_pipe_is_read_and_its_other_end_finished),
      cmocka_unit_test(a_pipe_that_nobody_reads_any_more_ends_its_writer),
      cmocka_unit_test(a_flushed_close_of_a_pipe_delivers_everything),
      cmocka_unit_test(files_are_read_to_their_end_and_written),
      cmocka_unit_test(a_terminal_is_read_without_changing_the_mode_others_see),
      cmocka_unit_test(a_closed_descriptor_is_refused),
  };
  return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
