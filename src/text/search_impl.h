// SPDX-License-Identifier: Apache-2.0
// What the files of search share; nobody else includes this.
#pragma once
#include "base/map.h"
#include "text/search.h"
#include "text/thesaurus.h"
#include "text/words.h"

enum { GROUP_SERVER = SEARCH_FIELDS, GROUPS };  // a part's server name counts as one more field of its documents

enum { PART_MAGIC = 0x53506172, INDEX_MAGIC = 0x53496478 };

// ---- a part: its documents as lists of terms, numbered within the part ----

struct entry {
  uint32_t term;
  uint8_t tf[GROUPS];  // how often in each field; stops at 255
};

struct doc {
  str id;
  uint64_t name_key;              // of its name, see search_name_key
  uint32_t entries, entry_count;  // where in the part's entries; by term
  uint32_t words, word_count;     // where in the part's words: name, title, description without function words
  uint32_t length[GROUPS];
};

struct search_part {
  uint32_t magic;
  unsigned refs;
  struct arena arena;
  str *terms;
  size_t term_count;
  struct doc *docs;
  size_t doc_count;
  struct entry *entries;
  size_t entry_count;
  uint32_t *words;  // terms; NO_TERM between fields
  size_t word_count;
  uint32_t *server_tf;  // of each term, in all of the server's text taken as one document
  uint32_t server_length;
  size_t bytes;
};

#define NO_TERM UINT32_MAX

// The letters and digits of a name, folded: "create_issue", "createIssue" and "Create issue" have the same key.
// 0 when there are none.
uint64_t search_name_key(struct arena *scratch, str name);

// ---- an index: the parts' terms under common numbers ----

struct posting {
  uint32_t doc;  // or part
  float impact;  // 0..1: the term's saturated frequency there, without its rarity
};

struct postings {
  uint32_t *first;  // of each term, and one more
  struct posting *list;
};

struct named {  // by key, then document
  uint64_t key;
  uint32_t doc;
};

struct search_index {
  uint32_t magic;
  unsigned refs;
  struct search_part **parts;
  size_t part_count;
  uint32_t *part_first;   // first document of each part, and one more
  uint32_t **part_terms;  // for each part, its terms' numbers here
  uint32_t *doc_part;
  uint32_t *order;  // rank of each document by id
  uint32_t *by_id;  // the reverse
  struct named *names;
  float *name_mass;  // of each document: sum of idf of the different terms of its name
  size_t doc_count, term_count;
  struct map terms;  // str -> term + 1
  str *spellings;    // of the terms; they live in the parts
  float *idf;
  struct postings docs, servers;
  float *server_idf;
  float average[GROUPS];  // length of a field, over the documents that have it
  struct thesaurus *thesaurus;
  size_t bytes;
};

// Tunable; measured in docs/retrieval.md.
struct search_weights {
  float field[GROUPS], b[GROUPS], k1;
  float synonym, name_coverage, pair, server, clause, greedy, weak, typo, compound, acronym, pair_any, exact;
  float candidates, decay, comma, minclause, name_term, order;
};
extern const struct search_weights search_weights;

const struct doc *search_doc_at(const struct search_index *x, uint32_t doc, const struct search_part **out_part);
float search_impact(const struct search_index *x, const struct doc *d, const struct entry *e);
uint32_t search_find_term(const struct search_index *x, str stem);  // NO_TERM when there is none

// ---- a query ----

enum { MOST_CLAUSES = 8, MOST_USES = 24 };

struct use {  // a term of the index that a word of the query may stand for
  uint32_t term;
  float worth;  // its idf, less when it is not the word itself
};

struct query_term {
  str stem;
  float idf;
  uint32_t clauses;  // bit k: occurs in clause k
  struct use uses[MOST_USES];
  size_t use_count;
};

struct query {
  struct query_term *terms;
  size_t term_count, clause_count;
  uint16_t *sequence;  // the terms in order, as they were written; NO_SLOT between clauses
  size_t sequence_count;
};

#define NO_SLOT UINT16_MAX

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out);
