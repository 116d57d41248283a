// SPDX-License-Identifier: Apache-2.0
// Ranks documents for a query: all of them by their words, then the best of them by more.
#include "text/search/search_impl.h"

enum { MOST_CANDIDATES = SEARCH_MOST_HITS };

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

// A word that no tool has, but the instructions of servers: all tools of those servers match it, by little. Tools that
// match other words are left alone: search_refine counts the text of their server.
static bool is_only_said(const struct search_index *x, const struct query_term *t) {
  for (size_t k = 0; k < t->use_count; k++)
    if (x->docs.first[t->uses[k].term] < x->docs.first[t->uses[k].term + 1]) return false;
  return t->use_count > 0;
}

static void score_said(struct ranking *r) {
  const struct search_index *x = r->x;
  float *parts = ARENA_ARRAY(r->scratch, float, x->part_count + 1);
  for (size_t i = 0; i < r->query.term_count; i++) {
    const struct query_term *t = &r->query.terms[i];
    for (size_t k = 0; is_only_said(x, t) && k < t->use_count; k++)
      for (uint32_t p = x->said.first[t->uses[k].term]; p < x->said.first[t->uses[k].term + 1]; p++)
        parts[x->said.list[p].doc] += search_weights.said * t->uses[k].worth;
  }
  for (size_t i = 0; i < x->part_count; i++)
    for (uint32_t d = x->part_first[i]; parts[i] > 0 && d < x->part_first[i + 1]; d++)
      if (r->scores[d] == 0) r->scores[d] = parts[i];
}

// ---- the candidates ----

struct heap {  // with the worst on top
  const uint32_t *order;
  struct search_hit hits[MOST_CANDIDATES];
  size_t count;
};

static bool before(const struct heap *h, struct search_hit a, struct search_hit b) {
  return a.score != b.score ? a.score > b.score : h->order[a.doc] < h->order[b.doc];
}

static void sink(struct heap *h, size_t i) {
  struct search_hit moved = h->hits[i];
  for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
    if (child + 1 < h->count && before(h, h->hits[child], h->hits[child + 1])) child++;
    if (!before(h, moved, h->hits[child])) break;
    h->hits[i] = h->hits[child];
  }
  h->hits[i] = moved;
}

static void offer(struct heap *h, struct search_hit hit) {
  if (h->count < MOST_CANDIDATES) {
    h->hits[h->count++] = hit;
    if (h->count == MOST_CANDIDATES)
      for (size_t i = MOST_CANDIDATES / 2; i-- > 0;) sink(h, i);
  } else if (before(h, hit, h->hits[0])) {
    h->hits[0] = hit;
    sink(h, 0);
  }
}

static void choose_candidates(struct ranking *r) {
  struct heap h = {.order = r->x->order};
  for (uint32_t d = 0; d < r->x->doc_count; d++)
    if (r->scores[d] > 0) offer(&h, (struct search_hit){d, r->scores[d]});
  r->count = h.count;
  r->list = arena_alloc(r->scratch, h.count * sizeof *r->list);
  for (size_t i = 0; i < h.count; i++) r->list[i] = (struct candidate){.doc = h.hits[i].doc, .score = h.hits[i].score};
}

size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out) {
  struct ranking r = {.x = x, .asked = q, .scratch = scratch};
  search_read_query(x, q->text, scratch, &r.query);
  score_all(&r);
  score_said(&r);
  search_mark_named(&r);
  choose_candidates(&r);
  if (!r.count) return 0;
  search_refine(&r);
  return search_pick(&r, q->top_k < SEARCH_MOST_HITS ? q->top_k : SEARCH_MOST_HITS, out);
}
