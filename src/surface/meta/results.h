// SPDX-License-Identifier: Apache-2.0
// tool_view: reads more of a result that was cut. A view of a large artifact is made on another thread, with a copy of
// the selector; if the client disconnects meanwhile, nothing is sent.
#pragma once
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_view;

// Detaches the views in progress from a surface that ends; they free themselves.
void meta_views_forget(struct surface *d);
