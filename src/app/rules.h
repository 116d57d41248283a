// SPDX-License-Identifier: Apache-2.0
// The rules file by itself, for commands that need no servers.
#pragma once
#include "app/config.h"
#include "policy/policy.h"

// From the file that is named, else by GATEWAY_RULES, else .mcp-gateway-rules.json here or in ./config. NULL: what is
// wrong is among the problems; that there is no such file is a problem too.
struct policy *rules_load(const char *file, char *const *env, struct config_problems *problems);
