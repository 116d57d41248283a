// SPDX-License-Identifier: Apache-2.0
#include "app/cli/adapter/adapter_tools.h"

#include "base/assert.h"
#include "govern/govern.h"
#include "govern/schema_pin.h"
#include "upstream/kind.h"

// Returns the kind of a server, or NULL if the server is not in this configuration.
static const struct upstream_kind *kind_of(const struct config *c, str server) {
  for (size_t i = 0; i < c->upstream_count; i++)
    if (str_eq(c->upstreams[i].name, server)) return c->upstreams[i].kind;
  return NULL;
}

struct adapter_live adapter_live(const struct config *c, const struct inventory_server *s) {
  const struct upstream_kind *kind = kind_of(c, s->name);
  struct adapter_live live = {STR_NONE, STR_NONE, STR_NONE, STR_NONE};
  if (kind && kind->local) return live;
  if (s->version && governance_is_id(str_of(s->version))) live.version = str_of(s->version);
  if (s->revision) {
    live.protocol = STR("mcp");
    live.protocol_version = str_of(s->revision);
  }
  if (kind == &upstream_http) live.transport = STR("streamable_http");
  else if (kind == &upstream_stdio || kind == &upstream_sse) live.transport = str_of(kind->name);
  return live;
}

static str pin_of(const struct json *schema, struct arena *a) {
  char pin[SCHEMA_PIN_SIZE];
  return schema_pin(schema, pin) ? arena_str(a, str_of(pin)) : STR_NONE;
}

static void read_tool(struct adapter_tool *t, const struct item *item, struct arena *a, struct arena *scratch) {
  struct fault f;
  const struct json *definition = json_parse(scratch, item->text, &json_default_limits, &f);
  ASSERT(definition);  // the definition was parsed before, when it was received
  t->name = arena_str(a, item->name);
  t->usable = governance_is_id(t->name);
  t->hints = item->hints;
  t->class = hints_class(t->hints);
  t->mode = hints_mode(t->hints);
  ASSERT(approval_mode_fits(t->class, t->mode));
  t->input_schema = pin_of(json_get(definition, STR("inputSchema")), a);
  t->output_schema = pin_of(json_get(definition, STR("outputSchema")), a);
}

struct adapter_tool *adapter_tools(const struct directory *d, unsigned source, struct arena *a, size_t *out_count) {
  const struct catalog *c = d->catalog;
  ASSERT(source < c->part_count);
  const struct item *items = c->items[ITEM_TOOL] + c->parts[source].first[ITEM_TOOL];
  size_t count = c->parts[source].count[ITEM_TOOL];
  struct adapter_tool *tools = ARENA_ARRAY(a, struct adapter_tool, count);
  struct arena scratch;
  arena_init(&scratch);
  for (size_t i = 0; i < count; i++) {
    read_tool(&tools[i], &items[i], a, &scratch);
    arena_reset(&scratch);
  }
  arena_done(&scratch);
  *out_count = count;
  return tools;
}
