// SPDX-License-Identifier: Apache-2.0
// Checks that a request is meant for this listener and was not sent by a foreign web page. Runs on every request of
// every HTTP listener, before anything else looks at the request.
//
// Host must be a loopback name (localhost, 127.0.0.1, [::1]) or the address listened on, with the port listened on or
// without a port; or a configured name. So a web page that rebinds its own name to this address is refused. Origin, if
// there is one, must be http:// with such a name and exactly this port, or have a configured name. Sec-Fetch-Site,
// which browsers add and pages cannot change, must be same-origin or none, unless Origin has a configured name.
// X-Forwarded-Host, Forwarded and cookies are not looked at.
#pragma once
#include "base/rate.h"
#include "io/http/http_server.h"

struct access {
  const str *allowed;  // configured: "NAME" with any port, "NAME:PORT" with this port only; IPv6 addresses in brackets
  size_t allowed_count;
  str bound;             // the address listened on, IPv6 in brackets
  uint16_t port;         // the port listened on; 0: any
  bool local;            // access_pass also accepts the address that the client has connected to
  struct rate refusals;  // rate of log lines about refused requests
};

// Returns 0 if the request is accepted, or the status of its refusal: 421 (Host), 403 (Origin, Sec-Fetch-Site).
int access_check(const struct access *a, const struct http_head *head);

// Returns true if access_check accepts the request. Otherwise answers it, and logs a limited number of them a second.
bool access_pass(struct access *a, struct loop *l, struct http_exchange *x);
