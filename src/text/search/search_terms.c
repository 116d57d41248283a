// SPDX-License-Identifier: Apache-2.0
// What a word of a query may stand for: itself, other words for the same, or what was meant by a slip of the pen.
#include "text/search/search_impl.h"
#include "text/search/thesaurus.h"

enum { MOST_GUESSED = 8, SHORTEST_GUESSED = 5 };  // words of a query; letters of a word

void search_add_use(struct query_term *t, uint32_t term, float worth) {
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
    // Another word is never worth more than the word itself.
    float idf = x->idf[term] * weight;
    if (t->own != NO_TERM && idf > t->idf) idf = t->idf;
    search_add_use(t, term, search_weights.synonym * idf);
  }
}

// The same but for one letter that is missing, too many, another, or in its neighbour's place.
static bool is_slip(str a, str b) {
  if (a.n > b.n) return is_slip(b, a);
  size_t i = 0;
  while (i < a.n && a.p[i] == b.p[i]) i++;
  if (b.n == a.n + 1) return str_eq(str_from(a, i), str_from(b, i + 1));
  if (b.n != a.n || i == a.n) return false;
  if (str_eq(str_from(a, i + 1), str_from(b, i + 1))) return true;
  return i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] && str_eq(str_from(a, i + 2), str_from(b, i + 2));
}

static bool at_most_two_bits(uint32_t bits) {
  bits &= bits - 1;
  return !(bits & (bits - 1));
}

// One slip changes at most two of the letters that a word has, which spares most comparisons. People seldom get the
// first letter wrong.
static void add_guesses(struct guesses *g, struct query_term *t, float weight) {
  const struct search_index *x = g->x;
  uint32_t letters = search_letters(t->stem);
  if (!letters || t->stem.n < SHORTEST_GUESSED || g->made == MOST_GUESSED) return;
  g->made++;
  for (uint32_t k = 0; k < x->term_count; k++) {
    if (!at_most_two_bits(letters ^ x->letters[k]) || x->spellings[k].n + 1 < SHORTEST_GUESSED) continue;
    if (x->spellings[k].p[0] != t->stem.p[0] || !is_slip(t->stem, x->spellings[k])) continue;
    search_add_use(t, k, search_weights.typo * weight * x->idf[k]);
  }
}

void search_find_uses(struct guesses *g, struct query_term *t, float weight) {
  t->own = search_find_term(g->x, t->stem);
  if (t->own != NO_TERM) {
    t->idf = weight * g->x->idf[t->own];
    search_add_use(t, t->own, t->idf);
  }
  add_synonyms(g->x, t, weight);
  if (!t->use_count) add_guesses(g, t, weight);
}
