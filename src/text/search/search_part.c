// SPDX-License-Identifier: Apache-2.0
// Analyses the documents of one server: words, stems, and their occurrences in each field.
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "text/search/lexicon.h"
#include "text/search/search_impl.h"

enum {
  MOST_WORDS = 4096,      // maximum number of words that are read from a field
  LEAD_WORDS = 20,        // first words of a description, which usually say what the tool does
  MOST_PAIR_WORDS = 160,  // maximum words of a document that are stored in their order, to find neighbours
};

struct spelling {  // a word before stemming
  uint32_t term;
  bool function_word;
};

struct part_builder {
  struct search_part *part;
  struct arena scratch;  // reset after each document
  struct stemmer *stemmer;
  struct map spellings;  // maps a word to its struct spelling; both are in the arena `keys`
  struct map stems;      // stem -> term + 1
  struct arena keys;
  size_t terms_cap, entries_cap, met_cap, words_cap, own_cap;
  struct doc_entry *counts;  // indexed by term: number of occurrences in the current document
  uint32_t *touched;         // terms in the current document
  size_t counts_cap, touched_count;
};

static void *grown(void *p, size_t need, size_t *cap, size_t size) {
  if (need <= *cap) return p;
  *cap = need < 64 ? 64 : need * 3 / 2;
  return mem_grow(p, *cap * size);
}

// ---- terms ----

static uint32_t term_of_stem(struct part_builder *b, str stem) {
  uintptr_t known = (uintptr_t)map_find(&b->stems, stem);
  if (known) return (uint32_t)(known - 1);
  struct search_part *p = b->part;
  p->terms = grown(p->terms, p->term_count + 1, &b->terms_cap, sizeof *p->terms);
  size_t cap = b->counts_cap;
  b->counts = grown(b->counts, p->term_count + 1, &b->counts_cap, sizeof *b->counts);
  if (cap != b->counts_cap) {
    memset(b->counts + cap, 0, (b->counts_cap - cap) * sizeof *b->counts);
    b->touched = mem_grow(b->touched, b->counts_cap * sizeof *b->touched);
    p->server_tf = mem_grow(p->server_tf, b->counts_cap * sizeof *p->server_tf);
    p->in_instructions = mem_grow(p->in_instructions, b->counts_cap * sizeof *p->in_instructions);
  }
  uint32_t term = (uint32_t)p->term_count++;
  p->terms[term] = arena_str(&p->arena, stem);
  p->server_tf[term] = 0;
  p->in_instructions[term] = false;
  map_add(&b->stems, p->terms[term], (void *)(uintptr_t)(term + 1));
  return term;
}

static const struct spelling *spelling_of(struct part_builder *b, str word) {
  struct spelling *s = map_find(&b->spellings, word);
  if (s) return s;
  s = ARENA_NEW(&b->keys, struct spelling);
  s->function_word = word_class(word) == WORD_FUNCTION;
  s->term = term_of_stem(b, stemmer_stem(b->stemmer, word));
  map_add(&b->spellings, arena_str(&b->keys, word), s);
  return s;
}

static void count_term(struct part_builder *b, uint32_t term, unsigned group) {
  ASSERT(term < b->part->term_count && group < GROUPS);
  struct doc_entry *e = &b->counts[term];
  bool first = true;
  for (unsigned g = 0; g < GROUPS; g++) first = first && !e->tf[g];
  if (first) b->touched[b->touched_count++] = term;
  if (e->tf[group] < UINT8_MAX) e->tf[group]++;
}

// ---- documents ----

static bool keeps_order(unsigned group) {
  return group == SEARCH_NAME || group == SEARCH_TITLE || group == SEARCH_DESCRIPTION;
}

static void keep_word(struct part_builder *b, struct doc *d, uint32_t term) {
  struct search_part *p = b->part;
  if (d->word_count >= MOST_PAIR_WORDS) return;
  p->words = grown(p->words, p->word_count + 1, &b->words_cap, sizeof *p->words);
  p->words[p->word_count++] = term;
  d->word_count++;
}

// Returns whether a description marks its tool as deprecated: it starts with "deprecated", or has this word in capitals
// or before a colon. Inside a sentence ("list deprecated packages") the word may refer to anything.
static bool says_deprecated(str text) {
  static const str word = STR("deprecated");
  for (size_t at = 0; at + word.n <= text.n; at++) {
    str rest = str_from(text, at);
    if (str_starts(rest, STR("DEPRECATED"))) return true;
    if (!str_eq_nocase((str){rest.p, word.n}, word)) continue;
    bool begins = at < 3;  // up to two characters such as "[" may precede the word at the start of the text
    if (begins || str_starts(str_from(rest, word.n), STR(":"))) return true;
  }
  return false;
}

static void add_field(struct part_builder *b, struct doc *d, unsigned group, str text) {
  bool is_text = group == SEARCH_DESCRIPTION || group == SEARCH_PARAMS || group == SEARCH_PARAM_TEXTS;
  text = utf8_cut(text, is_text ? SEARCH_MOST_TEXT_BYTES : SEARCH_MOST_NAME_BYTES);
  struct word_list list = words_split(&b->scratch, text, MOST_WORDS);
  if (group == SEARCH_DESCRIPTION) d->retired = says_deprecated(text);
  for (size_t i = 0; i < list.count; i++) {
    const struct spelling *s = spelling_of(b, list.words[i]);
    bool leads = group == SEARCH_DESCRIPTION && i < LEAD_WORDS;
    count_term(b, s->term, leads ? GROUP_LEAD : group);
    if (group == SEARCH_NAME) d->verbs |= verb_kinds(b->part->terms[s->term]);
    if (keeps_order(group) && !s->function_word) keep_word(b, d, s->term);
  }
  d->length[group] = (uint32_t)list.count;
  if (group == SEARCH_DESCRIPTION) d->length[GROUP_LEAD] = list.count < LEAD_WORDS ? (uint32_t)list.count : LEAD_WORDS;
  if (group != GROUP_SERVER) b->part->server_length += (uint32_t)list.count;
  if (keeps_order(group) && list.count) keep_word(b, d, NO_TERM);
}

// Returns how many occurrences of a term in a document are counted for its server. Excludes the field GROUP_SERVER,
// because add_server_text counts the server's name once for all documents.
static uint32_t occurrences(const struct doc_entry *e) {
  uint32_t n = 0;
  for (unsigned g = 0; g < GROUPS; g++) n += g == GROUP_SERVER ? 0 : e->tf[g];
  return n;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

// Ends the current document: moves its counts of terms to the part's entries.
static void close_doc(struct part_builder *b, struct doc *d) {
  struct search_part *p = b->part;
  p->entries = grown(p->entries, p->entry_count + b->touched_count, &b->entries_cap, sizeof *p->entries);
  p->met = grown(p->met, p->met_count + b->touched_count, &b->met_cap, sizeof *p->met);
  if (b->touched_count) {
    memcpy(p->met + p->met_count, b->touched, b->touched_count * sizeof *b->touched);
    qsort(b->touched, b->touched_count, sizeof *b->touched, by_number);
  }
  p->met_count += b->touched_count;
  d->entries = (uint32_t)p->entry_count;
  d->entry_count = (uint32_t)b->touched_count;
  for (size_t i = 0; i < b->touched_count; i++) {
    uint32_t term = b->touched[i];
    b->counts[term].term = term;
    p->server_tf[term] += occurrences(&b->counts[term]);
    p->entries[p->entry_count++] = b->counts[term];
    memset(&b->counts[term], 0, sizeof b->counts[term]);
  }
  b->touched_count = 0;
  ASSERT(p->met_count == p->entry_count);
}

static void add_doc(struct part_builder *b, const struct search_doc *from, str server) {
  struct search_part *p = b->part;
  struct doc *d = &p->docs[p->doc_count++];
  *d = (struct doc){.id = arena_str(&p->arena, from->id), .words = (uint32_t)p->word_count, .cost = from->cost};
  d->name_key = search_name_key(&b->scratch, from->fields[SEARCH_NAME]);
  for (unsigned g = 0; g < SEARCH_FIELDS; g++) add_field(b, d, g, from->fields[g]);
  add_field(b, d, GROUP_SERVER, server);
  close_doc(b, d);
  arena_reset(&b->scratch);
}

// Adds words of the server's name or instructions. These words are counted for the server, but not for its tools.
static void add_server_text(struct part_builder *b, str text, size_t max_bytes) {
  struct word_list list = words_split(&b->scratch, utf8_cut(text, max_bytes), MOST_WORDS);
  for (size_t i = 0; i < list.count; i++) {
    struct search_part *p = b->part;
    // Must precede the use of server_tf, because spelling_of may reallocate that array.
    uint32_t term = spelling_of(b, list.words[i])->term;
    p->own = grown(p->own, p->own_count + 1, &b->own_cap, sizeof *p->own);
    p->own[p->own_count++] = term;
    p->server_tf[term]++;
    p->in_instructions[term] = true;
  }
  b->part->server_length += (uint32_t)list.count;
  arena_reset(&b->scratch);
}

// ---- a part ----

static void part_shrink(struct search_part *p) {
  p->terms = mem_grow(p->terms, (p->term_count + 1) * sizeof *p->terms);
  p->entries = mem_grow(p->entries, (p->entry_count + 1) * sizeof *p->entries);
  p->met = mem_grow(p->met, (p->met_count + 1) * sizeof *p->met);
  p->words = mem_grow(p->words, (p->word_count + 1) * sizeof *p->words);
  p->own = mem_grow(p->own, (p->own_count + 1) * sizeof *p->own);
  p->server_tf = mem_grow(p->server_tf, (p->term_count + 1) * sizeof *p->server_tf);
  p->in_instructions = mem_grow(p->in_instructions, (p->term_count + 1) * sizeof *p->in_instructions);
  p->bytes = sizeof *p + p->arena.total +
             p->term_count * (sizeof *p->terms + sizeof *p->server_tf + sizeof *p->in_instructions) +
             p->entry_count * sizeof *p->entries + p->doc_count * sizeof *p->docs +
             (p->met_count + p->word_count + p->own_count) * sizeof *p->words;
}

static void builder_done(struct part_builder *b) {
  map_done(&b->spellings);
  map_done(&b->stems);
  arena_done(&b->keys);
  arena_done(&b->scratch);
  stemmer_free(&b->stemmer);
  mem_free(b->counts);
  mem_free(b->touched);
}

static struct search_part *part_open(size_t most_docs) {
  struct search_part *p = MEM_NEW(struct search_part);
  p->magic = PART_MAGIC;
  p->refs = 1;
  arena_init(&p->arena);
  p->docs = mem_alloc((most_docs + 1) * sizeof *p->docs);
  return p;
}

struct search_part *search_part_new(const struct search_source *source, const struct hash_key *seed) {
  struct search_part *p = part_open(source->count);
  struct part_builder b = {.part = p, .stemmer = stemmer_new()};
  arena_init(&b.scratch);
  arena_init(&b.keys);
  map_init(&b.spellings, seed);
  map_init(&b.stems, seed);
  for (size_t i = 0; i < source->count; i++) add_doc(&b, &source->docs[i], source->server);
  add_server_text(&b, source->server, SEARCH_MOST_NAME_BYTES);
  add_server_text(&b, source->instructions, SEARCH_MOST_TEXT_BYTES);
  ASSERT(p->doc_count == source->count && b.touched_count == 0);
  part_shrink(p);
  builder_done(&b);
  return p;
}

// ---- a part with some of the documents ----

// The state of search_part_sift. The new part numbers its terms as if the hidden documents did not exist. Otherwise
// hidden documents would influence the order in which weights are added, and so the rounding of scores.
struct sieve {
  const struct search_part *from;
  struct search_part *to;
  uint32_t *numbers;  // maps each term of the part `from` to its number in the part `to`, or NO_TERM
};

// Returns the number of a term in the new part. Assigns this number when the term is first used.
static uint32_t number(struct sieve *s, uint32_t term) {
  ASSERT(term < s->from->term_count);
  if (s->numbers[term] != NO_TERM) return s->numbers[term];
  ASSERT(s->to->term_count < s->from->term_count);
  s->to->terms[s->to->term_count] = arena_str(&s->to->arena, s->from->terms[term]);
  s->to->server_tf[s->to->term_count] = 0;
  s->to->in_instructions[s->to->term_count] = false;
  return s->numbers[term] = (uint32_t)s->to->term_count++;
}

static int by_term(const void *a, const void *b) {
  uint32_t x = ((const struct doc_entry *)a)->term, y = ((const struct doc_entry *)b)->term;
  return (x > y) - (x < y);
}

static void take_entries(struct sieve *s, const struct doc *d) {
  struct search_part *to = s->to;
  struct doc_entry *first = to->entries + to->entry_count;
  for (uint32_t k = 0; k < d->entry_count; k++) number(s, s->from->met[d->entries + k]);
  for (uint32_t k = 0; k < d->entry_count; k++) {
    first[k] = s->from->entries[d->entries + k];
    first[k].term = s->numbers[first[k].term];
    to->server_tf[first[k].term] += occurrences(&first[k]);
  }
  if (d->entry_count) qsort(first, d->entry_count, sizeof *first, by_term);
  to->entry_count += d->entry_count;
  ASSERT(to->entry_count <= s->from->entry_count);
}

static void take_doc(struct sieve *s, const struct doc *d) {
  struct search_part *to = s->to;
  ASSERT(to->doc_count < s->from->doc_count);
  struct doc *taken = &to->docs[to->doc_count++];
  *taken = *d;
  taken->id = arena_str(&to->arena, d->id);
  taken->entries = (uint32_t)to->entry_count;
  taken->words = (uint32_t)to->word_count;
  take_entries(s, d);
  for (uint32_t k = 0; k < d->word_count; k++) {
    uint32_t word = s->from->words[d->words + k];
    to->words[to->word_count++] = word == NO_TERM ? NO_TERM : s->numbers[word];
  }
  for (unsigned g = 0; g < SEARCH_FIELDS; g++) to->server_length += d->length[g];
}

static void take_own_words(struct sieve *s) {
  for (size_t i = 0; i < s->from->own_count; i++) {
    uint32_t term = number(s, s->from->own[i]);
    s->to->server_tf[term]++;
    s->to->in_instructions[term] = true;
  }
  s->to->server_length += (uint32_t)s->from->own_count;
}

static void make_room(struct sieve *s) {
  const struct search_part *from = s->from;
  s->to->terms = mem_alloc((from->term_count + 1) * sizeof *from->terms);
  s->to->server_tf = mem_alloc((from->term_count + 1) * sizeof *from->server_tf);
  s->to->in_instructions = mem_alloc((from->term_count + 1) * sizeof *from->in_instructions);
  s->to->entries = mem_alloc((from->entry_count + 1) * sizeof *from->entries);
  s->to->words = mem_alloc((from->word_count + 1) * sizeof *from->words);
  s->numbers = mem_alloc((from->term_count + 1) * sizeof *s->numbers);
  for (size_t t = 0; t < from->term_count; t++) s->numbers[t] = NO_TERM;
}

struct search_part *search_part_sift(const struct search_part *p, const uint64_t *keep) {
  ASSERT(p && keep);
  ASSERT_MAGIC(p, PART_MAGIC);
  ASSERT(p->met_count == p->entry_count);
  struct sieve s = {.from = p, .to = part_open(p->doc_count)};
  make_room(&s);
  for (size_t d = 0; d < p->doc_count; d++)
    if (keep[d / 64] >> (d & 63) & 1) take_doc(&s, &p->docs[d]);
  take_own_words(&s);
  part_shrink(s.to);
  mem_free(s.numbers);
  return s.to;
}

// ---- references ----

struct search_part *search_part_ref(struct search_part *p) {
  ASSERT_MAGIC(p, PART_MAGIC);
  ASSERT(p->refs > 0);
  p->refs++;
  return p;
}

void search_part_unref(struct search_part **part) {
  struct search_part *p = *part;
  *part = NULL;
  if (!p) return;
  ASSERT_MAGIC(p, PART_MAGIC);
  ASSERT(p->refs > 0);
  if (--p->refs) return;
  arena_done(&p->arena);
  mem_free(p->terms);
  mem_free(p->docs);
  mem_free(p->entries);
  mem_free(p->met);
  mem_free(p->words);
  mem_free(p->own);
  mem_free(p->server_tf);
  mem_free(p->in_instructions);
  p->magic = 0;
  mem_free(p);
}

uint64_t search_name_key(struct arena *scratch, str name) {
  static const struct hash_key fixed = {0x6e616d65, 0x6b6579};
  struct word_list list = words_split(scratch, utf8_cut(name, SEARCH_MOST_NAME_BYTES), MOST_WORDS);
  if (!list.count) return 0;
  size_t n = 0;
  char *joined = arena_alloc(scratch, list.count * WORD_MOST_BYTES);
  for (size_t i = 0; i < list.count; i++) {
    memcpy(joined + n, list.words[i].p, list.words[i].n);
    n += list.words[i].n;
  }
  uint64_t key = hash_sip(&fixed, (str){joined, n});
  return key ? key : 1;
}
