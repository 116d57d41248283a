// SPDX-License-Identifier: Apache-2.0
// The items of a catalog that one caller sees, and their names (direct mode).
//
// An item keeps its name if only one visible upstream uses this name and every client accepts it
// (^[A-Za-z0-9_-]{1,64}$). A name that several upstreams use becomes server__name. A name that is too long or unsafe is
// shortened with a stable hash. Names depend on visible items only: otherwise a prefix would reveal that a hidden
// server has a tool with this name.
//
// A URI belongs to the first server in the configuration that lists it or has a template that matches it. If a later
// server lists the same URI, or has a template that overlaps with one of an earlier server, the later item is shown as
// server+uri. Clients may use the form server+uri for every URI of a server. If a URI already begins with the prefix of
// another server, it gets a prefix, too.
#pragma once
#include "catalog/catalog.h"

// Names for callers that see only part of a catalog, if they differ from the catalog's names. Shared by callers that
// see the same part.
struct naming_own;

// Passed by value. Must not outlive the catalog, the bits and the names from which it was made.
struct naming {
  const struct catalog *catalog;
  const uint64_t *seen[ITEM_KINDS];  // one bit for each item, by its index in the catalog; NULL: all items are visible
  const struct naming_own *own;      // NULL: items have the names that clients with full visibility see
  // NULL, or a function that decides, instead of the bits, whether one item is visible.
  bool (*lets)(const void *who, const struct item *item, str server);
  const void *who;
};

struct naming naming_of_all(const struct catalog *c);

// Returns NULL if all clients would see the same names. The result does not refer to the catalog or the bits.
struct naming_own *naming_own_new(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]);
void naming_own_free(struct naming_own **place);
size_t naming_own_bytes(const struct naming_own *own);  // approximate memory in bytes; 0 for NULL

bool naming_sees(const struct naming *n, const struct item *item);
str naming_shown(const struct naming *n, const struct item *item);  // the item must be visible

// Returns NULL if no visible item has this name.
const struct item *naming_find(const struct naming *n, enum item_kind kind, str shown);

// Writes the names of all visible items that several upstreams call `name`, for people: "a__x, b__x". Writes nothing if
// there are no such items.
void naming_suggest(const struct naming *n, enum item_kind kind, str name, struct buf *out);

// Writes the definition with the item's name. `old` selects the form for clients with a handshake.
void naming_put(const struct naming *n, const struct item *item, bool old, struct buf *out);

// Returns whether two callers see the same name and definition. The items may be from two catalogs.
bool naming_same_item(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y);

// Finds the upstreams that may serve a URI: its owner or, if it has none, all upstreams with other URIs of the same
// scheme, in the order of the configuration. Writes at most `max` candidates (1 or more) to `out`, and returns their
// number. A URI of more than URI_BYTES_MAX bytes is found only if an upstream lists it.
struct catalog_route {
  unsigned source;
  str uri;      // the URI as the upstream knows it
  bool listed;  // the upstream lists the URI or has a matching template; false: the upstream is only a guess
};
size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max);

// Returns whether a URI matches a URI template (RFC 6570): {x} matches any text without '/', other expressions match
// any text.
bool naming_template_match(str template_, str uri);

// For catalog_build: makes the names of all visible items of a kind (`seen` NULL: of all items). `shown` and `owner`
// have one element for each item; those of invisible items stay unchanged. `owner` must be zero initially. If another
// source has the same name or URI and this changes the name, `owner` becomes 1 + the index of this source. Adds the
// items to `by`. Returns the number of changed names.
size_t naming_make(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, struct arena *a, str *shown,
                   unsigned *owner, struct map *by);
