// SPDX-License-Identifier: Apache-2.0
// HTTP pages for operators. routes.h lists the pages, router.c finds them, admin.c listens and authenticates.
//
// Most pages name servers, so only readers may see them. The MCP endpoint serves some of the pages, too (routes.h).
// There, clients are readers only if every client may use everything; for other clients, /readyz returns numbers
// without names, and /metrics does not exist.
//
// At admin.listen, the token of admin.token_sha256 identifies a reader, and the token of admin.operator_token_sha256 an
// operator. If admin.token_sha256 is not set, clients without a token are readers.
#pragma once
#include "app/admin/model.h"
#include "app/admin/router.h"
#include "app/rejections.h"
#include "io/http/http_server.h"
#include "mcp/auth/access.h"

struct admin {
  const struct model *model;
  const struct config *config;
  struct rejections *rejections;
  bool (*reload)(void *ctx);  // starts a reload; returns false if no reload is possible now
  void *ctx;
  bool guarded;  // the MCP endpoint, which also serves admin pages, requires credentials

  struct buf text;           // the answer while it is written
  struct http_server *http;  // listener at admin.listen; NULL if none is configured
  struct access access;      // access check of the listener at admin.listen
  struct arena arena;
  size_t stream_count;  // number of open event streams (page_events.c)
};

void admin_init(struct admin *a, const struct model *model, struct rejections *rejections, bool (*reload)(void *ctx),
                void *ctx);
void admin_done(struct admin *a);

// Answers a request that arrived at the MCP endpoint. Returns false if the path is not an admin page.
bool admin_answer(void *admin, struct http_exchange *x);

// Listens at admin.listen, if it is configured. Returns false if the address cannot be used; with the transport stdio,
// logs a warning and returns true instead.
bool admin_listen(struct admin *a, struct fault *f);

// ---- for pages

// The request for a page. The function of the page must do one of these: fill `text` and call admin_reply; call
// admin_send with existing bytes, such as an embedded asset; or begin a stream on `x` (io/http/http_server.h).
struct admin_request {
  struct admin *admin;
  struct http_exchange *x;
  struct buf *text;      // initially empty
  enum admin_role role;  // role of the client
};

void admin_reply(struct admin_request *r, int status, str type);
void admin_send(struct admin_request *r, int status, str type, str body);
