// SPDX-License-Identifier: Apache-2.0
// Finds the admin page for a request in the table of pages, and decides whether the client may access the page.
#pragma once
#include "app/admin/routes.h"
#include "base/str.h"

enum admin_role {
  ADMIN_PUBLIC,    // every client: may see whether the process is alive
  ADMIN_READER,    // may read metrics and the state of the gateway
  ADMIN_OPERATOR,  // may make changes
  ADMIN_NOBODY,    // no client has this role: a page that requires it is not served
};

struct admin_request;

struct admin_route {
  str method, path;
  enum admin_role role;      // role required at admin.listen
  enum admin_role endpoint;  // role required at the MCP endpoint
  void (*answer)(struct admin_request *r);
};

// The pages of the gateway (routes.h), and the functions that answer.
#define DECLARE(method, path, role, endpoint, answer) void answer(struct admin_request *r);
ADMIN_ROUTES(DECLARE)
#undef DECLARE
const struct admin_route *admin_routes(size_t *out_count);

struct admin_identity {
  enum admin_role role;
  bool at_endpoint;  // the request came to the MCP endpoint, not to admin.listen
  bool known;        // the client has sent a valid token
};

// Returns 0 and sets *out to the page, or returns the HTTP status of the error: 401, 403, 404 or 405. At the MCP
// endpoint, the status of a page that the client may not access is 404. At admin.listen, only readers learn which paths
// exist.
int admin_find(const struct admin_route *rows, size_t count, const struct admin_identity *who, str method, str path,
               const struct admin_route **out);
