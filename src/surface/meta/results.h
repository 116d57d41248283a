// SPDX-License-Identifier: Apache-2.0
// tool_view: the rest of a result that was cut. A look at much of it would hold up the loop: that is done by another
// thread, with a selector and bytes that nobody else touches. Whoever has left meanwhile is not answered.
#pragma once
#include "surface/surface_impl.h"

void meta_views_forget(struct surface *d);  // nobody waits for them, but they are not over
