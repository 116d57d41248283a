// SPDX-License-Identifier: Apache-2.0
// Compares a governed tool and its server with the pins in the governance file: the hashes of the tool's schemas, and
// the versions of the server and of its protocol. A tool or server that differs is not called until the file is
// changed. With `pins: enforce`, also compares the tool with its accepted definition (catalog/pins/pins.h).
//
// Definitions are compared twice: a server may list changed tools when it is connected for the call, or while the call
// waits for its turn. So the second comparison is the last step before the call is sent, and waits until the server has
// listed its tools on this connection.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/controls/checkers.h"
#include "call/steps/steps.h"
#include "govern/schema_pin.h"
#include "govern/versions.h"
#include "upstream/kind.h"
#include "json/write.h"

enum { VERSION_SHOWN = 64, DETAILS = 8192 };

// A pin that differs from the actual value.
struct broken_pin {
  enum fault_code code;
  const char *member;    // of the capability or adapter in the governance file
  str place;             // pointer to the capability or adapter
  str expected, actual;  // actual: STR_NONE if there is no value
};

static enum call_result refuse(struct call *c, const struct broken_pin *p) {
  struct fault f;
  struct buf details, rule;
  str id = utf8_cut(call_capability(c)->id, VERSION_SHOWN);
  if (p->code == FAULT_SCHEMA_DRIFT)
    fault_set(&f, p->code, "%.*s is denied: its %s is not the one in the governance file", STR_ARG(id), p->member);
  else
    fault_set(&f, p->code, "%.*s is denied: the server has %s %.*s, and the governance file expects %.*s", STR_ARG(id),
              p->member, STR_ARG(p->actual.p ? utf8_cut(p->actual, VERSION_SHOWN) : STR("(none)")),
              STR_ARG(utf8_cut(p->expected, VERSION_SHOWN)));
  fault_set_path(&f, c->about);
  buf_init(&details, DETAILS);
  buf_init(&rule, DETAILS);
  struct arena *a = &c->request->arena;
  struct policy_decision place = {.governed = arena_printf(a, "%.*s/%s", STR_ARG(p->place), p->member)};
  policy_put_path(&place, &rule);
  c->rule = arena_str(a, buf_view(&rule));
  struct json_writer w = json_writer(&details);
  json_begin_object(&w);
  json_member_str(&w, STR("rule"), c->rule);
  if (call_decision_id(c).p) json_member_str(&w, STR("decision_id"), call_decision_id(c));
  json_member_str(&w, STR("pointer"), place.governed);
  json_member_str(&w, STR("expected"), p->expected);
  if (p->actual.p) json_member_str(&w, STR("actual"), utf8_cut(p->actual, GOVERNANCE_ID_MAX));
  json_end_object(&w);
  enum call_result r = call_end(c, &f, RPC_INVALID_PARAMS, details.over ? STR_NONE : buf_view(&details));
  buf_done(&rule);
  buf_done(&details);
  return r;
}

// ---- schemas

static bool pin_holds(const struct call *c, const char *member, str pin, str live, struct broken_pin *out) {
  if (!pin.p || (live.p && str_eq(live, pin))) return true;
  *out = (struct broken_pin){FAULT_SCHEMA_DRIFT, member, call_capability(c)->pointer, pin, live};
  return false;
}

// Compares the pins with the tool's definition in the catalog.
static enum call_result compare_schemas(struct call *c, void *state) {
  const struct governance_capability *g = call_capability(c);
  const struct call_context *x = c->context;
  str server = call_server(c), live = STR_NONE;
  struct broken_pin broken;
  if (output_prepare(c) != CALL_NEXT) return CALL_DONE;
  if (!g) return CALL_NEXT;
  if (g->input_schema.p) live = checkers_pin(x->checkers, server, c->item, c->catalog->generation);
  if (!pin_holds(c, "input_schema", g->input_schema, live, &broken)) return refuse(c, &broken);
  if (g->output_schema.p) live = checkers_pin(x->output_checkers, server, c->item, c->catalog->generation);
  if (!pin_holds(c, "output_schema", g->output_schema, live, &broken)) return refuse(c, &broken);
  return CALL_NEXT;
}

static bool member_holds(struct call *c, const struct json *definition, const char *member, str key, str pin,
                         struct broken_pin *out) {
  char live[SCHEMA_PIN_SIZE];
  bool ok = pin.p && schema_pin(json_get(definition, key), live);
  return pin_holds(c, member, pin, ok ? arena_str(&c->request->arena, str_of(live)) : STR_NONE, out);
}

// Compares the pins with the definition that the server has listed on this connection. Only needed if this definition
// differs from that in the catalog, which may come from another connection of the server.
static bool schemas_hold(struct call *c, struct broken_pin *out) {
  const struct governance_capability *g = call_capability(c);
  struct arena *a = &c->context->scratch;
  struct fault f;
  str own;
  if (!g->input_schema.p && !g->output_schema.p) return true;
  if (!lane_tool(c->lane, c->item->name, &own) || (own.p && str_eq(own, c->item->text))) return true;
  const struct json *definition = own.p ? json_parse(a, own, &json_default_limits, &f) : NULL;
  bool ok = member_holds(c, definition, "input_schema", STR("inputSchema"), g->input_schema, out) &&
            member_holds(c, definition, "output_schema", STR("outputSchema"), g->output_schema, out);
  arena_reset(a);
  return ok;
}

// ---- versions

static bool version_holds(str place, const char *member, str expected, str actual, struct broken_pin *out) {
  if (!expected.p || (actual.p && str_eq(expected, actual))) return true;
  *out = (struct broken_pin){FAULT_VERSION_MISMATCH, member, place, expected, actual};
  return false;
}

// Compares the versions of the server and its protocol. A server inside this process has neither.
static bool versions_hold(const struct call *c, struct broken_pin *out) {
  const struct governance_adapter *a = call_capability(c)->adapter;
  const struct link *l = c->lane->link;
  if (call_spec(c)->kind->local) return true;
  const struct governance_version *v = governance_version_of(c->governance, call_server(c));
  if (v && !version_holds(v->pointer, "version", v->version, link_server_version(l), out)) return false;
  return (v || version_holds(a->pointer, "version", a->version, link_server_version(l), out)) &&
         version_holds(a->pointer, "protocol", a->protocol, STR("mcp"), out) &&
         version_holds(a->pointer, "protocol_version", a->protocol_version, str_of(link_revision(l)->name), out);
}

// ---- accepted definitions

// Returns whether the catalog has the definition that the server lists on this connection. If the connections of a
// server list different definitions of a tool, the catalog has the first one.
static bool is_catalogs(struct call *c) {
  const struct upstreams *all = c->context->upstreams;
  struct lane_user who = call_user(c);
  uint32_t first = c->item->seen & -c->item->seen, view = upstreams_view_for(all, c->routes[c->route].source, &who);
  return first & view && c->catalog == upstreams_catalog(c->context->upstreams);
}

static enum call_result compare_accepted(struct call *c, str own) {
  str server = call_server(c), tool = c->item->name;
  struct fault f;
  upstreams_catalog(c->context->upstreams);  // compares changed definitions with the pins
  struct policy_decision d = caller_decide(&c->caller, server, ITEM_TOOL, tool);
  if (d.quarantined) return policy_refuse(c, &d, tool);
  if (!own.p || is_catalogs(c) || pins_match(c->caller.pins, server, tool, own)) return CALL_NEXT;
  fault_set(&f, FAULT_SCHEMA_DRIFT,
            "tool \"%.*s\": on this connection, the server lists another definition than the "
            "accepted one",
            STR_ARG(utf8_cut(tool, VERSION_SHOWN)));
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

// ---- the connected server

struct pins_state {
  struct call *call;  // NULL: the call never waited
  struct list node;   // in context.unlisted
  struct timer timer;
  uint64_t until;  // loop time until which the call waits
};

static void cancel(struct call *c, void *state, str reason) {
  struct pins_state *s = state;
  if (!s->call) return;
  list_remove(&s->node);
  timer_stop(&s->timer);
}

static void on_late(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct pins_state, timer)->call;
  struct fault f;
  cancel(c, call_state(c, STEP_VERSION_PINS), STR_NONE);
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT,
            "has not listed its tools on this connection, so its definitions cannot be compared; try again later");
  f.undone = true;
  call_fault(c, &f);
}

// A server that always reports changes must not make the call wait forever, so `until` is set only once.
static enum call_result wait_listed(struct call *c, struct pins_state *s) {
  uint64_t now = loop_now(c->context->loop);
  if (!s->call) {
    s->call = c;
    s->until = now + call_timeout(c);
    timer_init(&s->timer, on_late);
  }
  list_push(&c->context->unlisted, &s->node);
  timer_start(c->context->loop, &s->timer, s->until > now ? s->until - now : 0);
  return CALL_WAIT;
}

// Gets the connection again, because it may have been lost.
void pins_settled(struct call_context *x) {
  struct list waiting;  // a copy of the list, because the calls may wait again
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&x->unlisted));) list_push(&waiting, n);
  for (struct list *n; (n = list_pop(&waiting));) {
    struct pins_state *s = CONTAINER_OF(n, struct pins_state, node);
    cancel(s->call, s, STR_NONE);
    call_restart(s->call, STEP_CONNECT);
  }
}

static enum call_result compare_server(struct call *c, void *state) {
  const struct governance_capability *g = call_capability(c);
  struct pins_state *s = state;
  struct broken_pin broken;
  str own = STR_NONE;
  if (c->method->local || !c->item || !call_is_tool(c)) return CALL_NEXT;
  ASSERT(c->lane && c->lane->link);
  bool enforced = c->caller.pins && pins_mode(c->caller.pins) == GOVERNANCE_PINS_ENFORCE;
  bool hashed = g && (g->input_schema.p || g->output_schema.p);
  if ((enforced || hashed) && !lane_tool(c->lane, c->item->name, &own)) return wait_listed(c, s);
  enum call_result r = enforced ? compare_accepted(c, own) : CALL_NEXT;
  if (r != CALL_NEXT || !g) return r;
  return versions_hold(c, &broken) && schemas_hold(c, &broken) ? CALL_NEXT : refuse(c, &broken);
}

const struct call_step step_schema_pins = {
    .name = "schema_pins",
    .does = "Compares the schemas of a governed tool with their hashes in the governance file.",
    .run = compare_schemas,
};

const struct call_step step_version_pins = {
    .name = "version_pins",
    .does = "Compares the versions of the server with those in the governance file, and with `pins: enforce` the "
            "definition of the tool with the accepted one.",
    .state = sizeof(struct pins_state),
    .run = compare_server,
    .cancel = cancel,
};
