// SPDX-License-Identifier: Apache-2.0
#include "app/check/check.h"

#include "app/check/check_found.h"
#include "app/check/check_governance.h"
#include "app/check/check_services.h"
#include "app/cli/command.h"
#include "app/config/config_load.h"

#include "base/buf.h"
#include "io/http/http.h"
#include "upstream/kind.h"
#include "json/write.h"

enum { MAX_OUTPUT = 16 << 20 };

struct verdict {
  bool usable;                    // the configuration has no error
  size_t left_out, servers;       // if not usable: invalid servers (0 if the gateway cannot run at all); all servers
  const struct inventory *found;  // definitions of the servers; NULL if they were not started
};

// Returns whether the configuration can be served, at least in part.
static bool is_served(const struct verdict *v) {
  return v->usable || v->left_out;
}

static bool is_error(const struct config_problem *p) {
  return !p->warning || p->unworkable;
}

static size_t count_errors(const struct config_problems *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->count; i++) n += is_error(&p->list[i]);
  return n;
}

static bool all_can_work(const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++)
    if (p->list[i].unworkable) return false;
  return true;
}

// ---- text ----

static void print_problems(struct buf *out, const struct config_problems *p) {
  for (size_t i = 0; i < p->count; i++) {
    const struct config_problem *it = &p->list[i];
    buf_str(out, it->file.n ? it->file : STR("configuration"));
    if (it->pointer.n) buf_char(out, ':');
    buf_str(out, it->pointer);
    buf_str(out, is_error(it) ? STR(": ") : STR(": warning: "));
    buf_str(out, it->message);
    buf_char(out, '\n');
  }
}

static void print_upstream(struct buf *out, const struct upstream_spec *s) {
  ASSERT(s->kind && s->shown.p);
  struct upstream_names n = s->kind->names ? s->kind->names(s) : (struct upstream_names){0};
  ASSERT(!n.count || (n.label && n.pairs));
  buf_printf(out, "  %.*s (%s): %.*s", STR_ARG(s->name), s->kind->name, STR_ARG(s->shown));
  if (n.count) buf_printf(out, "; %s", n.label);
  for (size_t i = 0; i < n.count; i++) buf_printf(out, "%s%.*s", i ? ", " : " ", STR_ARG(n.pairs[i].name));
  buf_char(out, '\n');
}

// Returns "trusted" or "refused": what the gateway does if a client states an agent_id, but has no credential for this
// agent. Returns NULL if clients cannot state an agent_id.
static const char *stated_agents(const struct config *c) {
  bool served = c->transport == CONFIG_HTTP ? c->modes & 1u << MODE_SERVERS : c->mode == MODE_SERVERS;
  bool bound = c->agent.n || (c->transport == CONFIG_HTTP && config_has_auth(c));
  for (size_t i = 0; i < c->token_count && !c->agent.n; i++) bound &= c->tokens[i].agent.n > 0;
  if (!served || bound) return NULL;
  return c->trust_stated ? "trusted" : "refused";
}

static void print_modes(struct buf *out, const struct config *c) {
  ASSERT((int)c->mode < MODE_COUNT);
  const char *stated = stated_agents(c);
  if (c->transport == CONFIG_HTTP && c->modes != 1u << c->mode) {
    buf_str(out, STR("modes:"));
    for (int i = 0; i < MODE_COUNT; i++)
      if (c->modes & 1u << i) buf_printf(out, " /mcp/%s", mode_names[i]);
    buf_char(out, '\n');
  }
  if (stated) buf_printf(out, "agent_id: %s without a credential that names the agent (agents.trust_stated)\n", stated);
}

// Prints the accepted values of Host (mcp/auth/access.h), unless only loopback names are accepted.
static void print_hosts(struct buf *out, const struct config *c) {
  bool everywhere = str_eq(c->host, STR("0.0.0.0")) || str_eq(c->host, STR("::"));
  if (c->transport != CONFIG_HTTP || (config_is_loopback(c->host) && !c->allowed_hosts.count)) return;
  bool v6 = memchr(c->host.p, ':', c->host.n);
  buf_str(out, STR("hosts: localhost, 127.0.0.1, [::1]"));
  if (!everywhere && !config_is_loopback(c->host)) buf_printf(out, v6 ? ", [%.*s]" : ", %.*s", STR_ARG(c->host));
  for (size_t i = 0; i < c->allowed_hosts.count; i++) buf_printf(out, ", %.*s", STR_ARG(c->allowed_hosts.names[i]));
  buf_str(out, STR("; requests for another Host are refused (allowed_hosts)\n"));
}

static void print_summary(struct buf *out, const struct config *c, const struct inventory *found) {
  if (c->config_file.n) buf_printf(out, "configuration: %.*s\n", STR_ARG(c->config_file));
  char host[HTTP_HOST_TEXT];
  if (c->transport == CONFIG_STDIO) buf_printf(out, "agents: %s mode on stdio\n", mode_names[c->mode]);
  else
    buf_printf(out, "agents: %s mode on http, %s port %u, %zu token%s\n", mode_names[c->mode],
               http_host_print(c->host, host), (unsigned)c->port, c->token_count, c->token_count == 1 ? "" : "s");
  print_hosts(out, c);
  print_modes(out, c);
  check_print_services(out, c);
  buf_printf(out, "servers: %zu", c->upstream_count);
  if (c->mcp_config.n) buf_printf(out, ", from %.*s", STR_ARG(c->mcp_config));
  buf_char(out, '\n');
  for (size_t i = 0; i < c->upstream_count; i++) {
    print_upstream(out, &c->upstreams[i]);
    if (found) check_print_found(out, found, c->upstreams[i].name);
  }
  for (size_t i = 0; i < c->disabled_count; i++) buf_printf(out, "  %.*s (disabled)\n", STR_ARG(c->disabled[i]));
  check_print_governance(out, c);
}

// Prints the last line of `check --connect` if servers failed or definitions cannot be used.
static void print_failed(struct buf *out, const struct inventory *found) {
  size_t failed = 0, named = 0;
  for (size_t i = 0; i < found->server_count; i++) failed += found->servers[i].error != NULL;
  if (!failed) {
    if (!inventory_complete(found)) buf_str(out, STR("some definitions cannot be used\n"));
    return;
  }
  buf_printf(out, "%zu of %zu servers failed:", failed, found->server_count);
  for (size_t i = 0; i < found->server_count; i++)
    if (found->servers[i].error) buf_printf(out, "%s %.*s", named++ ? "," : "", STR_ARG(found->servers[i].name));
  buf_char(out, '\n');
}

static void print_text(struct buf *out, const struct config *c, const struct config_problems *p,
                       const struct verdict *v) {
  size_t errors = count_errors(p), warnings = p->count - errors;
  print_problems(out, p);
  if (is_served(v)) print_summary(out, c, v->found);
  if (v->left_out)
    buf_printf(out, "%zu of %zu servers %s left out", v->left_out, v->servers, v->left_out == 1 ? "is" : "are");
  else if (v->usable && !all_can_work(p)) buf_str(out, STR("not every server can work"));
  else if (v->found && !inventory_complete(v->found)) buf_str(out, STR("the configuration is ok"));
  else buf_str(out, v->usable ? STR("ok") : STR("not usable"));
  buf_printf(out, ": %zu error%s, %zu warning%s\n", errors, errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
  if (v->found) print_failed(out, v->found);
}

// ---- JSON ----

// Writes a member with the path of a file, or with null if the path is empty.
static void file_member(struct json_writer *w, str key, str file) {
  json_put_key(w, key);
  if (file.n) json_put_str(w, file);
  else json_put_null(w);
}

static void write_problems(struct json_writer *w, const struct config_problems *p) {
  json_put_key(w, STR("problems"));
  json_begin_array(w);
  for (size_t i = 0; i < p->count; i++) {
    json_begin_object(w);
    json_member_str(w, STR("level"), is_error(&p->list[i]) ? STR("error") : STR("warning"));
    file_member(w, STR("file"), p->list[i].file);
    json_member_str(w, STR("pointer"), p->list[i].pointer);
    json_member_str(w, STR("message"), p->list[i].message);
    json_end_object(w);
  }
  json_end_array(w);
}

static void write_names(struct json_writer *w, const struct upstream_names *n) {
  ASSERT(n->key && (!n->count || n->pairs));
  json_put_key(w, str_of(n->key));
  json_begin_array(w);
  for (size_t i = 0; i < n->count; i++) json_put_str(w, n->pairs[i].name);
  json_end_array(w);
}

static void write_upstream(struct json_writer *w, const struct upstream_spec *s, const struct inventory *found) {
  json_begin_object(w);
  json_member_str(w, STR("name"), s->name);
  json_member_str(w, STR("transport"), str_of(s->kind->name));
  json_member_str(w, str_of(s->kind->place), s->shown);
  if (s->kind->names) {
    struct upstream_names n = s->kind->names(s);
    write_names(w, &n);
  }
  if (found) check_write_found(w, found, s->name);
  json_end_object(w);
}

static void write_summary(struct json_writer *w, const struct config *c, const struct inventory *found) {
  const char *stated = stated_agents(c);
  file_member(w, STR("config"), c->config_file);
  file_member(w, STR("mcp_config"), c->mcp_config);
  json_member_str(w, STR("mode"), str_of(mode_names[c->mode]));
  json_put_key(w, STR("modes"));
  json_begin_array(w);
  for (int i = 0; i < MODE_COUNT; i++)
    if ((c->transport == CONFIG_HTTP ? c->modes : 1u << c->mode) & 1u << i) json_put_str(w, str_of(mode_names[i]));
  json_end_array(w);
  if (stated) json_member_str(w, STR("stated_agents"), str_of(stated));
  json_member_str(w, STR("transport"), c->transport == CONFIG_STDIO ? STR("stdio") : STR("http"));
  if (c->transport == CONFIG_HTTP) {
    json_member_str(w, STR("host"), c->host);
    json_member_u64(w, STR("port"), c->port);
    json_put_key(w, STR("allowed_hosts"));
    json_begin_array(w);
    for (size_t i = 0; i < c->allowed_hosts.count; i++) json_put_str(w, c->allowed_hosts.names[i]);
    json_end_array(w);
    json_member_u64(w, STR("tokens"), c->token_count);
  }
  check_write_services(w, c);
  json_put_key(w, STR("servers"));
  json_begin_array(w);
  for (size_t i = 0; i < c->upstream_count; i++) write_upstream(w, &c->upstreams[i], found);
  json_end_array(w);
  json_put_key(w, STR("disabled"));
  json_begin_array(w);
  for (size_t i = 0; i < c->disabled_count; i++) json_put_str(w, c->disabled[i]);
  json_end_array(w);
  check_write_governance(w, c);
}

static void print_json(struct buf *out, const struct config *c, const struct config_problems *p,
                       const struct verdict *v) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_bool(&w, STR("ok"), v->usable && all_can_work(p) && (!v->found || inventory_complete(v->found)));
  if (v->left_out) json_member_u64(&w, STR("left_out"), v->left_out);
  write_problems(&w, p);
  if (is_served(v)) write_summary(&w, c, v->found);
  json_end_object(&w);
  buf_char(out, '\n');
}

// ---- both

// Loads the configuration as `serve` does, without invalid servers. Returns the number of invalid servers, or 0 if the
// configuration cannot be served even without them.
static size_t load_the_rest(const struct config_options *opt, char *const *env, struct config *out) {
  struct config_options lenient = *opt;
  struct config_problems problems;
  size_t left_out = 0;
  lenient.strict = false;
  config_problems_init(&problems);
  bool served = config_load(out, &lenient, env, &problems);
  for (size_t i = 0; served && i < problems.count; i++) left_out += problems.list[i].left_out;
  config_problems_done(&problems);
  return left_out;
}

static int check(const struct config_options *opt, bool json, char *const *env, const struct inventory *found,
                 FILE *out) {
  struct config_options strict = *opt;
  struct config_problems problems;
  struct config c, rest = {0};
  struct buf text;
  struct verdict v = {.found = found};
  strict.strict = true;
  config_problems_init(&problems);
  v.usable = config_load(&c, &strict, env, &problems);
  ASSERT(v.usable == !config_problems_fatal(&problems));
  if (!v.usable) v.left_out = load_the_rest(opt, env, &rest);
  v.servers = rest.upstream_count + v.left_out;
  const struct config *shown = v.left_out ? &rest : &c;
  buf_init(&text, MAX_OUTPUT);
  if (json) print_json(&text, shown, &problems, &v);
  else print_text(&text, shown, &problems, &v);
  fwrite(text.p, 1, text.n, out);
  buf_done(&text);
  int status = config_problems_status(&problems);
  if (!v.usable) config_done(&rest);
  config_done(&c);
  config_problems_done(&problems);
  return status;
}

int check_run(const struct config_options *opt, bool json, char *const *env, FILE *out) {
  return check(opt, json, env, NULL, out);
}

static bool can_be_served(const struct config_options *opt, char *const *env) {
  struct config_options strict = *opt;
  struct config_problems problems;
  struct config c;
  strict.strict = true;
  config_problems_init(&problems);
  bool usable = config_load(&c, &strict, env, &problems);
  config_done(&c);
  config_problems_done(&problems);
  if (usable) return true;
  usable = load_the_rest(opt, env, &c) > 0;
  config_done(&c);
  return usable;
}

int check_connect(const struct config_options *opt, bool json, char *const *env, FILE *out) {
  struct config_options said = *opt;
  struct gateway_client v;
  struct inventory found;
  struct fault f;
  int status;
  if (!can_be_served(opt, env)) return check_run(opt, json, env, out);
  said.strict = false;
  said.told = true;
  said.fresh = true;
  said.agent = NULL;  // checks all servers, not only those that an agent may use
  if (!gateway_client_open(&v, &said, &status)) return status;
  if (inventory_take(&v, &found, &f)) {
    status = check(opt, json, env, &found, out);
    if (!status && !inventory_complete(&found)) status = EXIT_NO;
    inventory_done(&found);
  } else {
    fprintf(stderr, "toolgate: %s\n", f.message);
    status = EXIT_CANNOT;
  }
  gateway_client_close(&v);
  return status;
}
