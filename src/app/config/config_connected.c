// SPDX-License-Identifier: Apache-2.0
// A .mcp.json after `toolgate connect`: its only server is Toolgate. An entry that starts Toolgate names the file that
// the servers were moved to; an entry with a URL names none, so the servers are in the user's file.
#include <unistd.h>

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

// An entry with a URL is Toolgate's if it has the name that `connect` writes, or if the URL is our own address.
static str user_file_of(struct config_loader *l, const struct json *entry) {
  str url;
  if (!json_string(json_get(entry, STR("url")), &l->work, &url)) return STR_NONE;
  if (!json_key_is(entry, STR("toolgate")) && !config_is_own_address(l->config, url)) return STR_NONE;
  str file = config_user_file(l->env, "mcp.json", &l->work);
  return file.n && access(file.p, F_OK) == 0 ? file : STR_NONE;
}

str config_connected_file(struct config_loader *l, const struct config_document *d, bool *out_named) {
  const struct json *servers = json_get(d->root, STR("mcpServers"));
  str file = STR_NONE;
  bool named = false;
  if (!json_is(servers, JSON_OBJECT)) return STR_NONE;
  JSON_EACH(it, servers) {
    file = file_of(l, it);
    named = file.n > 0;
    if (!named) file = user_file_of(l, it);
    if (!file.n) return STR_NONE;
  }
  if (!file.n) return STR_NONE;
  *out_named = named;
  return config_path(l, file, d->folder, &l->work);
}
