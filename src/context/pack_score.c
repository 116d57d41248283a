// SPDX-License-Identifier: Apache-2.0
// How much an event matters, and whether a better one says the same.
#include <stdlib.h>

#include "base/map.h"
#include "base/rand.h"
#include "context/pack_impl.h"
#include "text/stopwords.h"
#include "text/words.h"

enum { WORDS_MOST = 4096 };  // of one text; what comes later is not compared

// ---- texts as sets of words

struct word {
  uint32_t number;  // of the word: how rare it is among all texts, rarest first
  uint32_t texts;   // that have it
  uint32_t last;    // the last text that was seen to have it, from 1
  bool asked;       // it is in the query
};

struct word_set {
  struct word **words;  // first as they come, then rarest first
  uint32_t count;
};

struct vocabulary {
  struct arena *a;
  struct map words;  // struct word by its text
  uint32_t texts;
};

static struct word *learn(struct vocabulary *v, str text) {
  struct word *w = map_find(&v->words, text);
  if (w) return w;
  w = ARENA_NEW(v->a, struct word);
  map_add(&v->words, text, w);
  return w;
}

// Each word once, without those that are grammar only.
static struct word_set read_words(struct vocabulary *v, str text) {
  struct word_list list = words_split(v->a, text, WORDS_MOST);
  struct word_set set = {ARENA_ARRAY(v->a, struct word *, list.count + 1), 0};
  v->texts++;
  for (size_t i = 0; i < list.count; i++) {
    if (word_class(list.words[i]) == WORD_FUNCTION) continue;
    struct word *w = learn(v, list.words[i]);
    if (w->last == v->texts) continue;
    w->last = v->texts;
    w->texts++;
    set.words[set.count++] = w;
  }
  return set;
}

static int by_rarity(const void *a, const void *b) {
  const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
  if (x->texts != y->texts) return x->texts < y->texts ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b) {
  const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
  return (x->number > y->number) - (x->number < y->number);
}

// Gives every word its number; to be called once all texts are read. Words of the same rarity are in the order in
// which they were learnt.
static uint32_t number_words(struct vocabulary *v) {
  size_t n = map_count(&v->words), at = 0;
  struct word **all = ARENA_ARRAY(v->a, struct word *, n + 1), *w;
  for (uint32_t i = 0; (w = map_next(&v->words, &at)); i++) {
    w->number = i;
    all[i] = w;
  }
  qsort(all, n, sizeof *all, by_rarity);
  for (uint32_t i = 0; i < n; i++) all[i]->number = i;
  return (uint32_t)n;
}

// ---- likeness

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

static double like_query(const struct word_set *query, const struct word_set *text) {
  size_t both = 0;
  for (uint32_t i = 0; i < text->count; i++) both += text->words[i]->asked;
  return ratio(both, (size_t)query->count + text->count - both);
}

// ---- what says the same: 85 of 100 words in common

enum { SAME_NUM = 17, SAME_DEN = 20 };

struct kept {
  const struct word_set *set;
  uint32_t checked;  // by the last set that looked at it, from 1
};

// One entry of a list for each of the rarest words of what is kept.
struct posting {
  struct kept *kept;
  struct posting *next;
};

// Sets that are so much the same have one of this many rarest words in common.
static uint32_t prefix(uint32_t count) {
  return count - (count * SAME_NUM + SAME_DEN - 1) / SAME_DEN + 1;
}

static bool is_same(const struct word_set *x, const struct word_set *y) {
  uint64_t both = 0, all = (uint64_t)x->count + y->count;
  for (uint32_t i = 0, j = 0; i < x->count && j < y->count;) {
    uint32_t a = x->words[i]->number, b = y->words[j]->number;
    both += a == b;
    i += a <= b;
    j += b <= a;
  }
  return both * SAME_DEN >= (all - both) * SAME_NUM;
}

static bool is_said(struct posting *const *lists, const struct word_set *set, uint32_t turn) {
  for (uint32_t i = 0; i < prefix(set->count); i++) {
    for (const struct posting *p = lists[set->words[i]->number]; p; p = p->next) {
      if (p->kept->checked == turn) continue;
      p->kept->checked = turn;
      if (is_same(p->kept->set, set)) return true;
    }
  }
  return false;
}

static void keep(struct posting **lists, const struct word_set *set, struct arena *a) {
  struct kept *kept = ARENA_NEW(a, struct kept);
  kept->set = set;
  for (uint32_t i = 0; i < prefix(set->count); i++) {
    struct posting *p = ARENA_NEW(a, struct posting), **list = &lists[set->words[i]->number];
    *p = (struct posting){kept, *list};
    *list = p;
  }
}

static void drop_said(struct pack *p, struct word_set *sets, uint32_t words, struct arena *a) {
  struct pack_item **ranked = pack_ranked(p, a);
  struct posting **lists = ARENA_ARRAY(a, struct posting *, words + 1);
  for (size_t i = 0; i < p->count; i++) {
    struct word_set *set = &sets[ranked[i] - p->items];
    if (ranked[i]->fate != PACK_INCLUDED || ranked[i]->redacted || !set->count) continue;
    qsort(set->words, set->count, sizeof *set->words, by_number);
    if (is_said(lists, set, (uint32_t)i + 1)) ranked[i]->fate = PACK_SAID_ALREADY;
    else keep(lists, set, a);
  }
}

// ---- scores

static void score(const struct pack_order *o, struct pack_item *it, const struct word_set *query,
                  const struct word_set *set, double recency) {
  const struct event *e = it->event;
  bool estimated = e->token_estimate && !it->redacted && !it->summarised;
  double tokens = estimated ? (double)e->token_estimate : (double)it->alone;
  it->recency = recency;
  it->similarity = o->tag_count ? like_tags(o, e) : like_query(query, set);
  it->priority = event_kind_priority(e->kind);
  it->brevity = 1 / (1 + tokens / 500);
  it->score = 0.3 * it->recency + 0.25 * it->similarity + 0.35 * it->priority + 0.1 * it->brevity;
}

static void score_all(const struct pack_order *o, struct pack *p, const struct word_set *query,
                      const struct word_set *sets) {
  size_t total = 0, at = 0;
  for (size_t i = 0; i < p->count; i++) total += p->items[i].fate == PACK_INCLUDED;
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i].fate == PACK_INCLUDED) score(o, &p->items[i], query, &sets[i], (double)++at / (double)total);
}

void pack_score(const struct pack_order *order, struct pack *p, struct arena *scratch) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct vocabulary v = {.a = scratch};
  struct word_set *sets = ARENA_ARRAY(scratch, struct word_set, p->count + 1);
  map_init(&v.words, &seed);
  for (size_t i = 0; i < p->count; i++)
    if (p->items[i].fate == PACK_INCLUDED) sets[i] = read_words(&v, p->items[i].text);
  struct word_set query = read_words(&v, order->query);
  for (uint32_t i = 0; i < query.count; i++) query.words[i]->asked = true;
  score_all(order, p, &query, sets);
  uint32_t words = number_words(&v);
  drop_said(p, sets, words, scratch);
  map_done(&v.words);
}

static int by_score(const void *a, const void *b) {
  const struct pack_item *x = *(struct pack_item *const *)a, *y = *(struct pack_item *const *)b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return str_cmp(x->event->id, y->event->id);
}

struct pack_item **pack_ranked(const struct pack *p, struct arena *a) {
  struct pack_item **ranked = ARENA_ARRAY(a, struct pack_item *, p->count + 1);
  for (size_t i = 0; i < p->count; i++) ranked[i] = &p->items[i];
  qsort(ranked, p->count, sizeof *ranked, by_score);
  return ranked;
}
