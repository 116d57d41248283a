// SPDX-License-Identifier: Apache-2.0
// toolgate approvals list | show | approve | deny: sends the operation to the running gateway.
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "app/gateway_client/console.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"
#include "json/write.h"

enum { MAX_OUTPUT = 256 << 20, MAX_PARAMS = 1 << 20, ARGS_SHOWN = 80 };

static const struct command list_command = {
    .usage = "[options]",
    .about = "Lists calls that wait until a person approves them, and approved calls that were not\n"
             "executed yet, oldest first. The arguments are those that the server will get, with\n"
             "secrets masked.",
    .options = "`\"=+cmuCWj",
};

static const struct command show_command = {
    .usage = "REQUEST_ID [options]",
    .about = "Shows a request for approval: the call, the evidence, the decisions and what became of it.",
    .options = "cmuCWj",
    .min = 1,
    .max = 1,
    .missing = "the request_id is missing; `toolgate approvals list` prints it",
};

static const struct command approve_command = {
    .usage = "REQUEST_ID [options]",
    .about = "Approves a call. When its gates have enough approvals, the agent's next request executes\n"
             "it, with the arguments that `toolgate approvals show` prints. Agents and principals of a\n"
             "call cannot approve it.",
    .options = "[(,)cmuCWj",
    .min = 1,
    .max = 1,
    .missing = "the request_id is missing; `toolgate approvals list` prints it",
};

static const struct command deny_command = {
    .usage = "REQUEST_ID [options]",
    .about = "Denies a call. The agent gets the reason. An approved call can be denied until it is\n"
             "executed.",
    .options = "[(,)cmuCWj",
    .min = 1,
    .max = 1,
    .missing = "the request_id is missing; `toolgate approvals list` prints it",
};

// ---- asking

static void put_option(struct json_writer *w, const char *key, const char *value) {
  if (value) json_member_str(w, str_of(key), str_of(value));
}

// Returns the name of the local user.
static const char *user_name(void) {
  const struct passwd *user = getpwuid(getuid());
  return user && *user->pw_name ? user->pw_name : "operator";
}

static str params_of(const struct arguments *args, const char *action, struct arena *a) {
  const struct person_arguments *person = &args->person;
  bool decides = strcmp(action, "approve") == 0 || strcmp(action, "deny") == 0;
  struct buf b;
  buf_init(&b, MAX_PARAMS);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  put_option(&w, "action", action);
  if (args->operand_count) put_option(&w, "request_id", args->operands[0]);
  if (decides) put_option(&w, "as", person->as ? person->as : user_name());
  put_option(&w, "role", person->role);
  put_option(&w, "gate", person->gate);
  put_option(&w, "reason", person->reason);
  put_option(&w, "tenant", args->records.tenant);
  put_option(&w, "agent", args->records.agent);
  if (args->all) json_member_bool(&w, STR("all"), true);
  json_end_object(&w);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

// ---- the answer as text

static str shown(const struct json *v, const char *key, struct arena *a) {
  struct buf b;
  buf_init(&b, MAX_PARAMS);
  visible_put(console_text(v, key, a), &b);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

// Returns the arguments on one line, with hidden characters as escapes.
static str args_of(const struct json *request, struct arena *a) {
  const struct json *args = json_get(request, STR("args"));
  struct buf b;
  buf_init(&b, 8 * (size_t)MAX_PARAMS);
  visible_put(args ? json_compacted(a, json_span(args)) : STR("{}"), &b);
  str text = b.over ? STR("{…}") : arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}

static void put_line(struct buf *out, const struct json *request, struct arena *a) {
  str args = args_of(request, a), head = utf8_cut(args, ARGS_SHOWN);
  buf_printf(out, "%.*s  %-9.*s  %.*s  %.*s (%.*s)  %.*s  %.*s%s\n", STR_ARG(shown(request, "request_id", a)),
             STR_ARG(shown(request, "status", a)), STR_ARG(shown(request, "expires_at", a)),
             STR_ARG(shown(request, "gate", a)), STR_ARG(shown(request, "role", a)),
             STR_ARG(shown(request, "capability", a)), STR_ARG(head), head.n < args.n ? "…" : "");
}

static void put_gate(struct buf *out, const struct json *gate, struct arena *a) {
  const struct json *decisions = json_get(gate, STR("decisions"));
  buf_printf(out, "  gate        %.*s: %llu of %llu approvals of the role %.*s\n", STR_ARG(shown(gate, "gate_id", a)),
             (unsigned long long)console_number(gate, "approvals"), (unsigned long long)console_number(gate, "quorum"),
             STR_ARG(shown(gate, "role", a)));
  if (!json_is(decisions, JSON_ARRAY)) return;
  JSON_EACH(it, decisions) {
    str reason = shown(it, "reason", a);
    buf_printf(out, "    %.*s by %.*s, %.*s, %.*s%s%.*s\n", STR_ARG(shown(it, "decision", a)),
               STR_ARG(shown(it, "approver", a)), STR_ARG(shown(it, "at", a)), STR_ARG(shown(it, "decision_id", a)),
               reason.n ? ": " : "", STR_ARG(reason));
  }
}

static void put_evidence(struct buf *out, const struct json *evidence, struct arena *a) {
  buf_printf(out, "  evidence    %.*s, %.*s\n    %.*s\n", STR_ARG(shown(evidence, "capability", a)),
             STR_ARG(shown(evidence, "sha256", a)), STR_ARG(shown(evidence, "excerpt", a)));
}

static void put_each(struct buf *out, const struct json *list, struct arena *a,
                     void (*put)(struct buf *out, const struct json *v, struct arena *a)) {
  if (!json_is(list, JSON_ARRAY)) return;
  JSON_EACH(it, list) put(out, it, a);
}

static void put_request(struct buf *out, const struct json *x, struct arena *a) {
  static const struct {
    const char *label, *key;
  } rows[] = {{"capability", "capability"}, {"server", "server"},     {"tool", "tool"}, {"mode", "mode"},
              {"agent", "agent"},           {"expires", "expires_at"}};
  buf_printf(out, "%.*s  %.*s\n", STR_ARG(shown(x, "request_id", a)), STR_ARG(shown(x, "status", a)));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    buf_printf(out, "  %-10s  %.*s\n", rows[i].label, STR_ARG(shown(x, rows[i].key, a)));
  buf_printf(out, "  arguments   %.*s\n", STR_ARG(args_of(x, a)));
  if (json_is(json_get(x, STR("masked")), JSON_TRUE)) buf_str(out, STR("              (secrets are masked)\n"));
  put_each(out, json_get(x, STR("gates")), a, put_gate);
  put_each(out, json_get(x, STR("evidence")), a, put_evidence);
}

static void put_list(struct buf *out, const struct json *answer, struct arena *a) {
  const struct json *requests = json_get(answer, STR("requests"));
  put_each(out, requests, a, put_line);
  if (!requests || !requests->count) buf_str(out, STR("no requests\n"));
  if (json_is(json_get(answer, STR("more")), JSON_TRUE)) buf_str(out, STR("…\n"));
}

// ---- the commands

static int run(const struct command *command, const char *action, int argc, char **argv) {
  struct arguments args = {0};
  struct console console;
  struct fault f;
  int status;
  bool lists = command == &list_command;
  if (!command_parse(command, argc, argv, &args, &status)) return status;
  if (!console_open(&console, &args.config, &status)) return status;
  str params = params_of(&args, action, &console.arena);
  const struct json *answer =
      control_client_request(console.gateway, &console.arena, STR("toolgate/approvals"), params, &f);
  if (answer) {
    struct buf out;
    buf_init(&out, MAX_OUTPUT);
    if (args.json) {
      buf_str(&out, json_span(lists ? json_get(answer, STR("requests")) : answer));
      buf_char(&out, '\n');
    } else if (lists) {
      put_list(&out, answer, &console.arena);
    } else {
      put_request(&out, answer, &console.arena);
    }
    command_print_done(&out);
    status = EXIT_OK;
  } else {
    status = command_failed(&f, f.code == FAULT_INVALID ? EXIT_NO : EXIT_CANNOT);
  }
  console_close(&console);
  return status;
}

static int run_list(int argc, char **argv) {
  return run(&list_command, "list", argc, argv);
}

static int run_show(int argc, char **argv) {
  return run(&show_command, "show", argc, argv);
}

static int run_approve(int argc, char **argv) {
  return run(&approve_command, "approve", argc, argv);
}

static int run_deny(int argc, char **argv) {
  return run(&deny_command, "deny", argc, argv);
}

static const char usage[] = "usage: toolgate approvals list [--all] [--role ROLE]\n"
                            "       toolgate approvals show REQUEST_ID\n"
                            "       toolgate approvals approve REQUEST_ID [--as WHO] [--role ROLE] [--reason TEXT]\n"
                            "       toolgate approvals deny REQUEST_ID [--as WHO] [--role ROLE] [--reason TEXT]\n\n"
                            "Shows calls that wait until a person approves them, and decides about them. Needs a\n"
                            "running gateway. toolgate approvals COMMAND --help shows the options.\n";

int cmd_approvals(int argc, char **argv) {
  static const struct command_part parts[] = {
      {"list", run_list}, {"show", run_show}, {"approve", run_approve}, {"deny", run_deny}, {NULL, NULL}};
  return command_run_part(parts, usage, argc, argv);
}
