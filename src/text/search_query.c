// SPDX-License-Identifier: Apache-2.0
// Reads a query: clauses, words, and what each word may stand for.
#include "text/search_impl.h"
#include "text/stopwords.h"

enum { MOST_WORDS = 512 };

struct reader {
  const struct search_index *x;
  struct arena *scratch;
  struct stemmer *stemmer;
  struct query *q;
  unsigned clause;
  size_t clause_words;  // that count, in the clause at hand
  bool request_words;   // count too, for want of others
};

// ---- what a word may stand for ----

static void add_use(struct query_term *t, uint32_t term, float worth) {
  for (size_t i = 0; i < t->use_count; i++) {
    if (t->uses[i].term != term) continue;
    if (worth > t->uses[i].worth) t->uses[i].worth = worth;
    return;
  }
  if (t->use_count < MOST_USES) t->uses[t->use_count++] = (struct use){term, worth};
}

static void add_synonyms(struct reader *r, struct query_term *t) {
  str found[MOST_USES];
  size_t n = thesaurus_find(r->x->thesaurus, t->stem, found, MOST_USES);
  for (size_t i = 0; i < n; i++) {
    uint32_t term = search_find_term(r->x, found[i]);
    if (term == NO_TERM) continue;
    // A synonym is never worth more than the word itself would be.
    float idf = r->x->idf[term];
    if (t->use_count && idf > t->idf) idf = t->idf;
    add_use(t, term, search_weights.synonym * idf);
  }
}

static uint16_t add_term(struct reader *r, str word, float weight) {
  struct query *q = r->q;
  str stem = stemmer_stem(r->stemmer, word);
  for (size_t i = 0; i < q->term_count; i++) {
    if (!str_eq(q->terms[i].stem, stem)) continue;
    q->terms[i].clauses |= 1U << r->clause;
    return (uint16_t)i;
  }
  if (q->term_count == SEARCH_MOST_QUERY_TERMS) return NO_SLOT;
  struct query_term *t = &q->terms[q->term_count];
  *t = (struct query_term){.stem = arena_str(r->scratch, stem), .clauses = 1U << r->clause};
  uint32_t own = search_find_term(r->x, stem);
  if (own != NO_TERM) {
    t->idf = weight * r->x->idf[own];
    add_use(t, own, t->idf);
  }
  add_synonyms(r, t);
  return (uint16_t)q->term_count++;
}

// ---- clauses ----

static void end_clause(struct reader *r) {
  if (r->clause_words < (size_t)search_weights.minclause) return;
  if (r->clause + 1 < MOST_CLAUSES) r->clause++;
  r->clause_words = 0;
  r->q->sequence[r->q->sequence_count++] = NO_SLOT;
}

static bool splits(str word) {
  static const char *const words[] = {"and",          "then",        "also",    "plus",   "after",
                                      "additionally", "furthermore", "finally", "lastly", "while",
                                      "moreover",     "afterwards",  "next"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (str_eq(word, str_of(words[i]))) return true;
  return false;
}

static void read_segment(struct reader *r, str text) {
  struct word_list list = words_split(r->scratch, text, MOST_WORDS);
  for (size_t i = 0; i < list.count && r->q->sequence_count + 2 < 2 * MOST_WORDS; i++) {
    if (splits(list.words[i])) end_clause(r);
    enum word_class class = word_class(list.words[i]);
    if (class == WORD_FUNCTION || (class == WORD_REQUEST && !r->request_words)) continue;
    uint16_t slot = add_term(r, list.words[i], 1);
    r->q->sequence[r->q->sequence_count++] = slot;
    r->clause_words++;
  }
}

static bool ends_segment(str text, size_t i) {
  char c = text.p[i];
  if (c == '\n' || c == ';') return true;
  if (c != '.' && c != '?' && c != '!' && c != ':' && c != ',') return false;
  if (c == ',' && !search_weights.comma) return false;
  return i + 1 == text.n || text.p[i + 1] == ' ';
}

static void read_text(struct reader *r, str text) {
  size_t from = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (!ends_segment(text, i)) continue;
    read_segment(r, (str){text.p + from, i - from});
    end_clause(r);
    from = i + 1;
  }
  read_segment(r, str_from(text, from));
  r->q->clause_count = r->clause + 1U;
}

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out) {
  text = words_cut(text, SEARCH_MOST_QUERY_BYTES);
  *out = (struct query){0};
  out->terms = arena_alloc(scratch, SEARCH_MOST_QUERY_TERMS * sizeof *out->terms);
  out->sequence = arena_alloc(scratch, 2 * MOST_WORDS * sizeof *out->sequence);
  struct reader r = {.x = x, .scratch = scratch, .stemmer = stemmer_new(), .q = out};
  read_text(&r, text);
  if (!out->term_count) {
    r.request_words = true;
    out->sequence_count = 0;
    read_text(&r, text);
  }
  stemmer_free(&r.stemmer);
}
