// SPDX-License-Identifier: Apache-2.0
#include "io/http/listener.h"

#include "base/mem.h"
#include "io/http/http.h"

enum { BACKLOG = 1024 };

static bool numeric_address(str host, uint16_t port, struct sockaddr_storage *out) {
  char text[64];
  if (str_eq_nocase(host, STR("localhost"))) host = STR("127.0.0.1");
  if (host.n >= sizeof text) return false;
  memcpy(text, host.p, host.n);
  text[host.n] = 0;
  return uv_ip4_addr(text, port, (struct sockaddr_in *)out) == 0 ||
         uv_ip6_addr(text, port, (struct sockaddr_in6 *)out) == 0;
}

bool listener_is_address(str host) {
  struct sockaddr_storage ignored;
  return numeric_address(host, 0, &ignored);
}

static void free_handle(uv_handle_t *h) {
  mem_free(h);
}

void listener_close(uv_tcp_t **listener) {
  if (*listener) uv_close((uv_handle_t *)*listener, free_handle);
  *listener = NULL;
}

uv_tcp_t *listener_open(struct loop *l, str host, uint16_t port, uv_connection_cb on_connection, void *data,
                        uint16_t *out_port, struct fault *f) {
  struct sockaddr_storage addr;
  if (!numeric_address(host, port, &addr)) {
    fault_set(f, FAULT_INVALID, "cannot listen on \"%.*s\": use an IP address or localhost", STR_ARG(host));
    return NULL;
  }
  uv_tcp_t *listener = MEM_NEW(uv_tcp_t);
  uv_tcp_init(&l->uv, listener);
  listener->data = data;
  int r = uv_tcp_bind(listener, (struct sockaddr *)&addr, 0);
  if (r == 0) r = uv_listen((uv_stream_t *)listener, BACKLOG, on_connection);
  if (r != 0) {
    char shown[HTTP_HOST_TEXT];
    fault_set(f, FAULT_IO, "cannot listen on %s port %u: %s", http_host_print(host, shown), port, uv_strerror(r));
    listener_close(&listener);
    return NULL;
  }
  int size = sizeof addr;
  uv_tcp_getsockname(listener, (struct sockaddr *)&addr, &size);
  *out_port = ntohs(addr.ss_family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port
                                              : ((struct sockaddr_in6 *)&addr)->sin6_port);
  return listener;
}
