// SPDX-License-Identifier: Apache-2.0
// The rules file by itself, for commands that need no servers.
#pragma once
#include "app/config/config.h"
#include "policy/policy.h"

// Reads the configuration without its servers: out->policy is what `serve` would go by, out->rules_file its file.
// False: what is wrong is among the problems, as it is that there are no rules, and nothing is to be freed.
bool rules_load(struct config *out, const struct config_options *said, char *const *env,
                struct config_problems *problems);
