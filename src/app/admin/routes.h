// SPDX-License-Identifier: Apache-2.0
// The table of admin pages. Each row has a method, a path, the role required at admin.listen, the role required at the
// MCP endpoint, and the function that answers. router.h and router.c expand the table.
#pragma once

#define ADMIN_ROUTES(ROW) \
  ROW("GET", "/healthz", ADMIN_PUBLIC, ADMIN_NOBODY, admin_page_health) /* the MCP endpoint has its own /healthz */ \
  ROW("GET", "/.well-known/jwks.json", ADMIN_PUBLIC, ADMIN_PUBLIC, admin_page_keys) \
  ROW("GET", "/readyz", ADMIN_READER, ADMIN_PUBLIC, admin_page_ready) \
  ROW("GET", "/metrics", ADMIN_READER, ADMIN_READER, admin_page_metrics) \
  ROW("GET", "/status", ADMIN_READER, ADMIN_NOBODY, admin_page_status) \
  ROW("GET", "/events", ADMIN_READER, ADMIN_NOBODY, admin_page_events) \
  ROW("POST", "/reload", ADMIN_OPERATOR, ADMIN_NOBODY, admin_page_reload)
