// SPDX-License-Identifier: Apache-2.0
// The meta-tool plan_check: decides whether the caller may run each step of a plan (govern/plan.h), without calling a
// tool. The steps have `tool_id` instead of `capability`. The meta-tool is offered to callers whose governance file has
// `plan_check: true`.
#pragma once
#include "surface/meta/meta_tools.h"

#define PLAN_CHECK_SCHEMA \
  "{\"type\":\"object\",\"properties\":{\"steps\":{\"type\":\"array\",\"items\":{\"type\":\"object\"," \
  "\"properties\":{\"tool_id\":{\"type\":\"string\"},\"args\":{\"type\":\"object\"}," \
  "\"args_complete\":{\"type\":\"boolean\"}},\"required\":[\"tool_id\"]}},\"intent\":{\"type\":\"string\"}," \
  "\"read_only\":{\"type\":\"boolean\"}}," \
  "\"required\":[\"steps\"],\"additionalProperties\":false}"

meta_tool meta_plan_check;
