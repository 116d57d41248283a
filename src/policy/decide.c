// SPDX-License-Identifier: Apache-2.0
#include "base/text/glob.h"
#include "policy/policy_impl.h"
#include "json/pointer.h"

// ---- servers

static bool matches(const struct policy_entry *e, str name) {
  return e->pattern ? glob_match(e->text, name) : str_eq(e->text, name);
}

static const struct policy_entry *first_match(const struct entries *e, str name) {
  for (size_t i = 0; i < e->count; i++)
    if (matches(e->list[i], name)) return e->list[i];
  return NULL;
}

static const struct policy_entry *match_server(const struct policy_agent *a, enum policy_effect effect, str server) {
  const struct policy_entry *found = NULL;
  for (; a && !found; a = a->parent) found = first_match(&a->servers[effect], server);
  return found;
}

static void decide_server(struct policy_decision *d) {
  d->entry = match_server(d->agent, POLICY_DENY, d->server);
  if (!d->entry) {
    d->entry = match_server(d->agent, POLICY_ALLOW, d->server);
    d->allowed = d->entry;
  }
  d->by = !d->entry ? POLICY_NO_MATCH : d->entry->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
}

// ---- tools

// The lists that hold for a server, in the order in which they count.
struct chain {
  const struct tool_rules *rules[2 * (POLICY_DEPTH_MAX + 1)];
  size_t count;
};

static struct chain chain_of(const struct policy_agent *a, str server) {
  struct chain c = {.count = 0};
  for (; a; a = a->parent) {
    const struct tool_rules *own = policy_tool_rules(a, server);
    const struct tool_rules *any = str_eq(server, STR("*")) ? NULL : policy_tool_rules(a, STR("*"));
    if (own) c.rules[c.count++] = own;
    if (any) c.rules[c.count++] = any;
  }
  return c;
}

static const struct policy_entry *find_exact(const struct entries *e, str tool) {
  size_t low = 0, high = e->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (str_cmp(e->list[mid]->text, tool) < 0) low = mid + 1;
    else high = mid;
  }
  return low < e->count && str_eq(e->list[low]->text, tool) ? e->list[low] : NULL;
}

static const struct policy_entry *match_tool(const struct chain *c, enum policy_effect effect, bool pattern, str tool) {
  const struct policy_entry *found = NULL;
  for (size_t i = 0; i < c->count && !found; i++)
    found = pattern ? first_match(&c->rules[i]->patterns[effect], tool) : find_exact(&c->rules[i]->exact[effect], tool);
  return found;
}

static bool is_listed(const struct chain *c) {
  for (size_t i = 0; i < c->count; i++)
    if (c->rules[i]->exact[POLICY_ALLOW].count + c->rules[i]->patterns[POLICY_ALLOW].count) return true;
  return false;
}

static const struct {
  enum policy_effect effect;
  bool pattern;
} classes[][4] = {
    [POLICY_DOCUMENT] = {{POLICY_DENY, false}, {POLICY_ALLOW, false}, {POLICY_DENY, true}, {POLICY_ALLOW, true}},
    [POLICY_DENY_FIRST] = {{POLICY_DENY, false}, {POLICY_DENY, true}, {POLICY_ALLOW, false}, {POLICY_ALLOW, true}},
};

// The server is allowed: d->entry is what allows it.
static void decide_tool(const struct policy *p, struct policy_decision *d, str tool) {
  struct chain c = chain_of(d->agent, d->server);
  for (size_t i = 0; i < 4; i++) {
    const struct policy_entry *e = match_tool(&c, classes[p->order][i].effect, classes[p->order][i].pattern, tool);
    if (!e) continue;
    d->entry = e;
    d->of_tool = true;
    d->allowed = !e->deny;
    d->by = e->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
    return;
  }
  if (p->order == POLICY_DENY_FIRST && !is_listed(&c)) {
    d->by = POLICY_IMPLICIT;
    return;
  }
  *d = (struct policy_decision){.by = POLICY_NO_MATCH, .agent = d->agent, .server = d->server, .of_tool = true};
}

struct policy_decision policy_decide(const struct policy *p, const struct policy_agent *agent, str server, str tool) {
  struct policy_decision d = {.by = POLICY_UNKNOWN_AGENT, .agent = agent, .server = server};
  if (!agent) return d;
  decide_server(&d);
  if (d.allowed && tool.p) decide_tool(p, &d, tool);
  return d;
}

// ---- methods

static const struct policy_entry *match_method(const struct policy_agent *a, enum policy_effect effect, bool pattern,
                                               str method) {
  for (; a; a = a->parent)
    for (size_t i = 0; i < a->methods[effect].count; i++) {
      const struct policy_entry *e = a->methods[effect].list[i];
      if (e->pattern == pattern && matches(e, method)) return e;
    }
  return NULL;
}

struct policy_decision policy_decide_method(const struct policy *p, const struct policy_agent *agent, str method) {
  struct policy_decision d = {.by = POLICY_UNKNOWN_AGENT, .agent = agent, .server = STR(""), .of_method = true};
  if (!agent) return d;
  d.by = POLICY_NO_MATCH;
  for (size_t i = 0; i < 4 && !d.entry; i++)
    d.entry = match_method(agent, classes[p->order][i].effect, classes[p->order][i].pattern, method);
  if (!d.entry) return d;
  d.allowed = !d.entry->deny;
  d.by = d.entry->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
  return d;
}

// ---- what was decided, in words

static void put_list_path(const struct policy_decision *d, struct buf *out) {
  buf_printf(out, "agents.%.*s.allow.", STR_ARG(d->agent->id));
  if (d->of_tool) buf_printf(out, "tools.%.*s", STR_ARG(d->server));
  else buf_str(out, d->of_method ? STR("methods") : STR("servers"));
}

void policy_put_path(const struct policy_decision *d, struct buf *out) {
  const struct policy_entry *e = d->entry;
  if (!d->agent) {
    buf_str(out, STR("agents"));
  } else if (!e) {
    put_list_path(d, out);
  } else {
    buf_printf(out, "agents.%.*s.%s.", STR_ARG(e->agent->id), e->deny ? "deny" : "allow");
    if (e->server.p) buf_printf(out, "tools.%.*s[%u]", STR_ARG(e->server), e->index);
    else buf_printf(out, "%s[%u]", e->method ? "methods" : "servers", e->index);
  }
}

static void put_pointer(struct buf *out, str agent, bool deny, const char *list, str server) {
  buf_str(out, STR("/agents"));
  json_pointer_push(out, agent);
  buf_str(out, deny ? STR("/deny") : STR("/allow"));
  buf_printf(out, "/%s", list);
  if (server.p) json_pointer_push(out, server);
}

void policy_put_entry_pointer(const struct policy_entry *e, struct buf *out) {
  const char *list = e->server.p ? "tools" : e->method ? "methods" : "servers";
  put_pointer(out, e->agent->id, e->deny, list, e->server);
  buf_printf(out, "/%u", e->index);
}

void policy_put_pointer(const struct policy_decision *d, struct buf *out) {
  if (!d->agent) buf_str(out, STR("/agents"));
  else if (d->entry) policy_put_entry_pointer(d->entry, out);
  else if (d->of_tool) put_pointer(out, d->agent->id, false, "tools", d->server);
  else put_pointer(out, d->agent->id, false, d->of_method ? "methods" : "servers", STR_NONE);
}

const char *policy_class_name(enum policy_class c) {
  static const char *const names[] = {"explicit", "wildcard", "implicit", "no_match", "unknown_agent"};
  return names[c];
}

// ---- the rules themselves

bool policy_denies_missing(const struct policy *p) {
  return p->denies_missing;
}
enum policy_order policy_order(const struct policy *p) {
  return p->order;
}
str policy_agent_name(const struct policy_agent *a) {
  return a->id;
}
size_t policy_agent_count(const struct policy *p) {
  return p->agent_count;
}
const struct policy_agent *policy_agent_at(const struct policy *p, size_t index) {
  return &p->agents[index];
}
size_t policy_entry_count(const struct policy_agent *a) {
  return a->own_count;
}
const struct policy_entry *policy_entry_at(const struct policy_agent *a, size_t index) {
  return &a->own[index];
}
