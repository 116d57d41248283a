// SPDX-License-Identifier: Apache-2.0
// `toolgate serve`: puts the parts together, runs until a signal or the end of the client, takes them apart.
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

// Gives the exit code: 0, or 3 when it could not run.
int serve_run(const struct serve_options *opt, const struct guard *guard);
