// SPDX-License-Identifier: Apache-2.0
// The meta-tools tool_browse, resource_browse and prompt_browse. An answer has the cards (short descriptions) of items
// that match a query, best first; the cards below a path; or the definition of one item.
#pragma once
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_browse, meta_resource_browse, meta_prompt_browse;
