// SPDX-License-Identifier: Apache-2.0
// HTTP proxies for connections that the gateway opens itself. They are configured by the environment variables
// http_proxy, https_proxy, all_proxy and no_proxy, in lower or upper case, with the same meaning as for curl. The
// lower-case name has priority; an empty variable means a direct connection. Connections to this machine (localhost,
// 127.0.0.0/8, ::1) never use a proxy.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "io/http/http.h"

struct proxy {
  str variable;       // name of the variable that sets this proxy; empty: no proxy
  bool wrong;         // the URL in the variable cannot be used
  const char *host;   // without the brackets of an IPv6 address
  uint16_t port;      // port of the URL; default 80
  str authorization;  // value of Proxy-Authorization, which is secret; empty if the header is not sent
};

struct proxies {
  struct proxy http, https;  // for http:// and https:// URLs
  str direct;                // NO_PROXY
};

// Reads the variables in `env`. Copies everything that is needed later to the arena.
void proxies_read(struct proxies *p, char *const *env, struct arena *a);

// Sets *out to the proxy for a URL, or to NULL for a direct connection. p may be NULL. Returns false, with a reason in
// f, if there is a proxy for the URL that cannot be used. No message contains a proxy's user or password.
bool proxies_choose(const struct proxies *p, const struct http_url *url, const struct proxy **out, struct fault *f);

// Returns whether NO_PROXY (`list`) exempts a host. Entries are separated by commas or blanks; each is a name (which
// includes its subdomains), an address, a network (10.0.0.0/8) or *, and may have a port.
bool proxy_exempts(str list, str host, uint16_t port);

// Writes the error message for an error status that the proxy itself, not the server, has returned.
void proxy_refusal(const struct proxy *p, int status, char *out, size_t size);
