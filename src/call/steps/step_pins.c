// SPDX-License-Identifier: Apache-2.0
// Compares a governed tool and its server with the pins in the governance file: the hashes of the tool's schemas, and
// the versions of the server and of its protocol. A tool or server that differs is not called until the file is
// changed. The schemas are compared twice, because a server may list changed tools when it is connected.
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
  struct broken_pin broken;
  if (output_prepare(c) != CALL_NEXT) return CALL_DONE;
  if (!g || (!g->input_schema.p && !g->output_schema.p)) return CALL_NEXT;
  str server = call_server(c), live = STR_NONE;
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

static enum call_result compare_server(struct call *c, void *state) {
  struct broken_pin broken;
  if (!call_capability(c) || c->method->local || !c->item) return CALL_NEXT;
  ASSERT(c->lane && c->lane->link);
  return versions_hold(c, &broken) && schemas_hold(c, &broken) ? CALL_NEXT : refuse(c, &broken);
}

const struct call_step step_schema_pins = {
    .name = "schema_pins",
    .does = "Compares the schemas of a governed tool with their hashes in the governance file.",
    .governed = true,
    .run = compare_schemas,
};

const struct call_step step_version_pins = {
    .name = "version_pins",
    .does = "Compares the versions of the server with those in the governance file.",
    .governed = true,
    .run = compare_server,
};
