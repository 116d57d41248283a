// SPDX-License-Identifier: Apache-2.0
// Reads the sources of the configuration and checks the result as a whole. The sources, in ascending order of
// precedence, are: defaults, file, environment, command line.
#include "app/config/config.h"
#include "base/crypto/locked.h"

#include <unistd.h>

#include "app/config/config_auth.h"
#include "app/config/config_controls.h"
#include "app/config/config_load.h"
#include "io/http/listener.h"

#define EXAMPLE "{\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}"
#define COMMAND_LINE STR("command line")

enum { MOST_PRINCIPALS = 65536 };  // maximum number of principals of clients without a session

static struct config_place command_line(const char *option) {
  return (struct config_place){COMMAND_LINE, str_of(option)};
}

static bool is_said(const char *option) {
  return option && *option;
}

// ---- environment ----

static void read_debug(struct config_loader *l) {
  struct config_place at = {STR("environment"), STR("GATEWAY_DEBUG")};
  str value = config_env(l, at.pointer);
  bool yes = str_eq_nocase(value, STR("true")) || str_eq(value, STR("1")) || str_eq_nocase(value, STR("yes"));
  bool no = str_eq_nocase(value, STR("false")) || str_eq(value, STR("0")) || str_eq_nocase(value, STR("no"));
  if (yes) config_key_set(l, &at, STR("log.level"), STR("debug"));
  if (yes) config_key_set(l, &at, STR("debug"), STR("true"));
  if (value.n && !yes && !no) config_error(l, &at, "must be true or false");
}

static void read_environment(struct config_loader *l) {
  static const struct {
    str variable, key;
  } table[] = {
      {STR("GATEWAY_TRANSPORT"), STR("transport")},
      {STR("GATEWAY_INIT_STRATEGY"), STR("init_strategy")},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct config_place at = {STR("environment"), table[i].variable};
    str value = config_env(l, table[i].variable);
    if (value.n) config_key_set(l, &at, table[i].key, value);
  }
  read_debug(l);
}

// ---- command line ----

bool config_split_listen(str text, str *out_host, str *out_port) {
  const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;
  if (!colon) return false;
  str host = {text.p, (size_t)(colon - text.p)};
  *out_port = str_from(text, host.n + 1);
  if (str_starts(host, STR("[")) && str_ends(host, STR("]"))) host = (str){host.p + 1, host.n - 2};
  else if (memchr(host.p, ':', host.n)) return false;
  *out_host = host.n ? host : STR("127.0.0.1");
  return true;
}

static void read_listen(struct config_loader *l) {
  struct config_place at = command_line("--listen");
  str host, port;
  if (!config_split_listen(str_of(l->opt->listen), &host, &port)) {
    config_error(l, &at, "must be HOST:PORT, [ADDRESS]:PORT or :PORT");
    return;
  }
  config_key_set(l, &at, STR("host"), host);
  config_key_set(l, &at, STR("port"), port);
  if (is_said(l->opt->transport) && l->config->transport == CONFIG_STDIO)
    config_error(l, &at, "cannot be combined with --transport stdio");
  l->config->transport = CONFIG_HTTP;
}

static void read_command_line(struct config_loader *l) {
  const struct config_options *opt = l->opt;
  const struct {
    const char *option, *value;
    str key;
  } table[] = {
      {"--mode", opt->mode, STR("mode")},
      {"--catalog", opt->catalog, STR("catalog")},
      {"--transport", opt->transport, STR("transport")},
      {"--log-level", opt->log_level, STR("log.level")},
      {"--debug", opt->debug ? "true" : NULL, STR("debug")},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct config_place at = command_line(table[i].option);
    if (is_said(table[i].value)) config_key_set(l, &at, table[i].key, str_of(table[i].value));
  }
  if (is_said(opt->listen)) read_listen(l);
  l->config->insecure_bind = opt->insecure_bind;
  for (size_t i = 0; i < l->problems->count; i++)
    if (str_eq(l->problems->list[i].file, COMMAND_LINE)) l->problems->usage = true;
}

// ---- servers ----

static bool exists(struct config_loader *l, str path) {
  config_file_seen(l, path);
  return access(arena_cstr(&l->work, path), F_OK) == 0;
}

static str home_file(struct config_loader *l) {
  str home = config_env(l, STR("HOME"));
  return home.n ? arena_printf(&l->work, "%.*s/.erasmus/mcp/config.json", STR_ARG(home)) : STR_NONE;
}

str config_user_file(char *const *env, const char *name, struct arena *a) {
  str xdg = str_env(env, STR("XDG_CONFIG_HOME")), home = str_env(env, STR("HOME"));
  if (str_starts(xdg, STR("/"))) return arena_printf(a, "%.*s/toolgate/%s", STR_ARG(xdg), name);
  return home.n ? arena_printf(a, "%.*s/.config/toolgate/%s", STR_ARG(home), name) : STR_NONE;
}

void config_usual_files(struct config_loader *l, str out[CONFIG_USUAL_FILES]) {
  out[0] = STR(".mcp.json");
  out[1] = STR("config/.mcp.json");
  out[2] = config_user_file(l->env, "mcp.json", &l->work);
  out[3] = home_file(l);
}

// A file with servers. `by` is the option, variable or key that names the file; empty if the file is in a default
// place.
struct named_file {
  str path, by;
};

// Returns the file with servers that the command line, the environment or the configuration file names, if any.
static struct named_file named_mcp_file(struct config_loader *l, const struct config_document *d) {
  static const str option = STR("--mcp-config"), variable = STR("GATEWAY_MCP_CONFIG");
  str value = config_env(l, variable);
  if (is_said(l->opt->mcp_config)) return (struct named_file){str_of(l->opt->mcp_config), option};
  if (value.n) return (struct named_file){config_path(l, value, STR_NONE, &l->work), variable};
  if (!json_get(d->root, STR("mcp_config"))) return (struct named_file){0};
  return (struct named_file){config_path(l, l->config->mcp_config, d->folder, &l->work),
                             arena_printf(&l->work, "%.*s:/mcp_config", STR_ARG(d->file))};
}

static void no_servers(struct config_loader *l) {
  struct config_place at = {STR(".mcp.json"), STR_NONE};
  bool file = l->config->config_file.n > 0;
  config_error(
      l, &at,
      "no servers: there is no .mcp.json in this folder or in ./config, and %.*s. Run \"toolgate import\" to copy "
      "the servers of your clients, or \"toolgate add NAME -- COMMAND\", or write .mcp.json, such as %s",
      STR_ARG(file ? STR("no key \"servers\" or \"mcp_config\" in the configuration file")
                   : STR("no toolgate.yaml, toolgate.yml or toolgate.json")),
      EXAMPLE);
}

// Returns the file with servers. If there is no such file, returns an empty path and, unless servers are optional,
// reports a problem.
static struct named_file find_mcp_file(struct config_loader *l, const struct config_document *d) {
  struct named_file named = named_mcp_file(l, d);
  ASSERT(!named.path.n || named.by.n);
  if (named.path.n || json_get(d->root, STR("servers")) || config_catalog_named(l, d)) return named;
  str usual[CONFIG_USUAL_FILES];
  config_usual_files(l, usual);
  for (size_t i = 0; i < CONFIG_USUAL_FILES; i++) {
    if (usual[i].n && exists(l, usual[i])) return (struct named_file){.path = usual[i]};
    if (i > 0 || !l->opt->before || !str_eq(l->opt->before->mcp_config, usual[0])) continue;
    config_error(l, &(struct config_place){usual[0], STR_NONE},
                 "the file does not exist any more: its servers stay in force; restart to run without them");
    return (struct named_file){0};
  }
  // If the configuration file cannot be read, it may contain the servers, so "no servers" is not reported.
  if (!l->opt->servers_optional && (d->root || !l->config->config_file.n)) no_servers(l);
  return (struct named_file){0};
}

// Reports a key that looks like a misspelled "mcpServers".
static bool suggest_server_key(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR_NONE};
  if (!json_is(d->root, JSON_OBJECT)) return false;
  JSON_EACH(it, d->root) {
    struct nearest near = {.word = json_key(it, &l->work)};
    nearest_try(&near, STR("mcpServers"));
    nearest_try(&near, STR("servers"));
    if (!near.best.p) continue;
    struct config_place below = config_below(l, &at, near.word);
    config_error(l, &below, "is not a known key; did you mean \"%.*s\"?", STR_ARG(near.best));
    return true;
  }
  return false;
}

static void read_mcp_document(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR_NONE};
  str key = json_get(d->root, STR("mcpServers")) ? STR("mcpServers") : STR("servers");
  const struct json *servers = json_get(d->root, key);
  if (!servers) {
    if (!suggest_server_key(l, d))
      config_error(l, &at, "must be an object with the key \"mcpServers\", such as %s", EXAMPLE);
    return;
  }
  JSON_EACH(it, d->root) {
    str name = json_key(it, &l->work);
    struct config_place below = config_below(l, &at, name);
    if (str_eq(name, key)) config_servers_read(l, &below, it, d->folder, false);
    else if (!str_eq(name, STR("$schema"))) config_warn(l, &below, "is ignored: only \"%.*s\" is read", STR_ARG(key));
  }
}

// Opens the file with servers. If the file is in a default place and contains only entries of Toolgate itself, opens
// the file to which these entries refer instead.
static bool open_mcp_document(struct config_loader *l, struct named_file *file, struct config_document *out) {
  ASSERT(file->path.n);
  if (!config_document_open(l, file->path, file->by, out)) return false;
  bool named = false;
  str next = file->by.n ? STR_NONE : config_connected_file(l, out, &named);
  if (!next.n) return true;
  if (named) file->by = arena_printf(&l->work, "the entry for Toolgate in %.*s", STR_ARG(file->path));
  file->path = next;
  config_document_done(out);
  return config_document_open(l, next, file->by, out);
}

static void read_servers(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct config_place at = {d->file, STR("/servers")};
  struct named_file file = find_mcp_file(l, d);
  const struct json *own = json_get(d->root, STR("servers"));
  struct config_document mcp;
  c->mcp_config = STR_NONE;
  if (own) config_servers_read(l, &at, own, d->folder, true);
  if (file.path.n) {
    bool ok = open_mcp_document(l, &file, &mcp);
    c->mcp_config = arena_str(&c->arena, file.path);
    if (ok) read_mcp_document(l, &mcp);
    if (ok) config_document_done(&mcp);
  }
  config_catalog_read(l, d);
}

// ---- state ----

// Returns the default of the key state_dir. Ignores a relative XDG_STATE_HOME, as the XDG Base Directory Specification
// requires.
static str default_state_dir(struct config_loader *l) {
  struct arena *a = &l->config->arena;
  str xdg = config_env(l, STR("XDG_STATE_HOME")), home = config_env(l, STR("HOME"));
  if (str_starts(xdg, STR("/"))) return arena_printf(a, "%.*s/toolgate", STR_ARG(xdg));
  if (str_starts(home, STR("/"))) return arena_printf(a, "%.*s/.local/state/toolgate", STR_ARG(home));
  return STR_NONE;
}

// Must be called before the governance file is read: state_dir has the activations of its skills.
static void find_state_dir(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  if (!json_get(d->root, STR("state_dir"))) c->state_dir = default_state_dir(l);
  else if (str_eq(c->state_dir, STR("none"))) c->state_dir = STR_NONE;
  else c->state_dir = config_path(l, c->state_dir, d->folder, &c->arena);
}

// ---- checks of the whole configuration ----

static void check_bind(struct config_loader *l) {
  const struct config *c = l->config;
  struct config_place at =
      is_said(l->opt->listen) ? command_line("--listen") : (struct config_place){c->config_file, STR("/host")};
  if (c->transport == CONFIG_HTTP && !listener_is_address(c->host))
    config_error(l, &at, "%.*s is not an IP address or localhost; host names are not resolved for listening",
                 STR_ARG(c->host));
  if (c->transport != CONFIG_HTTP || config_is_loopback(c->host)) return;
  if (config_has_auth(c)) {
    // If the public URL is https, there is a TLS proxy in front of the gateway.
    if (!str_starts(c->resource, STR("https://")))
      config_warn(l, &at,
                  "%.*s is not a loopback address and is served without TLS: tokens can be read in transit; use a TLS "
                  "proxy and set auth.resource to its https URL",
                  STR_ARG(c->host));
    return;
  }
  if (c->insecure_bind)
    config_warn(
        l, &at,
        "%.*s is not a loopback address and no tokens are set: any client that reaches the port may use every tool",
        STR_ARG(c->host));
  else
    config_error(
        l, &at,
        "%.*s is not a loopback address: set auth.tokens or auth.jwt, or pass --insecure-bind to serve without a token",
        STR_ARG(c->host));
}

// Checks artifacts.max_owner_bytes, which must not exceed artifacts.max_bytes. A larger value in the file is an error;
// a larger default is lowered.
static void check_kept(struct config_loader *l, const struct config_document *d) {
  struct store_limits *kept = &l->config->kept;
  struct config_place at = {d->file, STR("/artifacts/max_owner_bytes")};
  if (kept->piece_owner_bytes <= kept->piece_bytes) return;
  if (json_get(json_get(d->root, STR("artifacts")), STR("max_owner_bytes")))
    config_error(l, &at, "is more than artifacts.max_bytes (%llu), the limit for all agents: set a smaller value",
                 (unsigned long long)kept->piece_bytes);
  kept->piece_owner_bytes = kept->piece_bytes;
  ASSERT(kept->piece_owner_bytes > 0);  // config_table.h gives both limits a minimum above 0
}

static void check_whole(struct config_loader *l) {
  const struct config *c = l->config;
  struct config_place request = {c->config_file, STR("/timeouts/request")};
  struct config_place servers = {c->mcp_config.n ? c->mcp_config : c->config_file, STR_NONE};
  if (c->request_timeout_ms > c->request_max_ms)
    config_error(l, &request, "must not exceed timeouts.request_max, the time limit of every request");
  ASSERT((int)c->mode < MODE_COUNT);
  l->config->modes |= 1u << c->mode;
  l->config->controls.max_principals = MOST_PRINCIPALS;
  l->config->controls.max_books = c->max_sessions + MOST_PRINCIPALS;
  l->config->controls.idle_ms = c->session_idle_ms;
  check_bind(l);
  if (c->upstream_count || l->opt->serverless || config_problems_fatal(l->problems)) return;
  if (l->dropped) config_error(l, &servers, "no server can be used: every server entry has an error");
  else config_warn(l, &servers, "no server is configured");
}

static str find_config_file(struct config_loader *l) {
  static const char *const names[] = {"toolgate.yaml", "toolgate.yml", "toolgate.json"};
  if (is_said(l->opt->config)) return str_of(l->opt->config);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (exists(l, str_of(names[i]))) return str_of(names[i]);
  return STR_NONE;
}

// Returns whether there are errors in files, but no errors in the command line or the environment.
static bool only_files_fail(const struct config_problems *p) {
  bool fails = false;
  for (size_t i = 0; i < p->count; i++) {
    str file = p->list[i].file;
    if (p->list[i].warning) continue;
    if (str_eq(file, COMMAND_LINE) || str_eq(file, STR("environment"))) return false;
    fails = true;
  }
  return fails;
}

bool config_load(struct config *out, const struct config_options *opt, char *const *env,
                 struct config_problems *problems) {
  struct config_loader l = {.config = out, .opt = opt, .env = env, .problems = problems};
  struct config_document file = {0};
  kinds_check();
  *out = (struct config){.schemas = schema_default_options};
  arena_init_secret(&out->arena);
  arena_init_secret(&l.work);
  proxies_read(&l.proxies, env, &l.work);
  config_keys_default(&l);
  ASSERT(!config_problems_fatal(problems));  // the default values in config_table.h are valid
  out->config_file = arena_str(&out->arena, find_config_file(&l));
  str named_by = is_said(opt->config) ? STR("--config") : STR_NONE;
  if (out->config_file.n && config_document_open(&l, out->config_file, named_by, &file)) config_keys_read(&l, &file);
  read_environment(&l);
  out->usual_transport = out->transport;
  read_command_line(&l);
  if (!opt->serverless) read_servers(&l, &file);
  config_token_file_read(&l, &file);
  find_state_dir(&l, &file);
  config_governance_read(&l, &file);
  config_rules_read(&l, &file);
  config_auth_check(&l, &file);
  config_allowance_settle(&l, &file);
  config_audit_read(&l, &file);
  config_admin_check(&l, &file);
  check_whole(&l);
  check_kept(&l, &file);
  if (opt->strict) config_state_check(&l);
  if (opt->strict) config_audit_try(&l);
  config_document_done(&file);
  arena_done(&l.work);
  out->broken = only_files_fail(problems);
  ASSERT(out->upstream_count + out->disabled_count <= CONFIG_MAX_SERVERS && out->configured_tokens <= out->token_count);
  return !config_problems_fatal(problems);
}

// ---- files that commands change ----

// Returns the path of the file that commands change: the first readable default file, or the user's mcp.json if there
// is none. If the entries in the default file are for Toolgate itself, returns the file to which they refer.
static str file_to_change(struct config_loader *l) {
  str files[CONFIG_USUAL_FILES];
  config_usual_files(l, files);
  for (size_t i = 0; i < CONFIG_USUAL_FILES; i++) {
    struct config_document d;
    bool named;
    if (!files[i].n || !exists(l, files[i]) || !config_document_open(l, files[i], STR_NONE, &d)) continue;
    str next = config_connected_file(l, &d, &named);
    config_document_done(&d);
    return next.n ? next : files[i];
  }
  return config_user_file(l->env, "mcp.json", &l->work);
}

static str find_servers_file(struct config_loader *l, const struct config_document *d) {
  struct config_place at = {d->file, STR("/servers")};
  str named = named_mcp_file(l, d).path;
  if (named.n) return named;
  if (!json_get(d->root, STR("servers"))) return file_to_change(l);
  config_error(l, &at, "the servers are in the configuration file, which this command does not change: edit that file");
  return STR_NONE;
}

static str find_token_file(struct config_loader *l, const struct config_document *d) {
  return config_token_file_path(l, d, &l->work);
}

// Reads only the configuration file, and calls `find`, which returns the path of the file to change.
static bool find_file(const struct config_options *opt, char *const *env, struct arena *a,
                      struct config_problems *problems,
                      str (*find)(struct config_loader *l, const struct config_document *d), str *out) {
  struct config c = {0};
  struct config_loader l = {.config = &c, .opt = opt, .env = env, .problems = problems};
  struct config_document file = {0};
  arena_init_secret(&c.arena);
  arena_init_secret(&l.work);
  config_keys_default(&l);
  str path = find_config_file(&l), named_by = is_said(opt->config) ? STR("--config") : STR_NONE;
  if (path.n && config_document_open(&l, path, named_by, &file)) config_keys_read(&l, &file);
  str found = find(&l, &file);
  struct config_place home = {STR("environment"), STR("HOME")};
  if (!found.n && !config_problems_fatal(problems))
    config_error(&l, &home, "is not set: set it to the user's home folder");
  bool ok = !config_problems_fatal(problems);
  if (ok) *out = arena_str(a, found);
  config_document_done(&file);
  arena_done(&l.work);
  config_done(&c);
  return ok;
}

bool config_servers_file(const struct config_options *opt, char *const *env, struct arena *a,
                         struct config_problems *problems, str *out) {
  return find_file(opt, env, a, problems, find_servers_file, out);
}

bool config_token_file(const struct config_options *opt, char *const *env, struct arena *a,
                       struct config_problems *problems, str *out) {
  return find_file(opt, env, a, problems, find_token_file, out);
}

bool config_has_server(const struct config *c, str name) {
  for (size_t i = 0; i < c->upstream_count; i++)
    if (str_eq(c->upstreams[i].name, name)) return true;
  for (size_t i = 0; i < c->disabled_count; i++)
    if (str_eq(c->disabled[i], name)) return true;
  return false;
}

void config_done(struct config *c) {
  for (size_t i = 0; i < c->upstream_count; i++) spec_done(&c->upstreams[i]);
  policy_unref(&c->policy);
  governance_unref(&c->governance);
  jwt_keys_unref(&c->jwt.keys);
  jwt_keys_unref(&c->workload.keys);
  arena_done(&c->arena);
  *c = (struct config){0};
}
