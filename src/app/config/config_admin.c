// SPDX-License-Identifier: Apache-2.0
// Checks the keys of the admin listener (app/admin/admin.h).
#include <arpa/inet.h>
#include <netinet/in.h>

#include "app/config/config_load.h"
#include "io/http/http.h"
#include "io/http/listener.h"

static bool read_address(struct config_loader *l, const struct config_place *at) {
  struct config *c = l->config;
  str port;
  uint64_t number;
  if (config_split_listen(c->admin_listen, &c->admin_host, &port) && config_is_host(c->admin_host) &&
      str_to_u64(port, &number) && number <= UINT16_MAX) {
    c->admin_port = (uint16_t)number;
    return true;
  }
  config_error(l, at, "must be HOST:PORT, [ADDRESS]:PORT or :PORT");
  return false;
}

// Parses an address; IPv4 becomes an IPv4-mapped IPv6 address.
static bool address_of(str host, struct in6_addr *out) {
  static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};
  char text[INET6_ADDRSTRLEN];
  if (str_eq_nocase(host, STR("localhost"))) host = STR("127.0.0.1");
  if (host.n >= sizeof text) return false;
  memcpy(text, host.p, host.n);
  text[host.n] = 0;
  if (inet_pton(AF_INET6, text, out) == 1) return true;
  memcpy(out, v4, sizeof v4);
  return inet_pton(AF_INET, text, out->s6_addr + sizeof v4) == 1;
}

// Returns whether listening on `a` includes `b`: "::" includes every address, "0.0.0.0" every IPv4 address.
static bool covers(const struct in6_addr *a, const struct in6_addr *b) {
  static const unsigned char any4[16] = {[10] = 0xff, [11] = 0xff};
  if (IN6_IS_ADDR_UNSPECIFIED(a)) return true;
  if (memcmp(a, any4, sizeof any4) == 0) return IN6_IS_ADDR_V4MAPPED(b);
  return IN6_ARE_ADDR_EQUAL(a, b);
}

// Returns whether the admin listener and the listener for clients would use the same port and address.
static bool is_endpoint(const struct config *c) {
  struct in6_addr own, admin;
  ASSERT(c->admin_host.n);
  if (c->transport != CONFIG_HTTP || c->port != c->admin_port || !c->port) return false;
  return address_of(c->host, &own) && address_of(c->admin_host, &admin) &&
         (covers(&own, &admin) || covers(&admin, &own));
}

static void read_token(struct config_loader *l, const struct config_place *at, str written, struct config_digest *out) {
  if (!written.n) return;
  out->set = config_is_digest(written, out->sha256);
  if (!out->set) config_error(l, at, "must be the SHA-256 of the token in 64 hexadecimal digits");
  if (!l->config->admin_listen.n) config_warn(l, at, "has no effect without admin.listen");
}

static void read_tokens(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct config_place reader = {d->file, STR("/admin/token_sha256")};
  struct config_place changer = {d->file, STR("/admin/operator_token_sha256")};
  read_token(l, &reader, c->admin_digest, &c->admin_reader);
  read_token(l, &changer, c->admin_operator_digest, &c->admin_operator);
  if (c->admin_reader.set && c->admin_operator.set &&
      memcmp(c->admin_reader.sha256, c->admin_operator.sha256, SHA256_SIZE) == 0)
    config_error(l, &changer, "equals admin.token_sha256, so readers would be operators: use another token");
}

void config_admin_check(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct config_place listen = {d->file, STR("/admin/listen")};
  read_tokens(l, d);
  if (!c->admin_listen.n || !read_address(l, &listen)) return;
  if (!listener_is_address(c->admin_host))
    config_error(l, &listen, "%.*s is not an IP address or localhost; host names are not resolved for listening",
                 STR_ARG(c->admin_host));
  char host[HTTP_HOST_TEXT];
  if (is_endpoint(c))
    config_error(l, &listen, "is the address at which clients connect (%s port %u): choose another port",
                 http_host_print(c->host, host), (unsigned)c->port);
  if (c->admin_digest.n || config_is_loopback(c->admin_host) || c->insecure_bind) return;
  config_error(
      l, &listen,
      "%.*s is not a loopback address: set admin.token_sha256, or pass --insecure-bind to serve without a token",
      STR_ARG(c->admin_host));
}
