// SPDX-License-Identifier: Apache-2.0
// MCP over HTTP, the server side: Streamable HTTP at /mcp (and /mcp/NAME for each face of what is served), HTTP+SSE of
// 2024-11-05 at /sse and /messages, /healthz, and what an OAuth client must know at /.well-known/. Sessions belong to
// the principal that opened them, and to the path.
#pragma once
#include "io/http/http_server.h"
#include "mcp/auth/access.h"
#include "mcp/auth/challenge.h"
#include "mcp/server/session.h"

struct chain;
struct endpoint;

struct endpoint_options {
  struct access access;
  const char *const *modes;  // their names in paths; NULL: none but /mcp
  size_t mode_count;
  int mode;         // that of /mcp and /sse
  unsigned served;  // bits of the faces that /mcp/NAME serves
  uint64_t keepalive_ms, session_idle_ms;
  uint64_t session_away_ms;  // the same for a client that has closed its event stream
  uint64_t resume_ms;        // how long a broken stream waits for its client to come back
  // Answers what is no MCP and needs no credential; false: it is not such a thing. May be NULL.
  bool (*page)(void *ctx, struct http_exchange *x);
  void *page_ctx;
  // Somebody shows no good credential, and is about to be told. May be NULL.
  void (*refused)(void *ctx, const struct http_exchange *x, enum rejection why);
  void *refused_ctx;
  const struct chain *chain;  // NULL: loops are not looked for
};

struct endpoint *endpoint_new(struct mcp_server *m, const struct endpoint_options *opt);

void endpoint_listens(struct endpoint *e, uint16_t port);  // the port in Host and Origin; until then any is accepted

// From now on these let in, and others are told that. NULL: anyone may come, as before the first time. Whoever only
// listens has to come again. The credentials outlive the endpoint, or the next time; so does what the challenge names.
void endpoint_guard(struct endpoint *e, struct credentials *credentials, const struct challenge *challenge);

// Refuses new sessions and ends the standing streams; requests under way go on.
void endpoint_drain(struct endpoint *e);

// Closes every session.
void endpoint_free(struct endpoint **e);

// For http_server_new.
void endpoint_request(void *endpoint, struct http_exchange *x);
bool endpoint_admit(void *endpoint, const struct http_head *head, str *out_principal);
bool endpoint_vital(void *endpoint, const struct http_head *head);
