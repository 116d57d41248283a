// SPDX-License-Identifier: Apache-2.0
// GET /status: the state of the gateway in JSON.
#include "app/admin/admin.h"
#include "json/write.h"

void admin_page_status(struct admin_request *r) {
  ASSERT(r->role >= ADMIN_READER);
  struct json_writer w = json_writer(r->text);
  model_put_status(r->admin->model, false, &w);
  buf_char(r->text, '\n');
  admin_reply(r, 200, STR("application/json"));
}
