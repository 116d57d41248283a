// SPDX-License-Identifier: Apache-2.0
// Reads a query: sentences, clauses, words, and the terms that each word may stand for.
#include <stdlib.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/utf8.h"
#include "text/search/lexicon.h"
#include "text/search/search_impl.h"

enum {
  MOST_WORDS = 512,
  MOST_SEQUENCE = 2 * MOST_WORDS,
  // Minimum number of words of a clause, not counting function words and request words. A shorter clause is joined with
  // the next one.
  SHORTEST_CLAUSE = 3,
  MOST_SPELLED_OUT = 8,
};

struct guesses {
  const struct search_index *x;
  unsigned made;  // number of query words that were treated as possible typos (at most MOST_GUESSED)
};

struct query_reader {
  const struct search_index *x;
  struct arena *scratch;
  struct query *q;
  struct guesses guesses;
  unsigned clause;
  size_t clause_words;  // number of words of the current clause, not counting function words and request words
  uint32_t sentence;    // clauses of the current sentence, as bits
  bool requests;        // the current sentence requests something
  bool request_words;   // search also for WORD_REQUEST words, because the query has no other words
  str last_word;        // the previous word; empty if it was a function or request word
  uint16_t last_slot;
};

// ---- words that start a clause, and words of requests; in bytewise order ----

static const char *const splitting[] = {"additionally", "after",       "afterwards", "also",     "and",
                                        "finally",      "furthermore", "lastly",     "moreover", "next",
                                        "plus",         "then",        "while"};
static const char *const requesting[] = {"calculate", "can",      "check", "convert", "could",  "create",  "fetch",
                                         "find",      "generate", "get",   "give",    "help",   "how",     "know",
                                         "let",       "like",     "list",  "need",    "please", "provide", "recommend",
                                         "retrieve",  "search",   "show",  "suggest", "tell",   "want",    "what",
                                         "where",     "which",    "who"};

static int compare(const void *key, const void *entry) {
  return str_cmp(*(const str *)key, str_of(*(const char *const *)entry));
}

#define IN_TABLE(word, table) \
  (bsearch(&(word), (table), sizeof(table) / sizeof *(table), sizeof *(table), compare) != NULL)

// ---- terms that a word may stand for ----

// Maximum number of query words that are treated as possible typos, and minimum length of such a word.
enum { MOST_GUESSED = 8, SHORTEST_GUESSED = 5 };

static void add_use(struct query_term *t, uint32_t term, float worth) {
  for (size_t i = 0; i < t->use_count; i++) {
    if (t->uses[i].term != term) continue;
    if (worth > t->uses[i].worth) t->uses[i].worth = worth;
    return;
  }
  if (t->use_count < MOST_USES) t->uses[t->use_count++] = (struct use){term, worth};
}

static void add_synonyms(const struct search_index *x, struct query_term *t, float weight) {
  str found[MOST_USES];
  size_t n = thesaurus_find(THESAURUS_MEANS, t->stem, found, MOST_USES);
  for (size_t i = 0; i < n; i++) {
    uint32_t term = search_find_term(x, found[i]);
    if (term == NO_TERM) continue;
    // A synonym must not be worth more than the query word itself.
    float idf = x->idf[term] * weight;
    if (t->own != NO_TERM && idf > t->idf) idf = t->idf;
    add_use(t, term, search_weights.synonym * idf);
  }
}

// Returns whether two words differ by one letter: missing, added, replaced, or swapped with its neighbour.
static bool is_typo(str a, str b) {
  if (a.n > b.n) return is_typo(b, a);
  size_t i = 0;
  while (i < a.n && a.p[i] == b.p[i]) i++;
  if (b.n == a.n + 1) return str_eq(str_from(a, i), str_from(b, i + 1));
  if (b.n != a.n || i == a.n) return false;
  if (str_eq(str_from(a, i + 1), str_from(b, i + 1))) return true;
  return i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] && str_eq(str_from(a, i + 2), str_from(b, i + 2));
}

// Adds the terms that a mistyped word may mean. A typo changes at most two bits of a word's set of letters
// (search_letters). So terms whose sets differ in more bits are skipped without a comparison. The first letter must be
// equal, because people seldom mistype the first letter.
static void add_guesses(struct guesses *g, struct query_term *t, float weight) {
  const struct search_index *x = g->x;
  uint32_t letters = search_letters(t->stem);
  if (!letters || t->stem.n < SHORTEST_GUESSED || g->made == MOST_GUESSED) return;
  g->made++;
  for (uint32_t k = 0; k < x->term_count; k++) {
    uint32_t differing = letters ^ x->letters[k];
    differing &= differing - 1;
    bool at_most_two = !(differing & (differing - 1));
    if (!at_most_two || x->spellings[k].n + 1 < SHORTEST_GUESSED) continue;
    if (x->spellings[k].p[0] != t->stem.p[0] || !is_typo(t->stem, x->spellings[k])) continue;
    add_use(t, k, search_weights.typo * weight * x->idf[k]);
  }
}

static void find_uses(struct guesses *g, struct query_term *t, float weight) {
  t->own = search_find_term(g->x, t->stem);
  if (t->own != NO_TERM) {
    t->idf = weight * g->x->idf[t->own];
    add_use(t, t->own, t->idf);
  }
  add_synonyms(g->x, t, weight);
  if (!t->use_count) add_guesses(g, t, weight);
}

// ---- terms ----

static uint16_t add_stem(struct query_reader *r, str stem, float weight) {
  struct query *q = r->q;
  for (size_t i = 0; i < q->term_count; i++) {
    if (!str_eq(q->terms[i].stem, stem)) continue;
    q->terms[i].clauses |= 1U << r->clause;
    return (uint16_t)i;
  }
  if (q->term_count == SEARCH_MOST_QUERY_TERMS) return NO_SLOT;
  struct query_term *t = &q->terms[q->term_count];
  *t = (struct query_term){.stem = arena_str(r->scratch, stem), .clauses = 1U << r->clause};
  find_uses(&r->guesses, t, weight);
  return (uint16_t)q->term_count++;
}

static void add_joined(struct query_term *t, uint32_t term, float idf) {
  add_use(t, term, t->own != NO_TERM && t->idf < idf ? t->idf : idf);
}

// Adds the term of two adjacent words written as one, so that "file name" also matches "filename".
static void join_words(struct query_reader *r, str word, uint16_t slot) {
  if (!r->last_word.n || r->last_slot == NO_SLOT || slot == NO_SLOT || slot == r->last_slot) return;
  char joined[2 * WORD_MOST_BYTES];
  ASSERT(r->last_word.n + word.n <= sizeof joined);
  memcpy(joined, r->last_word.p, r->last_word.n);
  memcpy(joined + r->last_word.n, word.p, word.n);
  uint32_t term = search_find_term(r->x, stemmer_stem(r->x->stemmer, (str){joined, r->last_word.n + word.n}));
  if (term == NO_TERM) return;
  float idf = search_weights.joined * r->x->idf[term];
  add_joined(&r->q->terms[r->last_slot], term, idf);
  add_joined(&r->q->terms[slot], term, idf);
}

static void add_word(struct query_reader *r, str word, enum word_class class) {
  float weight = class == WORD_WEAK ? search_weights.weak : 1;
  if (ascii_is_digit(word.p[0])) weight = search_weights.number;
  str stem = arena_str(r->scratch, stemmer_stem(r->x->stemmer, word));
  uint16_t slot = add_stem(r, stem, weight);
  ASSERT(r->q->sequence_count < MOST_SEQUENCE);
  r->q->sequence[r->q->sequence_count++] = slot;
  r->clause_words++;
  join_words(r, word, slot);
  // If the word is an abbreviation, adds the words that it stands for: "pull", "request" for "pr".
  str words[MOST_SPELLED_OUT];
  size_t n = thesaurus_find(THESAURUS_SHORT_FOR, stem, words, MOST_SPELLED_OUT);
  for (size_t i = 0; i < n; i++) add_stem(r, words[i], search_weights.spelled_out);
  r->last_word = word;
  r->last_slot = slot;
}

// ---- clauses and sentences ----

static void end_clause(struct query_reader *r) {
  r->last_word = STR_NONE;
  if (r->clause_words < SHORTEST_CLAUSE) return;
  if (r->clause + 1 < MOST_CLAUSES) r->clause++;
  r->clause_words = 0;
  ASSERT(r->q->sequence_count < MOST_SEQUENCE);
  r->q->sequence[r->q->sequence_count++] = NO_SLOT;
}

static void end_sentence(struct query_reader *r) {
  if (r->requests) r->q->request |= r->sentence;
  r->requests = false;
  r->sentence = 0;
}

static void read_segment(struct query_reader *r, str text) {
  struct word_list list = words_split(r->scratch, text, MOST_WORDS);
  for (size_t i = 0; i < list.count && r->q->sequence_count + 2 < MOST_SEQUENCE; i++) {
    str word = list.words[i];
    if (IN_TABLE(word, splitting)) end_clause(r);
    if (IN_TABLE(word, requesting)) r->requests = true;
    r->sentence |= 1U << r->clause;
    r->q->verbs |= verb_kinds(stemmer_stem(r->x->stemmer, word));
    enum word_class class = word_class(word);
    if (class == WORD_FUNCTION || (class == WORD_REQUEST && !r->request_words)) r->last_word = STR_NONE;
    else add_word(r, word, class);
  }
}

// Returns whether text[i] ends a sentence or another segment of the query. The dot in "report.pdf" or "1.5" ends no
// segment.
static bool ends_segment(str text, size_t i) {
  char c = text.p[i];
  if (c == '\n' || c == ';') return true;
  return (c == '.' || c == '?' || c == '!' || c == ':') && (i + 1 == text.n || text.p[i + 1] == ' ');
}

static void read_text(struct query_reader *r, str text) {
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

// Lowers the weight of words that occur only in sentences without a request. In "I am planning a trip. Which trains
// ...?" only the second sentence is a request.
static void weigh_sentences(struct query *q) {
  if (!q->request) return;
  for (size_t i = 0; i < q->term_count; i++) {
    struct query_term *t = &q->terms[i];
    if (t->clauses & q->request) continue;
    t->idf *= 1 - search_weights.context;
    for (size_t u = 0; u < t->use_count; u++) t->uses[u].worth *= 1 - search_weights.context;
  }
}

void search_read_query(const struct search_index *x, str text, struct arena *scratch, struct query *out) {
  *out = (struct query){0};
  out->terms = arena_alloc(scratch, SEARCH_MOST_QUERY_TERMS * sizeof *out->terms);
  out->sequence = arena_alloc(scratch, MOST_SEQUENCE * sizeof *out->sequence);
  struct query_reader r = {.x = x, .scratch = scratch, .q = out, .guesses = {.x = x}};
  text = utf8_cut(text, SEARCH_MOST_QUERY_BYTES);
  read_text(&r, text);
  if (!out->term_count) {
    r.request_words = true;
    read_text(&r, text);
  }
  weigh_sentences(out);
  ASSERT(out->clause_count <= MOST_CLAUSES && out->term_count <= SEARCH_MOST_QUERY_TERMS);
}
