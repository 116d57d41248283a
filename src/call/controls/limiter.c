// SPDX-License-Identifier: Apache-2.0
#include "call/controls/limiter.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/glob.h"

enum { GRAIN_MS = LIMITER_WINDOW_MS / LIMITER_TIMES, RING_MAX = 256 };
_Static_assert(RING_MAX > LIMITER_TIMES + 1, "a ring holds a window of grains, and the current one");

struct moment {
  uint64_t at;
  uint32_t calls;
};

// The calls of one session that one rule counts.
struct bucket {
  uint64_t total;
  struct moment *ring;  // times of calls, oldest first; the oldest is at index `first`
  uint32_t cap, first, count;
  uint32_t calls;  // sum of the calls of all moments in the ring
};

struct book {
  struct list node;  // least recently used first
  str name;
  bool session;
  uint64_t used_at;
  struct bucket *buckets[];  // one for each rule; NULL if the rule has counted no use yet
};

struct limiter {
  struct limiter_options opt;
  struct map books;
  struct list sessions, others;  // least recently used first
};

// ---- buckets

static void forget_old(struct bucket *b, uint64_t now) {
  ASSERT(b->ring || !b->count);
  while (b->count && b->ring[b->first].at + LIMITER_WINDOW_MS <= now) {
    b->calls -= b->ring[b->first].calls;
    b->first = (b->first + 1) % b->cap;
    b->count--;
  }
}

static void grow(struct bucket *b) {
  ASSERT(b->ring || !b->count);
  uint32_t cap = b->cap ? b->cap * 2 : 4;
  struct moment *ring = mem_alloc(cap * sizeof *ring);
  for (uint32_t i = 0; i < b->count; i++) ring[i] = b->ring[(b->first + i) % b->cap];
  mem_free(b->ring);
  b->ring = ring;
  b->cap = cap;
  b->first = 0;
}

static void record(struct bucket *b, const struct limiter_rule *rule, uint64_t now) {
  if (b->total < UINT64_MAX) b->total++;
  if (!rule->per_minute) return;
  b->calls++;
  struct moment *last = b->count ? &b->ring[(b->first + b->count - 1) % b->cap] : NULL;
  bool exact = rule->per_minute <= LIMITER_TIMES;
  if (last && (last->at == now || (!exact && last->at / GRAIN_MS == now / GRAIN_MS))) {
    last->at = now;
    last->calls++;
    return;
  }
  if (b->count == b->cap) grow(b);
  ASSERT(b->ring && b->cap <= RING_MAX);
  b->ring[(b->first + b->count++) % b->cap] = (struct moment){now, 1};
}

static void set_breach(struct limiter_breach *out, const struct limiter_rule *rule, const char *what) {
  enum { NAME = LIMITER_SCOPE - 32 };
  snprintf(out->scope, sizeof out->scope, "%s%.*s/%s", rule->tools ? "tool:" : "",
           (int)(rule->name.n < NAME ? rule->name.n : NAME), rule->name.p, what);
}

// Returns whether a rule allows another use. `b` is the rule's bucket, or NULL if the rule has counted no use yet. If
// the rule does not allow the use, *out describes the limit.
static bool allows(struct bucket *b, const struct limiter_rule *rule, uint64_t now, struct limiter_breach *out) {
  if (!b) return true;
  if (rule->per_session && b->total >= rule->per_session) {
    *out = (struct limiter_breach){.limit = rule->per_session};
    set_breach(out, rule, "session");
    return false;
  }
  forget_old(b, now);
  if (!rule->per_minute || b->calls < rule->per_minute) return true;
  ASSERT(b->count);
  uint64_t after = b->ring[b->first].at + LIMITER_WINDOW_MS - now;
  *out = (struct limiter_breach){.limit = rule->per_minute, .passes = true, .after_ms = after};
  set_breach(out, rule, "minute");
  return false;
}

// ---- books

static void book_free(struct limiter *l, struct book *k) {
  map_remove(&l->books, k->name);
  list_remove(&k->node);
  for (size_t i = 0; i < l->opt.count; i++) {
    if (k->buckets[i]) mem_free(k->buckets[i]->ring);
    mem_free(k->buckets[i]);
  }
  mem_free(k);
}

static struct list *list_of(struct limiter *l, bool session) {
  return session ? &l->sessions : &l->others;
}

static bool is_idle(const struct limiter *l, const struct book *k, uint64_t now) {
  return !k->session && now - k->used_at >= l->opt.idle_ms;
}

// Makes room for one more book (the counts of one session). Books of open sessions are dropped last, because dropping a
// book resets the session's limits.
static void forget_some(struct limiter *l, uint64_t now) {
  LIST_EACH(it, &l->others) {
    struct book *k = CONTAINER_OF(it, struct book, node);
    if (map_count(&l->books) < l->opt.max_books && !is_idle(l, k, now)) break;
    book_free(l, k);
  }
  while (map_count(&l->books) >= l->opt.max_books) {
    ASSERT(!list_empty(&l->sessions));
    book_free(l, CONTAINER_OF(l->sessions.next, struct book, node));
  }
}

static struct book *book_new(struct limiter *l, const struct limiter_use *use, uint64_t now) {
  forget_some(l, now);
  str name = use->book;
  size_t buckets = l->opt.count * sizeof(struct bucket *);
  struct book *k = mem_zero(sizeof *k + buckets + name.n);
  char *text = (char *)k + sizeof *k + buckets;
  memcpy(text, name.p, name.n);
  k->name = (str){text, name.n};
  k->session = use->session;
  map_add(&l->books, k->name, k);
  list_push(list_of(l, k->session), &k->node);
  return k;
}

// ---- the interface

struct limiter *limiter_new(const struct limiter_options *opt) {
  struct limiter *l = MEM_NEW(struct limiter);
  ASSERT(opt->count <= LIMITER_MOST_RULES && opt->max_books);
  l->opt = *opt;
  map_init(&l->books, &opt->seed);
  list_init(&l->sessions);
  list_init(&l->others);
  return l;
}

void limiter_free(struct limiter **limiter) {
  struct limiter *l = *limiter;
  if (!l) return;
  *limiter = NULL;
  LIST_EACH(it, &l->sessions) book_free(l, CONTAINER_OF(it, struct book, node));
  LIST_EACH(it, &l->others) book_free(l, CONTAINER_OF(it, struct book, node));
  map_done(&l->books);
  mem_free(l);
}

bool limiter_take(struct limiter *l, const struct limiter_use *use, uint64_t now, bool count,
                  struct limiter_breach *out) {
  ASSERT(use->book.p);
  struct book *k = map_find(&l->books, use->book);
  if (k && is_idle(l, k, now)) {
    book_free(l, k);
    k = NULL;
  }
  size_t hits[LIMITER_MOST_RULES], n = 0;
  for (size_t i = 0; i < l->opt.count; i++) {
    const struct limiter_rule *rule = &l->opt.rules[i];
    bool applies = rule->tools ? (use->tool.p && glob_match(rule->name, use->tool)) ||
                                     (use->safe.p && glob_match(rule->name, use->safe))
                               : str_eq(rule->name, use->meta);
    if (!applies) continue;
    if (k && !allows(k->buckets[i], rule, now, out)) return false;
    hits[n++] = i;
  }
  if (!n || !count) return true;
  if (!k) k = book_new(l, use, now);
  for (size_t i = 0; i < n; i++) {
    struct bucket **b = &k->buckets[hits[i]];
    if (!*b) *b = MEM_NEW(struct bucket);
    record(*b, &l->opt.rules[hits[i]], now);
  }
  k->used_at = now;
  list_remove(&k->node);
  list_push(list_of(l, k->session), &k->node);
  return true;
}

void limiter_forget(struct limiter *l, str book) {
  struct book *k = map_find(&l->books, book);
  if (k) book_free(l, k);
}

size_t limiter_books(const struct limiter *l) {
  return map_count(&l->books);
}
