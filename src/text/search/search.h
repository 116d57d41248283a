// SPDX-License-Identifier: Apache-2.0
// Searches tool definitions by words, in memory; the same input gives the same hits. docs/internals/retrieval.md
// describes and measures the ranking.
//
// The documents of each server form a part. Most of the work is the analysis of a part, which happens once for each
// version of the part; an index joins parts cheaply. Parts and indexes are immutable; parts are reference-counted. Any
// thread may make parts and indexes, also from parts that other threads use; only one thread at a time may search an
// index.
//
// A caller who may see only some of the documents must search an index with only those (search_part_sift): otherwise
// the rarity of words, and so every score, would reveal the hidden documents.
//
// Documents are numbered across all parts of an index, in the order of `parts` in search_index_new.
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "base/str.h"

enum search_field {
  SEARCH_NAME,   // name of the tool at its server
  SEARCH_TITLE,  // display name
  SEARCH_DESCRIPTION,
  SEARCH_PARAMS,       // names of parameters
  SEARCH_PARAM_TEXTS,  // descriptions and allowed values of parameters
  SEARCH_TAGS,
  SEARCH_FIELDS,
};

// Limits of the search. Text beyond a limit is ignored.
enum {
  SEARCH_MOST_NAME_BYTES = 512,       // maximum bytes of a name, of a title, of the tags, and of the server's name
  SEARCH_MOST_TEXT_BYTES = 16 << 10,  // maximum bytes of each other field, and of the server's instructions
  SEARCH_MOST_QUERY_BYTES = 4 << 10,
  SEARCH_MOST_QUERY_TERMS = 64,  // maximum number of different words of a query that are used; stop words do not count
  SEARCH_MOST_HITS = 200,
};

struct search_doc {
  // Documents with equal scores and costs are ordered by id. If a query equals the id of a document, this document is
  // the first hit.
  str id;
  str fields[SEARCH_FIELDS];  // several values of one field are separated by newlines
  double cost;                // cost of a call, as declared by the server; among equal scores, the cheapest is first
};

struct search_source {
  str server;        // name of the server
  str instructions;  // the server's instructions; may be empty
  const struct search_doc *docs;
  size_t count;
};

// Analyses and copies the documents. The seed protects hash tables from servers that choose colliding keys; it does not
// affect results.
struct search_part *search_part_new(const struct search_source *source, const struct hash_key *seed);
struct search_part *search_part_ref(struct search_part *p);
void search_part_unref(struct search_part **p);

// Returns a part with only the documents whose bits are set in `keep` (for document d: bit d & 63 of word d / 64). The
// part is the same as if search_part_new had been called with only these documents, but it is made without a new
// analysis. `p` must not itself come from search_part_sift.
struct search_part *search_part_sift(const struct search_part *p, const uint64_t *keep);

// Joins parts into an index, which takes a reference to each part. Parts without documents have no effect.
struct search_index *search_index_new(struct search_part *const *parts, size_t count, const struct hash_key *seed);
void search_index_free(struct search_index **x);

size_t search_index_count(const struct search_index *x);  // number of documents
size_t search_index_bytes(const struct search_index *x);  // memory of the index and its parts
str search_index_id(const struct search_index *x, uint32_t doc);

struct search_query {
  str text;
  size_t top_k;  // at most SEARCH_MOST_HITS
};

struct search_hit {
  uint32_t doc;
  float score;  // above 0; comparable only with scores of the same search
};

// Writes at most top_k hits to out, best first: by descending score, then by ascending cost, then by id. Returns the
// number of hits, which is 0 if no word of the query occurs in a document. The hits for a smaller top_k are the first
// hits for a larger one. All memory comes from `scratch`, which the caller resets.
size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out);
