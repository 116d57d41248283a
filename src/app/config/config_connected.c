// SPDX-License-Identifier: Apache-2.0
// A .mcp.json after `toolgate connect`: its only server is Toolgate, and the entry says where the servers are now.
#include "app/config/config_load.h"
#include "io/file.h"

static bool is_this_program(struct config_loader *l, str command) {
  return str_eq(str_base_name(command), STR("toolgate")) ||
         file_is_same(arena_cstr(&l->work, command), "/proc/self/exe");
}

// The file after --mcp-config in an entry that starts `toolgate serve`; STR_NONE: it is another entry.
static str file_of(struct config_loader *l, const struct json *entry) {
  const struct json *args = json_get(entry, STR("args"));
  str command, file;
  if (!json_string(json_get(entry, STR("command")), &l->work, &command) || !json_is(args, JSON_ARRAY)) return STR_NONE;
  if (!json_equals_str(json_at(args, 0), STR("serve")) || !is_this_program(l, command)) return STR_NONE;
  JSON_EACH(it, args)
    if (json_equals_str(it, STR("--mcp-config")) && json_string(it->next, &l->work, &file)) return file;
  return STR_NONE;
}

str config_connected_file(struct config_loader *l, const struct config_document *d) {
  const struct json *servers = json_get(d->root, STR("mcpServers"));
  str file = STR_NONE;
  if (!json_is(servers, JSON_OBJECT)) return STR_NONE;
  JSON_EACH(it, servers) {
    file = file_of(l, it);
    if (!file.n) return STR_NONE;
  }
  return file.n ? config_path(l, file, d->folder, &l->work) : STR_NONE;
}
