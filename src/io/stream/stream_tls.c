// SPDX-License-Identifier: Apache-2.0
// Decrypts and encrypts the bytes between a stream and its owner. The scratch buffers are shared by all streams of the
// loop: their contents must be used before the next read or write of any stream.
#include "io/stream/stream_impl.h"
#include "io/stream/tls.h"

enum { RECORD = 16384 };  // maximum plaintext of a TLS record, in bytes

static bool send_wire(struct stream *s) {
  struct buf *wire = &s->loop->wire;
  str bytes = buf_view(wire);
  return bytes.n == 0 || s->broken || stream_write_raw(s, &bytes, 1, NULL);
}

static void deliver(struct stream *s, str plain) {
  if (plain.n == 0) return;
  if (s->events) s->events->on_data(s->ctx, plain);
  else s->broken = true;  // the bytes are lost, because the owner has not called stream_start in time
}

void stream_tls_read(struct stream *s, str cipher) {
  struct buf *plain = &s->loop->plain, *wire = &s->loop->wire;
  uv_handle_t *h = s->handle;
  struct fault f;
  buf_reset(plain);
  buf_reset(wire);
  enum tls_state state = tls_session_feed(s->tls, cipher, plain, wire, &f);
  send_wire(s);
  if (state == TLS_OPEN && s->connecting) stream_connected(s);
  if (h->data) deliver(s, buf_view(plain));
  if (!h->data) return;
  if (state == TLS_FAILED) stream_end_fault(s, &f);
  if (state == TLS_CLOSED) stream_end_fault(s, NULL);
}

// Encrypts a part. Sends the encrypted bytes only when there are at least LOOP_READ_SIZE of them; the caller sends the
// rest.
static bool write_part(struct stream *s, str part) {
  struct buf *wire = &s->loop->wire;
  struct fault f;
  for (; part.n; part = str_from(part, RECORD)) {
    str slice = {part.p, part.n < RECORD ? part.n : RECORD};
    if (!tls_session_write(s->tls, slice, wire, &f)) return false;
    if (wire->n < LOOP_READ_SIZE) continue;
    if (!send_wire(s)) return false;
    buf_reset(wire);
  }
  return true;
}

bool stream_tls_write(struct stream *s, const str *parts, size_t count) {
  bool ok = true;
  buf_reset(&s->loop->wire);
  for (size_t i = 0; i < count && ok; i++) ok = write_part(s, parts[i]);
  ok = ok && send_wire(s);
  if (!ok) s->broken = true;
  return ok;
}

void stream_tls_goodbye(struct stream *s) {
  buf_reset(&s->loop->wire);
  tls_session_end(s->tls, &s->loop->wire);
  send_wire(s);
}
