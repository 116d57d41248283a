// SPDX-License-Identifier: Apache-2.0
// Finds the admin page for a request in a table of rows, and decides whether its client may have it.
#pragma once
#include "app/admin/routes.h"
#include "base/str.h"

enum admin_role {
  ADMIN_PUBLIC,    // everyone: the health of the process
  ADMIN_READER,    // metrics and the state of the gateway
  ADMIN_OPERATOR,  // changes
  ADMIN_NOBODY,    // in a row: the page is not served
};

struct admin_request;

struct admin_route {
  str method, path;
  enum admin_role role;      // that it needs at admin.listen
  enum admin_role endpoint;  // that it needs at the endpoint of clients
  void (*answer)(struct admin_request *r);
};

// The pages of the gateway (routes.h), and the functions that answer.
#define DECLARE(method, path, role, endpoint, answer) void answer(struct admin_request *r);
ADMIN_ROUTES(DECLARE)
#undef DECLARE
const struct admin_route *admin_routes(size_t *out_count);

struct admin_identity {
  enum admin_role role;
  bool at_endpoint;  // else at admin.listen
  bool known;        // a token has proved the role
};

// 0: *out is the page. Else the status of the answer: 401, 403, 404 or 405. A page of the endpoint that the visitor may
// not have does not exist for it: 404. At admin.listen, only a reader learns which paths exist.
int admin_find(const struct admin_route *rows, size_t count, const struct admin_identity *who, str method, str path,
               const struct admin_route **out);
