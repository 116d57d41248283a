// SPDX-License-Identifier: Apache-2.0
// A connected byte stream with one interface for TCP, TLS on TCP, pipes, terminals and files.
//
// The code that opens a stream owns it until stream_close(&s), which never calls back. Callbacks may close the stream.
// The bytes passed to on_data are valid until the callback returns. A write sends as many bytes as the kernel accepts;
// the rest is copied and queued, up to a limit.
#pragma once
#include "base/fault.h"
#include "base/str.h"
#include "io/loop.h"

struct stream;

struct stream_events {
  void (*on_data)(void *ctx, str bytes);
  // Called when the peer has ended its side (f is NULL) or the connection broke. No callback follows; the owner must
  // close the stream.
  void (*on_end)(void *ctx, const struct fault *f);
  // Called when all queued bytes have been written. May be NULL.
  void (*on_drain)(void *ctx);
};

// Takes over a file descriptor of a pipe, socket, terminal or file. Closing the stream leaves descriptors 0, 1 and 2
// open; 1 and 2 are never read. If the descriptor cannot be used, returns NULL with a reason in f, and the caller still
// owns it.
struct stream *stream_open_fd(struct loop *l, int fd, size_t max_queued, struct fault *f);

// Accepts a connection from a listening libuv handle. Returns NULL on failure.
struct stream *stream_accept(struct loop *l, uv_stream_t *listener, size_t max_queued);

struct tls_client;  // io/stream/tls.h
struct proxy;       // io/http/proxy.h

// Connects to a host by name. `done` is called once, later, unless the stream is closed before. If `done` gets a fault,
// the owner must close the stream. Otherwise, `done` must call stream_start, because with TLS, bytes of the peer may
// follow at once. tls is NULL for plain TCP. proxy is NULL for a direct connection, and must outlive the stream. With
// TLS, the proxy is asked for a tunnel (CONNECT); without TLS, the stream ends at the proxy, which accepts requests for
// any host.
struct stream *stream_connect(struct loop *l, const struct proxy *proxy, str host, uint16_t port,
                              struct tls_client *tls, size_t max_queued,
                              void (*done)(void *ctx, struct stream *s, const struct fault *f), void *ctx);

void stream_start(struct stream *s, const struct stream_events *events, void *ctx);

// stream_pause stops reading, as back-pressure on the peer; stream_resume resumes it. A paused stream does not notice
// that the peer ends its side.
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);

// Writes the parts in order. Returns false if the stream is broken or its queue exceeds the limit: the owner must close
// it.
bool stream_write(struct stream *s, const str *parts, size_t count);
// Like stream_write, but one part may be in `memory` (see struct payload): if a large rest must wait, the stream takes
// this memory instead of copying the rest.
bool stream_write_from(struct stream *s, const str *parts, size_t count, struct buf *memory);

// Returns the number of bytes that wait for the kernel to accept them.
size_t stream_queued(const struct stream *s);

// Returns the file descriptor, or -1 if the stream has no descriptor. Use it only to query the kernel about the
// connection.
int stream_fd(const struct stream *s);

// Sets *out to the address of the other end. Returns false if the other end has no address.
bool stream_address(const struct stream *s, struct sockaddr_storage *out);

// Writes the numeric address of the other end, or an empty text if it has none.
void stream_peer(const struct stream *s, char *out, size_t size);
// Writes the address of this end as in a URL (IPv6 in brackets), or an empty text if it has none.
void stream_local(const struct stream *s, char *out, size_t size);

// Ends the writing side (half-close) when the queue is empty.
void stream_finish(struct stream *s);

// Drops queued bytes, closes and frees the stream. Sets *s to NULL; *s may be NULL.
void stream_close(struct stream **s);
// Writes queued bytes, ends the writing side and waits for the peer to end its side, all within grace_ms; then closes
// and frees the stream. Sets *s to NULL. Calls no callback.
void stream_close_flushed(struct stream **s, uint64_t grace_ms);
