// SPDX-License-Identifier: Apache-2.0
// Where readiness and metrics are told to those who run the gateway (app/pages.h).
#include "app/config_load.h"

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

void config_admin_check(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct config_place listen = {d->file, STR("/admin/listen")}, token = {d->file, STR("/admin/token_sha256")};
  bool said = c->admin_digest.n > 0;
  c->admin_guarded = said && config_is_digest(c->admin_digest, c->admin_token);
  if (said && !c->admin_guarded) config_error(l, &token, "must be the SHA-256 of the token in 64 hexadecimal digits");
  if (said && !c->admin_listen.n) config_warn(l, &token, "has no effect without admin.listen");
  if (!c->admin_listen.n || !read_address(l, &listen)) return;
  if (said || config_is_loopback(c->admin_host) || c->insecure_bind) return;
  config_error(l, &listen,
               "%.*s is no loopback address: set admin.token_sha256, or say --insecure-bind to tell whoever reaches it",
               STR_ARG(c->admin_host));
}
