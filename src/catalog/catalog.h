// SPDX-License-Identifier: Apache-2.0
// The immutable set of all definitions of all upstreams, with the names that clients see. Each change builds a new
// catalog; users of the old catalog hold a reference to it.
//
// The names in a catalog are those for clients that see all items. catalog/naming/naming.h describes how names are
// made, and makes the names for clients that see only some items.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "catalog/definitions.h"
#include "catalog/naming/param_headers.h"

struct catalog_source {
  str server;
  // At most 32 sets; an element may be NULL. If several sets define a name, the first of these sets counts.
  const struct definitions *const *definition_sets;
  size_t definitions_count;
  str instructions;  // the server's description of itself; may be empty
  // Canonical JSON of the server's kind and target. Its member "server", if present, has the name and version that the
  // server reports. STR_NONE if unknown.
  str identity;
  uint64_t version;  // changes whenever the server's definitions or instructions change
  bool anonymous;    // the server has no configured name; its tools' names may contain namespaces
  bool (*serves)(const void *ctx, str tool);  // returns whether the catalog includes a tool; NULL to include all tools
  const void *serves_ctx;
  bool gone;       // the server was removed; its index stays reserved
  unsigned order;  // position of the server in the configuration; servers with equal positions are ordered by index
};

struct item {
  enum item_kind kind;
  unsigned source;                     // index of the upstream
  str name;                            // name that the upstream uses
  str shown;                           // name for clients that see everything
  str text;                            // the definition, with the shown name
  str old_text;                        // like `text`, but for clients with a handshake; may be the same string
  bool stateless;                      // the server of the item is stateless
  struct param_headers param_headers;  // tool arguments to repeat in HTTP headers; empty if a declaration is invalid
  bool wraps_output;                   // results must be wrapped as {"result": …}, too, for clients that get old_text
  bool task_required;                  // the server has a handshake and accepts calls of this tool only as tasks
  bool plain;                          // the tool declares neither param headers nor tasks
  struct tool_hints hints;
  uint32_t seen;   // bit k is set if the k-th definition set of the source has this item
  str key;         // ITEM_RESOURCE, ITEM_TEMPLATE: normal form of the URI for comparison (catalog/naming/uri_key.h)
  unsigned owner;  // ITEM_RESOURCE, ITEM_TEMPLATE: 1 + index of the other server that owns this URI, or 0
};

enum { CATALOG_TWICE = 100 };

// How long clients may cache a list.
struct catalog_keeping {
  uint64_t ttl_ms;  // cache time: minimum over all servers; 0 if any server declares no cache time
  bool is_public;   // all servers declare that the list is the same for all clients
};

// The data of one server in a catalog.
struct catalog_part {
  str server, instructions;
  str prefix;  // for URIs of this server: the prefix if another server owns the URI
  uint64_t version;
  bool anonymous, gone;
  size_t first[ITEM_KINDS], count[ITEM_KINDS];  // range of this server's items in catalog.items
  str *twice;          // names that the source listed more than once; only the first definition is in the catalog
  size_t twice_count;  // at most CATALOG_TWICE
  struct catalog_keeping keeping[ITEM_KINDS];
};

struct catalog {
  unsigned refs;
  uint64_t generation;
  struct arena arena;
  // Items are grouped by server, in the order of `parts`. Items of one server are in the order of its definition sets.
  struct item *items[ITEM_KINDS];
  size_t count[ITEM_KINDS];
  struct catalog_part *parts;  // one part for each server, at the index of the server
  size_t part_count;
  unsigned *order;  // indexes of the parts, in the order of the configuration
  struct map by_shown[ITEM_KINDS];
  // Number of items renamed because another item has the same name. If it is 0, all clients see the same names.
  size_t contested;
  size_t shadowed;  // number of resources and templates counted in `contested`
  bool prefix_always;
};

struct catalog_options {
  bool prefix_always;
  uint64_t generation;
  const struct hash_key *seed;
};

struct catalog *catalog_build(const struct catalog_source *sources, size_t count, const struct catalog_options *opt);
struct catalog *catalog_ref(struct catalog *c);
void catalog_unref(struct catalog **c);

// Returns the item that clients see under the name `shown`, or NULL.
const struct item *catalog_find(const struct catalog *c, enum item_kind kind, str shown);

// Returns how long clients may cache a list of items. `sources[i]` says whether server i is included; NULL includes all
// servers.
struct catalog_keeping catalog_keeping(const struct catalog *c, enum item_kind kind, const bool *sources);

// Returns whether two items, which may be from two catalogs, look the same to clients.
bool catalog_same_item(const struct item *a, const struct item *b);
// Returns whether two catalogs show clients the same list of items of this kind.
bool catalog_same(const struct catalog *a, const struct catalog *b, enum item_kind kind);
