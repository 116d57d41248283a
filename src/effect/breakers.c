// SPDX-License-Identifier: Apache-2.0
#include "effect/breakers.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/json.h"

enum { BREAKERS_MAX = 10000, SLICES = 10, PROBE_WAIT_MS = 1000, OPEN_MAX_MS = 3600 * 1000, KEY_MAX = 900 };

#define KIND STR("breaker")

// The window consists of slices of equal length.
struct slice {
  uint64_t number;  // time of the slice divided by its length
  uint32_t calls, failures;
};

struct breaker {
  struct list node;   // node in by_use; the most recently used breaker is at the end
  bool open;          // not closed: refuses calls until `until`, then lets probes through
  uint64_t until;     // monotonic
  uint64_t failures;  // in a row
  uint64_t probing;   // probes that have not ended
  struct slice slices[SLICES];
  str key;
  char text[];
};

struct breakers {
  struct map by_key;
  struct list by_use;
  struct store *store;
  const struct clock *clock;
  size_t open;
};

static void forget(struct breakers *b, struct breaker *k) {
  ASSERT(map_remove(&b->by_key, k->key) == k);
  list_remove(&k->node);
  b->open -= k->open;
  mem_free(k);
}

static struct breaker *add(struct breakers *b, str key) {
  // A breaker with probes is in use.
  if (map_count(&b->by_key) >= BREAKERS_MAX)
    LIST_EACH(it, &b->by_use) {
      struct breaker *old = CONTAINER_OF(it, struct breaker, node);
      if (old->probing) continue;
      forget(b, old);
      break;
    }
  struct breaker *k = mem_zero(sizeof *k + key.n);
  memcpy(k->text, key.p, key.n);
  k->key = (str){k->text, key.n};
  list_push(&b->by_use, &k->node);
  ASSERT(map_add(&b->by_key, k->key, k));
  return k;
}

// ---- stored breakers

struct loading {
  struct entry_search search;
  struct breakers *breakers;  // NULL: the breakers were freed
};

static bool on_entry(void *ctx, const struct shared_entry *e) {
  struct breakers *b = ((struct loading *)ctx)->breakers;
  int64_t until, now = clock_wall_ms(b->clock);
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *v = json_parse(&a, e->bytes, &json_default_limits, &f);
  bool open = json_int(json_get(v, STR("until")), &until) && until > now && !map_find(&b->by_key, e->id);
  arena_done(&a);
  if (!open) return true;
  struct breaker *k = add(b, e->id);
  uint64_t left = (uint64_t)(until - now);
  k->open = true;
  k->until = clock_mono_ms(b->clock) + (left < OPEN_MAX_MS ? left : OPEN_MAX_MS);
  b->open++;
  return map_count(&b->by_key) < BREAKERS_MAX;
}

// Reads the stored breakers. Breakers that cannot be read are closed.
static void load(struct breakers *b) {
  struct loading l = {.breakers = b, .search = {.each = on_entry}};
  l.search.ctx = &l;
  entry_find(b->store, KIND, &l.search);
  ASSERT(l.search.read.over);
}

static void save(struct breakers *b, const struct breaker *k) {
  struct buf text;
  if (!b->store) return;
  uint64_t now = clock_mono_ms(b->clock), left = k->open && k->until > now ? k->until - now : 0;
  if (!left) {
    entry_take(b->store, KIND, k->key, NULL);
    return;
  }
  long long until = clock_wall_ms(b->clock) + (int64_t)left;
  buf_init(&text, 128);
  buf_printf(&text, "{\"v\":1,\"until\":%lld}", until);
  entry_put(b->store, KIND, k->key, buf_view(&text), left, NULL);
  buf_done(&text);
}

// ---- calls

static struct breaker *get(struct breakers *b, str key) {
  struct breaker *k = map_find(&b->by_key, key);
  if (!k) return add(b, key);
  list_remove(&k->node);
  list_push(&b->by_use, &k->node);
  return k;
}

enum breaker_pass breakers_begin(struct breakers *b, str key, const struct breaker_limits *limits, bool alone,
                                 uint64_t *out_after_ms) {
  ASSERT(key.n <= KEY_MAX);
  struct breaker *k = map_find(&b->by_key, key);
  uint64_t now = clock_mono_ms(b->clock);
  if (!k || !k->open) return BREAKER_CLOSED;
  if (now < k->until) *out_after_ms = k->until - now;
  else if (k->probing < (alone ? 1 : limits->probes)) {
    k->probing++;
    return BREAKER_PROBE;
  } else *out_after_ms = PROBE_WAIT_MS;
  return BREAKER_OPEN;
}

static uint64_t slice_ms(const struct breaker_limits *limits) {
  return (uint64_t)(limits->window_s * 1000) / SLICES + 1;
}

static uint64_t open_ms(const struct breaker_limits *limits) {
  return (uint64_t)(limits->open_s * 1000);
}

static void count(struct breaker *k, const struct breaker_limits *limits, uint64_t now, bool failed) {
  uint64_t length = slice_ms(limits), number = now / length;
  struct slice *s = &k->slices[number % SLICES];
  if (s->number != number) *s = (struct slice){.number = number};
  s->calls++;
  s->failures += failed;
  k->failures = failed ? k->failures + 1 : 0;
}

static bool must_open(const struct breaker *k, const struct breaker_limits *limits, uint64_t now) {
  uint64_t length = slice_ms(limits), number = now / length, calls = 0, failures = 0;
  if (k->failures >= limits->consecutive) return true;
  for (size_t i = 0; i < SLICES; i++) {
    // A higher number is from a time when slices were shorter, before a reload of the governance file.
    if (k->slices[i].number > number || k->slices[i].number + SLICES <= number) continue;
    calls += k->slices[i].calls;
    failures += k->slices[i].failures;
  }
  return calls >= limits->min_calls && (double)failures >= limits->ratio * (double)calls;
}

static enum breaker_change set(struct breakers *b, struct breaker *k, bool open, uint64_t until) {
  b->open += open;
  b->open -= k->open;
  k->open = open;
  k->until = until;
  k->failures = 0;
  memset(k->slices, 0, sizeof k->slices);
  save(b, k);
  return open ? BREAKER_OPENS : BREAKER_CLOSES;
}

enum breaker_change breakers_end(struct breakers *b, str key, const struct breaker_limits *limits, bool probe,
                                 enum breaker_outcome outcome) {
  uint64_t now = clock_mono_ms(b->clock);
  struct breaker *k = probe || outcome != BREAKER_SKIPPED ? get(b, key) : NULL;
  if (!k) return BREAKER_SAME;
  if (probe && k->probing) k->probing--;
  if (outcome == BREAKER_SKIPPED) return BREAKER_SAME;
  bool failed = outcome == BREAKER_FAILED;
  if (k->open) {
    // The outcome of a call that began before the breaker opened changes nothing.
    if (!probe) return BREAKER_SAME;
    return set(b, k, failed, failed ? now + open_ms(limits) : 0);
  }
  count(k, limits, now, failed);
  return failed && must_open(k, limits, now) ? set(b, k, true, now + open_ms(limits)) : BREAKER_SAME;
}

size_t breakers_open(const struct breakers *b) {
  return b->open;
}

// ---- life

struct breakers *breakers_new(const struct hash_key *seed, struct store *store, const struct clock *clock) {
  struct breakers *b = MEM_NEW(struct breakers);
  b->store = store;
  b->clock = clock;
  map_init(&b->by_key, seed);
  list_init(&b->by_use);
  if (store) load(b);
  return b;
}

void breakers_free(struct breakers **breakers) {
  struct breakers *b = *breakers;
  *breakers = NULL;
  if (!b) return;
  LIST_EACH(it, &b->by_use) forget(b, CONTAINER_OF(it, struct breaker, node));
  map_done(&b->by_key);
  mem_free(b);
}
