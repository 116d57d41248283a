// SPDX-License-Identifier: Apache-2.0
// What the files of search share; nobody else includes this.
#pragma once
#include <stdatomic.h>

#include "base/map.h"
#include "text/search/search.h"
#include "text/search/words.h"

enum {
  GROUP_SERVER = SEARCH_FIELDS,  // the name of a part's server counts as one more field of its documents,
  GROUP_LEAD,                    // and the first words of a description count apart from the rest
  GROUPS,
};

enum { PART_MAGIC = 0x53506172, INDEX_MAGIC = 0x53496478 };

#define NO_TERM UINT32_MAX
#define NO_SLOT UINT16_MAX

// What counts how much. docs/internals/retrieval.md says how these were found.
struct search_weights {
  float field[GROUPS];   // of one occurrence in this field
  float length[GROUPS];  // 0: long fields count as short ones do; 1: the share of the field counts
  float saturation;      // how slowly more occurrences stop to count
  float background;      // documents of general experience that stand beside the real ones when rarity is measured
  float number, weak;    // of a number and of a WORD_WEAK in a query, against other words
  float synonym, typo, joined, spelled_out;  // of a word that is not written in the query, against one that is
  float telling;                             // loss of words that stand only where the query asks nothing
  float name_coverage, precision;  // gain of a tool whose name, or whose name and description, the query covers
  float pair;                      // gain of words that are neighbours in both
  float server;                    // gain of the tools of a server whose text matches as a whole
  float said;                      // of a word that only the instructions of a tool's server have
  float verb;                      // loss of a tool that does something else than what the query asks to do
  float retired;                   // loss of a tool that says it is deprecated
  float clause;                    // gain of a tool that serves one clause best
  float repeat, covered;           // loss of a tool that matches what those before it match
  float copy, alike;               // loss of a tool that is a copy of one before it; how alike copies are
};
extern const struct search_weights search_weights;

// ---- a part: its documents as lists of terms, numbered within the part ----

struct entry {
  uint32_t term;
  uint8_t tf[GROUPS];  // how often in each field; stops at 255
};

struct doc {
  str id;
  uint64_t name_key;              // see search_name_key
  uint32_t entries, entry_count;  // where in the part's entries; by term
  uint32_t words, word_count;     // where in the part's words: name, title, description without function words
  uint32_t length[GROUPS];
  unsigned verbs;  // enum verb bits of its name
  bool retired;    // its description marks it as deprecated
  double cost;
};

struct search_part {
  uint32_t magic;
  atomic_uint refs;  // indexes are built on another thread
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
  bool *said;           // of each term: the server's name or instructions have it
  uint32_t server_length;
  // For a sieve; one that was made by it has neither:
  uint32_t *met;  // terms: of each document where its entries are, in the order in which they occur in it first
  uint32_t *own;  // terms of what the server says of itself, in order
  size_t met_count, own_count;
  size_t bytes;
};

struct search_part *search_part_open(size_t most_docs);  // with nothing in it
void search_part_shrink(struct search_part *p);          // to what is in it by now

// How often a document's term counts in the text of its server, which has its own name once only.
static inline uint32_t search_told(const struct entry *e) {
  uint32_t n = 0;
  for (unsigned g = 0; g < GROUPS; g++) n += g == GROUP_SERVER ? 0 : e->tf[g];
  return n;
}

// The letters and digits of a name, folded: "create_issue", "createIssue" and "Create issue" have the same key.
// 0 when there are none.
uint64_t search_name_key(struct arena *scratch, str name);

// ---- an index: the parts' terms under common numbers ----

struct posting {
  uint32_t doc;  // or part
  float impact;  // the term's saturated frequency there, without its rarity
};

struct postings {
  uint32_t *first;  // of each term, and one more
  struct posting *list;
};

struct named {
  uint64_t key;
  uint32_t doc;
};

struct search_index {
  uint32_t magic;
  size_t bytes;
  struct search_part **parts;
  size_t part_count, doc_count, term_count;
  uint32_t *part_first;   // first document of each part, and one more
  uint32_t **part_terms;  // for each part, its terms' numbers here
  // Of each document:
  uint32_t *doc_part;
  uint32_t *order;        // its rank by cost, then by id
  uint32_t *by_id;        // documents in the order of their ids
  float *name_mass;       // sum of idf of the different terms of its name
  float *norm;            // length of the vector of idf of the terms of its name and description
  struct named *names;    // by key, then document
  float average[GROUPS];  // length of a field, over the documents that have it
  // Of each term:
  struct map terms;   // str -> term + 1
  str *spellings;     // they live in the parts
  uint32_t *letters;  // see search_letters
  float *idf, *server_idf;
  struct postings docs, servers;
  struct postings said;     // parts whose server says the term of itself
  struct stemmer *stemmer;  // for queries
};

const struct doc *search_doc_at(const struct search_index *x, uint32_t doc, const struct search_part **out_part);
float search_impact(const struct search_index *x, const struct doc *d, const struct entry *e);
uint32_t search_find_term(const struct search_index *x, str stem);  // NO_TERM when there is none
uint32_t search_letters(str word);  // bit 0 for a, and so on; 0 when there is anything else in it

// The term is in the name or the description.
static inline bool search_is_core(const struct entry *e) {
  return e->tf[SEARCH_NAME] || e->tf[SEARCH_DESCRIPTION] || e->tf[GROUP_LEAD];
}

// ---- a query ----

enum { MOST_CLAUSES = 8, MOST_USES = 40 };

struct use {  // a term of the index that a word of the query may stand for
  uint32_t term;
  float worth;  // its idf, less when it is not the word itself
};

struct query_term {
  str stem;
  uint32_t own;      // the term with this stem, or NO_TERM
  float idf;         // of that, weighted
  uint32_t clauses;  // bit k: occurs in clause k
  struct use uses[MOST_USES];
  size_t use_count;
};

struct query {
  struct query_term *terms;
  size_t term_count, clause_count;
  uint16_t *sequence;  // the terms in order, as they were written; NO_SLOT between clauses
  size_t sequence_count;
  unsigned verbs;   // enum verb bits of its words
  uint32_t asking;  // bit k: clause k is in a sentence that asks for something, rather than telling about who asks
};

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out);

// What a word that is not yet in the query may stand for.
struct guesses {
  const struct search_index *x;
  unsigned made;  // at slips of the pen; there is a bound
};
void search_find_uses(struct guesses *g, struct query_term *t, float weight);
void search_add_use(struct query_term *t, uint32_t term, float worth);

// ---- a ranking ----

struct candidate {
  uint32_t doc;
  float score;
  float *shares;  // of each query term
  float clause[MOST_CLAUSES];
  float named;  // 1: by its name, 2: by its id
  float pairs, coverage, precision, server;
  bool taken;
};

struct slot {  // which query terms a term of the index may stand for: a list
  uint16_t query_term, next;
  float worth;
};

struct ranking {
  const struct search_index *x;
  const struct search_query *asked;
  struct arena *scratch;
  struct query query;
  float *scores;  // of all documents
  struct candidate *list;
  size_t count;
  uint16_t *first_slot;  // of each term of the index; 0: none
  struct slot *slots;
};

enum { NAMED = 1000 };  // a score that words never reach: the query is the document's name, or twice that, its id

void search_mark_named(struct ranking *r);
void search_refine(struct ranking *r);
size_t search_pick(struct ranking *r, size_t top_k, struct search_hit *out);
