// SPDX-License-Identifier: Apache-2.0
// The command serve.
#include <unistd.h>

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
  // The guard must be started while this process has one thread and no open file.
  if (guard_start(&guard, &f)) return serve(&args, &guard);
  return command_failed(&f, EXIT_CANNOT);
}
