// SPDX-License-Identifier: Apache-2.0
// Internals of streams, for stream.c, stream_connect.c and stream_tls.c only.
//
// stream_close frees the stream immediately. Objects that libuv still uses (the handle, a write request with its bytes,
// a name lookup) are separate allocations: their pointer to the stream is cleared, and they free themselves in their
// last callback. So there is no callback after a close. Code that has called an owner's callback must check through the
// handle whether the stream still exists.
#pragma once
#include "base/assert.h"
#include "base/buf.h"
#include "io/stream/stream.h"

enum { STREAM_MAGIC = 0x5354524d };

struct stream_connecting;  // stream_connect.c
struct tls_session;

// The queue of a stream. Allocated by the first write that the kernel does not accept completely.
struct stream_out {
  struct stream *stream;  // NULL if the stream was closed while libuv still uses this struct
  bool busy;              // libuv still uses `req`
  union {
    uv_write_t write;
    uv_shutdown_t shutdown;
  } req;
  struct buf sending, next;  // bytes that libuv writes now, and bytes to write after these
  size_t next_from;          // bytes at the start of `next` that are already written
  struct bulk_hold hold;     // counts the queued bytes for the memory limit
  struct timer grace;        // time limit of stream_close_flushed
};

struct stream {
  uint32_t magic;
  bool readable;
  bool accepted;   // a client opened the connection
  bool paused;     // the owner has paused reading
  bool ended;      // reading has ended
  bool broken;     // writing has ended
  bool finishing;  // writing ends when all queued bytes have been written
  bool tunneling;  // a proxy was asked for a tunnel and has not answered yet
  bool lingering;  // the owner has called stream_close_flushed: the stream closes itself later
  int error;       // libuv's error of the write that failed
  int fd;          // descriptor of a file, which libuv cannot poll; -1 for everything else
  struct loop *loop;
  uv_handle_t *handle;                 // NULL until there is a connection, and after a pipe was closed to finish it
  const struct stream_events *events;  // NULL until stream_start
  void *ctx;
  size_t max_queued;
  struct stream_out *out;
  struct stream_connecting *connecting;
  struct tls_session *tls;
};

struct stream *stream_new(struct loop *l, size_t max_queued);

// Gives the stream a new TCP handle and closes the previous one.
uv_tcp_t *stream_tcp_handle(struct stream *s);

// Starts or stops reading, depending on whether the stream is paused, connecting or closed.
void stream_update_reading(struct stream *s);

// Writes bytes to the connection as they are, without encrypting them.
bool stream_write_raw(struct stream *s, const str *parts, size_t count, struct buf *memory);

// Ends reading and reports the end to the owner. err is an error of libuv, or UV_EOF if the peer has ended normally.
void stream_end(struct stream *s, int err);
void stream_end_fault(struct stream *s, const struct fault *f);

// Handles received bytes of a proxy's response. May free the stream.
void stream_tunnel_read(struct stream *s, str bytes);

// Called when the owner closes a stream that is still connecting: the owner gets no callback any more.
void stream_connecting_abandon(struct stream_connecting *c);

// Decrypts received bytes. May free the stream.
void stream_tls_read(struct stream *s, str cipher);
bool stream_tls_write(struct stream *s, const str *parts, size_t count);
void stream_tls_goodbye(struct stream *s);  // sends close_notify, if the kernel accepts it immediately

// stream_connected reports to the owner that the connection is open, after the TLS handshake if there is one.
// stream_connect_failed reports that it could not be opened. Both functions may free the stream.
void stream_connected(struct stream *s);
void stream_connect_failed(struct stream *s, const char *why);
