// SPDX-License-Identifier: Apache-2.0
// Internals of streams, for stream.c, stream_connect.c and stream_tls.c only.
//
// stream_close frees the stream immediately. Objects that libuv still uses (the handle, a write request with its bytes,
// a name lookup) are separate allocations: their pointer to the stream is cleared, and they free themselves in their
// last callback. So there is no callback after a close, and code that has called an owner's callback checks through the
// handle whether the stream still exists.
#pragma once
#include "base/assert.h"
#include "base/buf.h"
#include "io/stream/stream.h"

enum { STREAM_MAGIC = 0x5354524d };

struct stream_connecting;  // stream_connect.c
struct tls_session;

// Exists from the first write that the kernel does not take whole.
struct stream_out {
  struct stream *stream;  // NULL when that is closed and this waits for libuv to let go
  bool busy;              // libuv holds the request
  union {
    uv_write_t write;
    uv_shutdown_t shutdown;
  } req;
  struct buf sending, next;  // with libuv; to follow when that is written
  size_t next_from;          // bytes at the start of `next` that are already written
  struct bulk_hold hold;     // counts the queued bytes
  struct timer grace;        // of stream_close_flushed
};

struct stream {
  uint32_t magic;
  bool readable;   // this end is for reading (too)
  bool accepted;   // it is a client's
  bool paused;     // by the owner
  bool ended;      // reading is over
  bool broken;     // writing is over
  bool finishing;  // writing is over when what is queued has been written
  bool tunneling;  // a proxy was asked for a tunnel and has not answered yet
  bool lingering;  // the owner has left: flush, wait for the peer's end, close
  int error;       // libuv's, of the write that broke
  int fd;          // of a file, which libuv does not poll; -1 for all others
  struct loop *loop;
  uv_handle_t *handle;                 // NULL until there is a connection, and when a pipe was closed to finish it
  const struct stream_events *events;  // NULL until stream_start
  void *ctx;
  size_t max_queued;
  struct stream_out *out;
  struct stream_connecting *connecting;
  struct tls_session *tls;
};

struct stream *stream_new(struct loop *l, size_t max_queued);

// Gives the stream a fresh TCP handle; the one before, if any, is closed.
uv_tcp_t *stream_tcp_handle(struct stream *s);

// Starts or stops reading, whatever the state asks for.
void stream_update_reading(struct stream *s);

// Writes bytes as they are, below TLS.
bool stream_write_raw(struct stream *s, const str *parts, size_t count, struct buf *memory);

// Reading is over: tells the owner. err is libuv's, UV_EOF for an orderly end.
void stream_end(struct stream *s, int err);
void stream_end_fault(struct stream *s, const struct fault *f);

// Takes what a proxy answers. The stream may be gone afterwards.
void stream_tunnel_read(struct stream *s, str bytes);

// The owner has closed: no callback to it any more.
void stream_connecting_abandon(struct stream_connecting *c);

// Takes bytes off the wire. The stream may be gone afterwards.
void stream_tls_read(struct stream *s, str cipher);
bool stream_tls_write(struct stream *s, const str *parts, size_t count);
void stream_tls_goodbye(struct stream *s);  // sends close_notify, if the kernel accepts it immediately

// The handshake is over, well or not. The stream may be gone afterwards.
void stream_connected(struct stream *s);
void stream_connect_failed(struct stream *s, const char *why);
