// SPDX-License-Identifier: Apache-2.0
// GET /.well-known/jwks.json: returns the public keys that verify signed decisions (govern/signing.h).
#include "app/admin/admin.h"
#include "govern/signing.h"

void admin_page_keys(struct admin_request *r) {
  const struct governance *g = r->admin->model->gateway->rules.governance;
  if (!g || !governance_key_count(g)) {
    admin_send(r, 404, STR("text/plain; charset=utf-8"), STR("the gateway does not sign decisions\n"));
    return;
  }
  governance_put_keys(g, r->text);
  http_reply(r->x, 200, STR("Cache-Control: public, max-age=300\r\n"), STR("application/jwk-set+json"),
             buf_view(r->text));
}
