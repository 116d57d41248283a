// SPDX-License-Identifier: Apache-2.0
#include "govern/agents.h"

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

static void read_context(struct governance_reader *r, str pointer, const struct json *v,
                         const struct governance_field *f, void *to) {
  struct fault why;
  if (v->n > CONTEXT_BYTES || v->count > CONTEXT_MEMBERS)
    governance_report(r, pointer, "is larger than %d bytes or %d members", CONTEXT_BYTES, CONTEXT_MEMBERS);
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

const struct json *governance_context(const struct governance_agent *p, enum approval_mode safety_mode,
                                      struct arena *a) {
  if (safety_mode >= p->safety) return p->context;
  struct json_edit edit = {STR("safety_mode"), json_escaped(a, str_of(approval_mode_name(safety_mode)))};
  struct fault f;
  const struct json *made = json_parse(a, json_edited(a, p->context, &edit, 1), &json_default_limits, &f);
  ASSERT(made);  // the text is valid JSON, because its parts were parsed before
  return made;
}

const struct governance_adapter *governance_adapter_of(const struct governance *g, str server) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  size_t low = 0, high = g->server_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int order = str_cmp(g->servers[mid].id, server);
    if (!order) return g->servers[mid].object;
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  return NULL;
}

const struct governance_capability *governance_find_tool(const struct governance *g, str server, str tool) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  char id[2 * GOVERNANCE_ID_MAX + 1], *at = id;
  if (!tool.n || tool.n > GOVERNANCE_ID_MAX) return NULL;
  if (!adapter) return governance_noted(g, server, tool);
  at = mempcpy(at, adapter->adapter_id.p, adapter->adapter_id.n);
  *at++ = '.';
  at = mempcpy(at, tool.p, tool.n);
  const struct governance_capability *listed = governance_find(g, (str){id, (size_t)(at - id)});
  return listed ? listed : governance_noted(g, server, tool);
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

bool governance_allows_unlisted(const struct governance *g) {
  return governance_unlisted(g) == UNLISTED_ALLOW;
}

static bool lets_tenant(const struct governance_capability *c, str tenant) {
  bool allowed = c->unlisted;
  for (size_t i = 0; i < c->permission_count; i++) {
    const struct governance_permission *permission = c->permissions[i];
    bool meant = !permission->tenants.list;
    for (size_t k = 0; permission->tenants.list && k < permission->tenants.count; k++)
      meant |= str_eq(permission->tenants.list[k], tenant);
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

static bool hide(str pointer, str *out_pointer) {
  *out_pointer = pointer;
  return false;
}

// The part of a decision that is the same for every call of one capability by one agent.
struct governance_outlook {
  bool denied;  // every call is denied: by a rule without a condition, or because no rule can match
  enum approval_mode lowest;
};

// Computes what the rules decide about every call of a capability by an agent. Rules without a condition always apply,
// so no call has a mode below the highest mode that these rules set. If they set no mode, the lowest mode that any
// other rule sets is possible. A call of class act needs a mode above read_only.
static struct governance_outlook look_ahead(const struct governance *g, const struct governance_capability *c,
                                            const struct governance_subject *who) {
  enum approval_mode least = c->class == CLASS_ACT ? APPROVAL_LOCAL_WRITE : APPROVAL_READ_ONLY;
  enum approval_mode always = APPROVAL_NONE, sometimes = c->mode;
  struct governance_outlook out = {.denied = g->bundle_count && c->mode > APPROVAL_READ_ONLY};
  for (size_t i = 0; i < g->bundle_count; i++)
    for (size_t k = 0; k < g->bundles[i].rule_count; k++) {
      const struct governance_rule *rule = &g->bundles[i].rules[k];
      if (rule->intent.p && !(who->intent.p && str_eq(rule->intent, who->intent))) continue;
      if (!rule->allow && !rule->condition) return (struct governance_outlook){.denied = true};
      if (rule->allow) out.denied = false;
      if (rule->mode == APPROVAL_NONE || rule->mode < least) continue;
      if (!rule->condition && (always == APPROVAL_NONE || rule->mode > always)) always = rule->mode;
      if (rule->mode < sometimes) sometimes = rule->mode;
    }
  out.lowest = always == APPROVAL_NONE ? sometimes : always;
  return out;
}

bool governance_shows(const struct governance *g, const struct governance_agent *p, str server, str tool,
                      str *out_pointer) {
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  // An unknown tool is treated like a tool without hints, so that the answer does not show whether the tool exists.
  static const struct governance_capability unknown = {
      .pointer = STR("/context"), .class = CLASS_ACT, .mode = APPROVAL_DESTRUCTIVE, .unlisted = true};
  if (!adapter && g->unlisted == UNLISTED_DENY) return hide(STR("/adapters"), out_pointer);
  if (!tool.p || (!adapter && g->unlisted == UNLISTED_ALLOW)) return true;
  const struct governance_capability *c = governance_find_tool(g, server, tool);
  enum approval_mode ceiling = p->safety;
  if (!c && governance_is_provisional(g, server)) c = &unknown;
  if (!c) return hide(adapter->pointer, out_pointer);
  bool permitted = c->unlisted;
  if (!governance_is_in(c, &p->subject)) return hide(c->pointer, out_pointer);
  for (size_t i = 0; i < c->permission_count; i++) {
    const struct governance_permission *permission = c->permissions[i];
    if (!governance_permits(permission, &p->subject)) continue;
    if (!permission->allow) return hide(permission->match.pointer, out_pointer);
    if (permission->mode < ceiling) ceiling = permission->mode;
    permitted = true;
  }
  if (!permitted) return hide(STR("/permissions"), out_pointer);
  if (!governance_intent_allows(g, p->subject.intent, c->class, out_pointer)) return false;
  enum governance_code code;
  if (!governance_has_identity(c, p->context, &code)) return hide(c->pointer, out_pointer);
  struct governance_outlook rules = look_ahead(g, c, &p->subject);
  if (rules.denied) return hide(STR("/bundles"), out_pointer);
  return (rules.lowest <= ceiling && rules.lowest <= c->mode) || hide(c->pointer, out_pointer);
}
