// SPDX-License-Identifier: Apache-2.0
#include "catalog/definitions.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "catalog/naming/param_headers.h"

const struct item_kind_rules item_kind_rules[ITEM_KINDS] = {
    [ITEM_TOOL] = {"tools/list", "tools", "tools", "name", "notifications/tools/list_changed"},
    [ITEM_RESOURCE] = {"resources/list", "resources", "resources", "uri", "notifications/resources/list_changed"},
    [ITEM_TEMPLATE] = {"resources/templates/list", "resources", "resourceTemplates", "uriTemplate",
                       "notifications/resources/list_changed"},
    [ITEM_PROMPT] = {"prompts/list", "prompts", "prompts", "name", "notifications/prompts/list_changed"},
};

struct definitions *definitions_new(struct definitions_origin origin) {
  struct definitions *r = MEM_NEW(struct definitions);
  r->origin = origin;
  arena_init(&r->arena);
  return r;
}

void definitions_free(struct definitions **definitions) {
  struct definitions *r = *definitions;
  if (!r) return;
  *definitions = NULL;
  for (int k = 0; k < ITEM_KINDS; k++) mem_free(r->defs[k]);
  arena_done(&r->arena);
  mem_free(r);
}

static void add(struct definitions *r, enum item_kind kind, struct definition d) {
  if (r->count[kind] == r->cap[kind]) {
    r->cap[kind] = r->cap[kind] ? r->cap[kind] * 2 : 16;
    r->defs[kind] = mem_grow(r->defs[kind], r->cap[kind] * sizeof *r->defs[kind]);
  }
  r->defs[kind][r->count[kind]++] = d;
}

// ---- pages

static void keep_for(struct definitions *r, enum item_kind kind, uint64_t ttl_ms, bool is_public) {
  bool first = !r->paged[kind];
  if (first || ttl_ms < r->ttl_ms[kind]) r->ttl_ms[kind] = ttl_ms;
  r->is_public[kind] = is_public && (first || r->is_public[kind]);
  r->paged[kind] = true;
}

static void refuse(struct definitions *r, str name, const char *why) {
  enum { NAME_SHOWN = 60 };  // maximum bytes of the tool's name, so that refused_why has space for the broken rule
  if (r->refused++) return;
  snprintf(r->refused_why, sizeof r->refused_why, "%.*s: %s", STR_ARG(utf8_cut(name, NAME_SHOWN)), why);
}

static bool declares_tasks(const struct json *tool) {
  const struct json *support = json_get(json_get(tool, STR("execution")), STR("taskSupport"));
  return support && !json_equals_str(support, STR("forbidden"));
}

// Returns false if the tool cannot be called, with the reason in *why.
static bool read_tool(const struct definitions *r, const struct json *tool, bool *out_plain, const char **why) {
  struct param_headers param_headers = {0};
  struct arena scratch;
  arena_init(&scratch);
  bool sound = param_headers_read(tool, &scratch, &param_headers, why);
  arena_done(&scratch);
  *out_plain = !param_headers.count && !declares_tasks(tool);
  return sound || !r->origin.http || !r->origin.stateless;
}

static void add_entry(struct definitions *r, enum item_kind kind, const struct json *entry) {
  str name;
  bool usable = json_string(json_get(entry, str_of(item_kind_rules[kind].name_key)), &r->arena, &name) && name.n > 0;
  bool full = r->count[kind] >= DEFINITIONS_MAX_ITEMS || r->arena.total + entry->n > DEFINITIONS_MAX_BYTES;
  if (!usable || full) {
    r->skipped++;
    return;
  }
  struct definition d = {.plain = true};
  const char *why;
  if (kind == ITEM_TOOL && !read_tool(r, entry, &d.plain, &why)) {
    refuse(r, name, why);
    return;
  }
  if (kind == ITEM_TOOL) d.hints = hints_of(json_get(entry, STR("annotations")));
  size_t hidden = r->cleaned.hidden;
  str text =
      clean_definition(&r->arena, entry, str_of(item_kind_rules[kind].name_key), r->description_max, &r->cleaned);
  if (!text.p) {
    refuse(r, name, "two keys of the definition differ only in hidden characters");
    return;
  }
  d.name = arena_str(&r->arena, name);
  d.text = text.p == entry->p ? arena_str(&r->arena, text) : text;
  if (r->cleaned.hidden > hidden) d.raw = arena_str(&r->arena, json_span(entry));
  add(r, kind, d);
}

bool definitions_add_page(struct definitions *r, enum item_kind kind, const struct json *result) {
  ASSERT((int)kind < ITEM_KINDS);
  const struct json *list = json_get(result, str_of(item_kind_rules[kind].list_key));
  if (!json_is(list, JSON_ARRAY)) return false;
  JSON_EACH(it, list) add_entry(r, kind, it);
  int64_t ttl_ms;
  bool known = json_int(json_get(result, STR("ttlMs")), &ttl_ms) && ttl_ms >= 0;
  keep_for(r, kind, known ? (uint64_t)ttl_ms : 0, json_equals_str(json_get(result, STR("cacheScope")), STR("public")));
  return true;
}

void definitions_copy(struct definitions *r, const struct definitions *from, enum item_kind kind) {
  ASSERT((int)kind < ITEM_KINDS && r != from);
  for (size_t i = 0; i < from->count[kind]; i++) {
    struct definition d = from->defs[kind][i];
    d.name = arena_str(&r->arena, d.name);
    d.text = arena_str(&r->arena, d.text);
    if (d.raw.p) d.raw = arena_str(&r->arena, d.raw);
    add(r, kind, d);
  }
  if (from->paged[kind]) keep_for(r, kind, from->ttl_ms[kind], from->is_public[kind]);
  if (kind != ITEM_TOOL) return;  // only tools are refused
  if (!r->refused) memcpy(r->refused_why, from->refused_why, sizeof r->refused_why);
  r->refused += from->refused;
}

// ---- comparing

static bool same_list(const struct definitions *a, const struct definitions *b, enum item_kind kind) {
  if (a->count[kind] != b->count[kind]) return false;
  if (a->ttl_ms[kind] != b->ttl_ms[kind] || a->is_public[kind] != b->is_public[kind]) return false;
  for (size_t i = 0; i < a->count[kind]; i++)
    if (!str_eq(a->defs[kind][i].text, b->defs[kind][i].text)) return false;
  return true;
}

bool definitions_same(const struct definitions *a, const struct definitions *b) {
  const struct definitions_origin *x = &a->origin, *y = &b->origin;
  if (x->stateless != y->stateless || x->tasks != y->tasks || x->http != y->http) return false;
  for (int k = 0; k < ITEM_KINDS; k++)
    if (!same_list(a, b, (enum item_kind)k)) return false;
  return true;
}
