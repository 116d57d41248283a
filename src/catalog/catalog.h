// SPDX-License-Identifier: Apache-2.0
// The immutable set of everything all upstreams offer, with the names that clients see. A change builds a new
// catalog aside and swaps it; whoever works with the old one holds a reference.
//
// The names here are those of clients that see everything. catalog/naming/naming.h says how they are made, and has
// those of clients that see less.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "catalog/definitions.h"
#include "catalog/naming/param_headers.h"

struct catalog_source {
  str server;
  const struct definitions *const
      *definition_sets;  // at most 32, with gaps; the definition of the first that has a name counts
  size_t definitions_count;
  str instructions;  // what the server says of itself; may be empty
  uint64_t version;  // another one whenever its rosters or instructions are others
  bool anonymous;    // nobody gave the server its name: names of tools may say namespaces of their own
  bool (*serves)(const void *ctx, str tool);  // NULL: all of its tools are in the catalog; else those
  const void *serves_ctx;
  bool gone;       // there is no such server any more; its index is not another's
  unsigned order;  // position in the configuration; sources with the same one count in the order of their index
};

struct item {
  enum item_kind kind;
  unsigned source;  // index of the upstream
  str name;         // as the upstream calls it
  str shown;        // as clients call it that see everything
  str text;         // the definition, under the shown name
  str old_text;     // the same as clients with a handshake want it: text itself where nothing differs
  bool stateless;   // its server is
  struct param_headers param_headers;  // ITEM_TOOL: arguments to be repeated in headers; none when they break a rule
  bool wraps_output;                   // old_text promises {"result": …}: structuredContent is to be wrapped so too
  bool task_required;                  // by a handshake server, which takes no call of it that is no task
  bool plain;                          // it has neither mirrors nor says a word of tasks
  struct item_hints hints;
  uint32_t seen;   // bit k: the source's k-th roster has it
  str key;         // ITEM_RESOURCE, ITEM_TEMPLATE: by which URIs are compared (catalog/naming/uri_key.h)
  unsigned owner;  // the same: 1 + the source that owns this URI; 0: this one does
};

enum { CATALOG_TWICE = 100 };

// How clients may keep a list.
struct catalog_keeping {
  uint64_t ttl_ms;  // so long: the least that anybody says, 0 when one says nothing
  bool is_public;   // all say that it is the same for everybody
};

// What one source has in the catalog.
struct catalog_part {
  str server, instructions;
  str prefix;  // of its URIs where another server owns them
  uint64_t version;
  bool anonymous, gone;
  size_t first[ITEM_KINDS], count[ITEM_KINDS];  // its items, which stand together
  str *twice;                                   // names that it lists once more: what is left out, as far as it is told
  size_t twice_count;                           // at most CATALOG_TWICE
  struct catalog_keeping keeping[ITEM_KINDS];
};

struct catalog {
  unsigned refs;
  uint64_t generation;
  struct arena arena;
  struct item *items[ITEM_KINDS];  // in order of sources, then as listed
  size_t count[ITEM_KINDS];
  struct catalog_part *parts;  // one for each source, in their order
  size_t part_count;
  unsigned *order;  // the indexes of the parts, in the order of the configuration
  struct map by_shown[ITEM_KINDS];
  size_t contested;  // items with another name than if they were alone: those of who sees less may differ
  size_t shadowed;   // resources and templates among them
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

// NULL when there is none.
const struct item *catalog_find(const struct catalog *c, enum item_kind kind, str shown);

// How a list may be kept in which these sources are, by index (NULL: all).
struct catalog_keeping catalog_keeping(const struct catalog *c, enum item_kind kind, const bool *sources);

// Are two items, perhaps of two catalogs, the same to clients?
bool catalog_same_item(const struct item *a, const struct item *b);
// Do two catalogs show the same list?
bool catalog_same(const struct catalog *a, const struct catalog *b, enum item_kind kind);
