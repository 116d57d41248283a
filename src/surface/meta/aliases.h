// SPDX-License-Identifier: Apache-2.0
// Read-only aliases of the governance file (govern/aliases.h) in mode gateway: tools that tools/list shows next to the
// meta-tools, and that a client calls by name.
//
// The surface caches the definition of each alias for `ttl_s` seconds. The cached definition becomes invalid at once
// when the rules, the governance file or the definitions of the server change. Every list request decides again which
// aliases the caller sees, and every call runs through all steps of the pipeline.
#pragma once
#include "call/caller.h"
#include "mcp/server/session.h"

struct surface;

// Appends the definitions of the aliases that the client may use, each after a comma.
void meta_put_aliases(struct surface *d, const struct session *s, struct buf *out);

// Calls the tool of an alias. Returns false if there is no such alias for this client.
bool meta_call_alias(struct surface *d, struct request *r, str alias);
// Returns whether the client may use the alias now.
bool meta_has_alias(struct surface *d, const struct session *s, str alias);

// Returns a hash of the aliases that this caller sees in the catalog. `views` has the bits of item.seen that the
// client's connections show, for the first `count` servers.
uint64_t meta_aliases_digest(struct surface *d, const struct caller *c, const struct catalog *catalog,
                             const uint32_t *views, size_t count);

void meta_aliases_forget(struct surface *d);
