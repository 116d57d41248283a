// SPDX-License-Identifier: Apache-2.0
// HTTP proxies for connections that the gateway opens itself, as the environment names them: http_proxy, https_proxy,
// all_proxy, no_proxy, in lower or upper case, with the meaning that curl gives them. The lower-case name wins; a
// variable that is set to nothing means a direct connection. Connections to this machine (localhost, 127.0.0.0/8, ::1)
// never go through a proxy.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "io/http/http.h"

struct proxy {
  str variable;       // that names it; empty: there is no such proxy
  bool wrong;         // its URL cannot be used
  const char *host;   // without the brackets of an IPv6 address
  uint16_t port;      // 80 unless the URL says another
  str authorization;  // value of Proxy-Authorization; empty: none. Secret.
};

struct proxies {
  struct proxy http, https;  // for http:// and https:// URLs
  str direct;                // NO_PROXY
};

// Everything it needs later is copied into the arena.
void proxies_read(struct proxies *p, char *const *env, struct arena *a);

// The proxy for a URL in *out; NULL: a direct connection. p may be NULL. False: there is a proxy for it that cannot be
// used, as f says. No message holds a proxy's user or password.
bool proxies_choose(const struct proxies *p, const struct http_url *url, const struct proxy **out, struct fault *f);

// Whether NO_PROXY (`list`) exempts a host: names with everything below them, addresses, networks (10.0.0.0/8), *;
// each with a port if wanted. Separated by commas or blanks.
bool proxy_exempts(str list, str host, uint16_t port);

// Describes an error status that the proxy itself answered with.
void proxy_refusal(const struct proxy *p, int status, char *out, size_t size);
