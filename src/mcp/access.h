// SPDX-License-Identifier: Apache-2.0
// Who may talk to the HTTP endpoint at all: checked on every request, before anything else looks at it.
//
// Host and Origin must name this machine (localhost, 127.0.0.1, [::1], any port), the address we listen on, or a
// configured name: a web page that rebinds its own name to 127.0.0.1 is turned away. With tokens configured, every
// request but /healthz needs one of them.
#pragma once
#include "base/hash.h"
#include "io/http.h"

struct access {
  const str *allowed_hosts;  // besides the loopback names
  size_t allowed_count;
  const unsigned char (*token_sha256)[SHA256_SIZE];
  size_t token_count;
};

enum { ACCESS_ANYONE = -1 };

// 0 when the request may go on; else the status to answer with: 421 (Host), 403 (Origin).
int access_check_names(const struct access *a, const struct http_head *head);

// Which token the request carries: its index; ACCESS_ANYONE when none is configured. False: 401.
bool access_authenticate(const struct access *a, const struct http_head *head, int *out_principal);

// A name for whoever has this token, the same in every run; it does not tell the token, nor its hash.
enum { ACCESS_NAME_SIZE = 39 };
void access_name(const unsigned char token_sha256[SHA256_SIZE], char out[ACCESS_NAME_SIZE]);
