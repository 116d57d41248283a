// SPDX-License-Identifier: Apache-2.0
// The commands serve, check and version.
#include <stdio.h>
#include <unistd.h>

#include "app/check/check.h"
#include "app/cli/command.h"
#include "app/serve.h"

static const struct command serve_command = {
    .usage = "[options]",
    .about = "Serves the configured MCP servers to clients, on stdio or HTTP.",
    .options = "cmuACMtliDL",
};

static int serve(const struct arguments *args, const struct guard *guard) {
  struct config config;
  struct config_problems problems;
  struct config_options said = args->config;
  said.audits = true;
  config_problems_init(&problems);
  bool ok = config_load(&config, &said, environ, &problems);
  command_print_problems(&problems);
  int status = config_problems_status(&problems);
  struct serve_options opt = {&config, &said, &problems, environ};
  if (ok) status = serve_run(&opt, guard);
  config_problems_done(&problems);
  config_done(&config);
  return status;
}

int cmd_serve(int argc, char **argv) {
  struct arguments args = {0};
  struct guard guard;
  struct fault f;
  int status;
  if (!command_parse(&serve_command, argc, argv, &args, &status)) return status;
  // Starts the process that starts the servers, while there is one thread and no open file.
  if (guard_start(&guard, &f)) return serve(&args, &guard);
  return command_failed(&f, EXIT_CANNOT);
}

static const struct command check_command = {
    .usage = "[options]",
    .about = "Reads the configuration and prints every problem. Starts nothing, unless --connect\n"
             "is given. Exit code 1: a server cannot work.",
    .options = "cmuACMtliLjo",
};

int cmd_check(int argc, char **argv) {
  struct arguments args = {.config.strict = true};
  int status;
  if (!command_parse(&check_command, argc, argv, &args, &status)) return status;
  if (args.connect) return check_connect(&args.config, args.json, environ, stdout);
  return check_run(&args.config, args.json, environ, stdout);
}

static const struct command version_command = {.usage = "", .about = "Prints the version.", .options = ""};

int cmd_version(int argc, char **argv) {
  struct arguments args = {0};
  int status;
  if (!command_parse(&version_command, argc, argv, &args, &status)) return status;
  puts("toolgate " TOOLGATE_VERSION);
  return EXIT_OK;
}
