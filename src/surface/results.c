// SPDX-License-Identifier: Apache-2.0
// tool_view: the rest of a result that was cut.
#include "result/view.h"
#include "surface/meta.h"

void meta_tool_view(struct surface *d, struct request *r) {
  static const str names[] = {STR("handle"), STR("selector")};
  const struct json *selector = json_get(meta_args(r), STR("selector"));
  str handle;
  struct fault f;
  if (!meta_known_args(d, r, names, 2)) return;
  if (!meta_string(r, STR("handle"), &handle) || !json_is(selector, JSON_OBJECT)) {
    meta_refuse(d, r, "tool_view needs handle, a string, and selector, an object such as {\"type\":\"head\"}");
    return;
  }
  struct found_artifact piece = {.found = {.memory = NULL}};
  bool found = artifact_find(d->opt.store, call_owner(r->session), handle, &piece);
  struct buf text;
  buf_init(&text, 64 << 20);
  if (!found) fault_set(&f, FAULT_VIEW_FAILED, "nothing is kept under this handle: it is wrong, or too old");
  if (found && view_select(piece.artifact.bytes, selector, VIEW_TOKENS, &text, &f)) {
    meta_reply(d, r, buf_view(&text), STR_NONE);
  } else {
    f.code = FAULT_VIEW_FAILED;
    fault_set_path(&f, handle);
    meta_fail(d, r, &f, STR_NONE);
  }
  buf_done(&text);
  artifact_release(&piece);
}
