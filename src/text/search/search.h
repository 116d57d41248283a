// SPDX-License-Identifier: Apache-2.0
// Search over tool definitions: in memory, lexical, deterministic. docs/internals/retrieval.md says how it ranks and how well.
//
// Documents come in parts, one for each server. To analyse a part is most of the work and is done once for as long as
// the part does not change; an index joins parts cheaply. Both are immutable; parts are counted. One thread has
// them all.
//
// Who may see only some of the documents is served from an index of parts with those alone (search_part_sift): how rare
// a word is, and so each score, would tell of the others.
//
// Numbers of documents run through the parts in the order in which the index was given them.
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "base/str.h"

enum search_field {
  SEARCH_NAME,   // as the server calls it
  SEARCH_TITLE,  // for people
  SEARCH_DESCRIPTION,
  SEARCH_PARAMS,       // names of parameters
  SEARCH_PARAM_TEXTS,  // their descriptions and allowed values
  SEARCH_TAGS,
  SEARCH_FIELDS,
};

// What is beyond these bounds is not searched. Nothing is refused.
enum {
  SEARCH_MOST_NAME_BYTES = 512,       // of a name, a title, tags or a server's name
  SEARCH_MOST_TEXT_BYTES = 16 << 10,  // of any other field, and of a server's instructions
  SEARCH_MOST_QUERY_BYTES = 4 << 10,
  SEARCH_MOST_QUERY_TERMS = 64,  // different words of a query, without those that say nothing
  SEARCH_MOST_HITS = 200,
};

struct search_doc {
  str id;                     // decides among equal scores and costs; a query that is exactly this finds it first
  str fields[SEARCH_FIELDS];  // several values in one field are separated by newlines
  double cost;                // what its server says a call costs; of equal scores the cheapest comes first
};

struct search_source {
  str server;        // its name
  str instructions;  // what it says about itself; may be empty
  const struct search_doc *docs;
  size_t count;
};

// Copies what it needs. The seed keeps servers from filling hash tables; it has no influence on results.
struct search_part *search_part_new(const struct search_source *source, const struct hash_key *seed);
struct search_part *search_part_ref(struct search_part *p);
void search_part_unref(struct search_part **p);

// The part that search_part_new gives for those of its documents whose bit is set (bit d & 63 of word d / 64 for
// document d), without analysing them again. Not for a part that is itself one of these.
struct search_part *search_part_sift(const struct search_part *p, const uint64_t *keep);

// Takes references of its own to the parts. A part without documents changes nothing.
struct search_index *search_index_new(struct search_part *const *parts, size_t count, const struct hash_key *seed);
void search_index_free(struct search_index **x);

size_t search_index_count(const struct search_index *x);  // documents
size_t search_index_bytes(const struct search_index *x);  // memory of the index and its parts
str search_index_id(const struct search_index *x, uint32_t doc);

struct search_query {
  str text;
  size_t top_k;  // at most SEARCH_MOST_HITS
};

struct search_hit {
  uint32_t doc;
  float score;  // above 0; comparable within one answer only
};

// Writes at most top_k hits to out, best first: score descending, cost ascending, id ascending by bytes. Gives their
// number, which is 0 when no word of the query occurs in a document. A smaller top_k gives a prefix of
// what a larger one gives. All memory comes from `scratch`, to be reset by the caller.
size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out);
