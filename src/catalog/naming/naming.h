// SPDX-License-Identifier: Apache-2.0
// What somebody sees of a catalog, and the names that it has for them (direct mode).
//
// A name stays as it is when it is client-safe (^[A-Za-z0-9_-]{1,64}$) and no two upstreams have it among what is seen;
// of names that clash, each becomes server__name; what is then too long or unsafe is shortened with a stable hash.
// Names depend on what is seen and on nothing else: a prefix must not tell that there is a server with such a tool
// which the rules hide.
//
// A URI belongs to the first server in the configuration that lists it or has a template that covers it. A later server
// that lists it too, or has a template that overlaps with one of the first, shows that as server+uri. The form
// server+uri is understood for every URI of a server, and a URI of another server that begins so is prefixed itself.
#pragma once
#include "catalog/catalog.h"

// Names of those who do not see all of a catalog in which names are contested; made once for all who see the same.
struct naming_own;

// A few words, passed by value. It lives as long as the catalog, and the bits and names that it was made with.
struct naming {
  const struct catalog *catalog;
  const uint64_t *seen[ITEM_KINDS];  // bits, by an item's place in the catalog; NULL: all of them
  const struct naming_own *own;      // NULL: items are called what they are called by those who see everything
  // In place of bits, for who asks for one thing and not for all: is it seen? NULL: the bits say it.
  bool (*lets)(const void *who, const struct item *item, str server);
  const void *who;
};

struct naming naming_of_all(const struct catalog *c);

// NULL when they would be those that everybody has. They go by the catalog and the bits, and keep neither.
struct naming_own *naming_own_new(const struct catalog *c, uint64_t *const seen[ITEM_KINDS]);
void naming_own_free(struct naming_own **place);
size_t naming_own_bytes(const struct naming_own *own);  // that it takes, about; 0 for NULL

bool naming_sees(const struct naming *n, const struct item *item);
str naming_shown(const struct naming *n, const struct item *item);  // which is seen

// NULL when nothing that is seen has this name.
const struct item *naming_find(const struct naming *n, enum item_kind kind, str shown);

// What is seen of several upstreams that have this name there, as text for people: "a__x, b__x". Empty: none.
void naming_suggest(const struct naming *n, enum item_kind kind, str name, struct buf *out);

// The definition under its name; `old`: as clients with a handshake want it.
void naming_put(const struct naming *n, const struct item *item, bool old, struct buf *out);

// Are two items, perhaps of two catalogs, the same to those who see them so?
bool naming_same_item(const struct naming *a, const struct item *x, const struct naming *b, const struct item *y);

// Where a URI may be read: at its owner; if it has none, at upstreams that have other URIs of that scheme, in the order
// of the configuration. Returns the number of candidates written to out, at most max, which is 1 or more. A URI of
// more than URI_BYTES_MAX bytes leads only to its own entry.
struct catalog_route {
  unsigned source;
  str uri;      // as the upstream calls it
  bool listed;  // by an entry or a template, not by guessing
};
size_t naming_route(const struct naming *n, str uri, struct catalog_route *out, size_t max);

// Returns whether a URI matches a URI template (RFC 6570): {x} takes anything but '/', other expressions take anything.
bool naming_template_match(str template_, str uri);

// For catalog_build: names everything of a kind that is seen (seen NULL: everything). Has an element of shown and owner
// for each item; those of items that are not seen stay as they are. owner, zeroes before: 1 + the source that has this
// name or URI too, or covers it, if that changes the name. by: filled in. Returns the number of changed names.
size_t naming_make(const struct catalog *c, enum item_kind kind, uint64_t *const *seen, struct arena *a, str *shown,
                   unsigned *owner, struct map *by);
