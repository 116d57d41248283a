// SPDX-License-Identifier: Apache-2.0
// Makes the two texts of a definition that clients receive, both with the shown name. Clients with a handshake need a
// different text: they accept only objects as arguments and results, and learn from the definition whether a call may
// become a task.
#pragma once
#include "catalog/catalog.h"

// Sets all members of an item that are derived from its definition. item->text must be the upstream's text, and is
// replaced by the text for clients. Allocates in the arena, and resets `scratch`.
void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch);
