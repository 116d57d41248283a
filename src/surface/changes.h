// SPDX-License-Identifier: Apache-2.0
// Sends list_changed notifications to the clients whose visible lists have changed. A client gets no notification about
// items that it may not see, or that its own connections do not show.
//
// Each client refers to the catalog with which it was last compared. After a change, the lists of all clients are
// compared in slices of two milliseconds, so that many agents do not block the event loop.
#pragma once

struct surface;
struct surface_client;
struct rulebook;

void surface_changes_init(struct surface *d);

// Starts to track the lists of a client: later catalogs are compared with the lists that the client sees now.
void surface_changes_attach(struct surface_client *client);
void surface_changes_detach(struct surface_client *client);

void surface_catalog_changed(struct surface *d);

// Must be called after the rules have changed; `before` is the old rules. Notifies the clients whose lists have
// changed, and ends subscriptions that are no longer allowed. `before` is not used after the call.
void surface_rules_changed(struct surface *d, const struct rulebook *before);

// Must be called after the set of servers has changed: starts the servers that clients need. List requests wait for
// these servers, as they do after the start of the gateway.
void surface_servers_changed(struct surface *d);

// If the catalog has changed since the client's lists were last compared, compares them now. If a list differs, forgets
// which search results (cards) the client has seen.
void surface_check_shown(struct surface_client *client);
