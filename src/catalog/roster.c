// SPDX-License-Identifier: Apache-2.0
#include "catalog/roster.h"

#include "base/mem.h"

const struct item_kind_rules item_kind_rules[ITEM_KINDS] = {
    [ITEM_TOOL] = {"tools/list", "tools", "tools", "name", "notifications/tools/list_changed"},
    [ITEM_RESOURCE] = {"resources/list", "resources", "resources", "uri", "notifications/resources/list_changed"},
    [ITEM_TEMPLATE] = {"resources/templates/list", "resources", "resourceTemplates", "uriTemplate",
                       "notifications/resources/list_changed"},
    [ITEM_PROMPT] = {"prompts/list", "prompts", "prompts", "name", "notifications/prompts/list_changed"},
};

struct roster *roster_new(struct roster_origin origin) {
  struct roster *r = MEM_NEW(struct roster);
  r->origin = origin;
  arena_init(&r->arena);
  return r;
}

void roster_free(struct roster **roster) {
  struct roster *r = *roster;
  if (!r) return;
  *roster = NULL;
  for (int k = 0; k < ITEM_KINDS; k++) mem_free(r->defs[k]);
  arena_done(&r->arena);
  mem_free(r);
}

static void add(struct roster *r, enum item_kind kind, struct definition d) {
  if (r->count[kind] == r->cap[kind]) {
    r->cap[kind] = r->cap[kind] ? r->cap[kind] * 2 : 16;
    r->defs[kind] = mem_grow(r->defs[kind], r->cap[kind] * sizeof *r->defs[kind]);
  }
  r->defs[kind][r->count[kind]++] = d;
}

bool roster_add_page(struct roster *r, enum item_kind kind, const struct json *result) {
  const struct item_kind_rules *rules = &item_kind_rules[kind];
  const struct json *list = json_get(result, str_of(rules->list_key));
  if (!json_is(list, JSON_ARRAY)) return false;
  JSON_EACH(it, list) {
    str name;
    bool usable = json_string(json_get(it, str_of(rules->name_key)), &r->arena, &name) && name.n > 0;
    bool full = r->count[kind] >= ROSTER_MAX_ITEMS || r->arena.total + it->n > ROSTER_MAX_BYTES;
    if (!usable || full) {
      r->skipped++;
      continue;
    }
    add(r, kind, (struct definition){arena_str(&r->arena, name), arena_str(&r->arena, json_span(it))});
  }
  return true;
}

void roster_copy(struct roster *r, const struct roster *from, enum item_kind kind) {
  for (size_t i = 0; i < from->count[kind]; i++) {
    const struct definition *d = &from->defs[kind][i];
    add(r, kind, (struct definition){arena_str(&r->arena, d->name), arena_str(&r->arena, d->text)});
  }
}

bool roster_same(const struct roster *a, const struct roster *b) {
  for (int k = 0; k < ITEM_KINDS; k++) {
    if (a->count[k] != b->count[k]) return false;
    for (size_t i = 0; i < a->count[k]; i++)
      if (!str_eq(a->defs[k][i].text, b->defs[k][i].text)) return false;
  }
  return true;
}
