// SPDX-License-Identifier: Apache-2.0
// toolgate dead-letters list | show | retry | resolve: sends the operation to the running gateway or, if none runs,
// opens the store.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "app/dead_letters_answer.h"
#include "app/gateway_client/console.h"
#include "app/gateway_client/meta_command.h"
#include "base/crypto/rand.h"
#include "effect/gateways.h"
#include "effect/idempotency.h"
#include "govern/idempotency.h"
#include "json/write.h"

enum { MAX_OUTPUT = 256 << 20, SEARCH_MS = 100, SEARCHES = 100 };

static const struct command list_command = {
    .usage = "[options]",
    .about = "Lists the actions that the gateway could not bring to an end, such as calls that may have\n"
             "had their effect, one per line: id, time, kind, reason, agent, capability, key.",
    .options = "cmuWj",
};

static const struct command show_command = {
    .usage = "ID [options]",
    .about = "Shows one dead letter, with the arguments of its call. Exit code 1: there is no such letter.",
    .options = "cmuWj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a dead letter",
};

static const struct command retry_command = {
    .usage = "ID --yes [options]",
    .about = "Sends the call of a dead letter again, with its arguments, for its agent and under the\n"
             "current rules, and prints the result. If the earlier call had its effect, the effect\n"
             "happens twice: look at the server first.",
    .options = "<[]cmuWj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a dead letter",
};

static const struct command resolve_command = {
    .usage = "ID --outcome done|not-done [options]",
    .about = "Records whether the effect of a call has happened, and removes its dead letter. After\n"
             "`done`, a repeated call with the same key is not sent; after `not-done`, it is sent.",
    .options = "}[]cmuWj",
    .min = 1,
    .max = 1,
    .missing = "give the id of a dead letter",
};

struct letters_command {
  struct arguments args;
  const char *action;
  struct arena arena;
  const struct config *config;
  const struct json *answer;
  struct fault fault;
};

static const char *person(const struct letters_command *c) {
  const char *name = c->args.person.as;
  if (!name) name = getenv("LOGNAME");
  if (!name) name = getenv("USER");
  return name ? name : "local";
}

static str params_of(struct letters_command *c) {
  struct buf b;
  buf_init(&b, 1 << 20);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("action"), str_of(c->action));
  if (c->args.operand_count) json_member_str(&w, STR("id"), str_of(c->args.operands[0]));
  if (c->args.person.outcome) json_member_str(&w, STR("outcome"), str_of(c->args.person.outcome));
  json_member_str(&w, STR("by"), str_of(person(c)));
  if (c->args.person.note) json_member_str(&w, STR("note"), str_of(c->args.person.note));
  json_end_object(&w);
  str text = arena_str(&c->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- without a running gateway

static void on_closed(void *ctx) {
}

static void on_answer(void *ctx, str answer, const struct fault *f) {
  struct letters_command *c = ctx;
  if (f) c->fault = *f;
  else c->answer = json_parse(&c->arena, arena_str(&c->arena, answer), &json_default_limits, &c->fault);
}

static void write_audit(void *ctx, const struct audit_event *e) {
  const struct config *config = ((struct letters_command *)ctx)->config;
  struct log log = {STDERR_FILENO, config->log_level, &clock_system};
  struct audit_options opt = {
      .file = config->audit_file,
      .max_bytes = config->audit_bytes,
      .keep = config->audit_keep,
      .keep_ms = config->audit_keep_days * UINT64_C(86400000),
      .max_total = config->audit_total,
      .key = config->audit_key.n ? config->audit_secret : STR_NONE,
      .clock = &clock_system,
      .log = &log,
  };
  struct fault f;
  struct audit *audit = config->audit_file.n ? audit_open(&opt, &f) : NULL;
  if (!audit) return;
  audit_add(audit, e);
  audit_close(&audit);
}

static void ask_store(struct letters_command *c, const struct config *config) {
  struct log log = {STDERR_FILENO, config->log_level, &clock_system};
  struct store_options opt = {
      .log = &log, .clock = &clock_system, .rand = &rand_system, .folder = config->state_dir, .limits = config->kept};
  struct store *store = store_new(&opt);
  struct gateways *gateways = gateways_new(config->state_dir, &rand_system);
  struct dead_letters_operation o = {
      .store = store,
      .gateways = gateways,
      .clock = &clock_system,
      .keep_ms = config->governance ? governance_idempotency(config->governance)->keep_s * 1000 : UINT64_C(86400000),
      .audit = write_audit,
      .ctx = c,
  };
  c->config = config;
  if (store_probe(store, &c->fault)) {
    idempotency_recover_now(store, gateways);
    dead_letters_answer(&o, json_parse(&c->arena, params_of(c), &json_default_limits, &c->fault), on_answer, c);
  }
  gateways_free(&gateways);
  store_close(&store, on_closed, NULL);
}

// ---- with a running gateway

static bool is_searching(const struct json *answer) {
  return json_is(json_get(answer, STR("searching")), JSON_TRUE);
}

// Asks again while the gateway searches for calls of gateways that have ended.
static void ask_gateway(struct letters_command *c, struct control_client *gateway) {
  static const struct timespec pause = {.tv_nsec = SEARCH_MS * 1000000};
  for (int i = 0; i < SEARCHES; i++) {
    c->answer = control_client_request(gateway, &c->arena, STR("toolgate/dead_letters"), params_of(c), &c->fault);
    if (!is_searching(c->answer)) return;
    nanosleep(&pause, NULL);
  }
}

static int ask(struct letters_command *c) {
  struct config_options opt = c->args.config;
  struct config_problems problems;
  struct config config;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.servers_optional = true;
  if (!opt.log_level) opt.log_level = "error";
  config_problems_init(&problems);
  bool ok = config_load(&config, &opt, environ, &problems);
  if (!ok) command_print_problems(&problems);
  int status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok) {
    struct control_client *gateway =
        control_client_open(&config, environ, &(struct session_operator){0}, STR_NONE, &c->fault);
    if (gateway) ask_gateway(c, gateway);
    else if (c->fault.code == FAULT_NOT_FOUND) ask_store(c, &config);
    control_client_close(&gateway);
    status = c->answer ? EXIT_OK : command_failed(&c->fault, c->fault.code == FAULT_IO ? EXIT_CANNOT : EXIT_NO);
  }
  config_done(&config);
  return status;
}

// ---- the answer as text

static void put_line(struct buf *out, const struct json *letter, struct arena *a) {
  static const char *const members[] = {"id", "at", "kind", "reason", "agent", "capability", "key"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    str text = console_line(console_text(letter, members[i], a), a);
    buf_printf(out, "%s%.*s", i ? "  " : "", text.n ? (int)text.n : 1, text.n ? text.p : "-");
  }
  buf_char(out, '\n');
}

static void put_letter(struct buf *out, const struct json *letter, struct arena *a) {
  JSON_EACH(it, letter) {
    str text = json_span(it), name = json_key(it, a);
    if (it->type == JSON_NULL) continue;
    json_string(it, a, &text);
    buf_printf(out, "%-14.*s%.*s\n", STR_ARG(name), STR_ARG(console_line(text, a)));
  }
}

static int print_list(struct letters_command *c) {
  const struct json *letters = json_get(c->answer, STR("letters"));
  struct buf out;
  buf_init(&out, MAX_OUTPUT);
  if (c->args.json) {
    buf_str(&out, json_span(letters));
    buf_char(&out, '\n');
  } else {
    JSON_EACH(it, letters) put_line(&out, it, &c->arena);
    if (!letters->count) buf_str(&out, STR("no dead letters\n"));
  }
  command_print_done(&out);
  return EXIT_OK;
}

static int print_letter(struct letters_command *c) {
  const struct json *letter = json_at(json_get(c->answer, STR("letters")), 0);
  struct buf out;
  if (!letter) letter = c->answer;
  buf_init(&out, MAX_OUTPUT);
  if (!c->args.json) put_letter(&out, letter, &c->arena);
  else buf_str(&out, json_span(letter)), buf_char(&out, '\n');
  command_print_done(&out);
  return EXIT_OK;
}

// ---- sending a call again

static int refuse_retry(const char *why) {
  fprintf(stderr, "toolgate: %s\n", why);
  return EXIT_NO;
}

static int send_again(struct letters_command *c) {
  struct arena *a = &c->arena;
  const struct json *letter = c->answer, *args = json_get(letter, STR("args"));
  str agent = console_text(letter, "agent", a);
  if (!json_equals_str(json_get(letter, STR("kind")), STR("call")))
    return refuse_retry("only calls can be sent again: use toolgate dead-letters resolve");
  if (!json_is(args, JSON_OBJECT)) return refuse_retry("the arguments of the call were too large to be stored");
  if (!agent.n) return refuse_retry("the call has no agent: repeat it with its client after dead-letters resolve");
  struct buf b;
  buf_init(&b, (size_t)args->n + (1 << 16));
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("server"), console_text(letter, "server", a));
  json_member_str(&w, STR("tool"), console_text(letter, "tool", a));
  json_member_raw(&w, STR("args"), json_span(args));
  json_end_object(&w);
  struct meta_command call = {
      .mode = MODE_SERVERS,
      .tool = STR("execute_tool"),
      .arguments = buf_view(&b),
      .meta = arena_printf(a, "{\"io.toolgate/idempotency_key\":%.*s,\"toolgate/resendUnknown\":%.*s}",
                           STR_ARG(json_escaped(a, console_text(letter, "key", a))),
                           STR_ARG(json_escaped(a, console_text(letter, "id", a)))),
      .whole = true,
  };
  struct arguments terms = c->args;
  terms.config.agent = arena_cstr(a, agent);
  int status = meta_command_run(&terms, &call);
  buf_done(&b);
  return status;
}

// ---- the commands

static int run(const struct command *command, const char *action, int (*finish)(struct letters_command *c), int argc,
               char **argv) {
  struct letters_command c = {.action = action};
  int status;
  if (!command_parse(command, argc, argv, &c.args, &status)) return status;
  if (command == &resolve_command && !c.args.person.outcome)
    return command_misused(argv[0], "say --outcome done or --outcome not-done");
  if (command == &retry_command && !c.args.person.yes)
    return command_misused(argv[0], "the effect may happen twice: look at the server, then add --yes");
  arena_init(&c.arena);
  status = ask(&c);
  if (status == EXIT_OK) status = finish(&c);
  arena_done(&c.arena);
  return status;
}

static int say_resolved(struct letters_command *c) {
  if (c->args.json) printf("{\"resolved\":true}\n");
  else printf("resolved %s: %s\n", c->args.operands[0], c->args.person.outcome);
  return EXIT_OK;
}

static int run_list(int argc, char **argv) {
  return run(&list_command, "list", print_list, argc, argv);
}

static int run_show(int argc, char **argv) {
  return run(&show_command, "show", print_letter, argc, argv);
}

static int run_retry(int argc, char **argv) {
  return run(&retry_command, "retry", send_again, argc, argv);
}

static int run_resolve(int argc, char **argv) {
  return run(&resolve_command, "resolve", say_resolved, argc, argv);
}

static const char usage[] = "usage: toolgate dead-letters list\n"
                            "       toolgate dead-letters show ID\n"
                            "       toolgate dead-letters retry ID --yes\n"
                            "       toolgate dead-letters resolve ID --outcome done|not-done\n\n"
                            "Shows and settles actions that the gateway could not bring to an end.\n"
                            "toolgate dead-letters COMMAND --help shows the options.\n";

int cmd_dead_letters(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"list", run_list}, {"show", run_show}, {"retry", run_retry}, {"resolve", run_resolve}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}
