// SPDX-License-Identifier: Apache-2.0
// Connects by name: looks up the name, tries each address in turn, then does the TLS handshake if TLS is wanted. With a
// proxy, it looks up the proxy's name, and asks the proxy for a tunnel before the handshake.
#include <netdb.h>
#include <stdio.h>

#include "base/mem.h"
#include "io/http/http.h"
#include "io/http/proxy.h"
#include "io/stream/stream_impl.h"
#include "io/stream/tls.h"

enum {
  HOST_MAX = 255,  // maximum length of a name in DNS
  ANSWER_MAX = 16 << 10,
};

struct stream_connecting {
  struct stream *stream;  // NULL if the stream was closed while libuv still uses this struct
  struct tls_client *tls;
  void (*done)(void *ctx, struct stream *s, const struct fault *f);
  void *ctx;
  struct addrinfo *addresses, *next;
  bool looking_up, trying;  // libuv still uses `req`
  union {
    uv_getaddrinfo_t lookup;
    uv_connect_t connect;
  } req;
  const struct proxy *proxy;  // NULL: a direct connection
  struct buf answer;
  size_t seen;         // bytes already searched for the end of the head (see http_parse_response)
  struct timer later;  // reports a failure that was found before stream_connect returned
  int error;
  uint16_t port;
  char host[HOST_MAX + 1];
};

static void free_connecting(struct stream_connecting *c) {
  timer_stop(&c->later);
  if (c->addresses) freeaddrinfo(c->addresses);
  buf_done(&c->answer);
  mem_free(c);
}

void stream_connecting_abandon(struct stream_connecting *c) {
  c->stream->connecting = NULL;
  c->stream = NULL;
  if (c->looking_up) uv_cancel((uv_req_t *)&c->req.lookup);
  if (!c->looking_up && !c->trying) free_connecting(c);
}

static void tell(struct stream *s, const struct fault *f) {
  struct stream_connecting *c = s->connecting;
  void (*done)(void *, struct stream *, const struct fault *) = c->done;
  void *ctx = c->ctx;
  stream_connecting_abandon(c);
  done(ctx, s, f);
}

void stream_connected(struct stream *s) {
  tell(s, NULL);
}

void stream_connect_failed(struct stream *s, const char *why) {
  struct fault f;
  const struct stream_connecting *c = s->connecting;
  char host[HTTP_HOST_TEXT], proxy[HTTP_HOST_TEXT];
  http_host_print(str_of(c->host), host);
  if (c->proxy)
    fault_set(&f, FAULT_IO, "cannot connect to %s port %u through the proxy %s port %u (%.*s): %s", host, c->port,
              http_host_print(str_of(c->proxy->host), proxy), c->proxy->port, STR_ARG(c->proxy->variable), why);
  else fault_set(&f, FAULT_IO, "cannot connect to %s port %u: %s", host, c->port, why);
  tell(s, &f);
}

static void report_failure(struct stream_connecting *c) {
  bool unknown = c->error == UV_EAI_NONAME || c->error == UV_EAI_NODATA;
  stream_connect_failed(c->stream, unknown ? "no such host" : uv_strerror(c->error));
}

static void on_later(struct timer *t) {
  report_failure(CONTAINER_OF(t, struct stream_connecting, later));
}

static void shake_hands(struct stream *s, struct stream_connecting *c) {
  s->tls = tls_session_new(c->tls, str_of(c->host));
  stream_update_reading(s);
  stream_tls_read(s, STR_NONE);
}

// ---- a tunnel through a proxy

static void ask_for_tunnel(struct stream *s, struct stream_connecting *c) {
  struct buf b;
  char host[HTTP_HOST_TEXT];
  http_host_print(str_of(c->host), host);
  buf_init(&b, ANSWER_MAX);
  buf_printf(&b, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\nUser-Agent: toolgate/" TOOLGATE_VERSION "\r\n", host,
             c->port, host, c->port);
  str credential = c->proxy->authorization;
  if (credential.n) buf_printf(&b, "Proxy-Authorization: %.*s\r\n", STR_ARG(credential));
  buf_str(&b, STR("\r\n"));
  str request = buf_view(&b);
  s->tunneling = true;
  // The result is ignored: if this write fails, reading also ends and reports the error.
  stream_write_raw(s, &request, 1, NULL);
  buf_done(&b);
  stream_update_reading(s);
}

void stream_tunnel_read(struct stream *s, str bytes) {
  struct stream_connecting *c = s->connecting;
  struct http_limits limits = {.max_head = ANSWER_MAX};
  struct http_head head;
  struct http_error err;
  buf_str(&c->answer, bytes);
  if (c->answer.over) {
    stream_connect_failed(s, "the response of the proxy is too long");
    return;
  }
  long n = http_parse_response(c->answer.p, c->answer.n, &limits, &c->seen, &head, &err);
  if (n == HTTP_MORE) return;
  char why[512];
  if (n == HTTP_BAD) snprintf(why, sizeof why, "the proxy does not speak HTTP: %s", err.text);
  else if (head.status / 100 != 2) proxy_refusal(c->proxy, head.status, why, sizeof why);
  else if ((size_t)n < c->answer.n)
    snprintf(why, sizeof why, "the proxy sent unexpected bytes before the TLS handshake");
  else {
    s->tunneling = false;
    shake_hands(s, c);
    return;
  }
  stream_connect_failed(s, why);
}

// ---- connecting

static void try_next(struct stream_connecting *c);

static void on_connect(uv_connect_t *req, int status) {
  struct stream_connecting *c = CONTAINER_OF(req, struct stream_connecting, req.connect);
  c->trying = false;
  struct stream *s = c->stream;
  if (!s) {
    free_connecting(c);
    return;
  }
  struct loop *l = s->loop;
  loop_begin(l);
  if (status < 0) {
    c->error = status;
    try_next(c);
    if (!c->trying) report_failure(c);
  } else {
    uv_tcp_nodelay((uv_tcp_t *)s->handle, 1);
    if (c->tls && c->proxy) ask_for_tunnel(s, c);
    else if (c->tls) shake_hands(s, c);
    else stream_connected(s);
  }
  loop_end(l, LOOP_CONNECT, "");
}

// Starts connecting to the next address. Skips addresses that fail immediately. If no address is left, c->trying stays
// false.
static void try_next(struct stream_connecting *c) {
  while (c->next && !c->trying) {
    struct addrinfo *a = c->next;
    c->next = a->ai_next;
    int err = uv_tcp_connect(&c->req.connect, stream_tcp_handle(c->stream), a->ai_addr, on_connect);
    if (err < 0) c->error = err;
    c->trying = err == 0;
  }
}

static void on_lookup(uv_getaddrinfo_t *req, int status, struct addrinfo *addresses) {
  struct stream_connecting *c = CONTAINER_OF(req, struct stream_connecting, req.lookup);
  c->looking_up = false;
  c->addresses = c->next = addresses;
  if (!c->stream) {
    free_connecting(c);
    return;
  }
  struct loop *l = c->stream->loop;
  loop_begin(l);
  c->error = status;
  try_next(c);
  if (!c->trying) report_failure(c);
  loop_end(l, LOOP_CONNECT, "");
}

// Starts connecting, or first looks up the name. A numeric address is not looked up, because a lookup occupies a
// thread.
static void begin(struct stream_connecting *c) {
  char port[8];
  const char *host = c->proxy ? c->proxy->host : c->host;
  snprintf(port, sizeof port, "%u", c->proxy ? c->proxy->port : c->port);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  if (getaddrinfo(host, port, &hints, &c->addresses) == 0) {
    c->next = c->addresses;
    try_next(c);
  } else {
    hints.ai_flags = AI_NUMERICSERV;
    c->error = uv_getaddrinfo(&c->stream->loop->uv, &c->req.lookup, on_lookup, host, port, &hints);
    c->looking_up = c->error == 0;
  }
}

struct stream *stream_connect(struct loop *l, const struct proxy *proxy, str host, uint16_t port,
                              struct tls_client *tls, size_t max_queued,
                              void (*done)(void *ctx, struct stream *s, const struct fault *f), void *ctx) {
  struct stream *s = stream_new(l, max_queued);
  struct stream_connecting *c = MEM_NEW(struct stream_connecting);
  *c = (struct stream_connecting){.stream = s, .tls = tls, .done = done, .ctx = ctx, .proxy = proxy, .port = port};
  buf_init(&c->answer, ANSWER_MAX + LOOP_READ_SIZE);
  s->connecting = c;
  timer_init(&c->later, on_later);
  size_t n = host.n <= HOST_MAX ? host.n : 0;
  memcpy(c->host, host.p, n);
  c->error = UV_EAI_NONAME;
  if (n && !memchr(host.p, 0, n)) begin(c);
  if (!c->looking_up && !c->trying) timer_start(l, &c->later, 0);
  return s;
}
