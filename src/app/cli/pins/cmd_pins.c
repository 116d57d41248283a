// SPDX-License-Identifier: Apache-2.0
// toolgate pins list | diff | accept: sends the operation to the running gateway or, if none runs, opens the store.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "app/cli/pins/pins_diff.h"
#include "app/gateway_client/console.h"
#include "app/pins_answer.h"
#include "base/crypto/rand.h"
#include "base/text/visible.h"
#include "json/write.h"

enum { MAX_OUTPUT = 256 << 20 };

static const struct command list_command = {
    .usage = "[SERVER [TOOL]] [options]",
    .about = "Lists the accepted definitions of tools and servers, with their states: accepted,\n"
             "changed, new, suspect (the definition has findings). Exit code 1: some are not accepted.",
    .options = "cmuC~Wj",
    .max = 2,
};

static const struct command diff_command = {
    .usage = "[SERVER [TOOL]] [options]",
    .about = "Shows how tools and servers differ from their accepted definitions, and findings in\n"
             "definitions. Hidden characters are shown as escapes. Exit code 1: there are differences\n"
             "or findings.",
    .options = "cmuC~Wj",
    .max = 2,
};

static const struct command accept_command = {
    .usage = "SERVER [TOOL] | --all [options]",
    .about = "Accepts the current definitions and their findings: of one tool, of a server with all\n"
             "its tools, or of all servers. Review them with `toolgate pins diff` first.",
    .options = "cmuC&>~Wj",
    .max = 2,
};

struct pins_command {
  struct arguments args;
  const char *action;
  struct arena arena;
  const struct json *answer;
};

static str params_of(struct pins_command *c) {
  struct buf b;
  buf_init(&b, 1 << 20);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("action"), str_of(c->action));
  if (c->args.operand_count > 0) json_member_str(&w, STR("server"), str_of(c->args.operands[0]));
  if (c->args.operand_count > 1) json_member_str(&w, STR("tool"), str_of(c->args.operands[1]));
  if (c->args.sha256) json_member_str(&w, STR("sha256"), str_of(c->args.sha256));
  if (c->args.tenant) json_member_str(&w, STR("tenant"), str_of(c->args.tenant));
  json_end_object(&w);
  str text = arena_str(&c->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- without a running gateway

static void on_closed(void *ctx) {
}

static int ask_store(struct pins_command *c, const struct config *config) {
  struct log log = {STDERR_FILENO, config->log_level, &clock_system};
  struct store_options opt = {
      .log = &log, .clock = &clock_system, .rand = &rand_system, .folder = config->state_dir, .limits = config->kept};
  struct hash_key seed;
  struct fault f;
  struct buf b;
  rand_fill(&rand_system, &seed, sizeof seed);
  struct store *store = store_new(&opt);
  bool ok = store_probe(store, &f);
  struct pins_options pins = {.log = &log, .clock = &clock_system, .store = store, .seed = &seed};
  struct pins_operation o = {.governance = config->governance};
  if (ok && config->governance && governance_pins(config->governance) != GOVERNANCE_PINS_OFF) {
    o.pins = pins_new(&pins);
    pins_set_mode(o.pins, governance_pins(config->governance));
  }
  buf_init(&b, MAX_OUTPUT);
  struct json_writer w = json_writer(&b);
  ok = ok && pins_answer(&o, json_parse(&c->arena, params_of(c), &json_default_limits, &f), &w, &f);
  if (ok) c->answer = json_parse(&c->arena, arena_str(&c->arena, buf_view(&b)), &json_default_limits, &f);
  buf_done(&b);
  pins_free(&o.pins);
  store_close(&store, on_closed, NULL);
  return c->answer ? EXIT_OK : command_failed(&f, EXIT_CANNOT);
}

// ---- asking

static int ask(struct pins_command *c) {
  struct config_options opt = c->args.config;
  struct config_problems problems;
  struct config config;
  struct fault f;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.servers_optional = true;
  if (!opt.log_level) opt.log_level = "error";
  config_problems_init(&problems);
  bool ok = config_load(&config, &opt, environ, &problems);
  if (!ok) command_print_problems(&problems);
  int status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok) {
    struct control_client *gateway = control_client_open(&config, environ, &(struct session_operator){0}, STR_NONE, &f);
    if (gateway) c->answer = control_client_request(gateway, &c->arena, STR("toolgate/pins"), params_of(c), &f);
    bool asked = gateway;
    control_client_close(&gateway);
    if (c->answer) status = EXIT_OK;
    else if (!asked && f.code == FAULT_NOT_FOUND) status = ask_store(c, &config);
    else status = command_failed(&f, EXIT_CANNOT);
  }
  config_done(&config);
  return status;
}

// ---- the answer as text

static str shown(const struct json *pin, const char *key, struct arena *a) {
  struct buf b;
  buf_init(&b, 1 << 20);
  visible_put(console_text(pin, key, a), &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void put_findings(struct buf *out, const struct json *pin, struct arena *a) {
  const struct json *findings = json_get(pin, STR("findings"));
  if (!json_is(findings, JSON_ARRAY)) return;
  JSON_EACH(it, findings)
    buf_printf(out, "    %.*s: %.*s%s\n", STR_ARG(shown(it, "kind", a)), STR_ARG(shown(it, "text", a)),
               json_is(json_get(it, STR("accepted")), JSON_TRUE) ? " (accepted)" : "");
}

static void put_head(struct buf *out, const struct json *pin, struct arena *a) {
  str tool = shown(pin, "tool", a);
  buf_printf(out, "%-8.*s  %.*s  %.*s%s\n", STR_ARG(console_text(pin, "state", a)), STR_ARG(shown(pin, "server", a)),
             STR_ARG(tool.n ? tool : STR("(the server itself)")),
             json_is(json_get(pin, STR("listed")), JSON_FALSE) ? "  (not listed)" : "");
}

static bool is_pending(const struct json *pin) {
  return !json_equals_str(json_get(pin, STR("state")), STR("accepted"));
}

static int finish(struct pins_command *c) {
  const struct json *pins = json_get(c->answer, STR("pins"));
  bool accept = strcmp(c->action, "accept") == 0, diff = strcmp(c->action, "diff") == 0;
  struct buf out;
  size_t pending = 0;
  buf_init(&out, MAX_OUTPUT);
  if (json_is(pins, JSON_ARRAY))
    JSON_EACH(it, pins) {
      pending += is_pending(it);
      if (c->args.json) continue;
      put_head(&out, it, &c->arena);
      if (diff && is_pending(it)) pins_diff(json_get(it, STR("accepted")), json_get(it, STR("current")), "    ", &out);
      if (diff && is_pending(it)) buf_printf(&out, "    sha256: %.*s\n", STR_ARG(shown(it, "sha256", &c->arena)));
      put_findings(&out, it, &c->arena);
    }
  if (c->args.json) {
    buf_str(&out, json_span(c->answer));
    buf_char(&out, '\n');
  } else if (!pins || !pins->count) {
    buf_str(&out, accept ? STR("nothing to accept\n") : diff ? STR("no differences\n") : STR("no pins\n"));
  }
  command_print_done(&out);
  if (accept && c->args.sha256 && !(pins && pins->count)) return EXIT_NO;
  return pending ? EXIT_NO : EXIT_OK;
}

static int run(const struct command *command, const char *action, int argc, char **argv) {
  struct pins_command c = {.action = action};
  int status;
  if (!command_parse(command, argc, argv, &c.args, &status)) return status;
  if (command == &accept_command && c.args.all == (c.args.operand_count > 0))
    return command_misused(argv[0], c.args.all ? "give a server or --all, not both" : "give a server, or --all");
  if (c.args.sha256 && c.args.operand_count < 2) return command_misused(argv[0], "--sha256 needs a server and a tool");
  arena_init(&c.arena);
  status = ask(&c);
  if (status == EXIT_OK) status = finish(&c);
  arena_done(&c.arena);
  return status;
}

static int run_list(int argc, char **argv) {
  return run(&list_command, "list", argc, argv);
}

static int run_diff(int argc, char **argv) {
  return run(&diff_command, "diff", argc, argv);
}

static int run_accept(int argc, char **argv) {
  return run(&accept_command, "accept", argc, argv);
}

static const char usage[] = "usage: toolgate pins list [SERVER [TOOL]]\n"
                            "       toolgate pins diff [SERVER [TOOL]]\n"
                            "       toolgate pins accept SERVER [TOOL] | --all\n\n"
                            "Shows which tools differ from the definitions that were accepted, and accepts them.\n"
                            "toolgate pins COMMAND --help shows the options.\n";

int cmd_pins(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"list", run_list}, {"diff", run_diff}, {"accept", run_accept}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}
