// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "app/check/check.h"
#include "app/cli/command.h"

static const struct command command = {
    .usage = "[options]",
    .about = "Reads the configuration and says everything that is wrong with it. Starts\n"
             "nothing, unless --connect is given. Ends with 1 when a server cannot work.",
    .options = "cmuACMtliLjo",
};

int cmd_check(int argc, char **argv) {
  struct arguments args = {.config.strict = true};
  int status;
  if (!command_parse(&command, argc, argv, &args, &status)) return status;
  if (args.connect) return check_connect(&args.config, args.json, environ, stdout);
  return check_run(&args.config, args.json, environ, stdout);
}
