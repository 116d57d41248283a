// SPDX-License-Identifier: Apache-2.0
// A closer look at the candidates: what of the name is asked for, which words stand together, who else on the server
// matches, which clause is served.
#include <math.h>

#include "text/search/search_impl.h"

static void index_uses(struct ranking *r) {
  const struct query *q = &r->query;
  r->first_slot = ARENA_ARRAY(r->scratch, uint16_t, r->x->term_count + 1);
  r->slots = arena_alloc(r->scratch, (q->term_count * MOST_USES + 1) * sizeof *r->slots);
  uint16_t n = 1;
  for (size_t t = 0; t < q->term_count; t++)
    for (size_t u = 0; u < q->terms[t].use_count; u++) {
      uint16_t *first = &r->first_slot[q->terms[t].uses[u].term];
      r->slots[n] = (struct slot){(uint16_t)t, *first, q->terms[t].uses[u].worth};
      *first = n++;
    }
}

// Gives each query term its share of what the entry is worth, and returns how much of the entry's term is asked for:
// all of it, or less when the query only has a synonym.
static float share_entry(struct ranking *r, struct candidate *c, uint32_t term, float impact) {
  float asked = 0;
  for (uint16_t s = r->first_slot[term]; s; s = r->slots[s].next) {
    float *share = &c->shares[r->slots[s].query_term];
    if (r->slots[s].worth * impact > *share) *share = r->slots[s].worth * impact;
    if (r->slots[s].worth > asked) asked = r->slots[s].worth;
  }
  return asked;
}

static void share_out(struct ranking *r, struct candidate *c) {
  const struct search_index *x = r->x;
  const struct search_part *part;
  const struct doc *d = search_doc_at(x, c->doc, &part);
  const uint32_t *terms = x->part_terms[x->doc_part[c->doc]];
  c->shares = ARENA_ARRAY(r->scratch, float, r->query.term_count);
  for (uint32_t k = 0; k < d->entry_count; k++) {
    const struct entry *e = &part->entries[d->entries + k];
    uint32_t term = terms[e->term];
    if (!r->first_slot[term]) continue;
    float asked = share_entry(r, c, term, search_impact(x, d, e));
    if (e->tf[SEARCH_NAME]) c->coverage += asked;
    if (search_is_core(e)) c->precision += asked * x->idf[term];
  }
  if (x->name_mass[c->doc] > 0) c->coverage /= x->name_mass[c->doc];
  if (x->norm[c->doc] > 0) c->precision /= x->norm[c->doc];
  if (c->coverage > 1) c->coverage = 1;
}

// What two neighbouring terms of the document are worth, if they are neighbours in the query as well.
static float pair_worth(const struct query *q, uint32_t a, uint32_t b, bool *seen) {
  float worth = 0;
  for (size_t i = 0; i + 1 < q->sequence_count; i++) {
    uint16_t s = q->sequence[i], next = q->sequence[i + 1];
    if (s == NO_SLOT || next == NO_SLOT || seen[s]) continue;
    if (q->terms[s].own != a || q->terms[next].own != b) continue;
    seen[s] = true;
    worth += q->terms[s].idf + q->terms[next].idf;
  }
  return worth;
}

static void find_pairs(struct ranking *r, struct candidate *c) {
  const struct search_part *part;
  const struct doc *d = search_doc_at(r->x, c->doc, &part);
  const uint32_t *terms = r->x->part_terms[r->x->doc_part[c->doc]], *words = part->words + d->words;
  bool seen[SEARCH_MOST_QUERY_TERMS] = {0};
  for (uint32_t k = 0; k + 1 < d->word_count; k++) {
    if (words[k] == NO_TERM || words[k + 1] == NO_TERM) continue;
    uint32_t a = terms[words[k]], b = terms[words[k + 1]];
    if (r->first_slot[a] && r->first_slot[b]) c->pairs += pair_worth(&r->query, a, b, seen);
  }
}

static const float *score_servers(struct ranking *r) {
  float *scores = ARENA_ARRAY(r->scratch, float, r->x->part_count + 1);
  const struct postings *p = &r->x->servers;
  for (size_t i = 0; i < r->query.term_count; i++) {
    uint32_t own = r->query.terms[i].own;
    if (own == NO_TERM) continue;
    for (uint32_t k = p->first[own]; k < p->first[own + 1]; k++)
      scores[p->list[k].doc] += r->x->server_idf[own] * p->list[k].impact;
  }
  return scores;
}

static float query_norm(const struct query *q) {
  float sum = 0;
  for (size_t t = 0; t < q->term_count; t++) sum += q->terms[t].idf * q->terms[t].idf;
  return sum > 0 ? sqrtf(sum) : 1;
}

// The scores of the whole and of each clause, not yet comparable with each other.
static void add_up(struct ranking *r, struct candidate *c, float norm) {
  const struct search_weights *w = &search_weights;
  float factor = 1 + w->name_coverage * c->coverage + w->precision * c->precision / norm;
  c->score = w->pair * c->pairs + w->server * c->server;
  for (size_t t = 0; t < r->query.term_count; t++) {
    c->score += c->shares[t];
    for (size_t k = 0; k < r->query.clause_count; k++)
      if (r->query.terms[t].clauses >> k & 1) c->clause[k] += factor * c->shares[t];
  }
  c->score *= factor;
}

static bool does_something_else(const struct ranking *r, uint32_t doc) {
  const struct search_part *part;
  unsigned verbs = search_doc_at(r->x, doc, &part)->verbs;
  return verbs && r->query.verbs && !(verbs & r->query.verbs);
}

// The tool that is to be used in its place has much the same words.
static bool is_retired(const struct ranking *r, uint32_t doc) {
  const struct search_part *part;
  return search_doc_at(r->x, doc, &part)->retired;
}

// The whole and the best clause, each as a share of the best candidate's.
static void combine(struct ranking *r) {
  const struct search_weights *w = &search_weights;
  float top = 0, top_clause[MOST_CLAUSES] = {0};
  for (size_t i = 0; i < r->count; i++) {
    if (r->list[i].score > top) top = r->list[i].score;
    for (size_t k = 0; k < r->query.clause_count; k++)
      if (r->list[i].clause[k] > top_clause[k]) top_clause[k] = r->list[i].clause[k];
  }
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    float best = 0;
    for (size_t k = 0; k < r->query.clause_count; k++)
      if (top_clause[k] > 0 && c->clause[k] / top_clause[k] > best) best = c->clause[k] / top_clause[k];
    if (top > 0) c->score /= top;
    if (does_something_else(r, c->doc)) c->score *= 1 - w->verb;
    c->score += w->clause * best;
    if (is_retired(r, c->doc)) c->score *= 1 - w->retired;
    c->score += 4 * c->named;  // more than all else together
  }
}

// No word of the query is in the tool itself: only the instructions of its server have one (search_rank.c).
static bool matches_nothing(const struct ranking *r, const struct candidate *c) {
  bool nothing = !c->named;
  for (size_t t = 0; t < r->query.term_count; t++) nothing &= c->shares[t] == 0;
  return nothing;
}

void search_refine(struct ranking *r) {
  index_uses(r);
  const float *servers = score_servers(r);
  float norm = query_norm(&r->query);
  for (size_t i = 0; i < r->count; i++) {
    struct candidate *c = &r->list[i];
    float first = c->score;
    c->named = c->score >= NAMED ? c->score / NAMED : 0;
    c->server = servers[r->x->doc_part[c->doc]];
    share_out(r, c);
    find_pairs(r, c);
    add_up(r, c, norm);
    if (matches_nothing(r, c)) c->score = first;
  }
  combine(r);
}
