// SPDX-License-Identifier: Apache-2.0
// What the commands have in common: options, help, exit codes. Each command is a file cmd_NAME.c.
#pragma once
#include <stdio.h>

#include "app/config/config.h"
#include "base/buf.h"

// EXIT_NO: the answer is no, or what was given is invalid.
enum { EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_CANNOT };

// argv[0] is "toolgate COMMAND". Gives the exit code.
typedef int command_run(int argc, char **argv);
command_run cmd_serve, cmd_check, cmd_version;
command_run cmd_catalog, cmd_browse, cmd_hydrate, cmd_call, cmd_stats, cmd_schema, cmd_rank, cmd_context;
command_run cmd_policy, cmd_audit, cmd_view;
command_run cmd_import, cmd_connect, cmd_add, cmd_remove, cmd_enable, cmd_disable, cmd_token;
command_run cmd_status, cmd_top, cmd_logs;

struct command {
  const char *usage;    // behind the name: "QUERY [options]"
  const char *about;    // a sentence or some
  const char *options;  // letters of those it takes, in the order of the help: rows of the table in command.c
  const char *briefs;   // short forms: pairs of a letter to type and the letter of an option; NULL: none
  size_t min, max;      // number of operands
  const char *missing;  // what to say when there are too few
  const char *surplus;  // and what may be the reason when there are too many; NULL: nothing in particular
};

// Of `toolgate context`.
struct context_arguments {
  const char *session, *phase, *query, *budget, *tags, *header, *footer, *floor, *shape, *responses;
  const char *context, *limit, *since, *until, *contains, *search;
  bool redact, explain, execute, estimate;
};

// Of the commands that change files: `import`, `connect`, `add`, `token` and their kind.
enum { COMMAND_MOST_PAIRS = 64 };
struct file_arguments {
  bool project, user, undo, force;
  const char *http, *name, *token_env;
  const char *headers[COMMAND_MOST_PAIRS], *env[COMMAND_MOST_PAIRS];
  size_t header_count, env_count;
};

// What the command line says; NULL: not said.
struct arguments {
  struct config_options config;
  bool json, batch, connect, dry_run, full, once, follow, decision;
  const char *path, *kind, *top_k, *schema, *selected, *key, *lines, *method;
  struct context_arguments context;
  struct file_arguments files;
  char **operands;
  size_t operand_count;
};

// False: there is nothing more to do, and *out_status is the exit code: help was asked for and printed, or the command
// line is wrong and this was said.
bool command_parse(const struct command *c, int argc, char **argv, struct arguments *out, int *out_status);

// A command of several: the first operand says which. The table ends with one without a name.
struct command_part {
  const char *name;
  command_run *run;
};
int command_run_part(const struct command_part *parts, const char *help, int argc, char **argv);

// Prints what is wrong with an operand or an option, and how to get help. Returns EXIT_USAGE.
int command_misused(const char *name, const char *what);

// Prints the fault on stderr. Returns `status`.
int command_failed(const struct fault *f, int status);

// Prints the problems that config_load found on stderr.
void command_print_problems(const struct config_problems *p);

// Prints untrusted text on stdout; on a terminal each control character becomes '?'.
void command_print(str text);
void command_print_masked(str text, FILE *out);  // always replaces them
void command_print_done(struct buf *out);        // prints the buffer and frees it
