// SPDX-License-Identifier: Apache-2.0
// Picks hits one after the other, so that the first few serve all that a query asks for: what adds little to those
// before it comes later. Losses only grow, so that the scores fall from hit to hit.
#include "text/search/search_impl.h"

enum { MOST_SPREAD = 20 };  // hits; those behind keep the order that they have then

struct picker {
  struct ranking *r;
  float most[SEARCH_MOST_QUERY_TERMS];  // the best share of each query term
  float left[SEARCH_MOST_QUERY_TERMS];  // 1: nothing that was picked matches it; 0: all do
  bool *marked;                         // terms of the index that the last pick has
};

static float score_now(const struct picker *p, const struct candidate *c) {
  float all = 0, fresh = 0;
  for (size_t t = 0; t < p->r->query.term_count; t++) {
    all += c->shares[t];
    fresh += c->shares[t] * p->left[t];
  }
  return all > 0 ? c->score * (1 - search_weights.repeat * (1 - fresh / all)) : c->score;
}

static struct candidate *pick(struct picker *p, float *out_score) {
  struct ranking *r = p->r;
  struct candidate *best = NULL;
  float best_score = 0;
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    if (c->taken) continue;
    float score = score_now(p, c);
    bool first = score > best_score || (score == best_score && best && r->x->order[c->doc] < r->x->order[best->doc]);
    if (best && !first) continue;
    best = c;
    best_score = score;
  }
  *out_score = best_score;
  return best;
}

// The share of rarity in which a document's name and description agree with the terms that are marked, 0 to 1.
static float alike(const struct picker *p, uint32_t doc, float marked_mass) {
  const struct search_index *x = p->r->x;
  const struct search_part *part;
  const struct doc *d = search_doc_at(x, doc, &part);
  float both = 0, mass = marked_mass;
  for (uint32_t k = 0; k < d->entry_count; k++) {
    const struct entry *e = &part->entries[d->entries + k];
    if (!search_is_core(e)) continue;
    uint32_t term = x->part_terms[x->doc_part[doc]][e->term];
    mass += x->idf[term];
    if (p->marked[term]) both += x->idf[term];
  }
  return mass > 0 ? 2 * both / mass : 0;
}

static float mark_terms(struct picker *p, uint32_t doc, bool mark) {
  const struct search_index *x = p->r->x;
  const struct search_part *part;
  const struct doc *d = search_doc_at(x, doc, &part);
  float mass = 0;
  for (uint32_t k = 0; k < d->entry_count; k++) {
    const struct entry *e = &part->entries[d->entries + k];
    if (!search_is_core(e)) continue;
    uint32_t term = x->part_terms[x->doc_part[doc]][e->term];
    p->marked[term] = mark;
    mass += x->idf[term];
  }
  return mass;
}

// The same tool offered twice, by two servers or in two versions, is one answer.
static void demote_copies(struct picker *p, const struct candidate *picked) {
  struct ranking *r = p->r;
  const struct search_part *part;
  uint64_t key = search_doc_at(r->x, picked->doc, &part)->name_key;
  float mass = mark_terms(p, picked->doc, true);
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    if (c->taken || search_doc_at(r->x, c->doc, &part)->name_key != key) continue;
    if (alike(p, c->doc, mass) >= search_weights.alike) c->score *= 1 - search_weights.copy;
  }
  mark_terms(p, picked->doc, false);
}

static void note_pick(struct picker *p, const struct candidate *c) {
  for (size_t t = 0; t < p->r->query.term_count; t++)
    if (p->most[t] > 0) p->left[t] *= 1 - search_weights.covered * c->shares[t] / p->most[t];
  demote_copies(p, c);
}

size_t search_pick(struct ranking *r, size_t top_k, struct search_hit *out) {
  struct picker p = {.r = r, .marked = ARENA_ARRAY(r->scratch, bool, r->x->term_count + 1)};
  for (size_t t = 0; t < r->query.term_count; t++) p.left[t] = 1;
  for (size_t i = 0; i < r->count; i++)
    for (size_t t = 0; t < r->query.term_count; t++)
      if (r->list[i].shares[t] > p.most[t]) p.most[t] = r->list[i].shares[t];
  size_t n = 0;
  for (struct candidate *c; n < top_k; n++) {
    float score;
    if (!(c = pick(&p, &score))) break;
    c->taken = true;
    out[n] = (struct search_hit){c->doc, score};
    if (n < MOST_SPREAD) note_pick(&p, c);
  }
  return n;
}
