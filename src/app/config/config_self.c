// SPDX-License-Identifier: Apache-2.0
// Finds entries of Toolgate itself among the configured servers. Toolgate may read its servers from the file in which a
// client has its entry for Toolgate. Starting that entry would start another gateway, which would start another one,
// without end. Loops that are not visible here (through a shell script or another gateway) are found at run time: see
// mcp/gateway_chain.h.
#include <unistd.h>

#include "app/config/config_load.h"
#include "base/assert.h"
#include "io/file.h"
#include "io/http/http.h"
#include "upstream/kind.h"

struct self_command {
  struct config_loader *l;
  const struct upstream_spec *spec;
  str program;
  str *args;  // arguments after the program
  size_t count;
};

static void drop(struct self_command *c, size_t n) {
  ASSERT(n <= c->count);
  c->args += n;
  c->count -= n;
}

// Replaces the program `env` or `npx` with the program that it runs: the first argument that is neither an option nor a
// variable.
static bool unwrap(struct self_command *c) {
  str name = str_base_name(c->program);
  bool env = str_eq(name, STR("env")), npx = str_eq(name, STR("npx"));
  if (!env && !npx) return false;
  while (c->count && (str_starts(c->args[0], STR("-")) || (env && memchr(c->args[0].p, '=', c->args[0].n)))) drop(c, 1);
  if (!c->count) return false;
  c->program = c->args[0];
  drop(c, 1);
  return true;
}

// Returns the VALUE in --name VALUE, --name=VALUE or -x VALUE, or STR_NONE if the option is absent.
static str option(const struct self_command *c, str name, str letter) {
  for (size_t i = 0; i < c->count; i++) {
    str arg = c->args[i];
    if (str_eq(arg, name) || str_eq(arg, letter)) return i + 1 < c->count ? c->args[i + 1] : STR_NONE;
    if (str_starts(arg, name) && arg.n > name.n && arg.p[name.n] == '=') return str_from(arg, name.n + 1);
  }
  return STR_NONE;
}

// Resolves a path in the working folder of the server.
static const char *path_there(const struct self_command *c, str path) {
  return config_path(c->l, path, c->spec->cwd, &c->l->work).p;
}

// Returns the configuration file that the command would read, or NULL.
static const char *config_of(const struct self_command *c) {
  static const str usual[] = {STR("toolgate.yaml"), STR("toolgate.yml"), STR("toolgate.json")};
  str named = option(c, STR("--config"), STR("-c"));
  if (named.n) return path_there(c, named);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (access(path_there(c, usual[i]), F_OK) == 0) return path_there(c, usual[i]);
  return NULL;
}

// Returns whether the command would read `entry_file`, the file in which the command was found.
static bool reads_entry(const struct self_command *c, str entry_file) {
  const struct config_loader *l = c->l;
  const struct upstream_spec *spec = c->spec;
  const char *file = arena_cstr(&c->l->work, entry_file), *config = config_of(c);
  str mcp = option(c, STR("--mcp-config"), STR("-m"));
  for (size_t i = 0; i < spec->env_count && !mcp.n; i++)
    if (str_eq(spec->env[i].name, STR("GATEWAY_MCP_CONFIG"))) mcp = spec->env[i].value;
  if (config && file_is_same(config, file)) return true;
  if (mcp.n) return file_is_same(path_there(c, mcp), file);
  if (config) {
    // The command reads the configuration file that this gateway reads, and thus the same file with servers, unless an
    // option or variable names another file for this gateway.
    bool named = (l->opt->mcp_config && *l->opt->mcp_config) || config_env(l, STR("GATEWAY_MCP_CONFIG")).n;
    return !named && file_is_same(config, arena_cstr(&c->l->work, l->config->config_file));
  }
  str usual[CONFIG_USUAL_FILES];
  config_usual_files(c->l, usual);
  for (size_t i = 0; i < CONFIG_USUAL_FILES; i++)
    if (usual[i].n && access(path_there(c, usual[i]), F_OK) == 0) return file_is_same(path_there(c, usual[i]), file);
  return false;
}

// Returns whether the entry starts Toolgate with the file that contains the entry. With npx, every version of the
// package "toolgate" counts as Toolgate.
static bool starts_us(struct config_loader *l, const struct upstream_spec *spec, str file, str folder) {
  struct self_command c = {l, spec, spec->command, spec->args, spec->arg_count};
  str package, version;
  bool by_npx;
  do by_npx = str_eq(str_base_name(c.program), STR("npx"));
  while (unwrap(&c) && !by_npx);
  if (!c.count || !str_eq(c.args[0], STR("serve"))) return false;
  str_cut(c.program, '@', &package, &version);
  bool ours = by_npx && str_eq(package, STR("toolgate"));
  if (!ours) {
    str program = config_program_find(l, spec, c.program, folder);
    ours = program.n && file_is_same(program.p, "/proc/self/exe");
  }
  return ours && reads_entry(&c, file);
}

static bool is_own_address(const struct config *c, str text) {
  struct http_url url;
  if (c->transport != CONFIG_HTTP || !c->port || !http_url_parse(text, &url)) return false;
  if (url.tls || url.port != c->port) return false;
  bool everywhere = str_eq(c->host, STR("0.0.0.0")) || str_eq(c->host, STR("::"));
  if (config_is_loopback(url.host)) return everywhere || config_is_loopback(c->host);
  return str_eq_nocase(url.host, c->host);
}

const char *config_is_self(struct config_loader *l, const struct upstream_spec *spec, str file, str folder) {
  ASSERT(spec->kind);
  if (spec->kind->process) return starts_us(l, spec, file, folder) ? "the same program with the same files" : NULL;
  return spec->kind->remote && is_own_address(l->config, spec->url) ? "the address that it listens on" : NULL;
}

// ---- .mcp.json after `toolgate connect`
//
// After `connect`, Toolgate is the only server in .mcp.json. An entry that starts Toolgate names the file to which the
// servers were moved. An entry with a URL names no file; the servers are then in the user's file.

// Returns the path after --mcp-config in an entry that starts `toolgate serve`. Returns STR_NONE for other entries.
static str file_of(struct config_loader *l, const struct json *entry) {
  const struct json *args = json_get(entry, STR("args"));
  str command, file;
  if (!json_string(json_get(entry, STR("command")), &l->work, &command) || !json_is(args, JSON_ARRAY)) return STR_NONE;
  bool ours =
      str_eq(str_base_name(command), STR("toolgate")) || file_is_same(arena_cstr(&l->work, command), "/proc/self/exe");
  if (!ours || !json_equals_str(json_at(args, 0), STR("serve"))) return STR_NONE;
  JSON_EACH(it, args)
    if (json_equals_str(it, STR("--mcp-config")) && json_string(it->next, &l->work, &file)) return file;
  return STR_NONE;
}

// Returns the path of the user's file with servers if the entry has a URL and belongs to Toolgate: it has the name that
// `connect` writes, or its URL is the gateway's own address. Otherwise returns STR_NONE.
static str user_file_of(struct config_loader *l, const struct json *entry) {
  str url;
  if (!json_string(json_get(entry, STR("url")), &l->work, &url)) return STR_NONE;
  if (!json_key_is(entry, STR("toolgate")) && !is_own_address(l->config, url)) return STR_NONE;
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
