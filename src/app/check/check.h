// SPDX-License-Identifier: Apache-2.0
// `toolgate check`: reads the configuration as `serve` does, and prints every problem.
#pragma once
#include <stdio.h>

#include "app/config/config.h"

// Prints the problems (file:pointer: message) and a summary to `out`, as text or as one JSON object. Never prints
// values of headers and variables. Starts nothing. Returns the exit code of config_problems_status.
int check_run(const struct config_options *opt, bool json, char *const *env, FILE *out);

// Like check_run, but also starts all valid servers, and prints the definitions of each. The exit code is also 1 if a
// server failed or some of its definitions were left out, and 3 if the servers could not be started. Must be called
// while the process has one thread and no open files.
int check_connect(const struct config_options *opt, bool json, char *const *env, FILE *out);
