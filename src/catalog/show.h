// SPDX-License-Identifier: Apache-2.0
// The texts in which clients get a definition: under the shown name, and in two forms. Handshake clients know tools
// with objects as arguments and results only, and learn from the definition whether a call may become a task.
#pragma once
#include "catalog/catalog.h"

// Sets all members that are read from the definition: item->text is the upstream's text before, the catalog's text
// after. The item's memory is in the arena; scratch is reset.
void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch);
