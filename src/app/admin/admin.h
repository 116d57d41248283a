// SPDX-License-Identifier: Apache-2.0
// Pages for those who run the gateway. routes.h lists them; router.c finds them; admin.c listens and authenticates.
//
// The pages name all servers. So they are whole only for readers: at an address of their own (admin.listen), or at the
// endpoint of clients when everyone there may use everything. At any other endpoint /readyz gives numbers without
// names, and the other pages do not exist.
//
// At admin.listen, a client without a token is a reader if admin.token_sha256 is not set. That token makes a reader,
// the token of admin.operator_token_sha256 an operator; without the second key there is no operator.
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
  bool (*reload)(void *ctx);  // reads the configuration again; false: that is not possible now
  void *ctx;
  bool guarded;  // the endpoint of clients asks for credentials

  struct buf text;           // the answer being written
  struct http_server *http;  // at admin.listen; NULL: it is not configured
  struct access access;      // to that address
  struct arena arena;
  size_t stream_count;  // of page_events.c
};

void admin_init(struct admin *a, const struct model *model, struct rejections *rejections, bool (*reload)(void *ctx),
                void *ctx);
void admin_done(struct admin *a);

// At the endpoint of clients. False: this is none of the pages.
bool admin_answer(void *admin, struct http_exchange *x);

// Listens at admin.listen, if it is configured. On stdio an address that cannot be used is a warning.
bool admin_listen(struct admin *a, struct fault *f);

// ---- for pages

// A page either fills `text` and calls admin_reply, or calls admin_send with bytes that exist already, such as an
// embedded asset, or begins a stream of `x` (io/http/http_server.h).
struct admin_request {
  struct admin *admin;
  struct http_exchange *x;
  struct buf *text;      // empty
  enum admin_role role;  // of the client
};

void admin_reply(struct admin_request *r, int status, str type);
void admin_send(struct admin_request *r, int status, str type, str body);
