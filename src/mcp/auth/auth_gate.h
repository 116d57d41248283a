// SPDX-License-Identifier: Apache-2.0
// The way from an HTTP request to a visitor: who shows a good credential goes in, others are told what is missing, and
// those whose credential cannot be judged before keys have been fetched wait, up to a bound.
#pragma once
#include "io/http/http_server.h"
#include "mcp/auth/challenge.h"

struct auth_gate {
  struct credentials *credentials;
  struct challenge challenge;
  void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who);
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);  // it is about to be told
  void *ctx;
  struct list waiting;  // private, as are the others below
  size_t count, bytes;
};

// Anyone may come, until it is guarded.
void auth_gate_init(struct auth_gate *d, void (*enter)(void *ctx, struct http_exchange *x, struct client_identity who),
                    void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why), void *ctx);
void auth_gate_done(struct auth_gate *d);  // drops those who wait

// From now on these let in; those who wait are judged by them at once. NULL: anyone may come.
void auth_gate_guard(struct auth_gate *d, struct credentials *credentials, const struct challenge *challenge);

// Ends in enter, now or later, or in an answer.
void auth_gate_pass(struct auth_gate *d, struct http_exchange *x);

// May this request send its body? *out_principal: the name of the sender, if it is known.
bool auth_gate_admits(struct auth_gate *d, const struct http_head *head, str *out_principal);
