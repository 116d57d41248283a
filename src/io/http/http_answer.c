// SPDX-License-Identifier: Apache-2.0
// Writes the responses of the HTTP server.
#include <stdio.h>

#include "base/assert.h"
#include "io/http/http_conn.h"

static struct conn *conn_of(struct http_exchange *x) {
  struct conn *c = CONTAINER_OF(x, struct conn, x);
  ASSERT_MAGIC(c, CONN_MAGIC);
  return c;
}

static void put_head(struct conn *c, int status, str headers, str content_type) {
  struct buf *out = &c->server->out;
  buf_reset(out);
  buf_str(out, STR("HTTP/1.1 "));
  buf_u64(out, (uint64_t)status);
  buf_char(out, ' ');
  buf_str(out, str_of(http_reason(status)));
  buf_str(out, STR("\r\n"));
  if (content_type.n) {
    buf_str(out, STR("Content-Type: "));
    buf_str(out, content_type);
    buf_str(out, STR("\r\n"));
  }
  buf_str(out, headers);
  if (c->server->draining) c->keep_alive = false;
  if (!c->keep_alive) buf_str(out, STR("Connection: close\r\n"));
  else if (c->http10) buf_str(out, STR("Connection: keep-alive\r\n"));  // HTTP/1.0 closes by default
}

// Called when the response is complete: continues with pipelined requests, or waits for the next request.
static void answered(struct conn *c) {
  if (!c->keep_alive) {
    conn_linger(c);
    return;
  }
  conn_wait_for_request(c);
  // Defers the next request to the loop, because handling it might free objects that the caller of this function still
  // uses.
  if (!conn_behind(c) && c->in.n && !c->working) loop_defer(c->server->loop, &c->resume);
}

void conn_write(struct conn *c, const str *parts, size_t count, struct buf *memory) {
  if (c->stream && !stream_write_from(c->stream, parts, count, memory)) stream_close(&c->stream);
}

void http_reply(struct http_exchange *x, int status, str headers, str content_type, str body) {
  http_reply_from(x, status, headers, content_type, (struct payload){body, NULL});
}

void http_reply_from(struct http_exchange *x, int status, str headers, str content_type, struct payload body) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_ANSWER);
  put_head(c, status, headers, content_type);
  struct buf *out = &c->server->out;
  if (status != 204 && status != 304) {
    buf_str(out, STR("Content-Length: "));
    buf_u64(out, body.text.n);
    buf_str(out, STR("\r\n"));
  }
  buf_str(out, STR("\r\n"));
  conn_write(c, (str[]){buf_view(out), c->head_only ? STR_NONE : body.text}, 2, body.memory);
  if (c->stream) answered(c);
  else conn_close(c);
}

void http_stream_begin(struct http_exchange *x, int status, str headers, str content_type) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_ANSWER);
  if (c->http10) c->keep_alive = false;  // in HTTP/1.0, only closing the connection marks the end of the response
  put_head(c, status, headers, content_type);
  struct buf *out = &c->server->out;
  if (!c->http10) buf_str(out, STR("Transfer-Encoding: chunked\r\n"));
  buf_str(out, STR("\r\n"));
  c->state = CONN_STREAM;
  conn_write(c, (str[]){buf_view(out)}, 1, NULL);
}

bool http_stream_write(struct http_exchange *x, struct payload bytes) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_STREAM);
  char size[24];
  int n = snprintf(size, sizeof size, "%zx\r\n", bytes.text.n);
  if (c->http10) conn_write(c, &bytes.text, 1, bytes.memory);
  else if (bytes.text.n) conn_write(c, (str[]){{size, (size_t)n}, bytes.text, STR("\r\n")}, 3, bytes.memory);
  if (!c->stream) {
    http_exchange_drop(x);
    return false;
  }
  if (stream_queued(c->stream) && !timer_running(&c->timer))
    timer_start(c->server->loop, &c->timer, c->server->opt.write_ms);
  return true;
}

void http_stream_end(struct http_exchange *x) {
  struct conn *c = conn_of(x);
  ASSERT(c->state == CONN_STREAM);
  if (!c->http10) conn_write(c, (str[]){STR("0\r\n\r\n")}, 1, NULL);
  if (c->stream) answered(c);
  else http_exchange_drop(x);
}

size_t http_stream_queued(const struct http_exchange *x) {
  const struct conn *c = CONTAINER_OF(x, struct conn, x);
  return c->stream ? stream_queued(c->stream) : 0;
}

void http_exchange_peer(const struct http_exchange *x, char out[HTTP_PEER_SIZE]) {
  const struct conn *c = CONTAINER_OF(x, const struct conn, x);
  out[0] = 0;
  if (c->stream) stream_peer(c->stream, out, HTTP_PEER_SIZE);
}

void http_exchange_local(const struct http_exchange *x, char out[HTTP_PEER_SIZE]) {
  const struct conn *c = CONTAINER_OF(x, const struct conn, x);
  out[0] = 0;
  if (c->stream) stream_local(c->stream, out, HTTP_PEER_SIZE);
}

void http_exchange_trust(struct http_exchange *x) {
  struct conn *c = conn_of(x);
  if (c->known) return;
  c->known = true;
  list_remove(&c->node);
  list_push(&c->server->conns[true], &c->node);
}

void http_exchange_drop(struct http_exchange *x) {
  x->on_abort = NULL;  // the owner drops the exchange itself, so it needs no callback
  conn_close(conn_of(x));
}
