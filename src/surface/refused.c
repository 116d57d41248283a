// SPDX-License-Identifier: Apache-2.0
#include "surface/refused.h"
#include "call/caller.h"
#include "result/envelope/fault_forms.h"
#include "surface/meta/meta_tools.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

// Returns whether the request is for a call to a server, directly or by a meta-tool.
static bool asks_for_call(const struct surface *d, const struct request *r) {
  static const str methods[] = {STR("tools/call"), STR("resources/read"), STR("prompts/get"),
                                STR("completion/complete")};
  int mode = r->session->mode;
  str operation = surface_operation(d, r);
  if (operation.p) return mode == MODE_SERVERS ? servers_is_call(operation) : meta_is_call(operation);
  bool found = false;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) found |= str_eq(r->msg.method, methods[i]);
  return found && (mode == MODE_DIRECT || mode == MODE_TRANSPARENT);
}

// Returns the server that a request of servers mode names. Returns STR_NONE for a name that is not configured, because
// such a name must not become a metric label.
static str server_of(const struct surface *d, const struct request *r) {
  unsigned source;
  str server;
  bool named = r->session->mode == MODE_SERVERS && meta_string(r, STR("server"), &server) &&
               upstreams_find(d->upstreams, server, &source);
  return named ? upstreams_name(d->upstreams, source) : STR_NONE;
}

void surface_refused(struct surface *d, struct request *r, enum fault_code code, const struct entry *hidden) {
  struct caller caller;
  struct fault f;
  calls_count_unknown(&d->calls, fault_public_code(code));
  if (!asks_for_call(d, r)) return;
  struct call_refused refused = {
      .server = hidden ? upstreams_name(d->upstreams, hidden->source) : server_of(d, r),
      .tool = hidden && hidden->item->kind == ITEM_TOOL ? hidden->item->name : STR_NONE,
      .agent = surface_caller(d, r->session, &caller, &f) ? caller.id : STR_NONE,
      .code = hidden ? FAULT_DENIED_BY_POLICY : fault_public_code(code),
  };
  calls_refused(&d->calls, r, &refused);
}
