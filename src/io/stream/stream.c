// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "io/stream/stream_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/stream/tls.h"

enum { PARTS_AT_ONCE = 16, QUEUE_KEPT = 16384, TAKE_LEAST = 1 << 18 };

static void destroy(struct stream *s);
static void after_flush(struct stream *s);

static uv_stream_t *as_stream(const struct stream *s) {
  return (uv_stream_t *)s->handle;
}

static bool is_file(const struct stream *s) {
  return s->fd >= 0;
}

// ---- handles

static void free_handle(uv_handle_t *h) {
  mem_free(h);
}

static void drop_handle(struct stream *s) {
  if (!s->handle) return;
  s->handle->data = NULL;
  uv_close(s->handle, free_handle);
  s->handle = NULL;
}

static void set_handle(struct stream *s, void *handle) {
  s->handle = handle;
  s->handle->data = s;
}

struct stream *stream_new(struct loop *l, size_t max_queued) {
  struct stream *s = MEM_NEW(struct stream);
  s->magic = STREAM_MAGIC;
  s->loop = l;
  s->max_queued = max_queued;
  s->fd = -1;
  s->readable = true;
  return s;
}

uv_tcp_t *stream_tcp_handle(struct stream *s) {
  drop_handle(s);
  uv_tcp_t *tcp = MEM_NEW(uv_tcp_t);
  uv_tcp_init(&s->loop->uv, tcp);
  set_handle(s, tcp);
  return tcp;
}

static uv_pipe_t *pipe_handle(struct stream *s) {
  uv_pipe_t *pipe = MEM_NEW(uv_pipe_t);
  uv_pipe_init(&s->loop->uv, pipe, 0);
  set_handle(s, pipe);
  return pipe;
}

struct stream *stream_accept(struct loop *l, uv_stream_t *listener, size_t max_queued) {
  struct stream *s = stream_new(l, max_queued);
  if (listener->type == UV_TCP) stream_tcp_handle(s);
  else pipe_handle(s);
  if (uv_accept(listener, as_stream(s)) < 0) {
    destroy(s);
    return NULL;
  }
  if (listener->type == UV_TCP) uv_tcp_nodelay((uv_tcp_t *)s->handle, 1);
  s->accepted = true;
  return s;
}

// Opens the terminal again, so that O_NONBLOCK can be set: other processes, such as the shell, may share the open file
// description of `fd`, and O_NONBLOCK would affect them too. Returns `fd` if opening fails.
static int reopen_terminal(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int mode = fd == STDIN_FILENO ? O_RDONLY : fd <= STDERR_FILENO ? O_WRONLY : O_RDWR;
  int own = open(path, mode | O_NOCTTY | O_CLOEXEC);
  return own < 0 ? fd : own;
}

static int open_terminal(struct stream *s, int fd) {
  int own = reopen_terminal(fd);
  int err = uv_pipe_open(pipe_handle(s), own);
  if (err < 0 && own != fd) close(own);
  if (err == 0 && own != fd && fd > STDERR_FILENO) close(fd);
  return err;
}

// Makes the stream read or write a file. Files cannot be polled, so they are read in an idle callback and written
// synchronously.
static int open_file(struct stream *s, int fd) {
  uv_idle_t *idle = MEM_NEW(uv_idle_t);
  uv_idle_init(&s->loop->uv, idle);
  set_handle(s, idle);
  s->fd = fd;
  s->readable = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;
  return 0;
}

static int open_by_kind(struct stream *s, int fd) {
  switch (uv_guess_handle(fd)) {
  case UV_TCP: return uv_tcp_open(stream_tcp_handle(s), fd);
  case UV_NAMED_PIPE: return uv_pipe_open(pipe_handle(s), fd);
  case UV_TTY: return open_terminal(s, fd);
  case UV_FILE: return open_file(s, fd);
  default: return UV_EINVAL;
  }
}

struct stream *stream_open_fd(struct loop *l, int fd, size_t max_queued, struct fault *f) {
  struct stream *s = stream_new(l, max_queued);
  int err = open_by_kind(s, fd);
  if (err < 0) {
    fault_set(f, FAULT_IO, "cannot use file descriptor %d: %s", fd, uv_strerror(err));
    destroy(s);
    return NULL;
  }
  if (!is_file(s)) s->readable = uv_is_readable(as_stream(s));
  if (fd == STDOUT_FILENO || fd == STDERR_FILENO) s->readable = false;
  return s;
}

// ---- reading

static void give(struct stream *s, str bytes) {
  if (s->lingering) return;
  if (s->tunneling) stream_tunnel_read(s, bytes);
  else if (s->tls) stream_tls_read(s, bytes);
  else s->events->on_data(s->ctx, bytes);
}

static void lend_buffer(uv_handle_t *h, size_t suggested, uv_buf_t *out) {
  struct stream *s = h->data;
  *out = uv_buf_init(s->loop->read_buffer, LOOP_READ_SIZE);
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf) {
  struct stream *s = h->data;
  ASSERT_MAGIC(s, STREAM_MAGIC);
  struct loop *l = s->loop;
  loop_begin(l);
  if (n > 0) give(s, (str){buf->base, (size_t)n});
  if (n < 0) stream_end(s, (int)n);
  loop_end(l, LOOP_READ, "");
}

static void on_idle(uv_idle_t *idle) {
  struct stream *s = idle->data;
  struct loop *l = s->loop;
  loop_begin(l);
  ssize_t n = read(s->fd, l->read_buffer, LOOP_READ_SIZE);
  if (n > 0) give(s, (str){l->read_buffer, (size_t)n});
  else if (n == 0 || errno != EINTR) stream_end(s, n == 0 ? UV_EOF : uv_translate_sys_error(errno));
  loop_end(l, LOOP_READ, "");
}

void stream_update_reading(struct stream *s) {
  if (!s->handle) return;
  bool want = s->readable && !s->ended && !s->paused && (s->events || s->lingering || s->tls || s->tunneling);
  if (is_file(s)) {
    if (want) uv_idle_start((uv_idle_t *)s->handle, on_idle);
    else uv_idle_stop((uv_idle_t *)s->handle);
  } else if (want) {
    uv_read_start(as_stream(s), lend_buffer, on_read);
  } else if (s->readable) {
    uv_read_stop(as_stream(s));
  }
}

void stream_start(struct stream *s, const struct stream_events *events, void *ctx) {
  ASSERT_MAGIC(s, STREAM_MAGIC);
  s->events = events;
  s->ctx = ctx;
  stream_update_reading(s);
}

void stream_pause(struct stream *s) {
  s->paused = true;
  stream_update_reading(s);
}

void stream_resume(struct stream *s) {
  s->paused = false;
  stream_update_reading(s);
}

void stream_end_fault(struct stream *s, const struct fault *f) {
  s->ended = true;
  stream_update_reading(s);
  if (s->connecting && f) stream_connect_failed(s, f->message);
  else if (s->connecting)
    stream_connect_failed(s, s->tunneling ? "the proxy closed the connection without an answer"
                                          : "closed by the server during the TLS handshake");
  else if (s->events) s->events->on_end(s->ctx, f);
}

void stream_end(struct stream *s, int err) {
  // Libuv reports an error only once, and has already reported it to a write.
  if (err == UV_EOF && s->error) err = s->error;
  if (s->lingering) {
    s->ended = true;
    stream_update_reading(s);
    if (err != UV_EOF || !stream_queued(s)) destroy(s);
    return;
  }
  struct fault f;
  if (err != UV_EOF) fault_set(&f, FAULT_IO, "%s", uv_strerror(err));
  stream_end_fault(s, err == UV_EOF ? NULL : &f);
}

// ---- writing

static void on_grace_over(struct timer *t) {
  destroy(CONTAINER_OF(t, struct stream_out, grace)->stream);
}

// Called when the client has not read for too long: drops the queued bytes and the connection.
static void on_unread(struct bulk_hold *h) {
  struct stream_out *o = CONTAINER_OF(h, struct stream_out, hold);
  bulk_set(h, 0);
  if (o->stream) stream_end(o->stream, UV_ETIMEDOUT);
}

static struct stream_out *need_out(struct stream *s) {
  if (s->out) return s->out;
  s->out = MEM_NEW(struct stream_out);
  s->out->stream = s;
  buf_init(&s->out->sending, s->max_queued);
  buf_init(&s->out->next, s->max_queued);
  timer_init(&s->out->grace, on_grace_over);
  bulk_hold_init(&s->out->hold, &s->loop->bulk, NULL, on_unread);
  s->out->hold.unread = s->accepted;
  return s->out;
}

static void free_out(struct stream_out *o) {
  bulk_set(&o->hold, 0);
  buf_done(&o->sending);
  buf_done(&o->next);
  mem_free(o);
}

// Counts the queued bytes for the memory limit (bulk.h). Always counts bytes for a client. Counts other bytes only if
// the queue has taken over the memory of a large message.
static void count_queue(struct stream *s, bool taken) {
  struct bulk_hold *h = &s->out->hold;
  if (s->accepted || taken || h->bytes) bulk_set(h, stream_queued(s));
}

static bool write_broke(struct stream *s, int err) {
  s->broken = true;
  s->error = err;
  return false;
}

// Handles the failure of a queued write. On a socket, bytes that the peer sent before it closed are still read, and
// then reading ends with `err`.
static void queued_write_broke(struct stream *s, int err) {
  write_broke(s, err);
  if (s->lingering) destroy(s);
  else if (!s->readable && !s->ended) stream_end(s, err);
}

static void on_written(uv_write_t *req, int status);

static int send_next(struct stream *s) {
  struct stream_out *o = s->out;
  struct buf empty = o->sending;
  o->sending = o->next;
  o->next = empty;
  uv_buf_t bytes = uv_buf_init(o->sending.p + o->next_from, (unsigned)(o->sending.n - o->next_from));
  o->next_from = 0;
  int err = uv_write(&o->req.write, as_stream(s), &bytes, 1, on_written);
  o->busy = err == 0;
  return err;
}

static void on_written(uv_write_t *req, int status) {
  struct stream_out *o = CONTAINER_OF(req, struct stream_out, req.write);
  struct stream *s = o->stream;
  o->busy = false;
  if (!s) {
    free_out(o);
    return;
  }
  struct loop *l = s->loop;
  loop_begin(l);
  if (o->sending.cap > QUEUE_KEPT) loop_freed(l, o->sending.cap);
  buf_reset(&o->sending);
  buf_trim(&o->sending, QUEUE_KEPT);
  count_queue(s, false);
  if (status == 0 && o->next.n) status = send_next(s);
  if (status < 0) queued_write_broke(s, status);
  else if (!o->busy && s->finishing) after_flush(s);
  else if (!o->busy && s->events && s->events->on_drain) s->events->on_drain(s->ctx);
  loop_end(l, LOOP_WRITE, "");
}

static bool lies_in(const struct buf *b, str part) {
  return part.n && b->p && part.p >= b->p && part.p + part.n <= b->p + b->n;
}

// If nothing is queued and at least TAKE_LEAST bytes of the first unsent part are in the buffer `b`, takes over the
// memory of `b` and appends the later parts. Otherwise returns false and changes nothing.
static bool take_over(struct stream *s, const str *parts, size_t count, size_t skip, struct buf *b) {
  struct stream_out *o = s->out;
  size_t i = 0;
  for (; i < count && skip >= parts[i].n; i++) skip -= parts[i].n;
  if (!b || i == count || parts[i].n - skip < TAKE_LEAST || !lies_in(b, parts[i]) || o->busy || o->next.n) return false;
  o->next_from = (size_t)(parts[i].p - b->p) + skip;
  buf_done(&o->next);
  o->next = *b;
  o->next.n = o->next_from + parts[i].n - skip;
  o->next.max = SIZE_MAX / 2;  // queue_rest enforces max_queued
  o->next.over = false;
  buf_init(b, b->max);
  while (++i < count) buf_str(&o->next, parts[i]);
  return true;
}

// Queues the bytes after the first `skip` bytes of the parts.
static bool queue_rest(struct stream *s, const str *parts, size_t count, size_t skip, struct buf *memory) {
  struct stream_out *o = need_out(s);
  size_t room = s->max_queued - stream_queued(s), total = 0;
  for (size_t i = 0; i < count; i++) total += parts[i].n;
  if (total - skip > room) return write_broke(s, UV_ENOBUFS);
  bool taken = take_over(s, parts, count, skip, memory);
  for (size_t i = 0; i < count && !taken; i++) {
    size_t cut = skip < parts[i].n ? skip : parts[i].n;
    skip -= cut;
    buf_str(&o->next, str_from(parts[i], cut));
  }
  int err = o->busy || !o->next.n ? 0 : send_next(s);
  if (err < 0) return write_broke(s, err);
  count_queue(s, taken);
  return true;
}

// Writes as many bytes as the kernel accepts now. Returns their number, or libuv's error if the stream is broken.
static ssize_t write_now(struct stream *s, const str *parts, size_t count, size_t *out_total) {
  uv_buf_t bufs[PARTS_AT_ONCE];
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    bufs[i] = uv_buf_init((char *)(uintptr_t)parts[i].p, (unsigned)parts[i].n);
    total += parts[i].n;
  }
  *out_total = total;
  if (total == 0 || (s->out && s->out->busy)) return 0;
  int n = uv_try_write(as_stream(s), bufs, (unsigned)count);
  return n == UV_EAGAIN ? 0 : n;
}

bool stream_write_raw(struct stream *s, const str *parts, size_t count, struct buf *memory) {
  while (count) {
    size_t batch = count < PARTS_AT_ONCE ? count : PARTS_AT_ONCE, total;
    ssize_t n = write_now(s, parts, batch, &total);
    if (n < 0) return write_broke(s, (int)n);
    if ((size_t)n < total) return queue_rest(s, parts, count, (size_t)n, memory);
    parts += batch;
    count -= batch;
  }
  return true;
}

static bool write_file(struct stream *s, const str *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    str rest = parts[i];
    while (rest.n) {
      ssize_t n = write(s->fd, rest.p, rest.n);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_broke(s, uv_translate_sys_error(errno));
      rest = str_from(rest, (size_t)n);
    }
  }
  return true;
}

bool stream_write(struct stream *s, const str *parts, size_t count) {
  return stream_write_from(s, parts, count, NULL);
}

bool stream_write_from(struct stream *s, const str *parts, size_t count, struct buf *memory) {
  ASSERT_MAGIC(s, STREAM_MAGIC);
  if (s->broken || s->finishing || s->connecting || !s->handle) return false;
  if (is_file(s)) return write_file(s, parts, count);
  if (s->tls) return stream_tls_write(s, parts, count);
  return stream_write_raw(s, parts, count, memory);
}

int stream_fd(const struct stream *s) {
  uv_os_fd_t fd = -1;
  if (is_file(s)) return s->fd;
  return uv_fileno((uv_handle_t *)s->handle, &fd) == 0 ? fd : -1;
}

bool stream_address(const struct stream *s, struct sockaddr_storage *out) {
  int n = sizeof *out;
  if (!s->handle || s->handle->type != UV_TCP) return false;
  return uv_tcp_getpeername((uv_tcp_t *)s->handle, (struct sockaddr *)out, &n) == 0;
}

void stream_peer(const struct stream *s, char *out, size_t size) {
  struct sockaddr_storage address;
  out[0] = 0;
  if (stream_address(s, &address)) uv_ip_name((struct sockaddr *)&address, out, size);
}

void stream_local(const struct stream *s, char *out, size_t size) {
  static const char mapped[] = "::ffff:";  // an IPv6 socket shows an IPv4 address with this prefix
  struct sockaddr_storage address;
  char text[64];
  int n = sizeof address;
  out[0] = 0;
  if (!s->handle || s->handle->type != UV_TCP) return;
  if (uv_tcp_getsockname((uv_tcp_t *)s->handle, (struct sockaddr *)&address, &n) != 0) return;
  if (uv_ip_name((struct sockaddr *)&address, text, sizeof text) != 0) return;
  bool v4 = strncmp(text, mapped, sizeof mapped - 1) == 0 && strchr(text, '.');
  if (v4) snprintf(out, size, "%s", text + sizeof mapped - 1);
  else snprintf(out, size, address.ss_family == AF_INET6 ? "[%s]" : "%s", text);
}

size_t stream_queued(const struct stream *s) {
  if (!s->out || !s->handle || is_file(s)) return 0;
  return uv_stream_get_write_queue_size(as_stream(s)) + s->out->next.n - s->out->next_from;
}

// ---- ending

static void finished(struct stream *s) {
  if (s->lingering && (s->ended || !s->readable)) destroy(s);
}

static void on_shutdown(uv_shutdown_t *req, int status) {
  struct stream_out *o = CONTAINER_OF(req, struct stream_out, req.shutdown);
  o->busy = false;
  if (o->stream) finished(o->stream);
  else free_out(o);
}

// Ends the writing side after all bytes have been written. The writing end of a pipe cannot be shut down, so it is
// closed.
static void after_flush(struct stream *s) {
  s->broken = true;
  struct stream_out *o = need_out(s);
  if (!s->readable && s->handle->type == UV_NAMED_PIPE) drop_handle(s);
  else if (!is_file(s)) o->busy = uv_shutdown(&o->req.shutdown, as_stream(s), on_shutdown) == 0;
  if (!o->busy) finished(s);
}

void stream_finish(struct stream *s) {
  ASSERT_MAGIC(s, STREAM_MAGIC);
  if (s->finishing || s->broken || !s->handle || s->connecting) return;
  if (s->tls) stream_tls_goodbye(s);
  s->finishing = true;
  if (stream_queued(s) == 0) after_flush(s);
}

static void destroy(struct stream *s) {
  ASSERT_MAGIC(s, STREAM_MAGIC);
  if (s->connecting) stream_connecting_abandon(s->connecting);
  if (s->tls && !s->finishing) stream_tls_goodbye(s);
  tls_session_free(&s->tls);
  drop_handle(s);
  if (s->fd > STDERR_FILENO) close(s->fd);
  if (s->out) {
    timer_stop(&s->out->grace);
    s->out->stream = NULL;
    if (!s->out->busy) free_out(s->out);
  }
  s->magic = 0;
  mem_free(s);
}

void stream_close(struct stream **ps) {
  struct stream *s = *ps;
  *ps = NULL;
  if (s) destroy(s);
}

// Closing a socket that has unread bytes would reset the connection, and the peer could lose bytes that we wrote. So
// this function first ends the writing side and waits for the peer to end its own.
void stream_close_flushed(struct stream **ps, uint64_t grace_ms) {
  struct stream *s = *ps;
  *ps = NULL;
  if (!s) return;
  if (s->broken || s->connecting || !s->handle || is_file(s) || !uv_is_writable(as_stream(s))) {
    destroy(s);
    return;
  }
  s->lingering = true;
  s->paused = false;
  timer_start(s->loop, &need_out(s)->grace, grace_ms);
  stream_update_reading(s);
  stream_finish(s);
}
