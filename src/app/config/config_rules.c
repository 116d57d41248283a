// SPDX-License-Identifier: Apache-2.0
// The rules file: finds it, reads it, and checks it against the servers and agents of the configuration.
#include <unistd.h>

#include "app/config/config_auth.h"
#include "app/config/config_load.h"
#include "base/assert.h"

static const str usual[] = {STR(".mcp-gateway-rules.json"), STR("config/.mcp-gateway-rules.json")};

static const struct config_place option = {STR("command line"), STR("--agent")};
static const struct config_place variable = {STR("environment"), STR("GATEWAY_DEFAULT_AGENT")};

struct rules_reading {
  struct config_loader *loader;
  str file;
};

static void on_problem(void *ctx, bool warning, str pointer, const char *message) {
  struct rules_reading *r = ctx;
  struct config_place at = {r->file, pointer};
  if (warning) config_warn(r->loader, &at, "%s", message);
  else config_error(r->loader, &at, "%s", message);
}

struct named_rules {
  str path;  // empty if there is no rules file
  str by;    // the option, variable or key that names the file; empty for a default file
  bool by_config;
};

static str file_before(const struct config_loader *l) {
  const struct config *before = l->opt->before;
  return before && before->policy ? before->rules_file : STR_NONE;
}

// Finds a rules file in a default place. If the rules file in force is missing, returns no file instead of the next
// default file: the next file may allow more, and the missing file may exist again soon, because editors remove a file
// while they save it.
static struct named_rules find_usual(struct config_loader *l) {
  str before = file_before(l);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) config_file_seen(l, usual[i]);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    if (access(usual[i].p, F_OK) == 0) return (struct named_rules){.path = usual[i]};
    if (str_eq(usual[i], before)) break;
  }
  return (struct named_rules){0};
}

// Returns the rules file that the command line, the environment or the configuration names; otherwise a default file.
static struct named_rules find_file(struct config_loader *l, const struct config_document *d) {
  str path = config_env(l, STR("GATEWAY_RULES"));
  if (l->opt->rules) return (struct named_rules){.path = str_of(l->opt->rules), .by = STR("--rules")};
  if (path.n) return (struct named_rules){.path = config_path(l, path, STR_NONE, &l->work), .by = STR("GATEWAY_RULES")};
  if (d && json_get(d->root, STR("rules")))
    return (struct named_rules){config_path(l, l->config->rules_file, d->folder, &l->work),
                                arena_printf(&l->work, "%.*s:/rules", STR_ARG(d->file)), true};
  return find_usual(l);
}

static struct policy *read_file(struct config_loader *l, const struct named_rules *file) {
  struct config_document d;
  if (!config_document_open(l, file->path, file->by, &d)) return NULL;
  struct rules_reading r = {l, d.file};
  unsigned char digest[SHA256_SIZE];
  hash_sha256((str){d.text, d.text_n}, digest);
  hash_hex(digest, sizeof digest, l->config->rules_hash);
  struct policy *p = policy_read(d.root, on_problem, &r);
  config_document_done(&d);
  return p;
}

// ---- checks

// Warns if an entry of the rules names a server that is not configured.
static void check_server(struct config_loader *l, str file, const struct policy_entry *e) {
  const struct config *c = l->config;
  str name = e->server.p ? e->server : e->text;
  if (e->method || (e->server.p ? str_eq(name, STR("*")) : e->pattern)) return;
  for (size_t i = 0; i < c->upstream_count; i++)
    if (str_eq(c->upstreams[i].name, name)) return;
  struct buf pointer;
  buf_init(&pointer, 1 << 16);
  policy_put_entry_pointer(e, &pointer);
  config_warn(l, &(struct config_place){file, buf_view(&pointer)}, "there is no server \"%.*s\"", STR_ARG(name));
  buf_done(&pointer);
}

static void check_servers(struct config_loader *l, str file) {
  const struct policy *p = l->config->policy;
  for (size_t i = 0; i < policy_agent_count(p); i++) {
    const struct policy_agent *a = policy_agent_at(p, i);
    for (size_t k = 0; k < policy_entry_count(a); k++) check_server(l, file, policy_entry_at(a, k));
  }
}

static bool is_unknown(const struct config_loader *l, str agent) {
  return agent.n && !policy_find(l->config->policy, agent);
}

// Checks that the rules know the agent of --agent and the default agent. An unknown default agent is only a warning,
// because it does not matter for callers that name their agent.
static void check_agents(struct config_loader *l) {
  const struct config *c = l->config;
  if (is_unknown(l, c->agent))
    config_error(l, &option, "the rules do not name the agent \"%.*s\": add the agent to the rules, or name another",
                 STR_ARG(c->agent));
  if (is_unknown(l, c->default_agent))
    config_warn(l, &variable, "the rules do not name the agent \"%.*s\": requests that name no agent will be refused",
                STR_ARG(c->default_agent));
}

// Reports agents that are configured although there are no rules: without rules every caller may use everything.
static void report_no_rules(struct config_loader *l) {
  const struct config *c = l->config;
  struct config_place before = {file_before(l), STR_NONE};
  if (before.file.n) {
    config_error(l, &before,
                 "the rules file does not exist any more: its rules stay in force; restart to serve without rules");
    return;
  }
  if (c->governance_file.n) return;  // the governance file, even one with errors, may define agents without rules
  if (c->agent.n)
    config_error(l, &option, "needs rules: there is no %.*s in this folder or in ./config; name the file with --rules",
                 STR_ARG(usual[0]));
  if (c->default_agent.n) config_warn(l, &variable, "has no effect: there are no rules");
  for (size_t i = 0; i < c->token_count; i++) {
    struct config_place token = config_token_place(l, i, "/agent");
    if (c->tokens[i].agent.n) config_warn(l, &token, "there are no rules: a client with this token may use everything");
  }
}

void config_rules_read(struct config_loader *l, const struct config_document *d) {
  struct config *c = l->config;
  struct named_rules file = find_file(l, d);
  ASSERT(!c->policy);
  c->rules_file = STR_NONE;
  c->default_agent = arena_str(&c->arena, config_env(l, STR("GATEWAY_DEFAULT_AGENT")));
  c->agent = str_of(l->opt->agent);
  if (!file.path.n) {
    report_no_rules(l);
    return;
  }
  c->rules_file = arena_str(&c->arena, file.path);
  c->rules_by_config = file.by_config;
  ASSERT(!file.by_config || file.by.n);
  c->policy = read_file(l, &file);
  if (!c->policy) return;
  if (!policy_agent_count(c->policy))
    config_warn(l, &(struct config_place){file.path, STR("/agents")},
                "no agent has rules here: no client may use anything");
  if (!l->opt->serverless) check_servers(l, file.path);
  check_agents(l);
}

static bool load_serverless(struct config *out, const struct config_options *given, char *const *env,
                            struct config_problems *problems, bool needs_rules, bool needs_one) {
  struct config_options opt = *given;
  struct config_loader l = {.problems = problems};
  struct config_place at = {usual[0], STR_NONE};
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.serverless = true;
  bool ok = config_load(out, &opt, env, problems);
  if (ok && (out->policy || (!needs_rules && (out->governance || !needs_one)))) return true;
  if (ok) config_error(&l, &at, "this file does not exist: create it, or name another with --rules");
  config_done(out);
  return false;
}

bool config_load_rules(struct config *out, const struct config_options *given, char *const *env,
                       struct config_problems *problems) {
  return load_serverless(out, given, env, problems, true, true);
}

bool config_load_access(struct config *out, const struct config_options *given, char *const *env,
                        struct config_problems *problems, bool needs_one) {
  return load_serverless(out, given, env, problems, false, needs_one);
}
