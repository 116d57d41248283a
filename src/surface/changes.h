// SPDX-License-Identifier: Apache-2.0
// Who is told that a list is another: those clients that see something else than before, and no other. That something
// changed that an agent may not see, or that only another's connection shows, is none of its business.
#pragma once
#include "surface/surface_impl.h"

void surface_note_views(struct client *client);  // as they are now
void surface_catalog_changed(struct surface *d);
void surface_check_shown(struct client *client);  // is what it was shown another by now, though it was not told yet?
