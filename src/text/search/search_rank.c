// SPDX-License-Identifier: Apache-2.0
// Ranks documents for a query in three steps. First scores all documents by their words. Then scores the best
// documents, the candidates, by more criteria. Then picks the hits from the candidates.
#include <math.h>

#include "base/assert.h"
#include "text/search/search_impl.h"

struct candidate {
  uint32_t doc;
  float score;
  float *shares;  // indexed by query term: how much this term adds to the score
  float clause[MOST_CLAUSES];
  float named;  // 1 if the query equals the document's name, 2 if its id, else 0
  float pairs, coverage, precision, server;
  bool taken;
};

struct slot {  // an element of a list: a query term that may stand for a term of the index
  uint16_t query_term, next;
  float worth;
};

struct ranking {
  const struct search_index *x;
  const struct search_query *asked;
  struct arena *scratch;
  struct query query;
  float *scores;  // score of every document
  struct candidate *list;
  size_t count;
  // Indexed by term of the index: first slot of the term's list, or 0 if the list is empty.
  uint16_t *first_slot;
  struct slot *slots;
};

enum { MOST_CANDIDATES = SEARCH_MOST_HITS };
enum { NAMED = 1000 };  // score if the query equals a tool's name (twice NAMED for its id); above all other scores

// ---- all documents ----

// Adds the scores for a query word that may stand for several terms. A document gets only the score of the best of
// these terms, not their sum.
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
    if (t->use_count != 1) {
      add_best(r, t, best, touched);
      continue;
    }
    const struct use *u = &t->uses[0];
    const struct postings *p = &r->x->docs;
    for (uint32_t k = p->first[u->term]; k < p->first[u->term + 1]; k++)
      r->scores[p->list[k].doc] += u->worth * p->list[k].impact;
  }
}

// Returns whether no tool contains any term that the query word may stand for. Then only the name or instructions of a
// server can contain the word.
static bool is_only_in_instructions(const struct search_index *x, const struct query_term *t) {
  for (size_t k = 0; k < t->use_count; k++)
    if (x->docs.first[t->uses[k].term] < x->docs.first[t->uses[k].term + 1]) return false;
  return t->use_count > 0;
}

// Gives all tools of a server a small score for words that occur only in the server's instructions. Tools that also
// match other words keep their score; for these tools, refine() takes the server's text into account.
static void score_instructions(struct ranking *r) {
  const struct search_index *x = r->x;
  float *parts = ARENA_ARRAY(r->scratch, float, x->part_count + 1);
  for (size_t i = 0; i < r->query.term_count; i++) {
    const struct query_term *t = &r->query.terms[i];
    for (size_t k = 0; is_only_in_instructions(x, t) && k < t->use_count; k++)
      for (uint32_t p = x->instructions.first[t->uses[k].term]; p < x->instructions.first[t->uses[k].term + 1]; p++)
        parts[x->instructions.list[p].doc] += search_weights.instructions * t->uses[k].worth;
  }
  for (size_t i = 0; i < x->part_count; i++)
    for (uint32_t d = x->part_first[i]; parts[i] > 0 && d < x->part_first[i + 1]; d++)
      if (r->scores[d] == 0) r->scores[d] = parts[i];
}

// ---- the candidates ----

struct candidate_heap {  // a heap with the worst candidate on top
  const uint32_t *order;
  struct search_hit hits[MOST_CANDIDATES];
  size_t count;
};

static bool before(const struct candidate_heap *h, struct search_hit a, struct search_hit b) {
  return a.score != b.score ? a.score > b.score : h->order[a.doc] < h->order[b.doc];
}

static void sink(struct candidate_heap *h, size_t i) {
  struct search_hit moved = h->hits[i];
  for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
    if (child + 1 < h->count && before(h, h->hits[child], h->hits[child + 1])) child++;
    if (!before(h, moved, h->hits[child])) break;
    h->hits[i] = h->hits[child];
  }
  h->hits[i] = moved;
}

static void offer(struct candidate_heap *h, struct search_hit hit) {
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
  struct candidate_heap h = {.order = r->x->order};
  for (uint32_t d = 0; d < r->x->doc_count; d++)
    if (r->scores[d] > 0) offer(&h, (struct search_hit){d, r->scores[d]});
  ASSERT(h.count <= MOST_CANDIDATES);
  r->count = h.count;
  r->list = arena_alloc(r->scratch, h.count * sizeof *r->list);
  for (size_t i = 0; i < h.count; i++) r->list[i] = (struct candidate){.doc = h.hits[i].doc, .score = h.hits[i].score};
}

// ---- queries that name a document ----

// Returns the tool's name in an id. For example, the name is create_issue in both "github:create_issue#678543c8" and
// "create_issue@1.2".
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

static void mark_named(struct ranking *r) {
  str text = str_trim(r->asked->text);
  if (!text.n || text.n > SEARCH_MOST_NAME_BYTES) return;
  mark_name(r, search_name_key(r->scratch, bare_name(text)));
  mark_name(r, search_name_key(r->scratch, text));
  mark_id(r, text);
}

// ---- scores of the candidates ----

static void index_uses(struct ranking *r) {
  const struct query *q = &r->query;
  r->first_slot = ARENA_ARRAY(r->scratch, uint16_t, r->x->term_count + 1);
  r->slots = arena_alloc(r->scratch, (q->term_count * MOST_USES + 1) * sizeof *r->slots);
  ASSERT(q->term_count <= SEARCH_MOST_QUERY_TERMS);
  uint16_t n = 1;
  for (size_t t = 0; t < q->term_count; t++)
    for (size_t u = 0; u < q->terms[t].use_count; u++) {
      uint16_t *first = &r->first_slot[q->terms[t].uses[u].term];
      r->slots[n] = (struct slot){(uint16_t)t, *first, q->terms[t].uses[u].worth};
      *first = n++;
    }
  ASSERT(n <= q->term_count * MOST_USES + 1);
}

// Raises the candidate's shares for all query words that may stand for `term`, a term of its document. Returns the
// highest worth of the term among these query words; a synonym has a lower worth.
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
    const struct doc_entry *e = &part->entries[d->entries + k];
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

// Returns the worth of two neighbouring terms of a document if they are also neighbours in the query, otherwise 0.
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

// Computes the scores of a candidate: one for the whole query and one for each clause. These scores are not comparable
// with each other before combine() has scaled them.
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

// Adds the score for the best clause to the score for the whole query. Before that, divides each score by the highest
// score of the same kind among all candidates.
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
    const struct search_part *part;
    const struct doc *d = search_doc_at(r->x, c->doc, &part);
    if (d->verbs && r->query.verbs && !(d->verbs & r->query.verbs)) c->score *= 1 - w->verb;
    c->score += w->clause * best;
    // A deprecated tool scores lower, because its replacement usually has similar words.
    if (d->retired) c->score *= 1 - w->retired;
    c->score += 4 * c->named;  // more than all other criteria together can add
  }
}

// Returns whether only the instructions of the tool's server match the query, but no word of the tool itself.
static bool matches_nothing(const struct ranking *r, const struct candidate *c) {
  bool nothing = !c->named;
  for (size_t t = 0; t < r->query.term_count; t++) nothing &= c->shares[t] == 0;
  return nothing;
}

static void refine(struct ranking *r) {
  index_uses(r);
  const float *servers = score_servers(r);
  float norm = 0;
  for (size_t t = 0; t < r->query.term_count; t++) norm += r->query.terms[t].idf * r->query.terms[t].idf;
  norm = norm > 0 ? sqrtf(norm) : 1;
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

// ---- picking ----

// Hits are picked one by one, so that the first hits together match everything that a query requests. A tool that
// matches little more than the earlier hits moves down. While hits are picked, the score of a tool can only fall, so
// the scores of the hits descend.

enum { MOST_SPREAD = 20 };  // only this many hits, counted from the first, change the scores of later hits

struct picker {
  struct ranking *r;
  float most[SEARCH_MOST_QUERY_TERMS];  // indexed by query term: the highest share that any candidate has
  float left[SEARCH_MOST_QUERY_TERMS];  // indexed by query term: 1 if no picked hit matches the term, otherwise less
  bool *marked;  // indexed by term of the index: whether the hit that was picked last has the term
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

// Returns how similar a document is to the hit that was picked last, from 0 to 1. Compares the terms in its name and
// description with those of the hit (p->marked), weighted by rarity. `marked_mass` is the total weight of the hit's
// terms.
static float alike(const struct picker *p, uint32_t doc, float marked_mass) {
  const struct search_index *x = p->r->x;
  const struct search_part *part;
  const struct doc *d = search_doc_at(x, doc, &part);
  float both = 0, mass = marked_mass;
  for (uint32_t k = 0; k < d->entry_count; k++) {
    const struct doc_entry *e = &part->entries[d->entries + k];
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
    const struct doc_entry *e = &part->entries[d->entries + k];
    if (!search_is_core(e)) continue;
    uint32_t term = x->part_terms[x->doc_part[doc]][e->term];
    p->marked[term] = mark;
    mass += x->idf[term];
  }
  return mass;
}

// Lowers the scores of copies of a hit: candidates with the same name and similar text, from another server or of
// another version.
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

static size_t pick_hits(struct ranking *r, size_t top_k, struct search_hit *out) {
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
    if (n >= MOST_SPREAD) continue;
    for (size_t t = 0; t < r->query.term_count; t++)
      if (p.most[t] > 0) p.left[t] *= 1 - search_weights.covered * c->shares[t] / p.most[t];
    demote_copies(&p, c);
  }
  ASSERT(n <= top_k && n <= r->count);
  return n;
}

size_t search_run(const struct search_index *x, const struct search_query *q, struct arena *scratch,
                  struct search_hit *out) {
  ASSERT_MAGIC(x, INDEX_MAGIC);
  struct ranking r = {.x = x, .asked = q, .scratch = scratch};
  search_read_query(x, q->text, scratch, &r.query);
  score_all(&r);
  score_instructions(&r);
  mark_named(&r);
  choose_candidates(&r);
  if (!r.count) return 0;
  refine(&r);
  return pick_hits(&r, q->top_k < SEARCH_MOST_HITS ? q->top_k : SEARCH_MOST_HITS, out);
}
