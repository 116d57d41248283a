// SPDX-License-Identifier: Apache-2.0
#include "app/clients/client_table.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

const struct client clients[CLIENTS] = {
    [CLIENT_CLAUDE_CODE] = {"claude-code", "Claude Code"},
    [CLIENT_CLAUDE_DESKTOP] = {"claude-desktop", "Claude Desktop"},
    [CLIENT_CURSOR] = {"cursor", "Cursor"},
    [CLIENT_VSCODE] = {"vscode", "VS Code"},
    [CLIENT_WINDSURF] = {"windsurf", "Windsurf"},
    [CLIENT_GEMINI] = {"gemini", "Gemini CLI"},
    [CLIENT_CODEX] = {"codex", "Codex"},
    [CLIENT_OPENCODE] = {"opencode", "opencode"},
    [CLIENT_ZED] = {"zed", "Zed"},
};

enum folder { PROJECT, HOME, CONFIG, CLAUDE, CODEX };

// clang-format off
static const struct {
  enum client_id client;
  enum folder folder;
  const char *file, *group, *key;
  bool of_project;
} places[] = {
    {CLIENT_CLAUDE_CODE, PROJECT, ".mcp.json", NULL, "mcpServers", false},
    {CLIENT_CLAUDE_CODE, CLAUDE, ".claude.json", NULL, "mcpServers", false},
    {CLIENT_CLAUDE_CODE, CLAUDE, ".claude.json", NULL, "mcpServers", true},
    {CLIENT_CLAUDE_DESKTOP, CONFIG, "Claude/claude_desktop_config.json", NULL, "mcpServers", false},
    {CLIENT_CLAUDE_DESKTOP, HOME, "Library/Application Support/Claude/claude_desktop_config.json", NULL, "mcpServers",
     false},
    {CLIENT_CURSOR, PROJECT, ".cursor/mcp.json", NULL, "mcpServers", false},
    {CLIENT_CURSOR, HOME, ".cursor/mcp.json", NULL, "mcpServers", false},
    {CLIENT_VSCODE, PROJECT, ".vscode/mcp.json", NULL, "servers", false},
    {CLIENT_VSCODE, PROJECT, ".vscode/settings.json", "mcp", "servers", false},
    {CLIENT_VSCODE, CONFIG, "Code/User/mcp.json", NULL, "servers", false},
    {CLIENT_VSCODE, HOME, "Library/Application Support/Code/User/mcp.json", NULL, "servers", false},
    {CLIENT_VSCODE, CONFIG, "Code/User/settings.json", "mcp", "servers", false},
    {CLIENT_WINDSURF, HOME, ".codeium/windsurf/mcp_config.json", NULL, "mcpServers", false},
    {CLIENT_GEMINI, PROJECT, ".gemini/settings.json", NULL, "mcpServers", false},
    {CLIENT_GEMINI, HOME, ".gemini/settings.json", NULL, "mcpServers", false},
    {CLIENT_CODEX, PROJECT, ".codex/config.toml", NULL, "mcp_servers", false},
    {CLIENT_CODEX, CODEX, "config.toml", NULL, "mcp_servers", false},
    {CLIENT_OPENCODE, PROJECT, "opencode.json", NULL, "mcp", false},
    {CLIENT_OPENCODE, PROJECT, "opencode.jsonc", NULL, "mcp", false},
    {CLIENT_OPENCODE, CONFIG, "opencode/opencode.json", NULL, "mcp", false},
    {CLIENT_OPENCODE, CONFIG, "opencode/opencode.jsonc", NULL, "mcp", false},
    {CLIENT_ZED, PROJECT, ".zed/settings.json", NULL, "context_servers", false},
    {CLIENT_ZED, CONFIG, "zed/settings.json", NULL, "context_servers", false},
};
// clang-format on

enum { PLACES = sizeof places / sizeof *places };

const struct client *client_named(str name) {
  for (int i = 0; i < CLIENTS; i++)
    if (str_eq(name, str_of(clients[i].name))) return &clients[i];
  return NULL;
}

void client_unknown(const char *name, char out[CLIENT_UNKNOWN]) {
  int n = snprintf(out, CLIENT_UNKNOWN, "unknown client \"%.*s\"; known clients:", 40, name);
  for (size_t i = 0; i < CLIENTS; i++)
    n += snprintf(out + n, CLIENT_UNKNOWN - (size_t)n, "%s %s", i ? "," : "", clients[i].name);
  ASSERT(n > 0 && n < CLIENT_UNKNOWN);
  str_mask_controls(out, (size_t)n);
}

bool client_world_init(struct client_world *w, struct arena *a, char *const *env, struct fault *f) {
  char cwd[PATH_MAX];
  *w = (struct client_world){.arena = a, .env = env};
  w->home = str_env(env, STR("HOME"));
  if (!str_starts(w->home, STR("/")))
    fault_set(f, FAULT_INVALID, "HOME is not an absolute path: set it to your home folder");
  else if (!getcwd(cwd, sizeof cwd))
    fault_set(f, FAULT_IO, "the current folder does not exist any more: change to another folder");
  else {
    w->folder = arena_str(a, str_of(cwd));
    return true;
  }
  return false;
}

// Returns the folder that an environment variable names. If the variable is not set or contains a relative path,
// returns the folder `usual` in the home folder.
static str folder_by(const struct client_world *w, const char *variable, const char *usual) {
  str value = str_env(w->env, str_of(variable));
  if (str_starts(value, STR("/"))) return value;
  return arena_printf(w->arena, "%.*s%s", STR_ARG(w->home), usual);
}

static str folder_path(const struct client_world *w, enum folder folder) {
  switch (folder) {
  case PROJECT: return w->folder;
  case CONFIG: return folder_by(w, "XDG_CONFIG_HOME", "/.config");
  case CLAUDE: return folder_by(w, "CLAUDE_CONFIG_DIR", "");
  case CODEX: return folder_by(w, "CODEX_HOME", "/.codex");
  default: return w->home;
  }
}

size_t client_places(const struct client_world *w, enum client_id id, struct client_place **out) {
  size_t n = 0;
  ASSERT((size_t)id < CLIENTS && w->home.n && w->folder.n);
  *out = ARENA_ARRAY(w->arena, struct client_place, PLACES);
  for (size_t i = 0; i < PLACES; i++) {
    if (places[i].client != id) continue;
    // A command in the home folder is not in a project, except for Claude Code.
    bool project = places[i].folder == PROJECT;
    if (project && str_eq(w->folder, w->home) && id != CLIENT_CLAUDE_CODE) continue;
    (*out)[n++] = (struct client_place){
        .client = id,
        .scope = project ? CLIENT_PROJECT : CLIENT_USER,
        .toml = str_ends(str_of(places[i].file), STR(".toml")),
        .file = arena_printf(w->arena, "%.*s/%s", STR_ARG(folder_path(w, places[i].folder)), places[i].file),
        .group = places[i].group,
        .key = places[i].key,
        .of_project = places[i].of_project,
    };
  }
  ASSERT(n > 0);  // every client has a file in the home folder
  return n;
}

const struct json *client_servers(const struct client_world *w, const struct client_place *p, const struct json *root) {
  if (p->of_project) root = json_get(json_get(root, STR("projects")), w->folder);
  if (p->group) root = json_get(root, str_of(p->group));
  return json_get(root, str_of(p->key));
}
