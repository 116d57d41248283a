// SPDX-License-Identifier: Apache-2.0
// tool_view: reads more of a result that was cut. A view of a large artifact runs on another thread, with its own copy
// of the selector; nothing is sent if the client is gone by then.
#pragma once
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_view;

// Detaches views in progress from a surface that ends; they free themselves.
void meta_views_forget(struct surface *d);
