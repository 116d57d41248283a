// SPDX-License-Identifier: Apache-2.0
// The command check.
#include <stdio.h>
#include <unistd.h>

#include "app/check/check.h"
#include "app/cli/command.h"

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
