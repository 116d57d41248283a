// SPDX-License-Identifier: Apache-2.0
// `toolgate serve`: creates the gateway and its listeners, runs until a signal or the end of the client, and frees
// everything.
#pragma once
#include "app/config/config.h"
#include "io/process/child.h"

// The configuration, the command line, the problems found in both, and the environment.
struct serve_options {
  const struct config *config;
  const struct config_options *said;
  const struct config_problems *problems;
  char *const *env;
};

// Runs the gateway until it stops. Returns the exit code: 0, or 3 if the gateway could not run.
int serve_run(const struct serve_options *opt, const struct guard *guard);
