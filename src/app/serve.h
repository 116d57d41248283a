// SPDX-License-Identifier: Apache-2.0
// `toolgate serve`: puts the parts together, runs until a signal or the end of the client, takes them apart.
#pragma once
#include "app/config.h"
#include "io/child.h"

// Gives the exit code: 0, or 3 when it could not run.
int serve_run(const struct config *config, const struct guard *guard, char *const *env);
