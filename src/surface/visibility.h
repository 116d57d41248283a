// SPDX-License-Identifier: Apache-2.0
// Visibility: the directory of the current catalog, and the entries in it that a client may see.
#pragma once
#include "call/caller.h"
#include "catalog/directory/directory.h"
#include "catalog/naming/naming.h"
#include "mcp/server/session.h"

struct surface;

// Returns the directory of the current catalog, owned by the surface. With on_invalid: raise, it may be the directory
// of an older catalog.
const struct directory *surface_directory(struct surface *d);

// Finds the caller of a session whose request does not name an agent. Returns false and sets *f if the rules have no
// agent for the session.
bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f);

// Returns whether the caller may see this item of the catalog.
bool surface_sees(struct surface *d, const struct caller *c, const struct catalog *catalog, const struct item *item);
bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source);

// Returns visibility and names for a whole catalog. The last two results stay valid.
struct naming surface_naming(struct surface *d, const struct caller *c, const struct catalog *catalog);
void surface_forget_visibilities(struct surface *d);
void surface_forget_old_visibilities(struct surface *d);  // frees results for earlier catalogs

// Refuses a request with a JSON-RPC error. `details` is a raw JSON object or STR_NONE.
void surface_refuse(struct request *r, const struct fault *f, str details);

// Return the id and the client-safe name of a tool, or STR_NONE if it is not in the directory.
str surface_tool_id(void *surface, const struct item *tool);
str surface_tool_safe(void *surface, const struct item *tool);

// Finds the entry that an id names: a complete id, or an id without version and hash that names exactly one entry which
// this client may see. Returns NULL if there is no such entry, or several. The result may be hidden: check with
// meta_sees.
const struct entry *meta_find(struct surface *d, const struct session *s, enum directory_kind kind, str id);
// Finds the visible entries that an id without version and hash names; see directory_find_short.
size_t meta_find_short(struct surface *d, const struct session *s, enum directory_kind kind, str id,
                       const struct entry **out);

bool meta_sees(struct surface *d, const struct session *s, const struct entry *e);
// Returns the entries of a kind index that the client may see, as bits in the scratch arena; NULL if the client may see
// all.
const uint64_t *meta_visible(struct surface *d, const struct session *s, enum directory_kind kind);
// Records that the client used an entry successfully.
void meta_used(void *surface, const struct session *s, str id);
