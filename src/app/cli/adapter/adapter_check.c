// SPDX-License-Identifier: Apache-2.0
#include "app/cli/adapter/adapter_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/cli/adapter/adapter_tools.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "govern/versions.h"
#include "text/oneline.h"
#include "upstream/kind.h"
#include "json/pointer.h"
#include "json/write.h"

// ---- findings

static const struct {
  const char *name;
  bool remark;
} codes[] = {
#define X(name, remark) {#name, remark},
    ADAPTER_FINDINGS(X)
#undef X
};

// Splits a pointer such as /manifests/NAME/… into the path of a manifest file and a pointer within this file. Other
// pointers are places in the configuration file or in the governance file.
static str place_of(const struct adapter_report *r, str *pointer, struct arena *a) {
  str start = STR("/manifests/"), name, token, rest;
  if (str_starts(*pointer, STR("/servers/"))) return r->named;
  if (!str_starts(*pointer, start)) return r->file;
  bool more = str_cut(str_from(*pointer, start.n), '/', &token, &rest);
  const char *folder = memrchr(r->file.p, '/', r->file.n);
  if (!json_pointer_token(a, token, &name)) return r->file;
  *pointer = more ? arena_printf(a, "/%.*s", STR_ARG(rest)) : STR("");
  if (!folder || str_starts(name, STR("/"))) return name;
  return arena_printf(a, "%.*s%.*s", (int)(folder - r->file.p) + 1, r->file.p, STR_ARG(name));
}

static void put_text(struct adapter_report *r, enum adapter_code code, str file, str pointer, str message) {
  struct arena a;
  arena_init(&a);
  str line = arena_printf(&a, "%.*s%s%.*s: %s%s: %.*s", STR_ARG(file), pointer.n ? ":" : "", STR_ARG(pointer),
                          codes[code].remark ? "remark: " : "", codes[code].name, STR_ARG(message));
  buf_str(&r->out, oneline(&a, line));
  buf_char(&r->out, '\n');
  arena_done(&a);
}

static void put_json(struct adapter_report *r, enum adapter_code code, str file, str pointer, str tool, str message) {
  struct json_writer w = json_writer(&r->out);
  w.comma = r->findings + r->remarks > 1;
  json_begin_object(&w);
  json_member_str(&w, STR("code"), str_of(codes[code].name));
  json_member_str(&w, STR("level"), codes[code].remark ? STR("remark") : STR("error"));
  json_member_str(&w, STR("file"), file);
  json_member_str(&w, STR("pointer"), pointer);
  if (tool.p) json_member_str(&w, STR("tool"), tool);
  json_member_str(&w, STR("message"), message);
  json_end_object(&w);
}

void adapter_report_add(struct adapter_report *r, enum adapter_code code, str pointer, str tool, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  ASSERT(code < sizeof codes / sizeof *codes);
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  str shown = utf8_cut(str_of(message), sizeof message - 2);  // vsnprintf may have cut the message inside a character
  ++*(codes[code].remark ? &r->remarks : &r->findings);
  struct arena a;
  arena_init(&a);
  str file = place_of(r, &pointer, &a);
  if (r->json) put_json(r, code, file, pointer, tool, shown);
  else put_text(r, code, file, pointer, shown);
  arena_done(&a);
}

// ---- servers

struct sorted_tool {
  const struct adapter_tool *tool;
  bool covered;  // whether a capability of the governance file names this tool
};

// A server with its tools, ordered by name.
struct compared {
  struct sorted_tool *tools;
  size_t count;
  bool read, listed;  // whether `tools` is filled; whether tools without a capability were reported
};

struct adapter_comparison {
  struct adapter_report *report;
  const struct config *config;
  const struct governance *governance;
  const struct inventory *inventory;
  struct arena *arena;
  struct compared *servers;  // one element for each server of the inventory
};

static int compare_tools(const void *a, const void *b) {
  const struct sorted_tool *x = a, *y = b;
  return str_cmp(x->tool->name, y->tool->name);
}

static int compare_name(const void *name, const void *tool) {
  return str_cmp(*(const str *)name, ((const struct sorted_tool *)tool)->tool->name);
}

static struct sorted_tool *find_tool(const struct compared *s, str name) {
  return s->count ? bsearch(&name, s->tools, s->count, sizeof *s->tools, compare_name) : NULL;
}

static void read_tools(struct adapter_comparison *c, unsigned source) {
  struct compared *s = &c->servers[source];
  const struct adapter_tool *tools = adapter_tools(c->inventory->directory, source, c->arena, &s->count);
  s->tools = ARENA_ARRAY(c->arena, struct sorted_tool, s->count);
  for (size_t i = 0; i < s->count; i++) s->tools[i].tool = &tools[i];
  if (s->count) qsort(s->tools, s->count, sizeof *s->tools, compare_tools);
  s->read = true;
}

// Returns the server with this name, or NULL if it is unknown or unavailable.
static struct compared *find_server(struct adapter_comparison *c, str name) {
  for (unsigned i = 0; i < c->inventory->server_count; i++) {
    const struct inventory_server *s = &c->inventory->servers[i];
    if (!name.p || !str_eq(s->name, name) || s->error) continue;
    if (!c->servers[i].read) read_tools(c, i);
    return &c->servers[i];
  }
  return NULL;
}

static struct compared *server_of(struct adapter_comparison *c, const struct governance_adapter *adapter) {
  return find_server(c, adapter->server);
}

// ---- capabilities

static str below(struct adapter_comparison *c, str pointer, const char *member) {
  return arena_printf(c->arena, "%.*s/%s", STR_ARG(pointer), member);
}

// Reports an error if `pin`, the hash of a schema in the governance file, differs from `live`, the hash of the tool's
// current schema. `live` is STR_NONE if there is no schema, or if it has no canonical form.
static void compare_pin(struct adapter_comparison *c, const struct governance_capability *capability,
                        const char *member, str pin, str live) {
  if (!pin.p || str_eq(pin, live)) return;
  if (!live.p) live = STR("absent, or has no canonical form");
  adapter_report_add(c->report, ADAPTER_SCHEMA_DRIFT, below(c, capability->pointer, member), capability->name,
                     "the schema of the server's tool is %.*s", STR_ARG(live));
}

static void compare_capability(struct adapter_comparison *c, const struct governance_capability *capability) {
  struct compared *s = server_of(c, capability->adapter);
  if (!s) return;
  struct sorted_tool *found = find_tool(s, capability->name);
  if (!found) {
    adapter_report_add(c->report, ADAPTER_CAPABILITY_WITHOUT_TOOL, capability->pointer, capability->name,
                       "the server \"%.*s\" has no tool \"%.*s\"", STR_ARG(capability->adapter->server),
                       STR_ARG(capability->name));
    return;
  }
  const struct adapter_tool *t = found->tool;
  found->covered = true;
  compare_pin(c, capability, "input_schema", capability->input_schema, t->input_schema);
  compare_pin(c, capability, "output_schema", capability->output_schema, t->output_schema);
  if (capability->provisional)
    adapter_report_add(c->report, ADAPTER_CAPABILITY_PROVISIONAL, capability->pointer, capability->name,
                       "class and mode follow hints of the server: confirm them, then remove `provisional`");
  if (capability->mode < t->mode || (t->class == CLASS_ACT && capability->class != CLASS_ACT))
    adapter_report_add(c->report, ADAPTER_CAPABILITY_BELOW_HINTS, capability->pointer, capability->name,
                       "%s and %s are lower than the server's hints suggest: %s and %s",
                       capability_class_name(capability->class), approval_mode_name(capability->mode),
                       capability_class_name(t->class), approval_mode_name(t->mode));
}

// ---- adapters

static void report_missing(struct adapter_comparison *c, str pointer, str server) {
  str at = below(c, pointer, "server");
  for (size_t i = 0; i < c->inventory->server_count; i++) {
    const struct inventory_server *s = &c->inventory->servers[i];
    if (!str_eq(s->name, server)) continue;
    ASSERT(s->error);
    c->report->incomplete = true;
    adapter_report_add(c->report, ADAPTER_SERVER_UNAVAILABLE, at, STR_NONE, "the server \"%.*s\" is not available: %s",
                       STR_ARG(s->name), s->error);
    return;
  }
  adapter_report_add(c->report, ADAPTER_SERVER_UNKNOWN, at, STR_NONE, "no server \"%.*s\" is in use", STR_ARG(server));
}

// Compares a version that the file expects with the actual one. `place` is the adapter or version in the file.
static void compare_version(struct adapter_comparison *c, str place, str server, const char *member, str expected,
                            str live) {
  if (!expected.p || (live.p && str_eq(expected, live))) return;
  if (!live.p) live = STR("unknown");
  adapter_report_add(c->report, ADAPTER_VERSION_MISMATCH, below(c, place, member), STR_NONE,
                     "the %s of the server \"%.*s\" is %.*s", member, STR_ARG(server), STR_ARG(live));
}

static struct adapter_live live_of(struct adapter_comparison *c, str server) {
  const struct inventory_server *s = c->inventory->servers;
  while (!str_eq(s->name, server)) s++;
  return adapter_live(c->config, s);
}

static bool same_text(str a, str b) {
  return !a.p == !b.p && (!a.p || str_eq(a, b));
}

// Returns NULL if calls of a tool can go to the tool of the same name on another version of the server; otherwise the
// reason why not. call/version_route.c makes the same comparison for each call.
static const char *incompatible(const struct adapter_tool *own, const struct sorted_tool *other) {
  if (!other) return "its server has no such tool";
  if (!same_text(own->input_schema, other->tool->input_schema)) return "its input schema differs";
  if (!same_text(own->output_schema, other->tool->output_schema)) return "its output schema differs";
  if (hints_exceed(own->hints, other->tool->hints)) return "its annotations declare more effects";
  return NULL;
}

// Returns the configuration of a server, or NULL if only the running gateway knows the server.
static const struct upstream_spec *spec_of(const struct adapter_comparison *c, str server) {
  for (size_t i = 0; i < c->config->upstream_count; i++)
    if (str_eq(c->config->upstreams[i].name, server)) return &c->config->upstreams[i];
  return NULL;
}

// Compares what is the same for all tools of the version.
static void compare_server(struct adapter_comparison *c, str own_server, const struct governance_version *v) {
  const struct upstream_spec *own = spec_of(c, own_server), *other = spec_of(c, v->server);
  if (!own || !other) return;
  if (!other->kind->local)
    compare_version(c, v->pointer, v->server, "version", v->version, live_of(c, v->server).version);
  if (!spec_same_auth(own, other))
    adapter_report_add(c->report, ADAPTER_VERSION_INCOMPATIBLE, v->pointer, STR_NONE,
                       "version \"%.*s\" gets no calls: its server needs other credentials", STR_ARG(v->version));
}

static void compare_other_version(struct adapter_comparison *c, const struct governance_adapter *adapter,
                                  const struct compared *own, const struct governance_version *v) {
  struct compared *s = find_server(c, v->server);
  if (!s) {
    report_missing(c, v->pointer, v->server);
    return;
  }
  compare_server(c, adapter->server, v);
  for (size_t i = 0; i < own->count; i++) {
    const struct adapter_tool *t = own->tools[i].tool;
    const char *why = own->tools[i].covered ? incompatible(t, find_tool(s, t->name)) : NULL;
    if (why)
      adapter_report_add(c->report, ADAPTER_VERSION_INCOMPATIBLE, v->pointer, t->name,
                         "version \"%.*s\" gets no calls of \"%.*s\": %s", STR_ARG(v->version), STR_ARG(t->name), why);
  }
}

static void compare_versions(struct adapter_comparison *c, const struct governance_adapter *adapter) {
  struct adapter_live live = live_of(c, adapter->server);
  str place = adapter->pointer, server = adapter->server;
  compare_version(c, place, server, "version", adapter->version, live.version);
  compare_version(c, place, server, "protocol", adapter->protocol, live.protocol);
  compare_version(c, place, server, "protocol_version", adapter->protocol_version, live.protocol_version);
  compare_version(c, place, server, "transport", adapter->transport, live.transport);
}

// Reports an unknown server, versions that differ, and the tools that no capability names. Several adapters may share
// the tools of one server, so compare_capability must first be called for all capabilities of the file.
static void compare_adapter(struct adapter_comparison *c, const struct governance_adapter *adapter) {
  struct compared *s = server_of(c, adapter);
  if (!s) {
    if (adapter->server.p) report_missing(c, adapter->pointer, adapter->server);
    return;
  }
  compare_versions(c, adapter);
  for (size_t i = 0; i < adapter->versions.count; i++) compare_other_version(c, adapter, s, &adapter->versions.list[i]);
  for (size_t i = 0; i < s->count && !s->listed; i++)
    if (!s->tools[i].covered)
      adapter_report_add(c->report, ADAPTER_TOOL_WITHOUT_CAPABILITY, below(c, adapter->pointer, "capabilities"),
                         s->tools[i].tool->name, "no capability names the tool \"%.*s\" of the server \"%.*s\"",
                         STR_ARG(s->tools[i].tool->name), STR_ARG(adapter->server));
  s->listed = true;
}

void adapter_check(struct adapter_report *r, const struct governance *g, const struct config *config,
                   const struct inventory *i, struct arena *a) {
  struct adapter_comparison c = {r, config, g, i, a, ARENA_ARRAY(a, struct compared, i->server_count)};
  for (size_t k = 0; k < governance_capability_count(g); k++) compare_capability(&c, governance_capability_at(g, k));
  for (size_t k = 0; k < governance_adapter_count(g); k++) compare_adapter(&c, governance_adapter_at(g, k));
}
