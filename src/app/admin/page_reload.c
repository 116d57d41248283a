// SPDX-License-Identifier: Apache-2.0
// POST /reload: starts a reload, as SIGHUP does. /status and /metrics report the result.
#include "app/admin/admin.h"
#include "json/write.h"

void admin_page_reload(struct admin_request *r) {
  ASSERT(r->role >= ADMIN_OPERATOR);
  struct admin *a = r->admin;
  bool begun = a->reload(a->ctx);
  struct json_writer w = json_writer(r->text);
  json_begin_object(&w);
  json_member_str(&w, STR("status"), begun ? STR("reading") : STR("off"));
  if (!begun) json_member_str(&w, STR("message"), STR("the configuration has reload: off, or the gateway is stopping"));
  json_end_object(&w);
  buf_char(r->text, '\n');
  admin_reply(r, begun ? 202 : 409, STR("application/json"));
}
