// SPDX-License-Identifier: Apache-2.0
// The command version.
#include <stdio.h>

#include "app/cli/command.h"

static const struct command version_command = {.usage = "", .about = "Prints the version.", .options = ""};

int cmd_version(int argc, char **argv) {
  struct arguments args = {0};
  int status;
  if (!command_parse(&version_command, argc, argv, &args, &status)) return status;
  puts("toolgate " TOOLGATE_VERSION);
  return EXIT_OK;
}
