// SPDX-License-Identifier: Apache-2.0
// The texts in which clients get a definition: under the shown name, and in two forms. Handshake clients know tools
// with objects as arguments and results only, and learn from the definition whether a call may become a task.
#pragma once
#include "catalog/catalog.h"

// Fills in all that is read from the definition: item->text is the upstream's before, the catalog's own after. What the
// item keeps goes into the arena; scratch is emptied.
void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch);
