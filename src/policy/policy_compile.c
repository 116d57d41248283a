// SPDX-License-Identifier: Apache-2.0
// Rules as they are looked up: agents by id, tool lists by server, exact names sorted. What is inherited is not copied:
// a decision walks from an agent to its ancestors, of which there are few.
#include <stdlib.h>

#include "policy/policy_impl.h"

static int compare_ids(const void *a, const void *b) {
  return str_cmp((*(struct policy_agent *const *)a)->id, (*(struct policy_agent *const *)b)->id);
}

static struct policy_agent *find_exactly(const struct policy *p, str id) {
  size_t low = 0, high = p->agent_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int c = str_cmp(p->by_id[mid]->id, id);
    if (c == 0) return p->by_id[mid];
    if (c < 0) low = mid + 1;
    else high = mid;
  }
  return NULL;
}

static str parent_of(str id) {
  const char *dot = id.n ? memrchr(id.p, '.', id.n) : NULL;
  return dot ? (str){id.p, (size_t)(dot - id.p)} : STR_NONE;
}

const struct policy_agent *policy_find(const struct policy *p, str id) {
  if (!policy_is_agent_id(id)) return NULL;
  for (; id.n; id = parent_of(id)) {
    const struct policy_agent *a = find_exactly(p, id);
    if (a) return a;
  }
  return NULL;
}

// ---- the entries of one agent

// Groups by server, exact names of a server by their text; what is left is the order of the file.
static int compare_entries(const void *a, const void *b) {
  const struct policy_entry *x = *(const struct policy_entry *const *)a, *y = *(const struct policy_entry *const *)b;
  int c = str_cmp(x->server, y->server);
  if (!c) c = (int)x->pattern - (int)y->pattern;
  if (!c && !x->pattern) c = str_cmp(x->text, y->text);
  return c ? c : x->index < y->index ? -1 : x->index > y->index;
}

enum list { OF_SERVERS, OF_TOOLS, OF_METHODS };

static enum list list_of(const struct policy_entry *e) {
  return e->method ? OF_METHODS : e->server.p ? OF_TOOLS : OF_SERVERS;
}

static struct entries gather(struct policy *p, const struct policy_agent *a, enum policy_effect effect, enum list of) {
  struct entries e = {.list = ARENA_ARRAY(&p->arena, const struct policy_entry *, a->own_count + 1)};
  for (size_t i = 0; i < a->own_count; i++)
    if (a->own[i].deny == (effect == POLICY_DENY) && list_of(&a->own[i]) == of) e.list[e.count++] = &a->own[i];
  return e;
}

struct tool_rules *policy_tool_rules(const struct policy_agent *a, str server) {
  for (size_t low = 0, high = a->tools_count; low < high;) {
    size_t mid = low + (high - low) / 2;
    int c = str_cmp(a->tools[mid].server, server);
    if (c == 0) return &a->tools[mid];
    if (c < 0) low = mid + 1;
    else high = mid;
  }
  return NULL;
}

static int compare_rules(const void *a, const void *b) {
  return str_cmp(((const struct tool_rules *)a)->server, ((const struct tool_rules *)b)->server);
}

static void name_servers(struct policy *p, struct policy_agent *a) {
  size_t n = 0;
  a->tools = ARENA_ARRAY(&p->arena, struct tool_rules, a->own_count + 1);
  for (size_t i = 0; i < a->own_count; i++)
    if (a->own[i].server.p) a->tools[a->tools_count++].server = a->own[i].server;
  qsort(a->tools, a->tools_count, sizeof *a->tools, compare_rules);
  for (size_t i = 0; i < a->tools_count; i++)
    if (!n || !str_eq(a->tools[n - 1].server, a->tools[i].server)) a->tools[n++] = a->tools[i];
  a->tools_count = n;
}

// Entries of a server stand together, the exact ones before the patterns.
static void share_out(struct policy_agent *a, enum policy_effect effect, struct entries all) {
  for (size_t i = 0; i < all.count; i++) {
    const struct policy_entry *e = all.list[i];
    struct tool_rules *t = policy_tool_rules(a, e->server);
    struct entries *to = e->pattern ? &t->patterns[effect] : &t->exact[effect];
    if (!to->count) to->list = &all.list[i];
    to->count++;
  }
}

static void compile_agent(struct policy *p, struct policy_agent *a) {
  name_servers(p, a);
  for (int effect = 0; effect < POLICY_EFFECTS; effect++) {
    a->servers[effect] = gather(p, a, (enum policy_effect)effect, OF_SERVERS);
    a->methods[effect] = gather(p, a, (enum policy_effect)effect, OF_METHODS);
    struct entries tools = gather(p, a, (enum policy_effect)effect, OF_TOOLS);
    qsort(tools.list, tools.count, sizeof *tools.list, compare_entries);
    share_out(a, (enum policy_effect)effect, tools);
  }
}

static size_t depth_of(str id) {
  size_t n = 0;
  for (size_t i = 0; i < id.n; i++) n += id.p[i] == '.';
  return n;
}

const struct policy_agent *policy_compile(struct policy *p) {
  p->by_id = ARENA_ARRAY(&p->arena, struct policy_agent *, p->agent_count + 1);
  for (size_t i = 0; i < p->agent_count; i++) {
    if (depth_of(p->agents[i].id) > POLICY_DEPTH_MAX) return &p->agents[i];
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
