// SPDX-License-Identifier: Apache-2.0
// Makes the two texts of a definition that clients get, both with the shown name. The text for handshake clients
// differs: such clients accept only objects as arguments and results, and learn from the definition whether a call may
// become a task.
#pragma once
#include "catalog/catalog.h"

// Sets all members that are derived from the definition. item->text must be the upstream's text and becomes the
// catalog's. Allocates the item's memory in the arena; resets `scratch`.
void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch);
