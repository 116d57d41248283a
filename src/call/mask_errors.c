// SPDX-License-Identifier: Apache-2.0
#include "call/mask_errors.h"

#include "base/text/utf8.h"
#include "call/steps/steps.h"
#include "text/oneline.h"
#include "text/secrets.h"
#include "json/write.h"

enum {
  READ_BYTES = 64 << 10,   // bytes of a text that are read
  LINE_BYTES = 4096,       // bytes of the text on one line
  ERROR_MOST = 256 << 10,  // a larger error is not searched for secrets, and only its beginning is passed on
};

str mask_line(struct arena *a, str text, const struct secrets_known *known) {
  return utf8_cut(oneline(a, secrets_mask_known(a, utf8_cut(text, READ_BYTES), known)), LINE_BYTES);
}

// spec_public_text masks the server's address. It must run last, because it finds the address by the words around it.
str call_said(struct arena *a, const struct upstream_spec *by, str text) {
  return spec_public_text(by, a, mask_line(a, text, &by->secrets));
}

const struct json *mask_error(struct call *c, const struct rpc_message *reply) {
  const struct json *error = reply->error, *masked = NULL;
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = JSON_DEEPEST};
  struct arena *a = &c->request->arena;
  struct fault f;
  if (!c->failure || reply->kind != RPC_ERROR) return error;
  if (error->n <= ERROR_MOST) {
    struct buf b;
    buf_init(&b, secrets_json_max(error));
    bool found = secrets_put_json(&b, error, &call_spec(c)->hidden);
    if (found) masked = json_parse(a, arena_str(a, buf_view(&b)), &limits, &f);
    buf_done(&b);
    if (!found || masked) return found ? masked : error;
  }
  str message = arena_printf(a, "%s (shortened from an error of %u bytes)", c->failure->fault.message, error->n);
  str beginning =
      arena_printf(a, "{\"code\":%d,\"message\":%.*s}", c->failure->code, STR_ARG(json_escaped(a, message)));
  return json_parse(a, beginning, &limits, &f);
}
