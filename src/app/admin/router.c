// SPDX-License-Identifier: Apache-2.0
#include "app/admin/router.h"

#include "base/assert.h"

const struct admin_route *admin_routes(size_t *out_count) {
  static const struct admin_route rows[] = {
#define ROW(method, path, role, endpoint, answer) {STR(method), STR(path), role, endpoint, answer},
      ADMIN_ROUTES(ROW)
#undef ROW
  };
  *out_count = sizeof rows / sizeof *rows;
  return rows;
}

int admin_find(const struct admin_route *rows, size_t count, const struct admin_identity *who, str method, str path,
               const struct admin_route **out) {
  // role required by the matching row; if no row matches the method, the lowest role for this path
  enum admin_role needed = ADMIN_NOBODY;
  ASSERT(who->role != ADMIN_NOBODY);
  ASSERT(!who->known || !who->at_endpoint);  // tokens configured under admin.* are accepted only at admin.listen
  *out = NULL;
  for (size_t i = 0; i < count && !*out; i++) {
    enum admin_role role = who->at_endpoint ? rows[i].endpoint : rows[i].role;
    if (!str_eq(path, rows[i].path)) continue;
    if (str_eq(method, rows[i].method)) *out = &rows[i];
    if (*out || role < needed) needed = role;
  }
  bool exists = needed != ADMIN_NOBODY;
  if (who->at_endpoint && needed > who->role) return 404;
  if (!exists) needed = ADMIN_READER;
  if (needed > who->role) return who->known ? 403 : 401;
  return *out ? 0 : exists ? 405 : 404;
}
