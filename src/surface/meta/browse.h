// SPDX-License-Identifier: Apache-2.0
// tool_browse, resource_browse, prompt_browse. The answer has cards for a query (best first), cards for a path, or the
// definition of one item.
#pragma once
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_browse, meta_resource_browse, meta_prompt_browse;
