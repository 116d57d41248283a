// SPDX-License-Identifier: Apache-2.0
// Shared code of the commands: options, help, exit codes, output.
#pragma once
#include <stdio.h>

#include "app/config/config.h"
#include "base/buf.h"

// Exit codes. EXIT_NO: the answer is no, or the input is invalid. EXIT_CANNOT: the command could not do its work.
enum { EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_CANNOT };

// argv[0] is "toolgate COMMAND". Returns the exit code.
typedef int command_run(int argc, char **argv);
command_run cmd_serve, cmd_check, cmd_version, cmd_tokens;
command_run cmd_catalog, cmd_browse, cmd_hydrate, cmd_call, cmd_stats, cmd_schema, cmd_rank, cmd_context;
command_run cmd_policy, cmd_audit, cmd_view, cmd_govern, cmd_adapter, cmd_plan;
command_run cmd_decisions, cmd_calls;
command_run cmd_pins, cmd_skill, cmd_approvals;
command_run cmd_import, cmd_connect, cmd_add, cmd_remove, cmd_enable, cmd_disable, cmd_token;
command_run cmd_status, cmd_top, cmd_logs;

struct command {
  const char *usage;    // operands and options in the usage line: "QUERY [options]"
  const char *about;    // description in the help, a few sentences
  const char *options;  // letters of the command's options (rows of the table in command.c), in the order of the help
  const char *briefs;   // short options: pairs of the letter to type and the option's letter; or NULL
  size_t min, max;      // number of operands
  const char *missing;  // message for too few operands
  const char *surplus;  // advice for too many operands, or NULL
};

// Options of `toolgate context`.
struct context_arguments {
  const char *session, *phase, *query, *budget, *tags, *header, *footer, *floor, *shape, *responses;
  const char *context, *limit, *since, *until, *contains, *search;
  bool redact, explain, execute, estimate;
};

enum { COMMAND_MOST_PAIRS = 64 };  // maximum number of --header options, and of --env options

// Options of the commands that change files, such as `import`, `connect`, `add` and `token`.
struct file_arguments {
  bool project, user, undo, force;
  const char *http, *name, *token_env;
  const char *headers[COMMAND_MOST_PAIRS], *env[COMMAND_MOST_PAIRS];
  size_t header_count, env_count;
};

// Options of `toolgate decisions` and `toolgate calls`.
struct record_arguments {
  const char *tenant, *agent, *since, *limit;
};

// Options of commands with which a person decides.
struct person_arguments {
  const char *as, *role, *gate, *reason;
};

// The parsed command line. An absent option is NULL.
struct arguments {
  struct config_options config;
  bool json, batch, manifest, connect, dry_run, full, once, follow, decision;
  bool all, count_governed;
  const char *sha256;
  const char *tenant;
  const char *path, *kind, *top_k, *schema, *selected, *key, *lines, *method, *governance;
  struct context_arguments context;
  struct record_arguments records;
  struct file_arguments files;
  struct person_arguments person;
  char **operands;
  size_t operand_count;
};

// Parses the command line. Returns false if the command must exit with *out_status: help was printed, or the command
// line is wrong and the error was printed on stderr.
bool command_parse(const struct command *c, int argc, char **argv, struct arguments *out, int *out_status);

// A subcommand, chosen by the first operand. The table ends with an entry without a name.
struct command_part {
  const char *name;
  command_run *run;
};
int command_run_part(const struct command_part *parts, const char *help, int argc, char **argv);

// Appends the output for one line of input to `out`. Returns false if the line is malformed. The arena is reset after
// each line.
typedef bool command_answer(void *ctx, str line, struct arena *a, struct buf *out);
// Reads stdin, calls `answer` for each line that is not blank, and prints the output. Returns EXIT_NO if a line was
// malformed, EXIT_CANNOT if stdin cannot be read.
int command_each_line(command_answer *answer, void *ctx);

// Prints the error `what` about an operand or an option, and how to get help. Returns EXIT_USAGE.
int command_misused(const char *name, const char *what);

// Prints the fault on stderr. Returns `status`.
int command_failed(const struct fault *f, int status);

// Prints on stderr the problems that config_load found.
void command_print_problems(const struct config_problems *p);

// Parses a date, a time in RFC 3339, or seconds since 1970, into milliseconds since 1970.
bool command_time(const char *said, int64_t *out_ms);

// Reads a governance file. On failure prints the problems on stderr and returns NULL.
struct governance *command_load_governance(const char *path, str named_by);

// Prints untrusted text on stdout; on a terminal each control character becomes '?'.
void command_print(str text);
void command_print_masked(str text, FILE *out);  // replaces control characters by '?' on any output
void command_print_done(struct buf *out);        // prints the buffer and frees it
