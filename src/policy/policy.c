// SPDX-License-Identifier: Apache-2.0
// Prepares rules for fast lookups (sorts agents by id, tool lists by server, and exact names) and decides by these
// rules. Inherited rules are not copied: a decision walks from an agent to its few ancestors.
#include <stdlib.h>

#include "base/assert.h"
#include "base/text/glob.h"
#include "policy/policy_impl.h"
#include "json/pointer.h"

static int compare_ids(const void *a, const void *b) {
  return str_cmp((*(struct policy_agent *const *)a)->id, (*(struct policy_agent *const *)b)->id);
}

static str parent_of(str id) {
  const char *dot = id.n ? memrchr(id.p, '.', id.n) : NULL;
  return dot ? (str){id.p, (size_t)(dot - id.p)} : STR_NONE;
}

const struct policy_agent *policy_find(const struct policy *p, str id) {
  ASSERT_MAGIC(p, POLICY_MAGIC);
  if (!policy_is_agent_id(id)) return NULL;
  for (; id.n; id = parent_of(id)) {
    const struct policy_agent wanted = {.id = id}, *key = &wanted;
    struct policy_agent **found = bsearch(&key, p->by_id, p->agent_count, sizeof *p->by_id, compare_ids);
    if (found) return *found;
  }
  return NULL;
}

// Sort order of entries: by server, then exact names (by text) before patterns, then by position in the file.
static int compare_entries(const void *a, const void *b) {
  const struct policy_entry *x = *(const struct policy_entry *const *)a, *y = *(const struct policy_entry *const *)b;
  int c = str_cmp(x->server, y->server);
  if (!c) c = (int)x->pattern - (int)y->pattern;
  if (!c && !x->pattern) c = str_cmp(x->text, y->text);
  return c ? c : x->index < y->index ? -1 : x->index > y->index;
}

enum policy_kind { OF_SERVERS, OF_TOOLS, OF_METHODS };

static struct policy_list gather(struct policy *p, const struct policy_agent *a, enum policy_effect effect,
                                 enum policy_kind of) {
  struct policy_list all = {.list = ARENA_ARRAY(&p->arena, const struct policy_entry *, a->own_count + 1)};
  for (size_t i = 0; i < a->own_count; i++) {
    const struct policy_entry *e = &a->own[i];
    enum policy_kind kind = e->method ? OF_METHODS : e->server.p ? OF_TOOLS : OF_SERVERS;
    if (e->deny == (effect == POLICY_DENY) && kind == of) all.list[all.count++] = e;
  }
  return all;
}

static int compare_tools(const void *a, const void *b) {
  return str_cmp(((const struct policy_tools *)a)->server, ((const struct policy_tools *)b)->server);
}

// Returns the agent's own tool rules under this server key, or NULL if the agent has no such rules.
static struct policy_tools *find_tools(const struct policy_agent *a, str server) {
  const struct policy_tools wanted = {.server = server};
  return bsearch(&wanted, a->tools, a->tools_count, sizeof *a->tools, compare_tools);
}

// Makes an empty struct policy_tools for each server in the agent's tool lists.
static void name_servers(struct policy *p, struct policy_agent *a) {
  size_t n = 0;
  a->tools = ARENA_ARRAY(&p->arena, struct policy_tools, a->own_count + 1);
  for (size_t i = 0; i < a->own_count; i++)
    if (a->own[i].server.p) a->tools[a->tools_count++].server = a->own[i].server;
  qsort(a->tools, a->tools_count, sizeof *a->tools, compare_tools);
  for (size_t i = 0; i < a->tools_count; i++)
    if (!n || !str_eq(a->tools[n - 1].server, a->tools[i].server)) a->tools[n++] = a->tools[i];
  a->tools_count = n;
}

static void compile_agent(struct policy *p, struct policy_agent *a) {
  name_servers(p, a);
  for (enum policy_effect effect = POLICY_DENY; effect <= POLICY_ALLOW; effect++) {
    a->servers[effect] = gather(p, a, effect, OF_SERVERS);
    a->methods[effect] = gather(p, a, effect, OF_METHODS);
    struct policy_list all = gather(p, a, effect, OF_TOOLS);
    qsort(all.list, all.count, sizeof *all.list, compare_entries);
    // The entries of each server are now adjacent, with exact names before patterns.
    for (size_t i = 0; i < all.count; i++) {
      struct policy_tools *t = find_tools(a, all.list[i]->server);
      ASSERT(t);
      struct policy_list *to = all.list[i]->pattern ? &t->patterns[effect] : &t->exact[effect];
      if (!to->count) to->list = &all.list[i];
      to->count++;
    }
  }
}

const struct policy_agent *policy_compile(struct policy *p) {
  p->by_id = ARENA_ARRAY(&p->arena, struct policy_agent *, p->agent_count + 1);
  for (size_t i = 0; i < p->agent_count; i++) {
    str id = p->agents[i].id;
    size_t dots = 0;
    for (size_t k = 0; k < id.n; k++) dots += id.p[k] == '.';
    if (dots > POLICY_DEPTH_MAX) return &p->agents[i];
    p->by_id[i] = &p->agents[i];
    compile_agent(p, &p->agents[i]);
  }
  if (p->agent_count) qsort(p->by_id, p->agent_count, sizeof *p->by_id, compare_ids);
  for (size_t i = 0; i < p->agent_count; i++) {
    str above = parent_of(p->agents[i].id);
    p->agents[i].parent = above.n ? policy_find(p, above) : NULL;
  }
  return NULL;
}

// ---- servers

bool policy_matches(const struct policy_entry *e, str name) {
  return e->pattern ? glob_match(e->text, name) : str_eq(e->text, name);
}

static const struct policy_entry *first_match(const struct policy_list *e, str name) {
  for (size_t i = 0; i < e->count; i++)
    if (policy_matches(e->list[i], name)) return e->list[i];
  return NULL;
}

static const struct policy_entry *match_server(const struct policy_agent *a, enum policy_effect effect, str server) {
  const struct policy_entry *found = NULL;
  for (; a && !found; a = a->parent) found = first_match(&a->servers[effect], server);
  return found;
}

// ---- tools

// The tool rules that apply to a server, in order of precedence.
struct policy_chain {
  const struct policy_tools *rules[2 * (POLICY_DEPTH_MAX + 1)];
  size_t count;
};

static struct policy_chain chain_of(const struct policy_agent *a, str server) {
  struct policy_chain c = {.count = 0};
  for (; a; a = a->parent) {
    const struct policy_tools *own = find_tools(a, server);
    const struct policy_tools *any = str_eq(server, STR("*")) ? NULL : find_tools(a, STR("*"));
    ASSERT(c.count + 2 <= sizeof c.rules / sizeof *c.rules);
    if (own) c.rules[c.count++] = own;
    if (any) c.rules[c.count++] = any;
  }
  return c;
}

static const struct policy_entry *find_exact(const struct policy_list *e, str tool) {
  size_t low = 0, high = e->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (str_cmp(e->list[mid]->text, tool) < 0) low = mid + 1;
    else high = mid;
  }
  return low < e->count && str_eq(e->list[low]->text, tool) ? e->list[low] : NULL;
}

static const struct policy_entry *match_tool(const struct policy_chain *c, enum policy_effect effect, bool pattern,
                                             str tool) {
  const struct policy_entry *found = NULL;
  for (size_t i = 0; i < c->count && !found; i++)
    found = pattern ? first_match(&c->rules[i]->patterns[effect], tool) : find_exact(&c->rules[i]->exact[effect], tool);
  return found;
}

static const struct {
  enum policy_effect effect;
  bool pattern;
} classes[][4] = {
    [POLICY_DOCUMENT] = {{POLICY_DENY, false}, {POLICY_ALLOW, false}, {POLICY_DENY, true}, {POLICY_ALLOW, true}},
    [POLICY_DENY_FIRST] = {{POLICY_DENY, false}, {POLICY_DENY, true}, {POLICY_ALLOW, false}, {POLICY_ALLOW, true}},
};

// Decides whether a tool may be used. d->entry must be the entry that allows the tool's server.
static void decide_tool(const struct policy *p, struct policy_decision *d, str tool) {
  struct policy_chain c = chain_of(d->agent, d->server);
  for (size_t i = 0; i < 4; i++) {
    const struct policy_entry *e = match_tool(&c, classes[p->order][i].effect, classes[p->order][i].pattern, tool);
    if (!e) continue;
    d->entry = e;
    d->of_tool = true;
    d->allowed = !e->deny;
    d->by = e->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
    return;
  }
  size_t listed = 0;
  for (size_t i = 0; i < c.count; i++)
    listed += c.rules[i]->exact[POLICY_ALLOW].count + c.rules[i]->patterns[POLICY_ALLOW].count;
  if (p->order == POLICY_DENY_FIRST && !listed) d->by = POLICY_IMPLICIT;
  else *d = (struct policy_decision){.by = POLICY_NO_MATCH, .agent = d->agent, .server = d->server, .of_tool = true};
}

struct policy_decision policy_decide(const struct policy *p, const struct policy_agent *agent, str server, str tool) {
  struct policy_decision d = {.by = POLICY_UNKNOWN_AGENT, .agent = agent, .server = server};
  if (!agent) return d;
  ASSERT_MAGIC(p, POLICY_MAGIC);
  d.entry = match_server(agent, POLICY_DENY, server);
  if (!d.entry) {
    d.entry = match_server(agent, POLICY_ALLOW, server);
    d.allowed = d.entry;
  }
  d.by = !d.entry ? POLICY_NO_MATCH : d.entry->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
  if (d.allowed && tool.p) decide_tool(p, &d, tool);
  return d;
}

// ---- methods

static const struct policy_entry *match_method(const struct policy_agent *a, enum policy_effect effect, bool pattern,
                                               str method) {
  for (; a; a = a->parent)
    for (size_t i = 0; i < a->methods[effect].count; i++) {
      const struct policy_entry *e = a->methods[effect].list[i];
      if (e->pattern == pattern && policy_matches(e, method)) return e;
    }
  return NULL;
}

struct policy_decision policy_decide_method(const struct policy *p, const struct policy_agent *agent, str method) {
  struct policy_decision d = {.by = POLICY_UNKNOWN_AGENT, .agent = agent, .server = STR(""), .of_method = true};
  if (!agent) return d;
  ASSERT_MAGIC(p, POLICY_MAGIC);
  d.by = POLICY_NO_MATCH;
  for (size_t i = 0; i < 4 && !d.entry; i++)
    d.entry = match_method(agent, classes[p->order][i].effect, classes[p->order][i].pattern, method);
  if (!d.entry) return d;
  d.allowed = !d.entry->deny;
  d.by = d.entry->pattern ? POLICY_WILDCARD : POLICY_EXPLICIT;
  return d;
}

// ---- decisions as text

// Writes a JSON Pointer as a dotted path: /permissions/0 becomes governance.permissions[0].
static void put_governed(struct buf *out, str pointer) {
  str part, rest = pointer;
  buf_str(out, STR("governance"));
  for (bool more = str_cut(rest, '/', &part, &rest); more;) {
    more = str_cut(rest, '/', &part, &rest);
    bool index = part.n && part.p[0] >= '0' && part.p[0] <= '9';
    buf_printf(out, index ? "[%.*s]" : ".%.*s", STR_ARG(part));
  }
}

void policy_put_path(const struct policy_decision *d, struct buf *out) {
  const struct policy_entry *e = d->entry;
  if (d->governed.p) {
    put_governed(out, d->governed);
  } else if (!d->agent) {
    buf_str(out, STR("agents"));
  } else if (!e) {
    buf_printf(out, "agents.%.*s.allow.", STR_ARG(d->agent->id));
    if (d->of_tool) buf_printf(out, "tools.%.*s", STR_ARG(d->server));
    else buf_str(out, d->of_method ? STR("methods") : STR("servers"));
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
  if (d->governed.p) buf_str(out, d->governed);
  else if (!d->agent) buf_str(out, STR("/agents"));
  else if (d->entry) policy_put_entry_pointer(d->entry, out);
  else if (d->of_tool) put_pointer(out, d->agent->id, false, "tools", d->server);
  else put_pointer(out, d->agent->id, false, d->of_method ? "methods" : "servers", STR_NONE);
}

const char *policy_class_name(enum policy_class c) {
  static const char *const names[] = {"explicit", "wildcard", "implicit", "no_match", "unknown_agent"};
  ASSERT((unsigned)c <= POLICY_UNKNOWN_AGENT);
  return names[c];
}

// ---- the rules themselves

bool policy_denies_missing(const struct policy *p) {
  ASSERT_MAGIC(p, POLICY_MAGIC);
  return p->denies_missing;
}
enum policy_order policy_order(const struct policy *p) {
  ASSERT_MAGIC(p, POLICY_MAGIC);
  return p->order;
}
str policy_agent_name(const struct policy_agent *a) {
  return a->id;
}
size_t policy_agent_count(const struct policy *p) {
  ASSERT_MAGIC(p, POLICY_MAGIC);
  return p->agent_count;
}
const struct policy_agent *policy_agent_at(const struct policy *p, size_t index) {
  ASSERT(index < policy_agent_count(p));
  return &p->agents[index];
}
size_t policy_entry_count(const struct policy_agent *a) {
  return a->own_count;
}
const struct policy_entry *policy_entry_at(const struct policy_agent *a, size_t index) {
  ASSERT(index < a->own_count);
  return &a->own[index];
}
