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
  const char *const *modes;  // names of the modes, for the paths /mcp/MODE; NULL if only /mcp exists
  size_t mode_count;
  int mode;         // mode of the paths /mcp and /sse
  unsigned served;  // one bit for each mode; set if /mcp/MODE is served
  uint64_t keepalive_ms, session_idle_ms;
  uint64_t session_away_ms;  // idle time after which a session ends if its client has closed the event stream
  uint64_t resume_ms;        // time for a client to resume a broken stream
  // Answers a request that is not MCP and needs no credential, and returns true. Returns false for other requests. May
  // be NULL.
  bool (*page)(void *ctx, struct http_exchange *x);
  void *page_ctx;
  // Called before a request without a valid credential is refused. May be NULL.
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);
  void *refused_ctx;
  const struct chain *chain;  // detects loops of gateways; NULL if loops are not detected
};

struct endpoint *endpoint_new(struct mcp_server *m, const struct endpoint_options *opt);

void endpoint_listens(struct endpoint *e,
                      uint16_t port);  // sets the port required in Host and Origin; until then, any port is accepted

// Replaces the credentials. If `credentials` is NULL, as at the start, every client is accepted. Ends all listening
// streams, so that their clients must authenticate again. The credentials and the strings of the challenge must live
// until the next call or the end of the endpoint.
void endpoint_guard(struct endpoint *e, struct credentials *credentials, const struct challenge *challenge);

// Refuses new sessions and ends standing streams (see mcp/server/event_stream.h). Requests in flight continue.
void endpoint_drain(struct endpoint *e);

// Closes every session.
void endpoint_free(struct endpoint **e);

// Callbacks for http_server_new.
void endpoint_request(void *endpoint, struct http_exchange *x);
bool endpoint_admit(void *endpoint, const struct http_head *head, str *out_principal);
bool endpoint_vital(void *endpoint, const struct http_head *head);
