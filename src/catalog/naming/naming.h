// SPDX-License-Identifier: Apache-2.0
// The items of a catalog that one caller sees, and their names (direct mode).
//
// An item keeps its name if only one visible upstream uses this name and every client accepts it
// (^[A-Za-z0-9_-]{1,64}$). A name that several visible upstreams use becomes server__name. A name that is too long or
// unsafe is shortened with a stable hash. Names depend on visible items only: otherwise a prefix would reveal that a
// hidden server has a tool with this name.
//
// A URI belongs to the first server in the configuration that lists it or has a template that matches it. If a later
// server lists the same URI, or has a template that overlaps with a template of an earlier server, the item of the
// later server is shown as server+uri. Clients may use the form server+uri for every URI of a server. A URI that
// already begins with the prefix of another server is shown as server+uri, too.
#pragma once
#include "catalog/catalog.h"

// Names for callers that see only some items: only the names that differ from those in the catalog. Shared by callers
// that see the same items.
struct naming_own;

// The items that one caller sees, and their names. Passed by value. The catalog, the bits in `seen` and `own` must
// outlive this struct.
struct naming {
  const struct catalog *catalog;
  const uint64_t *seen[ITEM_KINDS];  // one bit for each item of the catalog; NULL if all items are visible
  const struct naming_own *own;      // NULL if items have the names in the catalog
  // If not NULL, this function decides whether an item is visible, and `seen` is not used.
  bool (*lets)(const void *who, const struct item *item, str server);
  const void *who;
};

struct naming naming_of_all(const struct catalog *c);

// Makes the names for callers that see only the items in `seen`. Returns NULL if these are the names in the catalog.
// The result does not refer to `c` or `seen`.
struct naming_own *naming_own_new(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]);
void naming_own_free(struct naming_own **place);
size_t naming_own_bytes(const struct naming_own *own);  // approximate memory in bytes; 0 for NULL

bool naming_sees(const struct naming *n, const struct item *item);
// Returns the name of an item that the caller sees.
str naming_shown(const struct naming *n, const struct item *item);

// Returns the visible item with this name, or NULL.
const struct item *naming_find(const struct naming *n, enum item_kind kind, str shown);

// Writes the names of all visible items that several upstreams call `name`, for people: "a__x, b__x". Writes nothing if
// no visible item has this name.
void naming_suggest(const struct naming *n, enum item_kind kind, str name, struct buf *out);

// Writes the definition of an item with the name that the caller sees. `old` selects the form for clients with a
// handshake.
void naming_put(const struct naming *n, const struct item *item, bool old, struct buf *out);

// Returns whether caller `a` sees item `x` with the same name and definition as caller `b` sees item `y`. The items may
// be from two catalogs.
bool naming_same_item(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y);

// An upstream that may serve a URI.
struct catalog_route {
  unsigned source;
  str uri;      // the URI as the upstream knows it
  bool listed;  // true if the upstream lists the URI or has a matching template; false if the upstream is a guess
};

// Finds the upstreams that may serve a URI: the owner of the URI or, if the URI has no owner, all upstreams with other
// URIs of the same scheme, in the order of the configuration. Writes at most `max` (1 or more) upstreams to `out`, and
// returns their number. A URI of more than URI_BYTES_MAX bytes is found only if an upstream lists it.
size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max);

// Returns whether a URI matches a URI template (RFC 6570): {x} matches any text without '/', other expressions match
// any text.
bool naming_template_match(str template_, str uri);

// For catalog_build: makes the names of all visible items of a kind. If `seen` is NULL, all items are visible. `shown`
// and `owner` have one element for each item; the elements of invisible items stay unchanged. `owner` must be zero
// initially. If the name of an item changes because another server uses the name or URI, the owner becomes 1 + the
// index of that server. Adds the items to `by`, under their names. Returns the number of changed names.
size_t naming_make(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, struct arena *a, str *shown,
                   unsigned *owner, struct map *by);
