// SPDX-License-Identifier: Apache-2.0
// Sends list changes to the clients whose visible lists have changed. A change is not sent to clients that may not see
// it, or whose own connections do not show it.
//
// Each client keeps the catalog of its last comparison. A change compares the clients in slices of two milliseconds, so
// that any number of agents does not hold the loop.
#pragma once

struct surface;
struct surface_client;
struct rulebook;

void surface_changes_init(struct surface *d);

// Later changes are compared with the lists the client sees now.
void surface_changes_attach(struct surface_client *client);
void surface_changes_detach(struct surface_client *client);

void surface_catalog_changed(struct surface *d);

// The rules have changed from `before`: notifies clients whose lists differ now and ends subscriptions that are no
// longer allowed. `before` is not kept.
void surface_rules_changed(struct surface *d, const struct rulebook *before);

// The set of servers has changed: starts the servers that clients need. Lists wait for them as they do at the start.
void surface_servers_changed(struct surface *d);

// Clears the cards that count as seen if the catalog has changed for the client and its turn has not come yet.
void surface_check_shown(struct surface_client *client);
