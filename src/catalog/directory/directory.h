// SPDX-License-Identifier: Apache-2.0
// The searchable form of a catalog: canonical ids, cards, paths and search.
//
// A directory is made from one catalog and replaced together with it. It is immutable and reference-counted. The data
// of each server is a separate part. If a server's definitions have not changed, the next directory reuses the server's
// part, so a change of one server costs work only for that server.
//
// A definition that gets no valid id is left out, with a note for the operator, so that no definition can make the
// whole directory fail.
#pragma once
#include "catalog/catalog.h"
#include "catalog/directory/card.h"
#include "catalog/directory/tree.h"
#include "schema/schema.h"
#include "text/search/search.h"

// DIRECTORY_RESOURCES contains resources and resource templates.
enum directory_kind { DIRECTORY_TOOLS, DIRECTORY_RESOURCES, DIRECTORY_PROMPTS };
enum { DIRECTORY_KINDS = 3, DIRECTORY_NAME_SHOWN = 80, DIRECTORY_SUGGESTIONS = 3 };

struct entry {
  const struct item *item;  // the item in the catalog
  unsigned source;          // index of the upstream
  struct card_source card;  // the data of the entry's card; only the id is verified
  str leaf;                 // the name part of the id
  str safe;                 // for tools: a name that every client accepts (catalog/naming/names.h)
  bool hidden;              // not shown, because another tool has the same id
  const struct card *made;  // the finished card; NULL before its first use
};

struct kind_index {
  // Ordered by server; entries of one server are in the server's order. An entry's search document and tree item have
  // the same index as the entry.
  struct entry *entries;
  const struct entry **sorted;  // pointers to the entries, sorted by id
  size_t count;
  struct tree *tree;
  struct search_index *index;
  struct map by_id, by_safe;  // struct entry
};

// A note for the operator about a definition.
struct directory_note {
  str server;
  str name;    // the server's name of the item, on one line, cut to DIRECTORY_NAME_SHOWN bytes
  str reason;  // one line
  bool skipped;
  bool unsound;  // a schema of the tool cannot be used; the tool still has an entry
  bool fresh;    // the previous directory did not have this note
};

struct directory {
  unsigned refs;
  struct catalog *catalog;
  struct arena arena;
  struct kind_index kind_indexes[DIRECTORY_KINDS];
  struct directory_part **parts;  // one for each source
  size_t part_count;
  struct directory_note *notes;
  size_t note_count;
  bool skipped, unsound;  // `skipped`: a definition was left out; `unsound`: a schema cannot be used
  struct partials *partials;
};

struct directory_options {
  const struct hash_key *seed;
  const struct schema_options *schemas;  // limits for the schemas of tools
};

// Makes a directory. Reuses unchanged parts of `old`, the previous directory with the same options; `old` may be NULL.
struct directory *directory_new(struct catalog *c, const struct directory *old, const struct directory_options *opt);
struct directory *directory_ref(struct directory *d);
void directory_unref(struct directory **d);

enum directory_kind directory_kind_of(enum item_kind kind);
const char *directory_kind_name(enum directory_kind kind);                 // "tool", "resource", "prompt"
const char *entry_class(const struct entry *e, enum directory_kind kind);  // "observe", "act", "think_support"

// Finds the server whose ids have this namespace, and writes its index to `out`. Returns false if there is no such
// server.
bool directory_source(const struct directory *d, str namespace, unsigned *out);

// Returns the entry with this id, or NULL. For tools, `id` may also be the entry's `safe` name.
const struct entry *directory_find(const struct directory *d, enum directory_kind kind, str id);

// Returns whether a caller may see an entry.
typedef bool directory_sees(void *context, const struct entry *e);

// Finds the entries whose ids begin with `id` and continue with a version or a hash; an example is
// "github:create_issue". `id` may also lack the prefix "resource::" or "prompt::". Finds only entries that `sees`
// accepts. Returns the number of entries, and writes the first DIRECTORY_SUGGESTIONS of them to `out`, ordered by id.
size_t directory_find_short(const struct directory *d, enum directory_kind kind, str id, directory_sees *sees,
                            void *context, const struct entry **out);

// Returns the card of an entry, without a score. The card is made at its first use and then stored in the directory.
const struct card *directory_card(struct directory *d, const struct entry *e);

// Search index and paths of the entries that a caller may see. They are built from these entries only, because
// clusters, the rarity of words and the order of hits could reveal other entries.
struct outlook {
  const struct search_index *index;
  const struct tree *tree;
  const struct entry *entries;  // all entries of the kind index
  const uint32_t *numbers;      // index in `entries` of each document or tree item; NULL if the indexes are equal
};

// directory_search returns the search index of the visible entries of a kind index, directory_paths their paths.
// `visible` has one bit for each entry: bit i % 64 of word i / 64. NULL means that all entries are visible. Search
// indexes and paths are built when they are first used, and cached. The result is valid until the next call.
struct outlook directory_search(const struct directory *d, enum directory_kind kind, const uint64_t *visible);
struct outlook directory_paths(const struct directory *d, enum directory_kind kind, const uint64_t *visible);

// The build of a search index on another thread, because a large index for a caller who sees only some entries takes
// milliseconds.
struct index_build;

// Begins to build the search index of the visible entries. Returns NULL if no build is needed: the index exists, or
// directory_search can build it in a short time. Otherwise returns the build, which holds a reference to the directory.
// If *out_new is true, the caller must call directory_index_run once on any thread, then directory_index_end on the
// loop, which frees the build and stores the index for directory_search. If *out_new is false, an earlier caller began
// this build and calls these functions.
struct index_build *directory_index_begin(struct directory *d, enum directory_kind kind, const uint64_t *visible,
                                          bool *out_new);
void directory_index_run(struct index_build *b);
void directory_index_end(struct index_build **b);

static inline const struct entry *outlook_entry(const struct outlook *o, size_t number) {
  return &o->entries[o->numbers ? o->numbers[number] : number];
}

// Finds visible entries whose ids are similar to `id`, which is mistyped or outdated; the most similar entry is first.
// Writes at most DIRECTORY_SUGGESTIONS entries to `out` and returns their number.
size_t directory_suggest(const struct directory *d, enum directory_kind kind, str id, const uint64_t *visible,
                         struct arena *scratch, const struct entry **out);
