// SPDX-License-Identifier: Apache-2.0
// Reads a query: sentences, clauses, words.
#include <stdlib.h>

#include "base/text/utf8.h"
#include "text/search/search_impl.h"
#include "text/search/stopwords.h"
#include "text/search/thesaurus.h"
#include "text/search/verbs.h"

enum {
  MOST_WORDS = 512,
  MOST_SEQUENCE = 2 * MOST_WORDS,
  SHORTEST_CLAUSE = 3,  // words that count; what is shorter belongs to the next
  MOST_SPELLED_OUT = 8,
};

struct reader {
  const struct search_index *x;
  struct arena *scratch;
  struct query *q;
  struct guesses guesses;
  unsigned clause;
  size_t clause_words;  // that count, in the clause at hand
  uint32_t sentence;    // clauses of the sentence at hand
  bool asks;            // that sentence asks for something
  bool request_words;   // count too, for want of others
  str last_word;        // just before the one at hand, if that counted
  uint16_t last_slot;
};

// ---- words with a part in the grammar of requests; in bytewise order ----

static const char *const splitting[] = {"additionally", "after",       "afterwards", "also",     "and",
                                        "finally",      "furthermore", "lastly",     "moreover", "next",
                                        "plus",         "then",        "while"};
static const char *const asking[] = {"calculate", "can",      "check", "convert", "could",  "create",  "fetch",
                                     "find",      "generate", "get",   "give",    "help",   "how",     "know",
                                     "let",       "like",     "list",  "need",    "please", "provide", "recommend",
                                     "retrieve",  "search",   "show",  "suggest", "tell",   "want",    "what",
                                     "where",     "which",    "who"};

static int compare(const void *key, const void *entry) {
  return str_cmp(*(const str *)key, str_of(*(const char *const *)entry));
}

#define IN_TABLE(word, table) \
  (bsearch(&(word), (table), sizeof(table) / sizeof *(table), sizeof *(table), compare) != NULL)

// ---- terms ----

static uint16_t add_stem(struct reader *r, str stem, float weight) {
  struct query *q = r->q;
  for (size_t i = 0; i < q->term_count; i++) {
    if (!str_eq(q->terms[i].stem, stem)) continue;
    q->terms[i].clauses |= 1U << r->clause;
    return (uint16_t)i;
  }
  if (q->term_count == SEARCH_MOST_QUERY_TERMS) return NO_SLOT;
  struct query_term *t = &q->terms[q->term_count];
  *t = (struct query_term){.stem = arena_str(r->scratch, stem), .clauses = 1U << r->clause};
  search_find_uses(&r->guesses, t, weight);
  return (uint16_t)q->term_count++;
}

// "pr" is short for "pull request".
static void spell_out(struct reader *r, str stem) {
  str words[MOST_SPELLED_OUT];
  size_t n = thesaurus_find(THESAURUS_SHORT_FOR, stem, words, MOST_SPELLED_OUT);
  for (size_t i = 0; i < n; i++) add_stem(r, words[i], search_weights.spelled_out);
}

static void add_joined(struct query_term *t, uint32_t term, float idf) {
  search_add_use(t, term, t->own != NO_TERM && t->idf < idf ? t->idf : idf);
}

// Who writes "file name" or "key vault" may mean a tool that writes "filename" or "keyvault".
static void join_words(struct reader *r, str word, uint16_t slot) {
  if (!r->last_word.n || r->last_slot == NO_SLOT || slot == NO_SLOT || slot == r->last_slot) return;
  char joined[2 * WORD_MOST_BYTES];
  memcpy(joined, r->last_word.p, r->last_word.n);
  memcpy(joined + r->last_word.n, word.p, word.n);
  uint32_t term = search_find_term(r->x, stemmer_stem(r->x->stemmer, (str){joined, r->last_word.n + word.n}));
  if (term == NO_TERM) return;
  float idf = search_weights.joined * r->x->idf[term];
  add_joined(&r->q->terms[r->last_slot], term, idf);
  add_joined(&r->q->terms[slot], term, idf);
}

static float weight_of(str word, enum word_class class) {
  if (word.p[0] >= '0' && word.p[0] <= '9') return search_weights.number;
  return class == WORD_WEAK ? search_weights.weak : 1;
}

static void add_word(struct reader *r, str word, enum word_class class) {
  str stem = arena_str(r->scratch, stemmer_stem(r->x->stemmer, word));
  uint16_t slot = add_stem(r, stem, weight_of(word, class));
  r->q->sequence[r->q->sequence_count++] = slot;
  r->clause_words++;
  join_words(r, word, slot);
  spell_out(r, stem);
  r->last_word = word;
  r->last_slot = slot;
}

// ---- clauses and sentences ----

static void end_clause(struct reader *r) {
  r->last_word = STR_NONE;
  if (r->clause_words < SHORTEST_CLAUSE) return;
  if (r->clause + 1 < MOST_CLAUSES) r->clause++;
  r->clause_words = 0;
  r->q->sequence[r->q->sequence_count++] = NO_SLOT;
}

static void end_sentence(struct reader *r) {
  if (r->asks) r->q->asking |= r->sentence;
  r->asks = false;
  r->sentence = 0;
}

static void read_segment(struct reader *r, str text) {
  struct word_list list = words_split(r->scratch, text, MOST_WORDS);
  for (size_t i = 0; i < list.count && r->q->sequence_count + 2 < MOST_SEQUENCE; i++) {
    str word = list.words[i];
    if (IN_TABLE(word, splitting)) end_clause(r);
    if (IN_TABLE(word, asking)) r->asks = true;
    r->sentence |= 1U << r->clause;
    r->q->verbs |= verb_kinds(stemmer_stem(r->x->stemmer, word));
    enum word_class class = word_class(word);
    if (class == WORD_FUNCTION || (class == WORD_REQUEST && !r->request_words)) r->last_word = STR_NONE;
    else add_word(r, word, class);
  }
}

// A full stop in "report.pdf" or "1.5" ends nothing.
static bool ends_segment(str text, size_t i) {
  char c = text.p[i];
  if (c == '\n' || c == ';') return true;
  return (c == '.' || c == '?' || c == '!' || c == ':') && (i + 1 == text.n || text.p[i + 1] == ' ');
}

static void read_text(struct reader *r, str text) {
  size_t from = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (!ends_segment(text, i)) continue;
    read_segment(r, (str){text.p + from, i - from});
    end_clause(r);
    if (text.p[i] != ':') end_sentence(r);
    from = i + 1;
  }
  read_segment(r, str_from(text, from));
  end_sentence(r);
  r->q->clause_count = r->clause + 1U;
}

// "I am planning a trip. Which trains ...?": the first sentence tells, only the second one asks.
static void weigh_sentences(struct query *q) {
  if (!q->asking) return;
  for (size_t i = 0; i < q->term_count; i++) {
    struct query_term *t = &q->terms[i];
    if (t->clauses & q->asking) continue;
    t->idf *= 1 - search_weights.telling;
    for (size_t u = 0; u < t->use_count; u++) t->uses[u].worth *= 1 - search_weights.telling;
  }
}

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out) {
  *out = (struct query){0};
  out->terms = arena_alloc(scratch, SEARCH_MOST_QUERY_TERMS * sizeof *out->terms);
  out->sequence = arena_alloc(scratch, MOST_SEQUENCE * sizeof *out->sequence);
  struct reader r = {.x = x, .scratch = scratch, .q = out, .guesses = {.x = x}};
  text = utf8_cut(text, SEARCH_MOST_QUERY_BYTES);
  read_text(&r, text);
  if (!out->term_count) {
    r.request_words = true;
    read_text(&r, text);
  }
  weigh_sentences(out);
}
