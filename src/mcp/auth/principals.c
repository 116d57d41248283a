// SPDX-License-Identifier: Apache-2.0
#include "mcp/auth/principals.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

struct principal_entry {
  struct list node;  // in the list by_use, which has the least recently used principal first
  struct principal principal;
  str key;      // name, a line feed (which no name contains), agent
  char text[];  // contains the key
};

struct principals {
  struct map by_key;
  struct list by_use;
  size_t max;
  int next;
};

struct principals *principals_new(const struct hash_key *seed, size_t max) {
  struct principals *p = MEM_NEW(struct principals);
  ASSERT(max);
  map_init(&p->by_key, seed);
  list_init(&p->by_use);
  p->max = max;
  return p;
}

static void forget(struct principals *p, struct principal_entry *e) {
  map_remove(&p->by_key, e->key);
  list_remove(&e->node);
  mem_free(e);
}

void principals_free(struct principals **principals) {
  struct principals *p = *principals;
  if (!p) return;
  *principals = NULL;
  LIST_EACH(it, &p->by_use) forget(p, CONTAINER_OF(it, struct principal_entry, node));
  ASSERT(map_count(&p->by_key) == 0 && list_empty(&p->by_use));
  map_done(&p->by_key);
  mem_free(p);
}

static struct principal_entry *entry_new(str name, str agent) {
  struct principal_entry *e = mem_zero(sizeof *e + name.n + 1 + agent.n);
  memcpy(e->text, name.p, name.n);
  e->text[name.n] = '\n';
  if (agent.n) memcpy(e->text + name.n + 1, agent.p, agent.n);
  e->key = (str){e->text, name.n + 1 + agent.n};
  e->principal.name = (str){e->text, name.n};
  e->principal.agent = (str){e->text + name.n + 1, agent.n};
  return e;
}

const struct principal *principals_meet(struct principals *p, str name, str agent) {
  struct principal_entry *asked = entry_new(name, agent), *e = map_find(&p->by_key, asked->key);
  if (e) {
    mem_free(asked);
    list_remove(&e->node);
  } else {
    if (map_count(&p->by_key) >= p->max) forget(p, CONTAINER_OF(p->by_use.next, struct principal_entry, node));
    e = asked;
    ASSERT(p->next < INT32_MAX);
    e->principal.number = p->next++;
    map_add(&p->by_key, e->key, e);
  }
  list_push(&p->by_use, &e->node);
  ASSERT(map_count(&p->by_key) <= p->max);
  return &e->principal;
}

size_t principals_count(const struct principals *p) {
  return map_count(&p->by_key);
}
