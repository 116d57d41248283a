// SPDX-License-Identifier: Apache-2.0
// The immutable set of everything all upstreams offer, with the names that clients see. A change builds a new
// catalog aside and swaps it; whoever works with the old one holds a reference.
//
// Names (direct mode): a name stays as it is when it is client-safe (^[A-Za-z0-9_-]{1,64}$) and no two upstreams have
// it; of names that clash, each becomes server__name; what is then too long or unsafe is shortened with a stable hash.
// URIs change only on a clash.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "catalog/mirror.h"
#include "catalog/roster.h"

struct catalog_source {
  str server;
  const struct roster *const *rosters;  // at most 32, with gaps; the definition of the first that has a name counts
  size_t roster_count;
  str instructions;  // what the server says of itself; may be empty
  uint64_t version;  // another one whenever its rosters or instructions are others
  bool anonymous;    // nobody gave the server its name: names of tools may say namespaces of their own
  bool gone;         // there is no such server any more; its index is not another's
};

struct item {
  enum item_kind kind;
  unsigned source;         // index of the upstream
  str name;                // as the upstream calls it
  str shown;               // as clients call it
  str text;                // the definition, under the shown name
  str old_text;            // the same as clients with a handshake want it: text itself where nothing differs
  bool stateless;          // its server is
  struct mirrors mirrors;  // ITEM_TOOL: arguments to be repeated in headers; none when they break a rule
  bool wraps_output;       // old_text promises {"result": …}: structuredContent is to be wrapped so too
  bool task_required;      // by a handshake server, which takes no call of it that is no task
  bool plain;              // it has neither mirrors nor says a word of tasks
  struct item_hints hints;
  uint32_t seen;  // bit k: the source's k-th roster has it
};

enum { CATALOG_TWICE = 100 };

// What one source has in the catalog.
struct catalog_part {
  str server, instructions;
  uint64_t version;
  bool anonymous, gone;
  size_t first[ITEM_KINDS], count[ITEM_KINDS];  // its items, which stand together
  str *twice;                                   // names that it lists once more: what is left out, as far as it is told
  size_t twice_count;                           // at most CATALOG_TWICE
};

struct catalog {
  unsigned refs;
  uint64_t generation;
  struct arena arena;
  struct item *items[ITEM_KINDS];  // in order of sources, then as listed
  size_t count[ITEM_KINDS];
  struct catalog_part *parts;  // one for each source, in their order
  size_t part_count;
  struct map by_shown[ITEM_KINDS];
  uint64_t ttl_ms[ITEM_KINDS];  // how long clients may keep a list: the least of all sources, 0 for those that say none
  bool is_public[ITEM_KINDS];   // all sources say that a list is the same for everybody
  size_t clashes;               // items that carry their server's name because another one has theirs
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

// Items of several upstreams that have this name there, as text for people: "a__x, b__x". Empty: none.
void catalog_suggest(const struct catalog *c, enum item_kind kind, str name, struct buf *out);

// Are two items, perhaps of two catalogs, the same to clients?
bool catalog_same_item(const struct item *a, const struct item *b);
// Do two catalogs show the same list?
bool catalog_same(const struct catalog *a, const struct catalog *b, enum item_kind kind);

// Where a URI may be read: its own entry, then templates that match, then upstreams that have other URIs of that
// scheme. Gives the number of candidates written to out.
struct catalog_route {
  unsigned source;
  str uri;      // as the upstream calls it
  bool listed;  // by an entry or a template, not by guessing
};
size_t catalog_route(const struct catalog *c, str uri, struct catalog_route *out, size_t max);

// Does a URI match a URI template (RFC 6570)? {x} takes anything but '/', other expressions take anything.
bool catalog_template_match(str template_, str uri);
