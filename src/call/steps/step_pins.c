// SPDX-License-Identifier: Apache-2.0
// Compares a governed tool and its server with the pins in the governance file: the hashes of the tool's schemas, and
// the versions of the server and of its protocol. A tool or server that differs is not called until the file is
// changed. The schemas are compared twice, because a server may list changed tools when it is connected.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/controls/checkers.h"
#include "call/steps/steps.h"
#include "upstream/kind.h"
#include "json/write.h"

enum { VERSION_SHOWN = 64, DETAILS = 8192 };

// A pin that does not hold.
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

// Returns whether the schemas of the tool, as this catalog defines it, are the pinned ones. Otherwise sets *out.
static bool schemas_hold(struct call *c, const struct item *item, uint64_t generation, struct broken_pin *out) {
  const struct governance_capability *g = call_capability(c);
  const struct {
    const char *member;
    str pin;
    struct checkers *live;
  } pins[] = {{"input_schema", g->input_schema, c->context->checkers},
              {"output_schema", g->output_schema, c->context->output_checkers}};
  for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
    if (!pins[i].pin.p) continue;
    str live = item ? checkers_pin(pins[i].live, call_server(c), item, generation) : STR_NONE;
    if (live.p && str_eq(live, pins[i].pin)) continue;
    *out = (struct broken_pin){FAULT_SCHEMA_DRIFT, pins[i].member, g->pointer, pins[i].pin, live};
    return false;
  }
  return true;
}

static enum call_result compare_schemas(struct call *c, void *state) {
  struct broken_pin broken;
  if (!call_capability(c) || schemas_hold(c, c->item, c->catalog->generation, &broken)) return CALL_NEXT;
  return refuse(c, &broken);
}

// Returns the call's tool in a newer catalog, or NULL if its server does not list it any more.
static const struct item *find_again(const struct call *c, const struct catalog *now) {
  unsigned source = c->routes[c->route].source;
  ASSERT(source < now->part_count);
  const struct catalog_part *part = &now->parts[source];
  const struct item *items = now->items[ITEM_TOOL] + part->first[ITEM_TOOL];
  for (size_t i = 0; i < part->count[ITEM_TOOL]; i++)
    if (str_eq(items[i].name, c->item->name)) return &items[i];
  return NULL;
}

// ---- versions

static bool version_holds(const struct governance_adapter *a, const char *member, str expected, str actual,
                          struct broken_pin *out) {
  if (!expected.p || (actual.p && str_eq(expected, actual))) return true;
  *out = (struct broken_pin){FAULT_VERSION_MISMATCH, member, a->pointer, expected, actual};
  return false;
}

// A server inside this process has no protocol of its own.
static bool versions_hold(const struct call *c, struct broken_pin *out) {
  const struct governance_adapter *a = call_capability(c)->adapter;
  const struct link *l = c->lane->link;
  if (call_spec(c)->kind->local) return true;
  return version_holds(a, "version", a->version, link_server_version(l), out) &&
         version_holds(a, "protocol", a->protocol, STR("mcp"), out) &&
         version_holds(a, "protocol_version", a->protocol_version, str_of(link_revision(l)->name), out);
}

static enum call_result compare_server(struct call *c, void *state) {
  struct broken_pin broken;
  const struct catalog *now = upstreams_catalog(c->context->upstreams);
  if (!call_capability(c) || c->method->local || !c->item) return CALL_NEXT;
  ASSERT(c->lane && c->lane->link);
  bool newer = now->generation != c->catalog->generation;
  if (versions_hold(c, &broken) && (!newer || schemas_hold(c, find_again(c, now), now->generation, &broken)))
    return CALL_NEXT;
  return refuse(c, &broken);
}

const struct call_step step_schema_pins = {
    .name = "schema_pins",
    .does = "Compares the schemas of a governed tool with their hashes in the governance file.",
    .run = compare_schemas,
};

const struct call_step step_version_pins = {
    .name = "version_pins",
    .does = "Compares the versions of the server with those in the governance file.",
    .run = compare_server,
};
