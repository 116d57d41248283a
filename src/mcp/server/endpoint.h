// SPDX-License-Identifier: Apache-2.0
// MCP over HTTP, server side: Streamable HTTP at /mcp (and /mcp/MODE), HTTP+SSE of 2024-11-05 at /sse and /messages,
// /healthz, and OAuth metadata at /.well-known/. A session belongs to the principal and the path that opened it.
#pragma once
#include "io/http/http_server.h"
#include "mcp/auth/access.h"
#include "mcp/auth/challenge.h"
#include "mcp/server/session.h"

struct chain;
struct endpoint;

struct endpoint_options {
  struct access access;
  const char *const *modes;  // their names in paths; NULL: only /mcp
  size_t mode_count;
  int mode;         // mode of /mcp and /sse
  unsigned served;  // bits of the modes that /mcp/MODE serves
  uint64_t keepalive_ms, session_idle_ms;
  uint64_t session_away_ms;  // the same for a client that has closed its event stream
  uint64_t resume_ms;        // how long a broken stream waits for its client
  // Answers requests that are not MCP and need no credential; returns false for all others. May be NULL.
  bool (*page)(void *ctx, struct http_exchange *x);
  void *page_ctx;
  // Reports a request without a valid credential before it is refused. May be NULL.
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);
  void *refused_ctx;
  const struct chain *chain;  // NULL: loops are not detected
};

struct endpoint *endpoint_new(struct mcp_server *m, const struct endpoint_options *opt);

void endpoint_listens(struct endpoint *e, uint16_t port);  // port in Host and Origin; any before this call

// Replaces the credentials; NULL, the initial state, accepts every client. Ends all listening streams: their clients
// must authenticate again. The credentials and the texts of the challenge must outlive the endpoint or the next call.
void endpoint_guard(struct endpoint *e, struct credentials *credentials, const struct challenge *challenge);

// Refuses new sessions and ends the standing streams; requests in flight continue.
void endpoint_drain(struct endpoint *e);

// Closes every session.
void endpoint_free(struct endpoint **e);

// For http_server_new.
void endpoint_request(void *endpoint, struct http_exchange *x);
bool endpoint_admit(void *endpoint, const struct http_head *head, str *out_principal);
bool endpoint_vital(void *endpoint, const struct http_head *head);
