// SPDX-License-Identifier: Apache-2.0
// The meta-tool tool_view, which shows more of a result that was cut. A view of a large artifact is made on another
// thread; if the client disconnects meanwhile, nothing is sent.
#pragma once
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_view;

// Must be called when the surface ends: detaches the views in progress. Each view frees itself at its end.
void meta_views_forget(struct surface *d);
