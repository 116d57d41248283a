// SPDX-License-Identifier: Apache-2.0
// Does an entry start this very gateway again? Clients keep Toolgate's own entry in the file that Toolgate reads; to
// start it would start it again, and so on without end. What cannot be seen here (a shell script, another gateway in
// between) is found while it runs: see mcp/gateway_chain.h.
#include <unistd.h>

#include "app/config/config_load.h"
#include "io/file.h"
#include "io/http/http.h"
#include "upstream/kind.h"

struct command_line {
  struct config_loader *l;
  const struct upstream_spec *spec;
  str folder;
  str program;  // "": not known yet
  str *args;    // what follows it
  size_t count;
};

static void drop(struct command_line *c, size_t n) {
  c->args += n;
  c->count -= n;
}

// What `env` or `npx` runs: the first argument that is neither an option nor a variable.
static bool unwrap(struct command_line *c) {
  str name = str_base_name(c->program);
  bool env = str_eq(name, STR("env")), npx = str_eq(name, STR("npx"));
  if (!env && !npx) return false;
  while (c->count && (str_starts(c->args[0], STR("-")) || (env && memchr(c->args[0].p, '=', c->args[0].n)))) drop(c, 1);
  if (!c->count) return false;
  c->program = c->args[0];
  drop(c, 1);
  return true;
}

// By npx the program is the package of that name, whatever its version.
static bool is_our_program(const struct command_line *c, bool by_npx) {
  str name, version;
  str_cut(c->program, '@', &name, &version);
  if (by_npx && str_eq(name, STR("toolgate"))) return true;
  str file = config_program_find(c->l, c->spec, c->program, c->folder);
  return file.n && file_is_same(file.p, "/proc/self/exe");
}

// --name VALUE or --name=VALUE or -x VALUE; STR_NONE: it is not there.
static str option(const struct command_line *c, str name, str letter) {
  for (size_t i = 0; i < c->count; i++) {
    str arg = c->args[i];
    if (str_eq(arg, name) || str_eq(arg, letter)) return i + 1 < c->count ? c->args[i + 1] : STR_NONE;
    if (str_starts(arg, name) && arg.n > name.n && arg.p[name.n] == '=') return str_from(arg, name.n + 1);
  }
  return STR_NONE;
}

static str variable(const struct upstream_spec *spec, str name) {
  for (size_t i = 0; i < spec->env_count; i++)
    if (str_eq(spec->env[i].name, name)) return spec->env[i].value;
  return STR_NONE;
}

// A path as the other one would see it, from the folder where it is started.
static const char *seen(const struct command_line *c, str path) {
  return config_path(c->l, path, c->spec->cwd, &c->l->work).p;
}

static const char *config_of(const struct command_line *c) {
  static const str usual[] = {STR("toolgate.yaml"), STR("toolgate.yml"), STR("toolgate.json")};
  str named = option(c, STR("--config"), STR("-c"));
  if (named.n) return seen(c, named);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (access(seen(c, usual[i]), F_OK) == 0) return seen(c, usual[i]);
  return NULL;
}

// Would it read the file that its own entry is in?
static bool serves(const struct command_line *c, str entry_file) {
  const struct config_loader *l = c->l;
  const char *file = arena_cstr(&c->l->work, entry_file), *config = config_of(c);
  str mcp = option(c, STR("--mcp-config"), STR("-m"));
  if (!mcp.n) mcp = variable(c->spec, STR("GATEWAY_MCP_CONFIG"));
  if (config && file_is_same(config, file)) return true;
  if (mcp.n) return file_is_same(seen(c, mcp), file);
  if (config) {
    // The file is one that the configuration of both names, unless something else named it for this one.
    bool named = (l->opt->mcp_config && *l->opt->mcp_config) || config_env(l, STR("GATEWAY_MCP_CONFIG")).n;
    return !named && file_is_same(config, arena_cstr(&c->l->work, l->config->config_file));
  }
  str usual[CONFIG_USUAL_FILES];
  config_usual_files(c->l, usual);
  for (size_t i = 0; i < CONFIG_USUAL_FILES; i++)
    if (usual[i].n && access(seen(c, usual[i]), F_OK) == 0) return file_is_same(seen(c, usual[i]), file);
  return false;
}

static bool starts_us(struct config_loader *l, const struct upstream_spec *spec, str file, str folder) {
  struct command_line c = {l, spec, folder, spec->command, spec->args, spec->arg_count};
  bool by_npx;
  do by_npx = str_eq(str_base_name(c.program), STR("npx"));
  while (unwrap(&c) && !by_npx);
  if (!c.count || !str_eq(c.args[0], STR("serve"))) return false;
  return is_our_program(&c, by_npx) && serves(&c, file);
}

bool config_is_own_address(const struct config *c, str text) {
  struct http_url url;
  if (c->transport != CONFIG_HTTP || !c->port || !http_url_parse(text, &url)) return false;
  if (url.tls || url.port != c->port) return false;
  bool everywhere = str_eq(c->host, STR("0.0.0.0")) || str_eq(c->host, STR("::"));
  if (config_is_loopback(url.host)) return everywhere || config_is_loopback(c->host);
  return str_eq_nocase(url.host, c->host);
}

const char *config_is_self(struct config_loader *l, const struct upstream_spec *spec, str file, str folder) {
  if (spec->kind->process) return starts_us(l, spec, file, folder) ? "the same program with the same files" : NULL;
  return spec->kind->remote && config_is_own_address(l->config, spec->url) ? "the address that it listens on" : NULL;
}
