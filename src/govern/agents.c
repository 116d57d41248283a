// SPDX-License-Identifier: Apache-2.0
#include "govern/agents.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "govern/govern_impl.h"
#include "govern/provisional.h"
#include "govern/run.h"
#include "govern/versions.h"
#include "json/write.h"

// In the order of enum governance_unlisted.
static const char *const unlisted_words[] = {"deny", "allow", "provisional", NULL};
static const char *const unlisted_tools_words[] = {"deny", "provisional", NULL};

// ---- reading

// Limits on the context of one agent, and on the size of the contexts of all agents.
enum { CONTEXT_MEMBERS = 100, CONTEXT_BYTES = 4096, CONTEXTS_BYTES = 16 << 20 };

// Returns whether tenant and run_id, if given, are names. They become part of keys, which have a limited length.
static bool keys_are_names(const struct json *context, struct arena *a) {
  str tenant = STR(""), run = STR("run");
  json_string(json_get(context, STR("tenant")), a, &tenant);
  json_string(json_get(context, STR("run_id")), a, &run);
  return (!tenant.n || governance_is_id(tenant)) && governance_is_id(run);
}

static void read_context(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  struct fault why;
  if (v->n > CONTEXT_BYTES || v->count > CONTEXT_MEMBERS)
    governance_report(r, pointer, "is larger than %d bytes or %d members", CONTEXT_BYTES, CONTEXT_MEMBERS);
  else if (json_is(v, JSON_OBJECT) && !keys_are_names(v, r->arena))
    governance_report(r, pointer, "tenant and run_id must have at most %d bytes and no control characters",
                      GOVERNANCE_ID_MAX);
  else if (governance_check_context(v, &why) && v->count) *(const struct json **)to = v;
  else if (v->type != JSON_OBJECT || v->count) governance_report(r, pointer, "%s", why.message);
}

static int compare_agents(const void *a, const void *b) {
  const struct governance_agent *x = a, *y = b;
  return str_cmp(x->id, y->id);
}

static void read_agents(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  struct governance *g = r->governance;
  if (!json_is(v, JSON_OBJECT)) {
    governance_report(r, pointer, "must be an object");
    return;
  }
  g->agents = ARENA_ARRAY(r->arena, struct governance_agent, v->count);
  JSON_EACH(it, v) {
    struct governance_agent *p = &g->agents[g->agent_count++];
    p->id = json_key(it, r->arena);
    p->context = &json_empty_object;
    read_context(r, governance_below(r, pointer, it), it, f, &p->context);
  }
  qsort(g->agents, g->agent_count, sizeof *g->agents, compare_agents);
}

static enum approval_mode safety_of(const struct json *context) {
  const struct json *mode = json_get(context, STR("safety_mode"));
  for (int m = 0; m < APPROVAL_NONE; m++)
    if (json_equals_str(mode, str_of(approval_mode_name((enum approval_mode)m)))) return (enum approval_mode)m;
  return APPROVAL_DESTRUCTIVE;
}

// Returns a context with the members of `base` and `own`. If both have the same member, the one of `own` applies,
// except that the lower safety_mode applies.
static const struct json *overlay(struct governance_reader *r, const struct json *base, const struct json *own) {
  struct json_edit *edits = ARENA_ARRAY(r->arena, struct json_edit, own->count + 1);
  enum approval_mode lowest = safety_of(base) < safety_of(own) ? safety_of(base) : safety_of(own);
  size_t count = 0;
  struct fault f;
  JSON_EACH(it, own)
    if (!json_key_is(it, STR("safety_mode")))
      edits[count++] = (struct json_edit){json_key(it, r->arena), json_span(it)};
  edits[count++] = (struct json_edit){STR("safety_mode"), json_escaped(r->arena, str_of(approval_mode_name(lowest)))};
  str text = json_edited(r->arena, base, edits, count);
  const struct json *made = json_parse(r->arena, text, &json_default_limits, &f);
  ASSERT(made);  // the text is valid JSON, because its parts were parsed before
  return made;
}

void governance_agent_settle(struct governance_agent *p, const struct json *context, struct arena *a) {
  static const struct {
    str key;
    size_t at;
  } texts[] = {
      {STR("role"), offsetof(struct governance_subject, role)},
      {STR("intent"), offsetof(struct governance_subject, intent)},
      {STR("environment"), offsetof(struct governance_subject, environment)},
      {STR("tenant"), offsetof(struct governance_subject, tenant)},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    json_string(json_get(context, texts[i].key), a, (str *)((char *)&p->subject + texts[i].at));
  p->context = context;
  p->safety = safety_of(context);
}

// Returns the entry of the agent or, if it has none, of its nearest ancestor that has one (`team` for `team.role`).
// Returns NULL without such an entry.
static struct governance_agent *find_listed(const struct governance *g, str agent) {
  while (agent.n) {
    struct governance_agent key = {.id = agent};
    struct governance_agent *found =
        g->agent_count ? bsearch(&key, g->agents, g->agent_count, sizeof key, compare_agents) : NULL;
    if (found) return found;
    const char *dot = memrchr(agent.p, '.', agent.n);
    agent.n = dot ? (size_t)(dot - agent.p) : 0;
  }
  return NULL;
}

static void read_claims(struct governance_reader *r, str pointer, const struct json *v,
                        const struct governance_field *f, void *to) {
  static const str fixed[] = {STR("agent"), STR("principals"), STR("user"),    STR("run"),
                              STR("args"),  STR("capability"), STR("workload")};
  struct governance *g = r->governance;
  if (!json_is(v, JSON_OBJECT) || v->count > GOVERNANCE_CLAIMS_MAX) {
    governance_report(r, pointer, "must be an object of at most %d members", GOVERNANCE_CLAIMS_MAX);
    return;
  }
  JSON_EACH(it, v) {
    struct governance_claim *c = &g->claims[g->claim_count++];
    c->member = json_key(it, r->arena);
    if (json_key_in(it, fixed, sizeof fixed / sizeof *fixed))
      governance_report(r, governance_below(r, pointer, it), "is set by the gateway");
    governance_id(r, governance_below(r, pointer, it), it, f, &c->name);
  }
}

str governance_tenant_claim(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  for (size_t i = 0; i < g->claim_count; i++)
    if (str_eq(g->claims[i].member, STR("tenant"))) return g->claims[i].name;
  return STR_NONE;
}

void governance_read_context(struct governance_reader *r, str pointer, const struct json *v) {
  struct governance *g = r->governance;
  struct parts {
    const struct json *defaults;
    uint8_t unlisted, unlisted_tools;
  } parts = {.defaults = &json_empty_object};
  static const struct governance_field fields[] = {
      {"defaults", read_context, offsetof(struct parts, defaults), false, NULL},
      {"agents", read_agents, 0, false, NULL},
      {"claims", read_claims, 0, false, NULL},
      {"unlisted_servers", governance_choice, offsetof(struct parts, unlisted), false, unlisted_words},
      {"unlisted_tools", governance_choice, offsetof(struct parts, unlisted_tools), false, unlisted_tools_words},
  };
  if (v) governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, &parts);
  g->unlisted = parts.unlisted;
  g->provisional_tools = parts.unlisted_tools == 1;
  g->others.context = overlay(r, parts.defaults, &json_empty_object);
  governance_agent_settle(&g->others, g->others.context, r->arena);
  // The list is sorted by id, so an ancestor comes before its descendants, and its context is complete when they need
  // it.
  size_t bytes = 0;
  for (size_t i = 0; i < g->agent_count && bytes <= CONTEXTS_BYTES; i++) {
    struct governance_agent *p = &g->agents[i];
    const char *dot = memrchr(p->id.p, '.', p->id.n);
    struct governance_agent *above = dot ? find_listed(g, (str){p->id.p, (size_t)(dot - p->id.p)}) : NULL;
    p->context = overlay(r, above ? above->context : g->others.context, p->context);
    governance_agent_settle(p, p->context, r->arena);
    bytes += p->context->n;
  }
  if (bytes > CONTEXTS_BYTES)
    governance_report(r, pointer, "the contexts of all agents are larger than %d MiB", CONTEXTS_BYTES >> 20);
}

// ---- use

const struct governance_agent *governance_agent_get(const struct governance *g, str agent) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  const struct governance_agent *found = find_listed(g, agent);
  return found ? found : &g->others;
}

size_t governance_agent_count(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->agent_count;
}

str governance_agent_name(const struct governance *g, size_t index) {
  ASSERT(index < governance_agent_count(g));
  return g->agents[index].id;
}

bool governance_reads_claims(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->claim_count;
}

static bool has_server(const struct governance_adapter *a, str server) {
  if (a->server.p && str_eq(a->server, server)) return true;
  for (size_t i = 0; i < a->versions.count; i++)
    if (str_eq(a->versions.list[i].server, server)) return true;
  return false;
}

const struct governance_adapter *governance_adapter_of(const struct governance *g, str server) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  for (size_t i = 0; i < g->adapter_count; i++)
    if (has_server(&g->adapters[i], server)) return &g->adapters[i];
  return NULL;
}

const struct governance_capability *governance_find_tool(const struct governance *g, str server, str tool) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  char id[2 * GOVERNANCE_ID_MAX + 2];
  if (!governance_is_id(tool)) return NULL;
  if (!adapter) return governance_noted(g, server, tool);
  int n = snprintf(id, sizeof id, "%.*s.%.*s", STR_ARG(adapter->adapter_id), STR_ARG(tool));
  const struct governance_capability *listed = governance_find(g, (str){id, (size_t)n});
  return listed ? listed : governance_noted(g, server, tool);
}

str governance_tool_id(const struct governance *g, str server, str tool, struct arena *a) {
  const struct governance_capability *c = governance_find_tool(g, server, tool);
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  if (c) return c->id;
  if (!adapter || governance_is_provisional(g, server)) return STR("");
  return arena_printf(a, "%.*s.%.*s", STR_ARG(adapter->adapter_id), STR_ARG(tool));
}

bool governance_governs(const struct governance *g, str server) {
  return governance_adapter_of(g, server) != NULL;
}

enum governance_output governance_output_of(const struct governance *g, str server) {
  if (!g->checks_output) return OUTPUT_OFF;
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  return (enum governance_output)(adapter ? adapter->output_schemas : g->output_schemas);
}

enum governance_unlisted governance_unlisted(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return (enum governance_unlisted)g->unlisted;
}

enum governance_unlisted governance_unlisted_tools(const struct governance *g) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return g->provisional_tools ? UNLISTED_PROVISIONAL : UNLISTED_DENY;
}

bool governance_allows_unlisted(const struct governance *g) {
  return governance_unlisted(g) == UNLISTED_ALLOW;
}

static bool lets_tenant(const struct governance_capability *c, str tenant) {
  bool allowed = c->unlisted;
  for (size_t i = 0; i < c->permission_count; i++) {
    const struct governance_permission *permission = c->permissions[i];
    bool meant = governance_names_have(&permission->tenants, tenant);
    if (meant && !permission->allow && !permission->roles.list && !permission->intents.list &&
        !permission->environments.list)
      return false;
    allowed |= meant && permission->allow;
  }
  return allowed;
}

bool governance_serves_tenant(const struct governance *g, str tenant, str server, str tool) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  if (!adapter) return g->unlisted != UNLISTED_DENY;
  if (tool.n) {
    const struct governance_capability *c = governance_find_tool(g, server, tool);
    return c && lets_tenant(c, tenant);
  }
  for (size_t i = 0; i < g->capability_count; i++)
    if (g->capabilities[i].adapter == adapter && lets_tenant(&g->capabilities[i], tenant)) return true;
  return false;
}

bool governance_is_foreign(const struct governance *g, const struct governance_adapter *adapter, str server,
                           str tenant) {
  const struct governance_version *version = governance_version_of(g, server);
  if (version && !governance_version_serves(version, tenant)) return true;
  bool named = false;
  for (size_t i = 0; i < g->capability_count; i++) {
    const struct governance_capability *c = &g->capabilities[i];
    if (c->adapter != adapter) continue;
    if (lets_tenant(c, tenant)) return false;
    for (size_t k = 0; k < c->permission_count; k++) named |= c->permissions[k]->tenants.list != NULL;
  }
  return named && !g->provisional_tools;
}
