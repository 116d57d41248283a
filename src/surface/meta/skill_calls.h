// SPDX-License-Identifier: Apache-2.0
// Runs a skill for tool_execute. First a job compares the files of the skill with those whose signature was verified.
// Then each step is a call of its own, with the rights of the caller. The request is answered when the skill has ended.
#pragma once
#include "call/calls.h"
#include "surface/meta/meta_tools.h"

// If `id` is an active skill of the caller's tenant, starts it and returns true: the request will be answered. `args`
// is raw JSON.
bool skill_calls_start(struct surface *d, struct request *r, str id, str args, const struct caller_options *options);
