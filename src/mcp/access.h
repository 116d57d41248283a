// SPDX-License-Identifier: Apache-2.0
// By which names the HTTP endpoint may be called: checked on every request, before anything else looks at it.
//
// Host and Origin must name this machine (localhost, 127.0.0.1, [::1], any port), the address we listen on, or a
// configured name: a web page that rebinds its own name to 127.0.0.1 is turned away.
#pragma once
#include "io/http.h"

struct access {
  const str *allowed_hosts;  // besides the loopback names
  size_t allowed_count;
};

// 0 when the request may go on; else the status to answer with: 421 (Host), 403 (Origin).
int access_check_names(const struct access *a, const struct http_head *head);
