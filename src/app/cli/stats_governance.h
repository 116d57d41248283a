// SPDX-License-Identifier: Apache-2.0
// Prints the counters of governed calls of the running gateway. Returns the exit code.
#pragma once
#include "app/cli/command.h"

int stats_governance(const struct arguments *args);
