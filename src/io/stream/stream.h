// SPDX-License-Identifier: Apache-2.0
// A connected byte stream with one interface for TCP, TLS on TCP, pipes, terminals and files.
//
// The opener owns the stream until stream_close(&s), which never calls back. Callbacks may close the
// stream. The bytes passed to on_data are valid until the callback returns.
// A write sends as many bytes as the kernel accepts; the rest is copied and queued, up to a limit.
#pragma once
#include "base/fault.h"
#include "base/str.h"
#include "io/loop.h"

struct stream;

struct stream_events {
  void (*on_data)(void *ctx, str bytes);
  // The peer ended (fault NULL) or the connection broke. Nothing follows; the owner closes the stream.
  void (*on_end)(void *ctx, const struct fault *f);
  // Everything queued has been written. May be NULL.
  void (*on_drain)(void *ctx);
};

// Takes over a file descriptor: of a pipe, socket, terminal or file. 0, 1 and 2 stay open when the stream is closed;
// 1 and 2 are never read. NULL when it cannot be used (f); it is still the caller's then.
struct stream *stream_open_fd(struct loop *l, int fd, size_t max_queued, struct fault *f);

// Accepts from a listening libuv handle.
struct stream *stream_accept(struct loop *l, uv_stream_t *listener, size_t max_queued);

struct tls_client;  // io/stream/tls.h
struct proxy;       // io/http/proxy.h

// Connects by name. `done` is called once, later, unless the stream is closed before; on failure the owner closes
// it then. On success `done` starts the stream: with TLS, the peer may already have said something. tls is NULL for
// plain TCP. proxy is NULL for a direct connection, and outlives the stream. With TLS the proxy is asked for a tunnel
// (CONNECT); without, the stream ends at the proxy, which takes requests for any host.
struct stream *stream_connect(struct loop *l, const struct proxy *proxy, str host, uint16_t port,
                              struct tls_client *tls, size_t max_queued,
                              void (*done)(void *ctx, struct stream *s, const struct fault *f), void *ctx);

void stream_start(struct stream *s, const struct stream_events *events, void *ctx);

// Stop and go on reading: back-pressure on the peer. While paused, its end is not noticed either.
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);

// Writes the parts in order. False when the stream is broken or the queue is over its limit: close it.
bool stream_write(struct stream *s, const str *parts, size_t count);
// The same; one of the parts may lie in `memory` (struct payload), which a large rest takes instead of copying it.
bool stream_write_from(struct stream *s, const str *parts, size_t count, struct buf *memory);

// Bytes accepted but not yet taken by the kernel.
size_t stream_queued(const struct stream *s);

// The file descriptor, for queries to the kernel, or -1.
int stream_fd(const struct stream *s);

// The address of the other end; false: it has none.
bool stream_address(const struct stream *s, struct sockaddr_storage *out);

// The address of the other end, in numbers, as it is written; empty: it has none.
void stream_peer(const struct stream *s, char *out, size_t size);
// The address of this end, as in a URL: IPv6 in brackets; empty: it has none.
void stream_local(const struct stream *s, char *out, size_t size);

// Ends the writing side when the queue is empty (half-close).
void stream_finish(struct stream *s);

// Drops what is queued, closes, frees; sets *s to NULL. NULL is fine.
void stream_close(struct stream **s);
// Writes what is queued, ends the writing side, waits for the peer's end (all that for at most grace_ms), then closes
// and frees; sets *s to NULL. No more callbacks.
void stream_close_flushed(struct stream **s, uint64_t grace_ms);
