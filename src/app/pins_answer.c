// SPDX-License-Identifier: Apache-2.0
#include "app/pins_answer.h"

#include "govern/agents.h"

struct tenant {
  const struct governance *governance;
  str name;
};

static bool may(const void *ctx, str server, str tool) {
  const struct tenant *t = ctx;
  return governance_serves_tenant(t->governance, t->name, server, tool);
}

static str mode_name(enum governance_pins mode) {
  static const char *const names[] = {"off", "warn", "enforce"};
  ASSERT((unsigned)mode < 3);
  return str_of(names[mode]);
}

static bool choose(const struct pins_operation *o, const struct json *params, struct arena *a, struct tenant *tenant,
                   struct pins_choice *out) {
  json_string(json_get(params, STR("server")), a, &out->server);
  json_string(json_get(params, STR("tool")), a, &out->tool);
  json_string(json_get(params, STR("sha256")), a, &out->sha256);
  out->pending = json_is(json_get(params, STR("pending")), JSON_TRUE);
  tenant->governance = o->governance;
  if (!json_string(json_get(params, STR("tenant")), a, &tenant->name)) return true;
  out->may = may;
  out->ctx = tenant;
  return o->governance != NULL;
}

bool pins_answer(const struct pins_operation *o, const struct json *params, struct json_writer *w, struct fault *f) {
  struct arena a;
  struct tenant tenant = {0};
  struct pins_choice which = {0};
  str action = STR("");
  arena_init(&a);
  json_string(json_get(params, STR("action")), &a, &action);
  bool list = str_eq(action, STR("list")), diff = str_eq(action, STR("diff")), accept = str_eq(action, STR("accept"));
  bool ok = o->pins && choose(o, params, &a, &tenant, &which) && (list || diff || accept);
  if (!o->pins) fault_set(f, FAULT_INVALID, "pins are off: there is no governance file, or it has pins: off");
  else if (!ok) fault_set(f, FAULT_INVALID, "the action must be list, diff or accept");
  if (ok) {
    json_begin_object(w);
    json_member_str(w, STR("mode"), mode_name(pins_mode(o->pins)));
    json_put_key(w, STR("pins"));
    if (diff && !which.tool.n) which.pending = true;
    which.server_too = !accept;
    if (!accept) pins_put(o->pins, &which, diff, w);
    else if (o->gateway) gateway_accept_pins(o->gateway, &which, w);
    else pins_accept(o->pins, &which, w);
    json_end_object(w);
  }
  arena_done(&a);
  return ok;
}
