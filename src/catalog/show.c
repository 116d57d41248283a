// SPDX-License-Identifier: Apache-2.0
#include "catalog/show.h"

#include "base/assert.h"
#include "catalog/wrap.h"
#include "json/write.h"

enum { MOST_EDITS = 4 };

struct edits {
  struct json_edit list[MOST_EDITS];
  size_t count;
};

static void add_edit(struct edits *e, str key, str raw) {
  ASSERT(e->count < MOST_EDITS);
  e->list[e->count++] = (struct json_edit){key, raw};
}

// ---- the form for handshake clients

static void edit_output(struct item *item, const struct json *definition, struct arena *scratch, struct edits *e) {
  const struct json *schema = json_get(definition, STR("outputSchema"));
  if (!wrap_needed(schema)) return;
  item->wraps_output = true;
  add_edit(e, STR("outputSchema"), wrap_schema(schema, scratch));
}

static void edit_input(const struct json *definition, struct arena *scratch, struct edits *e) {
  static const struct json_edit type = {STR("type"), STR("\"object\"")};
  const struct json *schema = json_get(definition, STR("inputSchema"));
  if (!json_is(schema, JSON_OBJECT) || json_equals_str(json_get(schema, type.key), STR("object"))) return;
  add_edit(e, STR("inputSchema"), json_edited(scratch, schema, &type, 1));
}

static void edit_execution(const struct json *definition, struct edits *e) {
  if (json_get(definition, STR("execution"))) return;
  add_edit(e, STR("execution"), STR("{\"taskSupport\":\"optional\"}"));
}

// ---- tools

static void read_task_support(struct item *item, const struct json *definition) {
  const struct json *support = json_get(json_get(definition, STR("execution")), STR("taskSupport"));
  item->task_required = json_equals_str(support, STR("required"));
}

// Sets the members that only tools have. `e` contains the edits that apply for all clients; more edits are added for
// clients with a handshake.
static void show_tool(struct item *item, const struct json *definition, const struct definitions_origin *origin,
                      struct arena *a, struct arena *scratch, struct edits *e) {
  const char *why;
  param_headers_read(definition, a, &item->param_headers, &why);  // sets no headers if a declaration is invalid
  if (!origin->stateless) {
    read_task_support(item, definition);
    return;
  }
  size_t common = e->count;
  edit_output(item, definition, scratch, e);
  edit_input(definition, scratch, e);
  if (origin->tasks) edit_execution(definition, e);
  if (e->count > common) item->old_text = json_edited(a, definition, e->list, e->count);
}

void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch) {
  bool renamed = !str_eq(item->shown, item->name);
  bool special = item->kind == ITEM_TOOL && (origin->stateless || !item->plain);
  struct edits e = {0};
  const struct json *definition = NULL;
  if (renamed || special) {
    struct fault f;
    definition = json_parse(scratch, item->text, &json_default_limits, &f);
    ASSERT(definition);  // cannot fail: the definition was checked when it was received
  }
  if (renamed) add_edit(&e, str_of(item_kind_rules[item->kind].name_key), json_escaped(scratch, item->shown));
  item->text = renamed ? json_edited(a, definition, e.list, e.count) : arena_str(a, item->text);
  item->old_text = item->text;
  if (special) show_tool(item, definition, origin, a, scratch, &e);
  arena_reset(scratch);
}
