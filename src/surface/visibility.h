// SPDX-License-Identifier: Apache-2.0
// Finds the directory (the searchable form) of the current catalog, and the items and entries that a client may see.
#pragma once
#include "call/caller.h"
#include "catalog/directory/directory.h"
#include "catalog/naming/naming.h"
#include "mcp/server/session.h"

struct surface;

// Returns the directory of the current catalog. The surface owns the directory. If on_invalid is "raise", the directory
// may be that of an older catalog.
const struct directory *surface_directory(struct surface *d);

// Finds the caller of a session whose request does not name an agent. Returns false and sets *f if the rules have no
// agent for the session.
bool surface_caller(struct surface *d, const struct session *s, struct caller *out, struct fault *f);

// Returns whether the caller may see this item of the catalog.
bool surface_sees(struct surface *d, const struct caller *c, const struct catalog *catalog, const struct item *item);
bool surface_sees_server(struct surface *d, const struct caller *c, unsigned source);
// Returns whether lists of servers show this server to the caller (caller_lists in call/caller.h).
bool surface_lists_server(struct surface *d, const struct caller *c, unsigned source);

// Returns which items of a catalog the caller sees, and their names. The results of the last two calls stay valid.
struct naming surface_naming(struct surface *d, const struct caller *c, const struct catalog *catalog);
void surface_forget_visibilities(struct surface *d);
// Frees the cached visibilities that belong to earlier catalogs.
void surface_forget_old_visibilities(struct surface *d);

// Refuses a request with a JSON-RPC error. `details` is a raw JSON object or STR_NONE.
void surface_refuse(struct request *r, const struct fault *f, str details);

// surface_tool_id returns the id of a tool; surface_tool_safe returns the name that every client accepts. Both return
// STR_NONE if the tool is not in the directory.
str surface_tool_id(void *surface, const struct item *tool);
str surface_tool_safe(void *surface, const struct item *tool);

// Finds the entry that an id names. The id may be complete, or may lack version and hash if only one entry that this
// client may see has such an id. Returns NULL if no entry, or more than one, has such an id. The client may be unable
// to see the result: check with meta_sees.
const struct entry *meta_find(struct surface *d, const struct session *s, enum directory_kind kind, str id);
// Finds all entries that an id without version and hash can name and that the client may see (directory_find_short).
size_t meta_find_short(struct surface *d, const struct session *s, enum directory_kind kind, str id,
                       const struct entry **out);

bool meta_sees(struct surface *d, const struct session *s, const struct entry *e);
// Returns the entries of one kind that the client may see, as bits in the scratch arena. Returns NULL if the client may
// see all entries.
const uint64_t *meta_visible(struct surface *d, const struct session *s, enum directory_kind kind);
// Records that the client successfully used the entry with this id.
void meta_used(void *surface, const struct session *s, str id);
