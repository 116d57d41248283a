// SPDX-License-Identifier: Apache-2.0
// A part without some of its documents, made from the whole part: its terms get the numbers that they would have had if
// the others had never been there, so that not even the order in which something is added up tells of them.
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "text/search/search_impl.h"

struct sieve {
  const struct search_part *from;
  struct search_part *to;
  uint32_t *numbers;  // of the terms of one in the other; NO_TERM: it has none yet
};

static uint32_t number(struct sieve *s, uint32_t term) {
  if (s->numbers[term] != NO_TERM) return s->numbers[term];
  s->to->terms[s->to->term_count] = arena_str(&s->to->arena, s->from->terms[term]);
  s->to->server_tf[s->to->term_count] = 0;
  s->to->said[s->to->term_count] = false;
  return s->numbers[term] = (uint32_t)s->to->term_count++;
}

static int by_term(const void *a, const void *b) {
  uint32_t x = ((const struct entry *)a)->term, y = ((const struct entry *)b)->term;
  return (x > y) - (x < y);
}

static void take_entries(struct sieve *s, const struct doc *d) {
  struct search_part *to = s->to;
  struct entry *first = to->entries + to->entry_count;
  for (uint32_t k = 0; k < d->entry_count; k++) number(s, s->from->met[d->entries + k]);
  for (uint32_t k = 0; k < d->entry_count; k++) {
    first[k] = s->from->entries[d->entries + k];
    first[k].term = s->numbers[first[k].term];
    to->server_tf[first[k].term] += search_told(&first[k]);
  }
  if (d->entry_count) qsort(first, d->entry_count, sizeof *first, by_term);
  to->entry_count += d->entry_count;
}

static void take_words(struct sieve *s, const struct doc *d) {
  for (uint32_t k = 0; k < d->word_count; k++) {
    uint32_t word = s->from->words[d->words + k];
    s->to->words[s->to->word_count++] = word == NO_TERM ? NO_TERM : s->numbers[word];
  }
}

static void take_doc(struct sieve *s, const struct doc *d) {
  struct search_part *to = s->to;
  struct doc *taken = &to->docs[to->doc_count++];
  *taken = *d;
  taken->id = arena_str(&to->arena, d->id);
  taken->entries = (uint32_t)to->entry_count;
  taken->words = (uint32_t)to->word_count;
  take_entries(s, d);
  take_words(s, d);
  for (unsigned g = 0; g < SEARCH_FIELDS; g++) to->server_length += d->length[g];
}

static void take_own_words(struct sieve *s) {
  for (size_t i = 0; i < s->from->own_count; i++) {
    uint32_t term = number(s, s->from->own[i]);
    s->to->server_tf[term]++;
    s->to->said[term] = true;
  }
  s->to->server_length += (uint32_t)s->from->own_count;
}

static void make_room(struct sieve *s) {
  const struct search_part *from = s->from;
  s->to->terms = mem_alloc((from->term_count + 1) * sizeof *from->terms);
  s->to->server_tf = mem_alloc((from->term_count + 1) * sizeof *from->server_tf);
  s->to->said = mem_alloc((from->term_count + 1) * sizeof *from->said);
  s->to->entries = mem_alloc((from->entry_count + 1) * sizeof *from->entries);
  s->to->words = mem_alloc((from->word_count + 1) * sizeof *from->words);
  s->numbers = mem_alloc((from->term_count + 1) * sizeof *s->numbers);
  for (size_t t = 0; t < from->term_count; t++) s->numbers[t] = NO_TERM;
}

struct search_part *search_part_sift(const struct search_part *p, const uint64_t *keep) {
  ASSERT_MAGIC(p, PART_MAGIC);
  ASSERT(p->met_count == p->entry_count);
  struct sieve s = {.from = p, .to = search_part_open(p->doc_count)};
  make_room(&s);
  for (size_t d = 0; d < p->doc_count; d++)
    if (keep[d / 64] >> (d & 63) & 1) take_doc(&s, &p->docs[d]);
  take_own_words(&s);
  search_part_shrink(s.to);
  mem_free(s.numbers);
  return s.to;
}
