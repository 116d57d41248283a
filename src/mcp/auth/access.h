// SPDX-License-Identifier: Apache-2.0
// Checks that a request is meant for this listener and was not sent by a foreign web page. Runs for every request on
// every HTTP listener, before any other code handles the request.
//
// Host must be a configured name, a loopback name (localhost, 127.0.0.1, [::1]) or the listener's address. A loopback
// name or address must have no port or the listener's port. This prevents DNS rebinding: a web page cannot reach the
// listener by resolving its own host name to this address. Origin, if present, must have a configured name, or be
// http:// with a loopback name or the listener's address, and with exactly the listener's port. Sec-Fetch-Site, which
// browsers add and pages cannot change, must be same-origin or none, unless Origin has a configured name.
// X-Forwarded-Host, Forwarded and cookies are ignored.
#pragma once
#include "base/rate.h"
#include "io/http/http_server.h"

struct access {
  const str *allowed;  // allowed_hosts: "NAME" (any port) or "NAME:PORT" (only this port); IPv6 addresses in brackets
  size_t allowed_count;
  str bound;      // the address listened on, IPv6 in brackets
  uint16_t port;  // the listener's port; 0 if any port is accepted
  bool local;     // access_pass also accepts the address to which the client has connected
  struct rate refusals;
};

// Returns 0 if the request is accepted, otherwise the HTTP status: 421 if Host is not accepted, 403 if Origin or
// Sec-Fetch-Site is not accepted.
int access_check(const struct access *a, const struct http_head *head);

// Returns true if access_check accepts the request. Otherwise answers the request and logs the refusal, with a limit on
// the log lines per second.
bool access_pass(struct access *a, struct loop *l, struct http_exchange *x);
