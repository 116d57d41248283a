// SPDX-License-Identifier: Apache-2.0
// Authenticates HTTP requests. A request with a valid credential is passed to the callback `enter`, with the identity
// of its client; other requests are refused. If the signing keys that verify a credential must be fetched first, a
// limited number of requests waits for these keys.
#pragma once
#include "io/http/http_server.h"
#include "mcp/auth/challenge.h"

struct auth_gate {
  struct credentials *credentials;
  struct challenge challenge;
  void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who);
  // Called before a request is refused.
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);
  void *ctx;
  struct list waiting;  // list of struct gate_waiter; this member and the following ones are private
  size_t count, bytes;
};

// Until auth_gate_guard is called, requests need no credential: `enter` is called for every request.
void auth_gate_init(struct auth_gate *d, void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who),
                    void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why), void *ctx);
void auth_gate_done(struct auth_gate *d);  // drops the waiting requests

// Replaces the credentials, then checks again the requests that wait for signing keys. If `credentials` is NULL,
// requests need no credential.
void auth_gate_guard(struct auth_gate *d, struct credentials *credentials, const struct challenge *challenge);

// Calls `enter` if the credential of the request is valid; otherwise refuses the request. If signing keys must be
// fetched first, the request waits for them.
void auth_gate_pass(struct auth_gate *d, struct http_exchange *x);

// Returns whether to read the body of this request: false if its credential is certainly invalid. If the credential is
// valid, sets *out_principal to the name of its principal.
bool auth_gate_admits(struct auth_gate *d, const struct http_head *head, str *out_principal);
