// SPDX-License-Identifier: Apache-2.0
// Computes the scores of events, and compares the words of events to find duplicates.
#include <stdlib.h>

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "context/pack_impl.h"
#include "text/search/lexicon.h"
#include "text/search/words.h"

enum { WORDS_MOST = 4096 };  // maximum words to read from one text; later words are not compared

// ---- texts as sets of words

struct query_word {
  uint32_t number;  // number of the word, in the order of first occurrence
  uint32_t last;    // number of the last text that contains this word; texts are numbered from 1
  bool asked;       // the word is in the query
  bool grammar;     // the word is a function word, which is ignored
};

struct vocabulary {
  struct arena *a;
  struct arena splitting;  // temporary memory for splitting one text into words
  struct map words;        // word -> struct query_word
  uint32_t texts;
};

static struct query_word *learn(struct vocabulary *v, str text) {
  struct query_word *w = map_find(&v->words, text);
  if (w) return w;
  w = ARENA_NEW(v->a, struct query_word);
  w->number = (uint32_t)map_count(&v->words);
  w->grammar = word_class(text) == WORD_FUNCTION;
  map_add(&v->words, arena_str(v->a, text), w);
  return w;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

// Reads the different words of a text, without function words. Returns how many of these words are in the query.
static uint32_t read_words(struct vocabulary *v, str text, struct pack_words *out) {
  arena_reset(&v->splitting);
  struct word_list list = words_split(&v->splitting, text, WORDS_MOST);
  uint32_t asked = 0;
  *out = (struct pack_words){ARENA_ARRAY(v->a, uint32_t, list.count + 1), 0};
  v->texts++;
  for (size_t i = 0; i < list.count; i++) {
    struct query_word *w = learn(v, list.words[i]);
    if (w->grammar || w->last == v->texts) continue;
    w->last = v->texts;
    asked += w->asked;
    out->numbers[out->count++] = w->number;
  }
  qsort(out->numbers, out->count, sizeof *out->numbers, by_number);
  return asked;
}

static struct pack_words read_query(struct vocabulary *v, str query) {
  struct pack_words words;
  size_t at = 0;
  read_words(v, query, &words);
  for (struct query_word *w; (w = map_next(&v->words, &at));) w->asked = !w->grammar;
  return words;
}

// ---- similarity

static double ratio(size_t both, size_t either) {
  return either ? (double)both / (double)either : 0;
}

static bool has_tag(const str *tags, size_t count, str tag) {
  for (size_t i = 0; i < count; i++)
    if (str_eq(tags[i], tag)) return true;
  return false;
}

static double like_tags(const struct pack_order *o, const struct event *e) {
  size_t both = 0, either = 0;
  for (size_t i = 0; i < o->tag_count; i++) either += !has_tag(o->tags, i, o->tags[i]);
  for (size_t i = 0; i < e->tag_count; i++) {
    if (has_tag(e->tags, i, e->tags[i])) continue;
    bool shared = has_tag(o->tags, o->tag_count, e->tags[i]);
    both += shared;
    either += !shared;
  }
  return ratio(both, either);
}

// Two sets are nearly the same if their Jaccard index is 17/20 or more. For sets of n and m words, this means that at
// most (n + m) * 3/37 words are in only one of the sets.
bool pack_same_words(const struct pack_words *x, const struct pack_words *y) {
  uint64_t most = ((uint64_t)x->count + y->count) * 3 / 37, alone = 0;
  uint32_t i = 0, j = 0;
  if (!x->count || !y->count) return false;
  while (i < x->count && j < y->count && alone <= most) {
    uint32_t a = x->numbers[i], b = y->numbers[j];
    alone += a != b;
    i += a <= b;
    j += b <= a;
  }
  return alone + (x->count - i) + (y->count - j) <= most;
}

// ---- scores

static void score(struct pack_item *it, double recency) {
  const struct event *e = it->event;
  bool estimated = e->token_estimate && !it->redacted && !it->summarised;
  double tokens = estimated ? (double)e->token_estimate : (double)it->alone;
  it->recency = recency;
  it->priority = event_kind_priority(e->kind);
  it->brevity = 1 / (1 + tokens / 500);
  it->score = 0.3 * it->recency + 0.25 * it->similarity + 0.35 * it->priority + 0.1 * it->brevity;
}

// Returns the text by which events are compared. For a call, this text begins with the function's name, because
// arguments alone are not distinctive.
static str said_by(const struct pack_item *it, struct arena *a) {
  const struct event *e = it->event;
  if (!e->function_name.p || it->redacted) return it->text;
  return arena_printf(a, "%.*s %.*s", STR_ARG(e->function_name), STR_ARG(it->text));
}

// Gives a call, and each of its results, the higher of their similarities to the query.
static void share(struct pack *p, struct arena *scratch) {
  double *best = arena_zero(scratch, (p->count + 1) * sizeof *best);
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i], *call = it->mate;
    if (!call || it->event->kind != EVENT_TOOL_RESULT) continue;
    double *of_call = &best[call - p->items];
    if (it->similarity > *of_call) *of_call = it->similarity;
    if (call->similarity > it->similarity) it->similarity = call->similarity;
  }
  for (size_t i = 0; i < p->count; i++)
    if (best[i] > p->items[i].similarity) p->items[i].similarity = best[i];
}

void pack_score(const struct pack_order *order, struct pack *p, struct arena *scratch) {
  ASSERT(order && p->items);
  struct hash_key seed = rand_hash_key(&rand_system);
  struct vocabulary v = {.a = scratch};
  size_t total = 0, at = 0;
  arena_init(&v.splitting);
  map_init(&v.words, &seed);
  struct pack_words query = read_query(&v, order->query);
  for (size_t i = 0; i < p->count; i++) total += p->items[i].fate == PACK_INCLUDED;
  for (size_t i = 0; i < p->count; i++) {
    struct pack_item *it = &p->items[i];
    if (it->fate != PACK_INCLUDED) continue;
    uint32_t both = read_words(&v, said_by(it, scratch), &it->words);
    it->similarity = ratio(both, (size_t)query.count + it->words.count - both);
    if (order->tag_count) it->similarity = like_tags(order, it->event);
  }
  share(p, scratch);
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i].fate == PACK_INCLUDED) score(&p->items[i], (double)++at / (double)total);
  map_done(&v.words);
  arena_done(&v.splitting);
}

static int by_score(const void *a, const void *b) {
  const struct pack_item *x = *(struct pack_item *const *)a, *y = *(struct pack_item *const *)b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return str_cmp(x->event->id, y->event->id);
}

struct pack_item **pack_ranked(const struct pack *p, struct arena *a) {
  struct pack_item **ranked = ARENA_ARRAY(a, struct pack_item *, p->count + 1);
  for (size_t i = 0; i < p->count; i++) ranked[i] = &p->items[i];
  qsort(ranked, p->count, sizeof(struct pack_item *), by_score);
  return ranked;
}
