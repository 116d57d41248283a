// SPDX-License-Identifier: Apache-2.0
// Joins parts into an index: numbers all terms, computes statistics over all documents, and makes postings.
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "text/search/lexicon.h"
#include "text/search/search_impl.h"

static void *array(struct search_index *x, size_t count, size_t size) {
  x->bytes += count * size;
  return mem_zero((count + 1) * size);
}

const struct doc *search_doc_at(const struct search_index *x, uint32_t doc, const struct search_part **out_part) {
  ASSERT(doc < x->doc_count);
  uint32_t part = x->doc_part[doc];
  *out_part = x->parts[part];
  return &x->parts[part]->docs[doc - x->part_first[part]];
}

uint32_t search_find_term(const struct search_index *x, str stem) {
  uintptr_t found = (uintptr_t)map_find(&x->terms, stem);
  return found ? (uint32_t)(found - 1) : NO_TERM;
}

// ---- numbering ----

static void number_docs(struct search_index *x) {
  x->part_first = array(x, x->part_count + 1, sizeof *x->part_first);
  for (size_t i = 0; i < x->part_count; i++) x->part_first[i + 1] = x->part_first[i] + (uint32_t)x->parts[i]->doc_count;
  x->doc_count = x->part_first[x->part_count];
  x->doc_part = array(x, x->doc_count, sizeof *x->doc_part);
  for (size_t i = 0; i < x->part_count; i++)
    for (uint32_t d = x->part_first[i]; d < x->part_first[i + 1]; d++) x->doc_part[d] = (uint32_t)i;
}

static void number_terms(struct search_index *x) {
  size_t cap = 0;
  for (size_t i = 0; i < x->part_count; i++) cap += x->parts[i]->term_count;
  str *spellings = mem_alloc((cap + 1) * sizeof *spellings);
  x->part_terms = array(x, x->part_count, sizeof *x->part_terms);
  for (size_t i = 0; i < x->part_count; i++) {
    const struct search_part *p = x->parts[i];
    x->part_terms[i] = array(x, p->term_count, sizeof **x->part_terms);
    for (size_t t = 0; t < p->term_count; t++) {
      uint32_t term = search_find_term(x, p->terms[t]);
      if (term == NO_TERM) {
        term = (uint32_t)x->term_count++;
        spellings[term] = p->terms[t];
        map_add(&x->terms, p->terms[t], (void *)(uintptr_t)(term + 1));
      }
      x->part_terms[i][t] = term;
    }
  }
  ASSERT(x->term_count <= cap && x->term_count < NO_TERM);
  x->spellings = mem_grow(spellings, (x->term_count + 1) * sizeof *spellings);
  x->letters = array(x, x->term_count, sizeof *x->letters);
  for (size_t t = 0; t < x->term_count; t++) x->letters[t] = search_letters(x->spellings[t]);
  x->bytes += x->term_count * sizeof *spellings + x->terms.cap * (sizeof(struct map_entry) / 2 + sizeof(uint32_t));
}

uint32_t search_letters(str word) {
  uint32_t letters = 0;
  for (size_t i = 0; i < word.n; i++) {
    if (word.p[i] < 'a' || word.p[i] > 'z') return 0;
    letters |= 1U << (word.p[i] - 'a');
  }
  return letters;
}

// ---- order of ids ----

struct id_of_doc {
  str id;
  uint32_t doc;
  double cost;
};

static int by_id(const void *a, const void *b) {
  const struct id_of_doc *x = a, *y = b;
  int c = str_cmp(x->id, y->id);
  return c ? c : (x->doc > y->doc) - (x->doc < y->doc);
}

static int by_cost(const void *a, const void *b) {
  const struct id_of_doc *x = a, *y = b;
  return x->cost == y->cost ? by_id(a, b) : x->cost < y->cost ? -1 : 1;
}

static int by_key(const void *a, const void *b) {
  const struct named *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->doc > y->doc) - (x->doc < y->doc);
}

static void order_docs(struct search_index *x) {
  struct id_of_doc *ids = mem_alloc((x->doc_count + 1) * sizeof *ids);
  x->order = array(x, x->doc_count, sizeof *x->order);
  x->by_id = array(x, x->doc_count, sizeof *x->by_id);
  x->names = array(x, x->doc_count, sizeof *x->names);
  const struct search_part *part;
  for (uint32_t d = 0; d < x->doc_count; d++) {
    const struct doc *doc = search_doc_at(x, d, &part);
    ids[d] = (struct id_of_doc){doc->id, d, doc->cost};
    x->names[d] = (struct named){doc->name_key, d};
  }
  qsort(ids, x->doc_count, sizeof *ids, by_id);
  for (uint32_t i = 0; i < x->doc_count; i++) x->by_id[i] = ids[i].doc;
  qsort(ids, x->doc_count, sizeof *ids, by_cost);
  for (uint32_t i = 0; i < x->doc_count; i++) x->order[ids[i].doc] = i;
  qsort(x->names, x->doc_count, sizeof *x->names, by_key);
  mem_free(ids);
}

// ---- statistics and postings ----

static void measure(struct search_index *x) {
  double total[GROUPS] = {0};
  size_t with[GROUPS] = {0};
  for (size_t i = 0; i < x->part_count; i++)
    for (size_t d = 0; d < x->parts[i]->doc_count; d++)
      for (unsigned g = 0; g < GROUPS; g++) {
        total[g] += x->parts[i]->docs[d].length[g];
        with[g] += x->parts[i]->docs[d].length[g] > 0;
      }
  for (unsigned g = 0; g < GROUPS; g++) x->average[g] = with[g] ? (float)(total[g] / (double)with[g]) : 1;
}

static float idf_of(double documents, double with_term) {
  return (float)log(1 + (documents - with_term + 0.5) / (with_term + 0.5));
}

float search_impact(const struct search_index *x, const struct doc *d, const struct doc_entry *e) {
  const struct search_weights *w = &search_weights;
  float tf = 0;
  for (unsigned g = 0; g < GROUPS; g++)
    if (e->tf[g])
      tf += w->field[g] * (float)e->tf[g] / (1 - w->length[g] + w->length[g] * (float)d->length[g] / x->average[g]);
  return tf * (w->saturation + 1) / (w->saturation + tf);
}

// Turns the counts of postings in p->first into offsets: afterwards first[t + 1] is where the list of term t begins.
// While the caller fills the list of a term, it advances this offset.
static void postings_open(struct search_index *x, struct postings *p) {
  for (size_t t = 0; t < x->term_count; t++) p->first[t + 1] += p->first[t];
  p->list = array(x, p->first[x->term_count], sizeof *p->list);
  memmove(p->first + 1, p->first, x->term_count * sizeof *p->first);
  p->first[0] = 0;
}

static void fill_docs(struct search_index *x) {
  const struct search_part *part;
  x->docs.first = array(x, x->term_count + 1, sizeof *x->docs.first);
  for (size_t i = 0; i < x->part_count; i++)
    for (size_t e = 0; e < x->parts[i]->entry_count; e++)
      x->docs.first[x->part_terms[i][x->parts[i]->entries[e].term] + 1]++;
  // Adds imaginary documents with the usual share of each word (background_share). Otherwise a common word such as
  // "specific" would seem rare in a catalog of fifty tools of which only one has this word.
  double extra = search_weights.background;
  x->idf = array(x, x->term_count, sizeof *x->idf);
  for (size_t t = 0; t < x->term_count; t++)
    x->idf[t] = idf_of((double)x->doc_count + extra, x->docs.first[t + 1] + extra * background_share(x->spellings[t]));
  postings_open(x, &x->docs);
  for (uint32_t d = 0; d < x->doc_count; d++) {
    const struct doc *doc = search_doc_at(x, d, &part);
    for (uint32_t k = 0; k < doc->entry_count; k++) {
      const struct doc_entry *e = &part->entries[doc->entries + k];
      uint32_t term = x->part_terms[x->doc_part[d]][e->term];
      x->docs.list[x->docs.first[term + 1]++] = (struct posting){d, search_impact(x, doc, e)};
      if (e->tf[SEARCH_NAME]) x->name_mass[d] += x->idf[term];
      if (search_is_core(e)) x->norm[d] += x->idf[term] * x->idf[term];
    }
    x->norm[d] = sqrtf(x->norm[d]);
  }
}

static void fill_servers(struct search_index *x) {
  double total = 0;
  x->servers.first = array(x, x->term_count + 1, sizeof *x->servers.first);
  for (size_t i = 0; i < x->part_count; i++) {
    total += x->parts[i]->server_length;
    for (size_t t = 0; t < x->parts[i]->term_count; t++) x->servers.first[x->part_terms[i][t] + 1]++;
  }
  x->server_idf = array(x, x->term_count, sizeof *x->server_idf);
  for (size_t t = 0; t < x->term_count; t++) x->server_idf[t] = idf_of((double)x->part_count, x->servers.first[t + 1]);
  postings_open(x, &x->servers);
  for (size_t i = 0; i < x->part_count; i++) {
    const struct search_part *p = x->parts[i];
    float length = (float)(p->server_length * (double)x->part_count / (total > 0 ? total : 1));
    for (size_t t = 0; t < p->term_count; t++) {
      float tf = (float)p->server_tf[t], k = 1.2F * (0.25F + 0.75F * length);
      uint32_t term = x->part_terms[i][t];
      x->servers.list[x->servers.first[term + 1]++] = (struct posting){(uint32_t)i, tf * 2.2F / (k + tf)};
    }
  }
}

static void fill_instructions(struct search_index *x) {
  x->instructions.first = array(x, x->term_count + 1, sizeof *x->instructions.first);
  for (size_t i = 0; i < x->part_count; i++)
    for (size_t t = 0; t < x->parts[i]->term_count; t++)
      if (x->parts[i]->in_instructions[t]) x->instructions.first[x->part_terms[i][t] + 1]++;
  postings_open(x, &x->instructions);
  for (size_t i = 0; i < x->part_count; i++)
    for (size_t t = 0; t < x->parts[i]->term_count; t++)
      if (x->parts[i]->in_instructions[t])
        x->instructions.list[x->instructions.first[x->part_terms[i][t] + 1]++] = (struct posting){(uint32_t)i, 1};
}

// ---- creation and destruction ----

struct search_index *search_index_new(struct search_part *const *parts, size_t count, const struct hash_key *seed) {
  struct search_index *x = MEM_NEW(struct search_index);
  x->magic = INDEX_MAGIC;
  map_init(&x->terms, seed);
  x->parts = array(x, count, sizeof(struct search_part *));
  for (size_t i = 0; i < count; i++) {
    ASSERT_MAGIC(parts[i], PART_MAGIC);
    if (!parts[i]->doc_count) continue;
    x->parts[x->part_count++] = search_part_ref(parts[i]);
    x->bytes += parts[i]->bytes;
  }
  number_docs(x);
  number_terms(x);
  order_docs(x);
  measure(x);
  x->name_mass = array(x, x->doc_count, sizeof *x->name_mass);
  x->norm = array(x, x->doc_count, sizeof *x->norm);
  fill_docs(x);
  fill_servers(x);
  fill_instructions(x);
  x->stemmer = stemmer_new();
  return x;
}

static void postings_done(struct postings *p) {
  mem_free(p->first);
  mem_free(p->list);
}

void search_index_free(struct search_index **index) {
  struct search_index *x = *index;
  *index = NULL;
  if (!x) return;
  ASSERT_MAGIC(x, INDEX_MAGIC);
  for (size_t i = 0; i < x->part_count; i++) {
    search_part_unref(&x->parts[i]);
    mem_free(x->part_terms[i]);
  }
  map_done(&x->terms);
  stemmer_free(&x->stemmer);
  postings_done(&x->docs);
  postings_done(&x->servers);
  postings_done(&x->instructions);
  void *rest[] = {x->letters, x->norm,  x->parts,     x->part_first, x->part_terms, x->doc_part,  x->order,
                  x->by_id,   x->names, x->name_mass, x->spellings,  x->idf,        x->server_idf};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) mem_free(rest[i]);
  x->magic = 0;
  mem_free(x);
}

size_t search_index_count(const struct search_index *x) {
  ASSERT_MAGIC(x, INDEX_MAGIC);
  return x->doc_count;
}

size_t search_index_bytes(const struct search_index *x) {
  ASSERT_MAGIC(x, INDEX_MAGIC);
  return sizeof *x + x->bytes;
}

str search_index_id(const struct search_index *x, uint32_t doc) {
  ASSERT(doc < x->doc_count);
  ASSERT_MAGIC(x, INDEX_MAGIC);
  const struct search_part *part;
  return search_doc_at(x, doc, &part)->id;
}
