// SPDX-License-Identifier: Apache-2.0
// Sends list changes to the clients whose visible lists have changed. A change that an agent may not see, or that only
// the connection of another client shows, is not sent to it.
//
// Each client remembers the catalog that it was compared with last. A change compares the clients in slices of two
// milliseconds, so that any number of agents does not hold the loop.
#pragma once
#include "surface/surface_impl.h"

void surface_changes_init(struct surface *d);

// Later changes are compared with what the client sees now.
void surface_changes_attach(struct client *client);
void surface_changes_detach(struct client *client);

void surface_catalog_changed(struct surface *d);

// Clears the cards that count as seen if the catalog has changed for the client and its turn has not come yet.
void surface_check_shown(struct client *client);
