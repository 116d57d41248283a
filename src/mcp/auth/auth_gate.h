// SPDX-License-Identifier: Apache-2.0
// Authenticates HTTP requests. A request with a valid credential enters with the identity of its client; other requests
// are refused. If the keys to check a credential must be fetched first, a limited number of requests waits for them.
#pragma once
#include "io/http/http_server.h"
#include "mcp/auth/challenge.h"

struct auth_gate {
  struct credentials *credentials;
  struct challenge challenge;
  void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who);
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);  // called before the refusal is sent
  void *ctx;
  struct list waiting;  // struct gate_waiter; private, like the members below
  size_t count, bytes;
};

// Every request enters until auth_gate_guard has set credentials.
void auth_gate_init(struct auth_gate *d, void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who),
                    void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why), void *ctx);
void auth_gate_done(struct auth_gate *d);  // drops the waiting requests

// Replaces the credentials and checks the waiting requests again. If `credentials` is NULL, every request enters.
void auth_gate_guard(struct auth_gate *d, struct credentials *credentials, const struct challenge *challenge);

// Calls `enter` or answers the request, now or later.
void auth_gate_pass(struct auth_gate *d, struct http_exchange *x);

// Returns whether this request may send its body. Sets *out_principal to the name of the sender's principal if it is
// known.
bool auth_gate_admits(struct auth_gate *d, const struct http_head *head, str *out_principal);
