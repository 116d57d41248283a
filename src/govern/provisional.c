// SPDX-License-Identifier: Apache-2.0
#include "govern/provisional.h"

#include <stdio.h>

#include "base/assert.h"
#include "govern/govern_impl.h"
#include "json/write.h"

enum { MOST_NOTED = 10000 };

struct provisional {
  struct governance_adapter adapter;  // used if no adapter governs the server
  struct governance_capability capability;
};

static bool applies(const struct governance *g, const struct governance_adapter *adapter) {
  return adapter ? g->provisional_tools : g->unlisted == UNLISTED_PROVISIONAL;
}

bool governance_is_provisional(const struct governance *g, str server) {
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  return applies(g, governance_adapter_of(g, server));
}

static enum approval_mode mode_of(struct governance_hints hints) {
  if (!hints.read_only) return APPROVAL_DESTRUCTIVE;
  return hints.open_world ? APPROVAL_NETWORK : APPROVAL_READ_ONLY;
}

static struct provisional *make(struct arena *a, const struct governance_adapter *adapter, str server, str tool,
                                struct governance_hints hints) {
  struct provisional *p = ARENA_NEW(a, struct provisional);
  if (!adapter) {
    p->adapter.server = arena_str(a, server);
    p->adapter.adapter_id = arena_printf(a, "mcp_%.*s", STR_ARG(server));
    p->adapter.pointer = STR("/context/unlisted_servers");
    adapter = &p->adapter;
  }
  str id = arena_printf(a, "%.*s.%.*s", STR_ARG(adapter->adapter_id), STR_ARG(tool));
  p->capability = (struct governance_capability){
      .adapter = adapter,
      .id = id,
      .id_json = json_escaped(a, id),
      .name = str_from(id, adapter->adapter_id.n + 1),
      .pointer = adapter == &p->adapter ? adapter->pointer : STR("/context/unlisted_tools"),
      .class = (uint8_t)(hints.read_only ? CLASS_OBSERVE : CLASS_ACT),
      .mode = (uint8_t)mode_of(hints),
      .idempotency = adapter->idempotency,
      .environment = adapter->environment,
      .retry = adapter->retry,
      .provisional = true,
      .unlisted = true,
  };
  return p;
}

// ---- noted tools

// Returns the key of a tool in the map `noted`: the server, a NUL and the tool.
static str key_of(struct arena *a, str server, str tool) {
  return arena_printf(a, "%.*s%c%.*s", STR_ARG(server), 0, STR_ARG(tool));
}

static void replace(struct map *m, str key, struct provisional *p) {
  map_remove(m, key);
  map_add(m, key, p);
}

void governance_note_tool(const struct governance *g, str server, str tool, struct governance_hints hints) {
  struct governance *own = (struct governance *)g;  // noted tools may change, because they are not from the file
  static const struct hash_key none;
  ASSERT_MAGIC(g, GOVERNANCE_MAGIC);
  if (!g->provisional_tools && g->unlisted != UNLISTED_PROVISIONAL) return;
  const struct governance_adapter *adapter = governance_adapter_of(g, server);
  if (!applies(g, adapter) || !governance_is_id(tool)) return;
  const struct governance_capability *known = governance_find_tool(g, server, tool);
  if (known && (!known->unlisted || known->mode == mode_of(hints))) return;
  if (own->noted_count == MOST_NOTED) {
    // There is no room for the changed hint of a known tool. Forget the tool, so that its outdated hint is not used.
    if (known) governance_forget_tool(own, server, tool);
    return;
  }
  if (!own->notes_ready) {
    const struct hash_key *seed = own->runs_ready ? &own->runs.seed : &none;
    map_init(&own->noted, seed);
    map_init(&own->noted_ids, seed);
    own->notes_ready = true;
  }
  own->noted_count++;
  struct provisional *p = make(&own->arena, adapter, server, tool, hints);
  replace(&own->noted, key_of(&own->arena, server, tool), p);
  replace(&own->noted_ids, p->capability.id, p);
}

void governance_forget_tool(struct governance *g, str server, str tool) {
  struct arena a;
  arena_init(&a);
  struct provisional *was = map_remove(&g->noted, key_of(&a, server, tool));
  if (was) map_remove(&g->noted_ids, was->capability.id);
  arena_done(&a);
}

const struct governance_capability *governance_noted(const struct governance *g, str server, str tool) {
  if (!g->notes_ready) return NULL;
  char key[2 * GOVERNANCE_ID_MAX + 2];
  int n = server.n + tool.n < sizeof key - 1
              ? snprintf(key, sizeof key, "%.*s%c%.*s", STR_ARG(server), 0, STR_ARG(tool))
              : 0;
  const struct provisional *p = n > 0 ? map_find(&g->noted, (str){key, (size_t)n}) : NULL;
  return p ? &p->capability : NULL;
}

void governance_notes_free(struct governance *g) {
  if (!g->notes_ready) return;
  map_done(&g->noted);
  map_done(&g->noted_ids);
}

// ---- by id

static bool says(const struct json *annotations, str hint) {
  bool given;
  return json_bool(json_get(annotations, hint), &given) && given;
}

const struct governance_capability *governance_provisional_find(const struct governance *g, str id,
                                                                const struct json *annotations, struct arena *a) {
  str adapter, tool, prefix = STR("mcp_");
  const struct provisional *noted = g->notes_ready ? map_find(&g->noted_ids, id) : NULL;
  if (noted && !annotations) return &noted->capability;
  if (!str_cut(id, '.', &adapter, &tool) || !governance_is_id(tool)) return NULL;
  struct governance_hints hints = {says(annotations, STR("readOnlyHint")), says(annotations, STR("openWorldHint"))};
  for (size_t i = 0; i < g->adapter_count && g->provisional_tools; i++)
    if (str_eq(g->adapters[i].adapter_id, adapter)) return &make(a, &g->adapters[i], STR(""), tool, hints)->capability;
  if (g->unlisted != UNLISTED_PROVISIONAL || !str_starts(adapter, prefix)) return NULL;
  str server = str_from(adapter, prefix.n);
  return governance_adapter_of(g, server) ? NULL : &make(a, NULL, server, tool, hints)->capability;
}
