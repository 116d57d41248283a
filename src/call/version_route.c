// SPDX-License-Identifier: Apache-2.0
#include "call/version_route.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/controls/checkers.h"
#include "call/steps/steps.h"
#include "govern/versions.h"

enum { NAME_SHOWN = 100 };

static const struct item *find_tool(const struct call *c, str server, str tool) {
  unsigned source;
  if (!upstreams_find(c->context->upstreams, server, &source) || source >= c->catalog->part_count) return NULL;
  const struct catalog_part *part = &c->catalog->parts[source];
  struct lane_user who = call_user(c);
  uint32_t view = upstreams_view_for(c->context->upstreams, source, &who);
  for (size_t i = 0; !part->gone && i < part->count[ITEM_TOOL]; i++) {
    const struct item *item = &c->catalog->items[ITEM_TOOL][part->first[ITEM_TOOL] + i];
    if (item->seen & view && str_eq(item->name, tool)) return item;
  }
  return NULL;
}

// Returns whether both tools have the same schema, or both have none.
static bool same_schema(const struct call *c, struct checkers *k, const struct item *a, const struct item *b) {
  const struct upstreams *all = c->context->upstreams;
  uint64_t generation = c->catalog->generation;
  str first = checkers_pin(k, upstreams_name(all, a->source), a, generation);
  first = call_kept(&c->request->arena, first);  // a copy, because the next call of checkers_pin may overwrite the text
  str second = checkers_pin(k, upstreams_name(all, b->source), b, generation);
  return first.p ? second.p && str_eq(first, second) : !second.p;
}

// Returns NULL, or the reason why the tool of a version cannot replace the tool of the adapter's own server.
static const char *incompatible(const struct call *c, const struct item *own, const struct item *other) {
  const struct call_context *x = c->context;
  if (!other) return "its server does not list the tool";
  if (!same_schema(c, x->checkers, own, other)) return "its input schema differs";
  if (!same_schema(c, x->output_checkers, own, other)) return "its output schema differs";
  if (hints_exceed(own->hints, other->hints)) return "its annotations declare more effects";
  if (!spec_same_auth(upstreams_spec(x->upstreams, own->source), upstreams_spec(x->upstreams, other->source)))
    return "its server needs other credentials";
  return NULL;
}

static void report(struct call *c, const struct governance_version *v, str tool, const char *why) {
  struct call_context *x = c->context;
  if (x->versions_reported == c->catalog->generation + 1) return;
  x->versions_reported = c->catalog->generation + 1;
  log_warn(x->loop->log, "version \"%.*s\" gets no calls of \"%.*s\", because %s",
           STR_ARG(utf8_cut(v->version, NAME_SHOWN)), STR_ARG(utf8_cut(tool, NAME_SHOWN)), why);
}

static str run_of(const struct call *c) {
  struct arena *a = &c->request->arena;
  const struct session *s = c->session;
  if (c->run->id.p) return arena_printf(a, "token %.*s", STR_ARG(c->run->id));
  if (!s->revision->stateless) return arena_printf(a, "session %s", s->id);
  str principal = session_principal(s);
  return arena_printf(a, "agent %zu:%.*s %.*s", principal.n, STR_ARG(principal), STR_ARG(caller_run_agent(s, c->run)));
}

// Returns the tool of the first version that the call may use, or `own`.
static const struct item *choose(struct call *c, const struct governance_adapter *adapter, const struct item *own) {
  const struct governance_subject *who = &c->run->governed.subject;
  str run = run_of(c);
  const struct governance_version *v = NULL;
  for (size_t from = 0;; from = (size_t)(v - adapter->versions.list) + 1) {
    v = governance_choose_version(adapter, who->environment, who->tenant, run, from);
    if (!v) return own;
    const struct item *other = find_tool(c, v->server, own->name);
    const char *why = incompatible(c, own, other);
    if (!why && caller_may(&c->caller, v->server, ITEM_TOOL, own->name)) return other;
    if (why) report(c, v, own->name, why);
  }
}

enum call_result call_route_version(struct call *c) {
  if (!c->governance || !c->item || !call_is_tool(c)) return CALL_NEXT;
  const struct governance_adapter *adapter = governance_versioned(c->governance, call_server(c));
  if (!adapter) return CALL_NEXT;
  const struct item *own =
      str_eq(call_server(c), adapter->server) ? c->item : find_tool(c, adapter->server, c->item->name);
  if (!own || !caller_may(&c->caller, adapter->server, ITEM_TOOL, own->name)) {
    struct fault f;
    fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "the server of this tool is not available: try again later");
    fault_set_path(&f, c->about);
    return call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
  }
  const struct item *item = choose(c, adapter, own);
  if (item == c->item) return CALL_NEXT;
  c->named_server = call_server(c);
  c->item = item;
  c->route = 0;
  c->routes[0] = (struct catalog_route){item->source, item->name, true};
  c->route_count = 1;
  return CALL_NEXT;
}
