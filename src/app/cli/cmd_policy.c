// SPDX-License-Identifier: Apache-2.0
// toolgate policy explain | matrix | lint
#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/gateway_client/inventory.h"
#include "mcp/methods.h"
#include "policy/survey.h"
#include "json/write.h"

enum { MAX_OUTPUT = 256 << 20 };

// ---- explain

static const struct command explain = {
    .usage = "AGENT SERVER [TOOL] [options]\n"
             "       toolgate policy explain AGENT --method METHOD [options]",
    .about = "Prints whether an agent may use a server, one of its tools, or a method that the\n"
             "protocol does not define, and which rule decides. Exit code 0: ALLOW; 1: DENY. Starts\n"
             "no server.",
    .options = "JucmCj",
    .min = 1,
    .max = 3,
    .missing = "give an agent and a server",
};

static const char *reason_of(const struct policy_decision *d) {
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

static void put_decision(struct buf *out, const struct policy_decision *d, const struct arguments *args, bool unknown) {
  struct buf rule, pointer;
  buf_init(&rule, 1 << 16);
  buf_init(&pointer, 1 << 16);
  policy_put_path(d, &rule);
  policy_put_pointer(d, &pointer);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_member_str(&w, STR("decision"), d->allowed ? STR("ALLOW") : STR("DENY"));
  json_member_str(&w, STR("rule"), buf_view(&rule));
  json_member_str(&w, STR("pointer"), buf_view(&pointer));
  json_member_str(&w, STR("class"), str_of(policy_class_name(d->by)));
  json_member_str(&w, STR("reason"), str_of(reason_of(d)));
  json_member_str(&w, STR("agent"), str_of(args->operands[0]));
  if (args->method) json_member_str(&w, STR("method"), str_of(args->method));
  else json_member_str(&w, STR("server"), str_of(args->operands[1]));
  if (args->operand_count > 2) json_member_str(&w, STR("tool"), str_of(args->operands[2]));
  if (unknown) json_member_str(&w, STR("remark"), STR(UNKNOWN_SERVER));
  json_end_object(&w);
  buf_done(&rule);
  buf_done(&pointer);
}

static void put_sentence(struct buf *out, const struct policy_decision *d) {
  buf_printf(out, "%s  ", d->allowed ? "ALLOW" : "DENY");
  policy_put_path(d, out);
  buf_printf(out, "  (%s)", reason_of(d));
}

static struct policy_decision decide(const struct policy *p, const struct arguments *args) {
  ASSERT(args->method || args->operand_count >= 2);
  const struct policy_agent *agent = policy_find(p, str_of(args->operands[0]));
  str tool = args->operand_count > 2 ? str_of(args->operands[2]) : STR_NONE;
  return args->method ? policy_decide_method(p, agent, str_of(args->method))
                      : policy_decide(p, agent, str_of(args->operands[1]), tool);
}

static int answer(const struct policy *p, const struct arguments *args) {
  struct policy_decision d = decide(p, args);
  bool unknown = !args->method && is_unknown_server(args);
  struct buf out;
  buf_init(&out, 1 << 20);
  if (unknown) fprintf(stderr, "toolgate: %s: %s\n", UNKNOWN_SERVER, args->operands[1]);
  if (args->json) put_decision(&out, &d, args, unknown);
  else put_sentence(&out, &d);
  buf_char(&out, '\n');
  command_print_done(&out);
  return d.allowed ? EXIT_OK : EXIT_NO;
}

// Returns the rules. On failure prints the error, sets *out_status to the exit code and returns NULL. If `quiet` is
// set, prints no warnings: they are printed when the caller reads the whole configuration later.
static struct policy *load(const struct arguments *args, bool quiet, int *out_status) {
  struct config_problems problems;
  struct config c;
  struct policy *p = NULL;
  config_problems_init(&problems);
  bool ok = config_load_rules(&c, &args->config, environ, &problems);
  if (!ok || !quiet) command_print_problems(&problems);
  config_problems_done(&problems);
  if (ok) {
    fprintf(stderr, "toolgate: the rules are those of %.*s\n", STR_ARG(c.rules_file));
    ASSERT(c.policy && c.rules_file.n);
    p = policy_ref(c.policy);
    config_done(&c);
  } else {
    *out_status = EXIT_CANNOT;
  }
  return p;
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
  struct policy *p = load(&args, false, &status);
  if (!p) return status;
  status = answer(p, &args);
  policy_unref(&p);
  return status;
}

// ---- servers and tools

struct world {
  struct gateway_client client;
  struct inventory inventory;
  struct survey_server *servers;
  size_t count;
  struct policy *policy;
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
    ((str *)s->tools)[s->tool_count++] = e->item->name;
  }
}

static bool world_open(struct world *w, const struct arguments *args, int *out_status) {
  struct fault f;
  w->policy = load(args, true, out_status);
  if (!w->policy) return false;
  if (!gateway_client_open(&w->client, &args->config, out_status)) {
    policy_unref(&w->policy);
    return false;
  }
  if (inventory_take(&w->client, &w->inventory, &f)) {
    name_tools(w);
    for (size_t i = 0; w->client.running && i < w->inventory.server_count; i++)
      if (w->inventory.servers[i].error)
        fprintf(stderr, "toolgate: %.*s: not available: %s\n", STR_ARG(w->inventory.servers[i].name),
                w->inventory.servers[i].error);
    return true;
  }
  fprintf(stderr, "toolgate: %s\n", f.message);
  gateway_client_close(&w->client);
  policy_unref(&w->policy);
  *out_status = EXIT_CANNOT;
  return false;
}

static void world_close(struct world *w) {
  inventory_done(&w->inventory);
  gateway_client_close(&w->client);
  policy_unref(&w->policy);
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
    .about = "Prints a table with a line for each tool and a column for each agent of the rules:\n"
             "+ if the agent may call the tool, . if not.",
    .options = "ucmCWjY",
};

static bool allows(const struct world *w, size_t agent, str server, str tool) {
  return policy_decide(w->policy, policy_agent_at(w->policy, agent), server, tool).allowed;
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
  for (size_t i = 0; i < policy_agent_count(w->policy); i++) {
    int column = (int)policy_agent_name(policy_agent_at(w->policy, i)).n;
    buf_printf(out, "  %-*s", column, allows(w, i, s->name, tool) ? "+" : ".");
  }
  while (out->n && out->p[out->n - 1] == ' ') out->n--;
  buf_char(out, '\n');
}

static void put_matrix(struct buf *out, const struct world *w) {
  size_t width = widest_tool(w);
  buf_printf(out, "%-*s", (int)width, "tool");
  for (size_t i = 0; i < policy_agent_count(w->policy); i++)
    buf_printf(out, "  %.*s", STR_ARG(policy_agent_name(policy_agent_at(w->policy, i))));
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
      for (size_t n = 0; n < policy_agent_count(w->policy); n++)
        json_member_str(&j, policy_agent_name(policy_agent_at(w->policy, n)),
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
             "rule always precedes, and agents that can call no tool, or every tool. Exit code\n"
             "1: there is a finding.",
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
  struct survey s = policy_survey(w->policy, w->servers, w->count, &w->client.arena);
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
