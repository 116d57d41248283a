// SPDX-License-Identifier: Apache-2.0
// The searchable form of a catalog: canonical ids, cards, paths and search.
//
// A directory is made from one catalog. It is immutable, reference-counted, and replaced together with the catalog. The
// data of each server is a separate part, which the next directory reuses if the server's definitions are the same: a
// change of one server costs only the work for that server.
//
// No definition can make the whole directory fail: a definition that gets no id, or an invalid one, becomes a note for
// the operator.
#pragma once
#include "catalog/catalog.h"
#include "catalog/directory/card.h"
#include "catalog/directory/tree.h"
#include "schema/schema.h"
#include "text/search/search.h"

// Resources and their templates are browsed together.
enum directory_kind { DIRECTORY_TOOLS, DIRECTORY_RESOURCES, DIRECTORY_PROMPTS };
enum { DIRECTORY_KINDS = 3, DIRECTORY_NAME_SHOWN = 80, DIRECTORY_SUGGESTIONS = 3 };

struct entry {
  const struct item *item;  // the item in the catalog
  unsigned source;          // index of the upstream
  struct card_source card;  // includes the id; all other data is the server's, unverified
  str leaf;                 // the name part of the id
  str safe;                 // for tools: a name that every client accepts (catalog/naming/names.h)
  bool hidden;              // another tool has the same id
  const struct card *made;  // the finished card; NULL before its first use
};

struct kind_index {
  struct entry *entries;        // by source, then in the server's order; documents and tree items have the same index
  const struct entry **sorted;  // the same entries, sorted by id
  size_t count;
  struct tree *tree;
  struct search_index *index;
  struct map by_id, by_safe;  // struct entry
};

// A note about a definition for the operator.
struct directory_note {
  str server;
  str name;    // the server's name of the item, on one line and cut to DIRECTORY_NAME_SHOWN bytes
  str reason;  // one line
  bool skipped;
  bool unsound;  // a schema of the tool cannot be used; the entry exists anyway
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
  bool skipped, unsound;  // at least one definition was left out; at least one schema cannot be used
  struct partials *partials;
};

struct directory_options {
  const struct hash_key *seed;
  const struct schema_options *schemas;  // limits of the schemas of tools
};

// Makes a directory. Reuses unchanged parts of `old`, the previous directory with the same options; `old` may be NULL.
struct directory *directory_new(struct catalog *c, const struct directory *old, const struct directory_options *opt);
struct directory *directory_ref(struct directory *d);
void directory_unref(struct directory **d);

enum directory_kind directory_kind_of(enum item_kind kind);
const char *directory_kind_name(enum directory_kind kind);                 // "tool", "resource", "prompt"
const char *entry_class(const struct entry *e, enum directory_kind kind);  // "observe", "act", "think_support"

// Finds the source whose ids have this namespace, and writes its index to `out`. Returns false if there is no such
// source.
bool directory_source(const struct directory *d, str namespace, unsigned *out);

// Returns the entry with this id or, for tools, this client-safe name, or NULL.
const struct entry *directory_find(const struct directory *d, enum directory_kind kind, str id);

// Finds the entries whose ids are `id` followed by a version or a hash. This completes an id that lacks its last part,
// such as "github:create_issue". The prefix "resource::" or "prompt::" may be missing, too. Only entries that `sees`
// accepts are found. Returns their number and writes the first DIRECTORY_SUGGESTIONS of them to `out`, ordered by id.
typedef bool directory_sees(void *context, const struct entry *e);
size_t directory_find_short(const struct directory *d, enum directory_kind kind, str id, directory_sees *sees,
                            void *context, const struct entry **out);

// Returns the card of an entry, without a score. The directory makes the card at its first use and stores it.
const struct card *directory_card(struct directory *d, const struct entry *e);

// Search and paths for the visible entries of a kind index (bit i & 63 of word i / 64 is set for entry i; NULL: all).
// Both are built from the visible entries only, because clusters, the rarity of words, and so the order of hits could
// reveal other entries. They are built at their first use and cached while in use; a result is valid until the next
// call.
struct outlook {
  const struct search_index *index;
  const struct tree *tree;
  const struct entry *entries;  // entries of the kind index
  const uint32_t *numbers;      // maps numbers of documents and tree items to entries; NULL if the numbers are equal
};
struct outlook directory_search(const struct directory *d, enum directory_kind kind, const uint64_t *visible);
struct outlook directory_paths(const struct directory *d, enum directory_kind kind, const uint64_t *visible);

// The search index of a large partial view takes milliseconds to build, so another thread can build it.
// directory_index_begin returns NULL if directory_search finds an index, or builds a small one at once. Otherwise it
// returns the build of this view, which holds a reference to the directory; *out_new is false if this build began
// earlier. For a new build, the caller must call directory_index_run once on any thread, then directory_index_end on
// the loop, which frees the build and stores the index for directory_search.
struct index_build;
struct index_build *directory_index_begin(struct directory *d, enum directory_kind kind, const uint64_t *visible,
                                          bool *out_new);
void directory_index_run(struct index_build *b);
void directory_index_end(struct index_build **b);

static inline const struct entry *outlook_entry(const struct outlook *o, size_t number) {
  return &o->entries[o->numbers ? o->numbers[number] : number];
}

// Finds entries whose ids are similar to a mistyped or outdated id, most similar first. Writes at most
// DIRECTORY_SUGGESTIONS entries to `out` and returns their number.
size_t directory_suggest(const struct directory *d, enum directory_kind kind, str id, const uint64_t *visible,
                         struct arena *scratch, const struct entry **out);
