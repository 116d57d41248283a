// SPDX-License-Identifier: Apache-2.0
// Ranks documents for a query: all of them by their words, then the best of them by more.
#include "text/search_impl.h"

enum { MOST_CANDIDATES = 256 };

// ---- all documents ----

static void add_single(struct ranking *r, const struct use *u) {
  const struct postings *p = &r->x->docs;
  for (uint32_t i = p->first[u->term]; i < p->first[u->term + 1]; i++)
    r->scores[p->list[i].doc] += u->worth * p->list[i].impact;
}

// A document gets the best of a word's uses, not their sum.
static void add_best(struct ranking *r, const struct query_term *t, float *best, uint32_t *touched) {
  const struct postings *p = &r->x->docs;
  size_t count = 0;
  for (size_t k = 0; k < t->use_count; k++) {
    const struct use *u = &t->uses[k];
    for (uint32_t i = p->first[u->term]; i < p->first[u->term + 1]; i++) {
      float share = u->worth * p->list[i].impact;
      uint32_t d = p->list[i].doc;
      if (best[d] == 0) touched[count++] = d;
      if (share > best[d]) best[d] = share;
    }
  }
  for (size_t i = 0; i < count; i++) {
    r->scores[touched[i]] += best[touched[i]];
    best[touched[i]] = 0;
  }
}

static void score_all(struct ranking *r) {
  size_t n = r->x->doc_count;
  r->scores = ARENA_ARRAY(r->scratch, float, n);
  float *best = ARENA_ARRAY(r->scratch, float, n);
  uint32_t *touched = arena_alloc(r->scratch, n * sizeof *touched);
  for (size_t i = 0; i < r->query.term_count; i++) {
    const struct query_term *t = &r->query.terms[i];
    if (t->use_count == 1) add_single(r, &t->uses[0]);
    else add_best(r, t, best, touched);
  }
}

// ---- the candidates ----

static bool is_visible(const struct search_query *q, uint32_t doc) {
  return !q->visible || (q->visible[doc / 64] >> (doc & 63) & 1);
}

static bool before(const struct ranking *r, const struct candidate *a, const struct candidate *b) {
  if (a->score != b->score) return a->score > b->score;
  return r->x->order[a->doc] < r->x->order[b->doc];
}

// The list is a heap with the worst candidate on top.
static void sink(struct ranking *r, size_t i, size_t n) {
  struct candidate *h = r->list, moved = h[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && before(r, &h[child], &h[child + 1])) child++;
    if (!before(r, &moved, &h[child])) break;
    h[i] = h[child];
  }
  h[i] = moved;
}

static void offer(struct ranking *r, uint32_t doc, float score) {
  struct candidate c = {.doc = doc, .score = score};
  if (r->count < MOST_CANDIDATES) {
    r->list[r->count++] = c;
    if (r->count == MOST_CANDIDATES)
      for (size_t i = MOST_CANDIDATES / 2; i-- > 0;) sink(r, i, MOST_CANDIDATES);
    return;
  }
  if (!before(r, &c, &r->list[0])) return;
  r->list[0] = c;
  sink(r, 0, MOST_CANDIDATES);
}

static void choose_candidates(struct ranking *r) {
  r->list = arena_alloc(r->scratch, MOST_CANDIDATES * sizeof *r->list);
  for (uint32_t d = 0; d < r->x->doc_count; d++)
    if (r->scores[d] > 0 && is_visible(r->asked, d)) offer(r, d, r->scores[d]);
}

size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out) {
  struct ranking r = {.x = x, .asked = q, .scratch = scratch};
  search_read_query(x, q->text, scratch, &r.query);
  score_all(&r);
  search_mark_named(&r);
  choose_candidates(&r);
  if (!r.count) return 0;
  search_refine(&r);
  return search_pick(&r, q->top_k < SEARCH_MOST_HITS ? q->top_k : SEARCH_MOST_HITS, out);
}
