// SPDX-License-Identifier: Apache-2.0
// Internal structures of search, shared by the files of this folder only.
#pragma once
#include <stdatomic.h>

#include "base/map.h"
#include "text/search/search.h"
#include "text/search/words.h"

enum {
  GROUP_SERVER = SEARCH_FIELDS,  // the server's name, treated as one more field of each of its documents
  GROUP_LEAD,                    // first words of a description, counted separately from the rest
  GROUPS,
};

enum { PART_MAGIC = 0x53506172, INDEX_MAGIC = 0x53496478 };

#define NO_TERM UINT32_MAX
#define NO_SLOT UINT16_MAX

// Weights of the ranking. docs/internals/retrieval.md describes how they were chosen.
struct search_weights {
  float field[GROUPS];   // weight of one occurrence in this field
  float length[GROUPS];  // how much the length of this field counts: 0 not at all, 1 fully
  float saturation;      // a higher value lets repeated occurrences of a word count more
  float background;    // number of background documents that are added to the real ones to compute the rarity of a term
  float number, weak;  // weight of a number, and of a word of the class WORD_WEAK, in a query
  float synonym, typo, joined, spelled_out;  // weights of terms derived from a word of the query
  float context;                   // weight that a query word loses if it occurs only in sentences without a request
  float name_coverage, precision;  // score gains if the query covers the tool's name, or name and description
  float pair;                      // score gain of two words that are neighbours in both query and document
  float server;                    // score gain of a tool if all texts of its server together match the query
  float instructions;              // weight of a word that occurs only in the server's instructions
  float verb;                      // score loss of a tool whose action differs from the requested one
  float retired;                   // score loss of a deprecated tool
  float clause;                    // score gain of a tool that matches one clause well
  float repeat,
      covered;        // score loss of a tool that only repeats words of earlier hits; part of a word a hit covers
  float copy, alike;  // score loss of a copy of an earlier hit; minimum similarity of a copy
};
extern const struct search_weights search_weights;

// ---- a part: documents as lists of terms; each part numbers its own terms ----

struct doc_entry {
  uint32_t term;
  uint8_t tf[GROUPS];  // term frequency in each field, at most 255
};

struct doc {
  str id;
  uint64_t name_key;              // result of search_name_key for the name
  uint32_t entries, entry_count;  // range of the document's terms in the part's `entries`, ordered by term
  uint32_t words, word_count;     // range in the part's `words`: name, title and description without function words
  uint32_t length[GROUPS];
  unsigned verbs;  // kinds of the verbs in the name, as bits of enum verb
  bool retired;    // the description marks the tool as deprecated
  double cost;
};

struct search_part {
  uint32_t magic;
  atomic_uint refs;  // atomic, because indexes are built on another thread
  struct arena arena;
  str *terms;
  size_t term_count;
  struct doc *docs;
  size_t doc_count;
  struct doc_entry *entries;
  size_t entry_count;
  uint32_t *words;  // terms of all documents in the order of the text; NO_TERM between fields
  size_t word_count;
  uint32_t *server_tf;    // indexed by term: number of occurrences in all texts of the server together
  bool *in_instructions;  // indexed by term: whether the server's name or instructions contain the term
  uint32_t server_length;
  // Used only by search_part_sift. Both are empty in a part that search_part_sift has made.
  uint32_t *met;  // each document's terms in the order of first occurrence, at the indexes of its entries
  uint32_t *own;  // terms of the server's name and instructions, in the order of the text
  size_t met_count, own_count;
  size_t bytes;
};

// Returns a hash of the folded letters and digits of a name: "create_issue", "createIssue" and "Create issue" have the
// same key. Returns 0 for a name without letters and digits.
uint64_t search_name_key(struct arena *scratch, str name);

// ---- an index: joins parts, and numbers the terms of all parts together ----

struct posting {
  uint32_t doc;  // number of the document or, in postings of servers, of the part
  float impact;  // weight of the term's occurrences in this document or part, without the term's rarity
};

struct postings {
  uint32_t *first;  // indexed by term: index in `list` of the term's first posting; one more element at the end
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
  uint32_t *part_first;   // number of the first document of each part; one more element at the end
  uint32_t **part_terms;  // [part][term of this part]: the term's number in the index
  // The following members describe documents.
  uint32_t *doc_part;
  uint32_t *order;        // rank of the document if all documents are ordered by cost, then by id
  uint32_t *by_id;        // documents in the order of their ids
  float *name_mass;       // sum of the idf of the different terms in the name
  float *norm;            // length of the vector with the idf of each term in name and description
  struct named *names;    // ordered by key, then by document
  float average[GROUPS];  // average length of each field in the documents that have this field
  // The following members describe terms.
  struct map terms;   // term's text -> term + 1
  str *spellings;     // owned by the parts
  uint32_t *letters;  // result of search_letters
  float *idf, *server_idf;
  struct postings docs, servers;
  struct postings instructions;  // parts whose server has the term in its name or instructions
  struct stemmer *stemmer;       // stems the words of queries
};

const struct doc *search_doc_at(const struct search_index *x, uint32_t doc, const struct search_part **out_part);
float search_impact(const struct search_index *x, const struct doc *d, const struct doc_entry *e);
uint32_t search_find_term(const struct search_index *x, str stem);  // NO_TERM if unknown
// Returns the set of letters of a word as bits (bit 0 is "a"), or 0 if the word has characters other than a-z.
uint32_t search_letters(str word);

// Returns whether the term occurs in the name or the description.
static inline bool search_is_core(const struct doc_entry *e) {
  return e->tf[SEARCH_NAME] || e->tf[SEARCH_DESCRIPTION] || e->tf[GROUP_LEAD];
}

// ---- a query ----

enum { MOST_CLAUSES = 8, MOST_USES = 40 };

struct use {  // a term of the index that a query word may stand for
  uint32_t term;
  float worth;  // weighted rarity (idf) of the term; lower for a synonym or a corrected typo
};

struct query_term {
  str stem;
  uint32_t own;      // the term of the index with this stem, or NO_TERM
  float idf;         // weighted idf of `own`
  uint32_t clauses;  // bit k is set if the word occurs in clause k
  struct use uses[MOST_USES];
  size_t use_count;
};

struct query {
  struct query_term *terms;
  size_t term_count, clause_count;
  uint16_t *sequence;  // terms in the order of the text; NO_SLOT between clauses
  size_t sequence_count;
  unsigned verbs;    // kinds of the verbs in the query, as bits of enum verb
  uint32_t request;  // bit k is set if clause k belongs to a sentence that requests something
};

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out);
