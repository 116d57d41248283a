// SPDX-License-Identifier: Apache-2.0
// toolgate policy explain | matrix | lint
#include <stdio.h>
#include <unistd.h>

#include "app/cli/access.h"
#include "app/gateway_client/inventory.h"
#include "govern/provisional.h"
#include "mcp/methods.h"
#include "policy/survey.h"
#include "json/write.h"

enum { MAX_OUTPUT = 256 << 20 };

// ---- explain

static const struct command explain = {
    .usage = "AGENT SERVER [TOOL] [options]\n"
             "       toolgate policy explain AGENT --method METHOD [options]",
    .about = "Prints whether an agent may use a server, one of its tools, or a method that the\n"
             "protocol does not define, and which rule decides: an access rule, or a part of the\n"
             "governance file. An allowed call of a governed tool may still be denied because of its\n"
             "arguments (toolgate govern decide). Exit code 0: ALLOW; 1: DENY. Starts no server.",
    .options = "Ju^_cmCj",
    .min = 1,
    .max = 3,
    .missing = "give an agent and a server",
};

static const char *reason_of(const struct access_answer *a) {
  const struct policy_decision *d = &a->decision;
  if (d->governed.p) return d->allowed ? "the governance file allows it" : governance_code_advice(a->code);
  switch (d->by) {
  case POLICY_EXPLICIT: return d->allowed ? "named by an allow rule" : "named by a deny rule";
  case POLICY_WILDCARD: return d->allowed ? "matches an allow pattern" : "matches a deny pattern";
  case POLICY_IMPLICIT: return "the server is allowed, and no list restricts its tools";
  case POLICY_NO_MATCH: return "no rule allows it";
  case POLICY_UNKNOWN_AGENT: return "no rule knows this agent";
  }
  return "";
}

#define UNKNOWN_SERVER "no server of that name is configured"

// Returns whether the configuration was read and contains no server with the given name. The caller only warns, because
// rules may name servers that do not exist yet.
static bool is_unknown_server(const struct arguments *args) {
  struct config_options said = args->config;
  struct config_problems problems;
  struct config c;
  said.transport = "stdio";  // this command opens no listener, so its address is not checked
  config_problems_init(&problems);
  bool unknown = config_load(&c, &said, environ, &problems) && !config_has_server(&c, str_of(args->operands[1]));
  for (size_t i = 0; i < problems.count; i++) unknown = unknown && !problems.list[i].left_out;
  config_done(&c);
  config_problems_done(&problems);
  return unknown;
}

// Returns a remark about the answer, or NULL.
static const char *remark_of(const struct access *x, const struct arguments *args, const struct access_answer *a,
                             bool unknown) {
  if (unknown) return UNKNOWN_SERVER;
  bool by_token = a->decision.governed.p && !args->claims;
  if (by_token && (governance_reads_claims(x->governance) || a->code == GOVERNANCE_DELEGATION_REQUIRED))
    return "without a token; claims of a JSON Web Token can change the answer (--claims)";
  bool pinned = a->decision.allowed && args->operand_count > 2 && x->governance;
  if (pinned && governance_pins(x->governance) == GOVERNANCE_PINS_ENFORCE)
    return "unless the tool is quarantined: toolgate pins list shows the states of tools";
  return NULL;
}

static void put_path(struct json_writer *w, str key, const struct policy_decision *d,
                     void (*put)(const struct policy_decision *d, struct buf *out)) {
  struct buf b;
  buf_init(&b, 1 << 16);
  put(d, &b);
  json_member_str(w, key, buf_view(&b));
  buf_done(&b);
}

static void put_decision(struct buf *out, const struct access_answer *a, const struct arguments *args,
                         const char *remark) {
  const struct policy_decision *d = &a->decision;
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("decision"), d->allowed ? STR("ALLOW") : STR("DENY"));
  put_path(&w, STR("rule"), d, policy_put_path);
  put_path(&w, STR("pointer"), d, policy_put_pointer);
  json_member_str(&w, STR("class"), str_of(d->governed.p ? "governance" : policy_class_name(d->by)));
  if (a->code != GOVERNANCE_ALLOWED) json_member_str(&w, STR("code"), str_of(governance_code_name(a->code)));
  if (d->governed.p && a->rules.agent) put_path(&w, STR("access_rule"), &a->rules, policy_put_path);
  json_member_str(&w, STR("reason"), str_of(reason_of(a)));
  json_member_str(&w, STR("agent"), str_of(args->operands[0]));
  if (args->method) json_member_str(&w, STR("method"), str_of(args->method));
  else json_member_str(&w, STR("server"), str_of(args->operands[1]));
  if (args->operand_count > 2) json_member_str(&w, STR("tool"), str_of(args->operands[2]));
  if (remark) json_member_str(&w, STR("remark"), str_of(remark));
  json_end_object(&w);
}

static void put_sentence(struct buf *out, const struct access_answer *a) {
  buf_printf(out, "%s  ", a->decision.allowed ? "ALLOW" : "DENY");
  if (a->code != GOVERNANCE_ALLOWED) buf_printf(out, "%s  ", governance_code_name(a->code));
  policy_put_path(&a->decision, out);
  buf_printf(out, "  (%s)", reason_of(a));
}

// Decides about a method outside the protocol, which a governance file cannot allow.
static struct access_answer decide_method(const struct access *x, const struct policy_agent *agent, str method) {
  struct access_answer a = {.decision = {.of_method = true, .governed = STR("/adapters")}};
  if (x->policy) a.decision = a.rules = policy_decide_method(x->policy, agent, method);
  else a.code = GOVERNANCE_CAPABILITY_UNKNOWN;
  return a;
}

// Reads --claims. On failure returns false with the reason in `f`.
static bool read_claims(const struct access *x, const struct arguments *args, struct arena *a, str *out,
                        struct fault *f) {
  *out = STR_NONE;
  if (!args->claims) return true;
  fault_set(f, FAULT_INVALID, "--claims must be a JSON object with the string \"sub\"");
  const struct json *v = json_parse(a, str_of(args->claims), &json_default_limits, f);
  str subject;
  if (!json_is(v, JSON_OBJECT) || !json_string(json_get(v, STR("sub")), a, &subject)) return false;
  *out = str_of(args->claims);
  return x->governance;
}

static bool decide(struct access *x, const struct arguments *args, struct access_answer *out, struct fault *f) {
  str id = str_of(args->operands[0]), claims;
  const struct policy_agent *agent = x->policy ? policy_find(x->policy, id) : NULL;
  fault_set(f, FAULT_INVALID, "--claims has no effect: there is no governance file");
  if (!read_claims(x, args, &x->arena, &claims, f)) return false;
  if (args->method) {
    *out = decide_method(x, agent, str_of(args->method));
    return true;
  }
  struct run_context *run = access_context(x, id, claims, f);
  if (x->governance && !run) return false;
  ASSERT(args->operand_count >= 2);
  *out = access_decide(x, agent, run, str_of(args->operands[1]),
                       args->operand_count > 2 ? str_of(args->operands[2]) : STR_NONE);
  return true;
}

static int answer(struct access *x, const struct arguments *args) {
  struct access_answer a;
  struct fault f;
  if (!decide(x, args, &a, &f)) return command_failed(&f, EXIT_NO);
  bool unknown = !args->method && is_unknown_server(args);
  const char *remark = remark_of(x, args, &a, unknown);
  struct buf out;
  buf_init(&out, 1 << 20);
  if (unknown) fprintf(stderr, "toolgate: %s: %s\n", UNKNOWN_SERVER, args->operands[1]);
  else if (remark) fprintf(stderr, "toolgate: %s\n", remark);
  if (args->json) put_decision(&out, &a, args, remark);
  else put_sentence(&out, &a);
  buf_char(&out, '\n');
  command_print_done(&out);
  return a.decision.allowed ? EXIT_OK : EXIT_NO;
}

// Returns an error message if the operands and options do not fit together, otherwise NULL.
static const char *misused(const struct arguments *args) {
  if (!args->method) return args->operand_count < 2 ? explain.missing : NULL;
  if (args->operand_count > 1) return "give a server or --method, not both";
  return method_is_foreign(str_of(args->method))
             ? NULL
             : "--method is for methods that the protocol does not define: give a server or a tool instead";
}

static int run_explain(int argc, char **argv) {
  struct arguments args = {0};
  int status;
  if (!command_parse(&explain, argc, argv, &args, &status)) return status;
  if (misused(&args)) return command_misused(argv[0], misused(&args));
  struct access x;
  if (!access_open(&x, &args, false, &status)) return status;
  status = answer(&x, &args);
  access_close(&x);
  return status;
}

// ---- servers and tools

struct world {
  struct gateway_client client;
  struct inventory inventory;
  struct survey_server *servers;
  size_t count;
  struct access access;
  struct run_context **runs;  // of each agent; NULL if there is no governance file
};

static void name_tools(struct world *w) {
  struct arena *a = &w->client.arena;
  const struct kind_index *kind_index = &w->inventory.directory->kind_indexes[DIRECTORY_TOOLS];
  w->count = w->inventory.server_count;
  w->servers = ARENA_ARRAY(a, struct survey_server, w->count + 1);
  for (size_t i = 0; i < w->count; i++) {
    str *tools = ARENA_ARRAY(a, str, w->inventory.servers[i].count[DIRECTORY_TOOLS] + 1);
    w->servers[i] = (struct survey_server){w->inventory.servers[i].name, tools, 0};
  }
  for (size_t i = 0; i < kind_index->count; i++) {
    const struct entry *e = &kind_index->entries[i];
    struct survey_server *s = &w->servers[e->source];
    if (e->hidden) continue;
    ASSERT(e->source < w->count && s->tool_count < w->inventory.servers[e->source].count[DIRECTORY_TOOLS]);
    if (w->access.governance) governance_note_tool(w->access.governance, s->name, e->item->name, e->item->hints);
    ((str *)s->tools)[s->tool_count++] = e->item->name;
  }
}

static void find_runs(struct world *w) {
  size_t count = access_agent_count(&w->access);
  struct fault f;
  if (!w->access.governance) return;
  w->runs = ARENA_ARRAY(&w->client.arena, struct run_context *, count);
  for (size_t i = 0; i < count; i++) {
    struct run_context *run = access_context(&w->access, access_agent_name(&w->access, i), STR_NONE, &f);
    ASSERT(run);  // only claims can make a context invalid
    w->runs[i] = run_context_ref(run);
  }
}

static bool world_open(struct world *w, const struct arguments *args, int *out_status) {
  struct fault f;
  if (!access_open(&w->access, args, true, out_status)) return false;
  if (!gateway_client_open(&w->client, &args->config, out_status)) {
    access_close(&w->access);
    return false;
  }
  if (inventory_take(&w->client, &w->inventory, &f)) {
    name_tools(w);
    find_runs(w);
    for (size_t i = 0; w->client.running && i < w->inventory.server_count; i++)
      if (w->inventory.servers[i].error)
        fprintf(stderr, "toolgate: %.*s: not available: %s\n", STR_ARG(w->inventory.servers[i].name),
                w->inventory.servers[i].error);
    return true;
  }
  fprintf(stderr, "toolgate: %s\n", f.message);
  gateway_client_close(&w->client);
  access_close(&w->access);
  *out_status = EXIT_CANNOT;
  return false;
}

static void world_close(struct world *w) {
  for (size_t i = 0; w->runs && i < access_agent_count(&w->access); i++) run_context_unref(&w->runs[i]);
  inventory_done(&w->inventory);
  gateway_client_close(&w->client);
  access_close(&w->access);
}

static int run_in_world(const struct command *c, int argc, char **argv,
                        int (*run)(struct world *w, const struct arguments *args, struct buf *out)) {
  struct arguments args = {0};
  struct world w = {0};
  struct buf out;
  int status;
  if (!command_parse(c, argc, argv, &args, &status) || !world_open(&w, &args, &status)) return status;
  buf_init(&out, MAX_OUTPUT);
  status = run(&w, &args, &out);
  command_print_done(&out);
  world_close(&w);
  return status;
}

// ---- matrix

static const struct command matrix = {
    .usage = "[options]",
    .about = "Prints a table with a line for each tool and a column for each agent of the rules (without\n"
             "rules, of the governance file): + if the agent may call the tool, . if not.",
    .options = "ucmCWjY",
};

static bool allows(const struct world *w, size_t agent, str server, str tool) {
  const struct policy_agent *of_rules = w->access.policy ? policy_agent_at(w->access.policy, agent) : NULL;
  return access_decide(&w->access, of_rules, w->runs ? w->runs[agent] : NULL, server, tool).decision.allowed;
}

static size_t widest_tool(const struct world *w) {
  size_t most = 4;
  for (size_t i = 0; i < w->count; i++)
    for (size_t k = 0; k < w->servers[i].tool_count; k++) {
      size_t n = w->servers[i].name.n + 1 + w->servers[i].tools[k].n;
      if (n > most) most = n;
    }
  return most < 60 ? most : 60;
}

static void put_matrix_line(struct buf *out, const struct world *w, const struct survey_server *s, str tool,
                            size_t width) {
  size_t from = out->n;
  buf_printf(out, "%.*s/%.*s", STR_ARG(s->name), STR_ARG(tool));
  for (size_t n = out->n - from; n < width; n++) buf_char(out, ' ');
  for (size_t i = 0; i < access_agent_count(&w->access); i++) {
    int column = (int)access_agent_name(&w->access, i).n;
    buf_printf(out, "  %-*s", column, allows(w, i, s->name, tool) ? "+" : ".");
  }
  while (out->n && out->p[out->n - 1] == ' ') out->n--;
  buf_char(out, '\n');
}

static void put_matrix(struct buf *out, const struct world *w) {
  size_t width = widest_tool(w);
  buf_printf(out, "%-*s", (int)width, "tool");
  for (size_t i = 0; i < access_agent_count(&w->access); i++)
    buf_printf(out, "  %.*s", STR_ARG(access_agent_name(&w->access, i)));
  buf_char(out, '\n');
  for (size_t i = 0; i < w->count; i++)
    for (size_t k = 0; k < w->servers[i].tool_count; k++)
      put_matrix_line(out, w, &w->servers[i], w->servers[i].tools[k], width);
}

// Writes one JSON object per tool, each on its own line.
static void put_matrix_json(struct buf *out, const struct world *w) {
  for (size_t i = 0; i < w->count; i++) {
    for (size_t k = 0; k < w->servers[i].tool_count; k++) {
      struct json_writer j = json_writer(out);
      json_begin_object(&j);
      json_member_str(&j, STR("server"), w->servers[i].name);
      json_member_str(&j, STR("tool"), w->servers[i].tools[k]);
      json_put_key(&j, STR("agents"));
      json_begin_object(&j);
      for (size_t n = 0; n < access_agent_count(&w->access); n++)
        json_member_str(&j, access_agent_name(&w->access, n),
                        allows(w, n, w->servers[i].name, w->servers[i].tools[k]) ? STR("ALLOW") : STR("DENY"));
      json_end_object(&j);
      json_end_object(&j);
      buf_char(out, '\n');
    }
  }
}

static int make_matrix(struct world *w, const struct arguments *args, struct buf *out) {
  if (args->json) put_matrix_json(out, w);
  else put_matrix(out, w);
  return EXIT_OK;
}

// ---- lint

static const struct command lint = {
    .usage = "[options]",
    .about = "Lists rules without effect: rules that match no server or tool, rules that another\n"
             "rule always precedes, and agents that can call no tool, or every tool. Ignores the\n"
             "governance file. Exit code 1: there is a finding.",
    .options = "ucmCWjY",
};

struct findings {
  struct buf *out;
  bool json;
  size_t count;
};

static void put_finding(struct findings *f, str pointer, const char *kind, str message) {
  f->count++;
  if (!f->json) {
    buf_printf(f->out, "%.*s: %.*s\n", STR_ARG(pointer), STR_ARG(message));
    return;
  }
  struct json_writer w = json_writer(f->out);
  json_begin_object(&w);
  json_member_str(&w, STR("pointer"), pointer);
  json_member_str(&w, STR("kind"), str_of(kind));
  json_member_str(&w, STR("message"), message);
  json_end_object(&w);
  buf_char(f->out, '\n');
}

static bool server_exists(const struct world *w, str name) {
  for (size_t i = 0; i < w->count; i++)
    if (str_eq(w->servers[i].name, name)) return true;
  return str_eq(name, STR("*"));
}

static str pointer_of(const struct policy_entry *e, struct arena *a) {
  struct buf b;
  buf_init(&b, 1 << 16);
  policy_put_entry_pointer(e, &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void lint_entry(struct world *w, const struct survey_entry *s, struct findings *f) {
  struct arena *a = &w->client.arena;
  const struct policy_entry *e = s->entry;
  str at = pointer_of(e, a), text = e->text;
  if (s->decides) return;
  if (s->matches && s->over) {
    str over = pointer_of(s->over, a);
    put_finding(f, at, "shadowed",
                arena_printf(a, "\"%.*s\" has no effect: %.*s precedes it", STR_ARG(text), STR_ARG(over)));
  } else if (s->matches) {
    put_finding(f, at, "inert", arena_printf(a, "\"%.*s\" has no effect: its server is not allowed", STR_ARG(text)));
  } else if (e->server.p && !server_exists(w, e->server)) {
    put_finding(f, at, "no_server", arena_printf(a, "there is no server \"%.*s\"", STR_ARG(e->server)));
  } else if (e->server.p) {
    put_finding(f, at, "no_tool", arena_printf(a, "\"%.*s\" matches no tool", STR_ARG(text)));
  } else {
    put_finding(f, at, "no_server", arena_printf(a, "\"%.*s\" matches no server", STR_ARG(text)));
  }
}

static void lint_agent(struct world *w, const struct survey_agent *s, struct findings *f) {
  ASSERT(s->allowed <= s->tools);
  struct arena *a = &w->client.arena;
  str at = arena_printf(a, "/agents/%.*s", STR_ARG(policy_agent_name(s->agent)));
  for (size_t i = 0; i < s->entry_count; i++) lint_entry(w, &s->entries[i], f);
  if (!s->allowed) put_finding(f, at, "reaches_nothing", STR("this agent can call no tool at all"));
  else if (s->allowed == s->tools) put_finding(f, at, "reaches_everything", STR("this agent can call every tool"));
}

static int make_lint(struct world *w, const struct arguments *args, struct buf *out) {
  struct findings f = {out, args->json, 0};
  if (!w->access.policy) {
    fprintf(stderr, "toolgate: there are no access rules to check: name a file with --rules\n");
    return EXIT_CANNOT;
  }
  struct survey s = policy_survey(w->access.policy, w->servers, w->count, &w->client.arena);
  for (size_t i = 0; i < s.count; i++) lint_agent(w, &s.agents[i], &f);
  if (!args->json) buf_printf(out, "%zu finding%s\n", f.count, f.count == 1 ? "" : "s");
  return f.count ? EXIT_NO : EXIT_OK;
}

// ---- the command

static int run_matrix(int argc, char **argv) {
  return run_in_world(&matrix, argc, argv, make_matrix);
}
static int run_lint(int argc, char **argv) {
  return run_in_world(&lint, argc, argv, make_lint);
}

static const char usage[] = "usage: toolgate policy explain AGENT SERVER [TOOL] [--rules FILE]\n"
                            "       toolgate policy explain AGENT --method METHOD [--rules FILE]\n"
                            "       toolgate policy matrix [--rules FILE]\n"
                            "       toolgate policy lint [--rules FILE]\n\n"
                            "Explains the access rules: one decision with its rule, all decisions as a table,\n"
                            "and rules without effect. toolgate policy COMMAND --help shows the options.\n";

int cmd_policy(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"explain", run_explain}, {"matrix", run_matrix}, {"lint", run_lint}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}
