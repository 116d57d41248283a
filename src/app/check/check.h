// SPDX-License-Identifier: Apache-2.0
// `toolgate check`: reads the configuration as `serve` would, says everything that is wrong with it, starts nothing.
#pragma once
#include <stdio.h>

#include "app/config/config.h"

// Prints the problems (file:pointer: message) and a summary, as text or as one JSON object, to `out`.
// Values of headers and variables are never printed. Gives the exit code, as config_problems_status.
int check_run(const struct config_options *opt, bool json, char *const *env, FILE *out);

// The same; the servers are started, but for those that are left out, and what each of them offers is printed with it.
// The exit code is 1 too when a server failed or something of it was left out, and 3 when that could not be tried. To
// be called while there is one thread and nothing is open.
int check_connect(const struct config_options *opt, bool json, char *const *env, FILE *out);
