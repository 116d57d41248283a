// SPDX-License-Identifier: Apache-2.0
// Makes the two texts of a definition that clients receive: one for stateless clients, and one for clients with a
// handshake. Clients with a handshake accept only objects as arguments and results, and learn from the definition
// whether a call may become a task. Both texts have the shown name.
#pragma once
#include "catalog/catalog.h"

// Sets all members of an item that are derived from its definition. item->text must be the upstream's definition; the
// text for clients replaces it. Allocates in the arena, and resets `scratch`.
void show_item(struct item *item, const struct definitions_origin *origin, struct arena *a, struct arena *scratch);
