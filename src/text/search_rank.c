// SPDX-License-Identifier: Apache-2.0
// Ranks documents for a query: all of them by their words, then the best of them by more.
#include "text/search_impl.h"

const struct search_weights search_weights = {
    .field = {3, 2, 1, 0.5F, 0.4F, 1, 1.5F},
    .b = {0.75F, 0.75F, 0.75F, 0.75F, 0.75F, 0.75F, 0.75F},
    .k1 = 1.2F,
    .synonym = 0.4F,
    .name_coverage = 0.3F,
    .pair = 0.5F,
    .server = 0.1F,
    .clause = 0.5F,
    .greedy = 0.2F,
    .decay = 0.7F,
    .candidates = 256,
    .minclause = 2,
};

struct candidate {
  uint32_t doc;
  float score;
  float *shares;  // of each query term
  float clause[MOST_CLAUSES];
  float named;  // 1: by its name, 2: by its id
  float pairs, coverage, server;
  bool taken;
};

struct ranking {
  const struct search_index *x;
  const struct search_query *asked;
  struct arena *scratch;
  struct query query;
  float *scores;  // of all documents
  float *best;    // of one query term, for all documents: the best of its uses
  uint32_t *touched;
  struct candidate *list;
  size_t count;
  uint16_t *first_use;  // of each term of the index: 1 + index into slots
  struct slot {
    uint16_t query_term, next;
    float worth;
  } * slots;
};

// ---- all documents ----

static void add_single(struct ranking *r, const struct use *u) {
  const struct postings *p = &r->x->docs;
  for (uint32_t i = p->first[u->term]; i < p->first[u->term + 1]; i++)
    r->scores[p->list[i].doc] += u->worth * p->list[i].impact;
}

// A document gets the best of a word's uses, not their sum.
static void add_best(struct ranking *r, const struct query_term *t) {
  const struct postings *p = &r->x->docs;
  size_t touched = 0;
  for (size_t k = 0; k < t->use_count; k++) {
    const struct use *u = &t->uses[k];
    for (uint32_t i = p->first[u->term]; i < p->first[u->term + 1]; i++) {
      float share = u->worth * p->list[i].impact;
      uint32_t d = p->list[i].doc;
      if (r->best[d] == 0) r->touched[touched++] = d;
      if (share > r->best[d]) r->best[d] = share;
    }
  }
  for (size_t i = 0; i < touched; i++) {
    r->scores[r->touched[i]] += r->best[r->touched[i]];
    r->best[r->touched[i]] = 0;
  }
}

static void score_all(struct ranking *r) {
  size_t n = r->x->doc_count;
  r->scores = ARENA_ARRAY(r->scratch, float, n);
  r->best = ARENA_ARRAY(r->scratch, float, n);
  r->touched = arena_alloc(r->scratch, n * sizeof *r->touched);
  for (size_t i = 0; i < r->query.term_count; i++) {
    const struct query_term *t = &r->query.terms[i];
    if (t->use_count == 1) add_single(r, &t->uses[0]);
    else add_best(r, t);
  }
}

// ---- a query that names its tool ----

enum { NAMED = 1000 };  // more than words can score

// "github:create_issue#678543c8" and "create_issue@1.2" name create_issue.
static str bare_name(str id) {
  for (size_t i = 0; i < id.n; i++)
    if (id.p[i] == '#' || id.p[i] == '@') id.n = i;
  for (size_t i = id.n; i-- > 0;)
    if (id.p[i] == ':') return str_from(id, i + 1);
  return id;
}

static void mark_name(struct ranking *r, uint64_t key) {
  size_t from = 0, to = r->x->doc_count;
  while (from < to) {
    size_t middle = (from + to) / 2;
    if (r->x->names[middle].key < key) from = middle + 1;
    else to = middle;
  }
  for (; key && from < r->x->doc_count && r->x->names[from].key == key; from++)
    r->scores[r->x->names[from].doc] = NAMED;
}

static void mark_id(struct ranking *r, str id) {
  size_t from = 0, to = r->x->doc_count;
  while (from < to) {
    size_t middle = (from + to) / 2;
    if (str_cmp(search_index_id(r->x, r->x->by_id[middle]), id) < 0) from = middle + 1;
    else to = middle;
  }
  for (; from < r->x->doc_count && str_eq(search_index_id(r->x, r->x->by_id[from]), id); from++)
    r->scores[r->x->by_id[from]] = 2 * NAMED;
}

static void find_names(struct ranking *r) {
  str text = str_trim(r->asked->text);
  if (text.n > SEARCH_MOST_NAME_BYTES) return;
  mark_name(r, search_name_key(r->scratch, bare_name(text)));
  mark_name(r, search_name_key(r->scratch, text));
  mark_id(r, text);
}

// ---- the first choice ----

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

static void offer(struct ranking *r, size_t max, uint32_t doc, float score) {
  struct candidate c = {.doc = doc, .score = score};
  if (r->count < max) {
    r->list[r->count++] = c;
    if (r->count == max)
      for (size_t i = max / 2; i-- > 0;) sink(r, i, max);
    return;
  }
  if (!before(r, &c, &r->list[0])) return;
  r->list[0] = c;
  sink(r, 0, max);
}

static void choose_candidates(struct ranking *r) {
  size_t max = (size_t)search_weights.candidates;
  r->list = arena_alloc(r->scratch, max * sizeof *r->list);
  for (uint32_t d = 0; d < r->x->doc_count; d++)
    if (r->scores[d] > 0 && is_visible(r->asked, d)) offer(r, max, d, r->scores[d]);
}

// ---- the best of them ----

static void index_uses(struct ranking *r) {
  const struct query *q = &r->query;
  r->first_use = ARENA_ARRAY(r->scratch, uint16_t, r->x->term_count + 1);
  r->slots = arena_alloc(r->scratch, (q->term_count * MOST_USES + 1) * sizeof *r->slots);
  uint16_t n = 1;
  for (size_t t = 0; t < q->term_count; t++)
    for (size_t u = 0; u < q->terms[t].use_count; u++) {
      uint16_t *first = &r->first_use[q->terms[t].uses[u].term];
      r->slots[n] = (struct slot){(uint16_t)t, *first, q->terms[t].uses[u].worth};
      *first = n++;
    }
}

static void share_out(struct ranking *r, struct candidate *c) {
  const struct search_part *part;
  const struct doc *d = search_doc_at(r->x, c->doc, &part);
  const uint32_t *terms = r->x->part_terms[r->x->doc_part[c->doc]];
  c->shares = ARENA_ARRAY(r->scratch, float, r->query.term_count);
  c->named = c->score >= NAMED ? c->score / NAMED : 0;
  for (uint32_t k = 0; k < d->entry_count; k++) {
    const struct entry *e = &part->entries[d->entries + k];
    uint32_t term = terms[e->term];
    if (!r->first_use[term]) continue;
    float impact = search_impact(r->x, d, e), covered = 0;
    for (uint16_t s = r->first_use[term]; s; s = r->slots[s].next) {
      float share = r->slots[s].worth * impact;
      if (share > c->shares[r->slots[s].query_term]) c->shares[r->slots[s].query_term] = share;
      float worth = r->slots[s].worth / r->x->idf[term];
      if (worth > covered) covered = worth;
    }
    if (e->tf[SEARCH_NAME]) c->coverage += covered * r->x->idf[term];
  }
  if (r->x->name_mass[c->doc] > 0) c->coverage /= r->x->name_mass[c->doc];
  if (c->coverage > 1) c->coverage = 1;
  c->score = 0;
  for (size_t t = 0; t < r->query.term_count; t++) c->score += c->shares[t];
}

static uint32_t slot_of(const struct ranking *r, uint32_t term) {
  uint16_t s = term == NO_TERM ? 0 : r->first_use[term];
  return s;
}

// Neighbours in the query that are neighbours in the document.
static void find_pairs(struct ranking *r, struct candidate *c) {
  const struct search_part *part;
  const struct doc *d = search_doc_at(r->x, c->doc, &part);
  const uint32_t *terms = r->x->part_terms[r->x->doc_part[c->doc]];
  const struct query *q = &r->query;
  bool seen[SEARCH_MOST_QUERY_TERMS] = {0};
  for (uint32_t k = 0; k + 1 < d->word_count; k++) {
    uint32_t a = part->words[d->words + k], b = part->words[d->words + k + 1];
    if (a == NO_TERM || b == NO_TERM) continue;
    uint32_t sa = slot_of(r, terms[a]), sb = slot_of(r, terms[b]);
    if (!sa || !sb) continue;
    for (size_t i = 0; i + 1 < q->sequence_count; i++) {
      uint16_t x = q->sequence[i], y = q->sequence[i + 1];
      if (x == NO_SLOT || y == NO_SLOT || seen[x]) continue;
      if (!q->terms[x].use_count || !q->terms[y].use_count) continue;
      if (q->terms[x].uses[0].term != terms[a] || q->terms[y].uses[0].term != terms[b]) continue;
      seen[x] = true;
      c->pairs += q->terms[x].idf + q->terms[y].idf;
    }
  }
}

static float *score_servers(struct ranking *r) {
  float *scores = ARENA_ARRAY(r->scratch, float, r->x->part_count + 1);
  const struct postings *p = &r->x->servers;
  for (size_t i = 0; i < r->query.term_count; i++) {
    const struct query_term *t = &r->query.terms[i];
    uint32_t own = search_find_term(r->x, t->stem);
    if (own == NO_TERM) continue;
    for (uint32_t k = p->first[own]; k < p->first[own + 1]; k++)
      scores[p->list[k].doc] += r->x->server_idf[own] * p->list[k].impact;
  }
  return scores;
}

static void combine(struct ranking *r) {
  const struct search_weights *w = &search_weights;
  float top = 0, top_clause[MOST_CLAUSES] = {0};
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    c->score += w->pair * 0.5F * c->pairs + w->server * c->server;
    c->score *= 1 + w->name_coverage * c->coverage;
    if (c->score > top) top = c->score;
    for (size_t t = 0; t < r->query.term_count; t++)
      for (size_t k = 0; k < r->query.clause_count; k++)
        if (r->query.terms[t].clauses >> k & 1) c->clause[k] += c->shares[t];
    for (size_t k = 0; k < r->query.clause_count; k++) {
      c->clause[k] *= 1 + w->name_coverage * c->coverage;
      if (c->clause[k] > top_clause[k]) top_clause[k] = c->clause[k];
    }
  }
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    float best = 0;
    for (size_t k = 0; k < r->query.clause_count; k++)
      if (top_clause[k] > 0 && c->clause[k] / top_clause[k] > best) best = c->clause[k] / top_clause[k];
    c->score = (top > 0 ? c->score / top : 0) + w->clause * best + 4 * c->named;
  }
}

static void refine(struct ranking *r) {
  index_uses(r);
  float *servers = score_servers(r);
  for (size_t i = 0; i < r->count; i++) {
    share_out(r, &r->list[i]);
    find_pairs(r, &r->list[i]);
    r->list[i].server = servers[r->x->doc_part[r->list[i].doc]];
  }
  combine(r);
}

// ---- the answer ----

// What a document adds to those that are taken already: less, the more of what it matches they match too.
static float added(const struct ranking *r, const struct candidate *c, const float *left) {
  float all = 0, fresh = 0;
  for (size_t t = 0; t < r->query.term_count; t++) {
    all += c->shares[t];
    fresh += c->shares[t] * left[t];
  }
  return all > 0 ? c->score * (1 - search_weights.greedy * (1 - fresh / all)) : c->score;
}

static void cover(const struct ranking *r, const struct candidate *c, const float *most, float *left) {
  for (size_t t = 0; t < r->query.term_count; t++)
    if (most[t] > 0) left[t] *= 1 - search_weights.decay * c->shares[t] / most[t];
}

static size_t take_best(struct ranking *r, size_t top_k, struct search_hit *out) {
  size_t n = 0;
  float left[SEARCH_MOST_QUERY_TERMS], most[SEARCH_MOST_QUERY_TERMS] = {0};
  for (size_t t = 0; t < r->query.term_count; t++) left[t] = 1;
  for (size_t i = 0; i < r->count; i++)
    for (size_t t = 0; t < r->query.term_count; t++)
      if (r->list[i].shares[t] > most[t]) most[t] = r->list[i].shares[t];
  while (n < top_k) {
    struct candidate *best = NULL;
    float best_score = 0;
    for (size_t i = 0; i < r->count; i++) {
      struct candidate *c = &r->list[i];
      if (c->taken) continue;
      float score = added(r, c, left);
      if (best && (score < best_score || (score == best_score && r->x->order[c->doc] > r->x->order[best->doc])))
        continue;
      best = c;
      best_score = score;
    }
    if (!best) break;
    best->taken = true;
    out[n++] = (struct search_hit){best->doc, best_score};
    cover(r, best, most, left);
  }
  return n;
}

size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out) {
  struct ranking r = {.x = x, .asked = q, .scratch = scratch};
  search_read_query(x, q->text, scratch, &r.query);
  score_all(&r);
  find_names(&r);
  choose_candidates(&r);
  if (!r.count) return 0;
  refine(&r);
  return take_best(&r, q->top_k < SEARCH_MOST_HITS ? q->top_k : SEARCH_MOST_HITS, out);
}
