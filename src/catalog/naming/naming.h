// SPDX-License-Identifier: Apache-2.0
// The visible part of a catalog for one caller, and its names there (direct mode).
//
// A name stays unchanged if it is client-safe (^[A-Za-z0-9_-]{1,64}$) and only one visible upstream has it; names that
// clash become server__name; names that are then too long or unsafe are shortened with a stable hash. Names depend on
// the visible items only: a prefix must not reveal a server with such a tool that the rules hide.
//
// A URI belongs to the first server in the configuration that lists it or has a template that covers it. A later server
// that lists it too, or has a template that overlaps with one of the first, shows that as server+uri. The form
// server+uri is understood for every URI of a server, and a URI of another server that begins so is prefixed itself.
#pragma once
#include "catalog/catalog.h"

// Names for callers that see a part of a catalog with contested names; shared by callers that see the same.
struct naming_own;

// Passed by value. Valid as long as the catalog, and the bits and names that it was made with.
struct naming {
  const struct catalog *catalog;
  const uint64_t *seen[ITEM_KINDS];  // bits, by an item's index in the catalog; NULL: all items are visible
  const struct naming_own *own;      // NULL: items have the names of clients with full visibility
  // Replaces the bits if a single item is looked up: returns whether the item is visible. NULL: the bits decide.
  bool (*lets)(const void *who, const struct item *item, str server);
  const void *who;
};

struct naming naming_of_all(const struct catalog *c);

// Returns NULL if the names would be the same as those of all clients. Keeps neither the catalog nor the bits.
struct naming_own *naming_own_new(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]);
void naming_own_free(struct naming_own **place);
size_t naming_own_bytes(const struct naming_own *own);  // approximate memory; 0 for NULL

bool naming_sees(const struct naming *n, const struct item *item);
str naming_shown(const struct naming *n, const struct item *item);  // of a visible item

// Returns NULL if no visible item has this name.
const struct item *naming_find(const struct naming *n, enum item_kind kind, str shown);

// Lists the visible items of several upstreams that have this name there, for people: "a__x, b__x". Empty: none.
void naming_suggest(const struct naming *n, enum item_kind kind, str name, struct buf *out);

// Writes the definition under its name; `old`: in the form for clients with a handshake.
void naming_put(const struct naming *n, const struct item *item, bool old, struct buf *out);

// Returns whether two items, perhaps of two catalogs, look the same to their callers.
bool naming_same_item(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y);

// Finds the upstreams that may serve a URI: its owner; without one, upstreams that have other URIs of that scheme, in
// the order of the configuration. Returns the number of candidates written to out, at most max, which is 1 or more. A
// URI of more than URI_BYTES_MAX bytes leads only to its own entry.
struct catalog_route {
  unsigned source;
  str uri;      // the upstream's form
  bool listed;  // by an entry or a template, not a guess
};
size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max);

// Returns whether a URI matches a URI template (RFC 6570): {x} takes anything but '/', other expressions take anything.
bool naming_template_match(str template_, str uri);

// For catalog_build: names all visible items of a kind (seen NULL: all items). shown and owner have an element for each
// item; those of invisible items stay unchanged. owner, initially zero: 1 + the source that also has or covers this
// name or URI, if that changes the name. by: filled in. Returns the number of changed names.
size_t naming_make(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, struct arena *a, str *shown,
                   unsigned *owner, struct map *by);
