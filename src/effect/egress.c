// SPDX-License-Identifier: Apache-2.0
#include "effect/egress.h"

#include <math.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/write.h"

enum { BUDGETS_MAX = 50000, SAVE_MS = 1000, KEY_MAX = 900 };
#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define KEEP_MS (UINT64_C(2) * 24 * 3600 * 1000)
#define KIND STR("egress")

struct budget {
  struct list node;   // node in by_use; the most recently used budget is at the end
  struct list dirty;  // node in egress.dirty while a change is not stored
  double tokens;
  uint64_t at;       // monotonic time when `tokens` was computed
  uint64_t blocked;  // monotonic time until which the server accepts no calls
  int64_t day;       // days since 1970
  uint64_t calls;    // in this day
  double cost;
  str key;
  char text[];
};

struct egress {
  struct loop *loop;
  struct store *store;
  struct map by_key;
  struct list by_use, dirty;
  struct timer save;
};

// ---- stored budgets

static void save(struct egress *e, struct budget *b) {
  uint64_t now = loop_now(e->loop);
  int64_t wall = clock_wall_ms(e->loop->clock);
  long long at = wall - (int64_t)(now - b->at), day = b->day;
  long long blocked = b->blocked > now ? wall + (int64_t)(b->blocked - now) : 0;
  struct buf text;
  list_remove(&b->dirty);
  buf_init(&text, 512);
  buf_printf(&text, "{\"v\":1,\"tokens\":%.6f,\"at\":%lld,\"blocked\":%lld,\"day\":%lld,\"calls\":%llu,\"cost\":%.9g}",
             b->tokens, at, blocked, day, (unsigned long long)b->calls, b->cost);
  entry_put(e->store, KIND, b->key, buf_view(&text), KEEP_MS, NULL);
  buf_done(&text);
}

static void save_all(struct egress *e) {
  while (!list_empty(&e->dirty)) save(e, CONTAINER_OF(e->dirty.next, struct budget, dirty));
}

static void on_save(struct timer *t) {
  save_all(CONTAINER_OF(t, struct egress, save));
}

static void changed(struct egress *e, struct budget *b) {
  if (!e->store || !list_empty(&b->dirty)) return;
  list_push(&e->dirty, &b->dirty);
  if (!timer_running(&e->save)) timer_start(e->loop, &e->save, SAVE_MS);
}

struct loading {
  struct entry_search search;
  struct egress *egress;
  struct budget *budget;
  bool ok;
};

static bool read_budget(struct egress *e, struct budget *b, str text, struct arena *a) {
  struct fault f;
  double tokens, cost;
  int64_t at, blocked, day, calls, wall = clock_wall_ms(e->loop->clock);
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  if (!json_double(json_get(v, STR("tokens")), &tokens) || !json_double(json_get(v, STR("cost")), &cost) ||
      !json_int(json_get(v, STR("at")), &at) || !json_int(json_get(v, STR("blocked")), &blocked) ||
      !json_int(json_get(v, STR("day")), &day) || !json_int(json_get(v, STR("calls")), &calls) || calls < 0)
    return false;
  // If the clock was set back, the bucket does not fill for the time before.
  uint64_t passed = wall > at ? (uint64_t)(wall - at) : 0, now = loop_now(e->loop);
  b->tokens = tokens < 0 ? 0 : tokens;
  b->at = passed < now ? now - passed : 0;
  b->blocked = blocked > wall ? now + (uint64_t)(blocked - wall < DAY_MS ? blocked - wall : DAY_MS) : 0;
  b->day = day;
  b->calls = (uint64_t)calls;
  b->cost = cost;
  return true;
}

static bool on_entry(void *ctx, const struct shared_entry *entry) {
  struct loading *l = ctx;
  struct arena a;
  arena_init(&a);
  l->ok = read_budget(l->egress, l->budget, entry->bytes, &a);
  if (!l->ok) l->budget->tokens = 0;
  arena_done(&a);
  return false;
}

static void load(struct egress *e, struct budget *b) {
  struct loading l = {.egress = e, .budget = b, .search = {.id = b->key, .limit = 1, .each = on_entry}};
  l.search.ctx = &l;
  entry_find(e->store, KIND, &l.search);
  ASSERT(l.search.read.over);
  if (!l.search.read.ok) b->tokens = 0;
}

// ---- budgets

static void forget(struct egress *e, struct budget *b) {
  if (!list_empty(&b->dirty)) save(e, b);
  ASSERT(map_remove(&e->by_key, b->key) == b);
  list_remove(&b->node);
  mem_free(b);
}

static struct budget *get(struct egress *e, str key, const struct egress_limits *limits) {
  ASSERT(key.n <= KEY_MAX);
  struct budget *b = map_find(&e->by_key, key);
  if (b) {
    list_remove(&b->node);
    list_push(&e->by_use, &b->node);
    return b;
  }
  // A budget that is forgotten is stored, and read when it is used again. Without a store, forgetting would reset it.
  if (map_count(&e->by_key) >= BUDGETS_MAX) {
    if (!e->store) return NULL;
    forget(e, CONTAINER_OF(e->by_use.next, struct budget, node));
  }
  b = mem_zero(sizeof *b + key.n);
  memcpy(b->text, key.p, key.n);
  b->key = (str){b->text, key.n};
  b->tokens = (double)limits->burst;
  b->at = loop_now(e->loop);
  list_init(&b->dirty);
  list_push(&e->by_use, &b->node);
  ASSERT(map_add(&e->by_key, b->key, b));
  if (e->store) load(e, b);
  return b;
}

static void refill(struct egress *e, struct budget *b, const struct egress_limits *limits) {
  uint64_t now = loop_now(e->loop);
  int64_t day = clock_wall_ms(e->loop->clock) / DAY_MS;
  b->tokens = fmin((double)limits->burst, b->tokens + limits->rate * (double)(now - b->at) / 1000);
  b->at = now;
  if (day <= b->day) return;  // also if the clock was set back
  b->day = day;
  b->calls = 0;
  b->cost = 0;
}

// Returns the time until the bucket has a token, in whole milliseconds. The small amount offsets rounding errors.
static uint64_t ms_until_token(const struct budget *b, const struct egress_limits *limits) {
  return (uint64_t)ceil((1 - b->tokens) * 1000 / limits->rate - 1e-6);
}

const char *egress_take(struct egress *e, const struct egress_use *use, uint64_t *out_after_ms) {
  const struct egress_limits *limits = use->limits;
  struct budget *b = get(e, use->key, limits);
  uint64_t now = loop_now(e->loop);
  if (!b) {
    *out_after_ms = SAVE_MS;
    return "budgets";
  }
  refill(e, b, limits);
  const char *limit = NULL;
  if (now < b->blocked) limit = "upstream";
  else if (limits->daily && b->calls >= limits->daily) limit = "daily_calls";
  else if (limits->daily_cost >= 0 && b->cost + use->cost > limits->daily_cost) limit = "daily_cost";
  else if (limits->rate > 0 && b->tokens < 1 - 1e-9) limit = "rate";
  if (!limit) {
    if (limits->rate > 0) b->tokens -= 1;
    b->calls++;
    b->cost += use->cost;
    changed(e, b);
    return NULL;
  }
  if (now < b->blocked) *out_after_ms = b->blocked - now;
  else if (!strcmp(limit, "rate")) *out_after_ms = ms_until_token(b, limits);
  // A call that costs more than a whole day allows is never allowed.
  else *out_after_ms = b->calls ? (uint64_t)((b->day + 1) * DAY_MS - clock_wall_ms(e->loop->clock)) : 0;
  return limit;
}

void egress_refund(struct egress *e, const struct egress_use *use) {
  struct budget *b = map_find(&e->by_key, use->key);
  if (!b) return;
  b->tokens = fmin((double)use->limits->burst, b->tokens + (use->limits->rate > 0));
  if (b->calls) b->calls--;
  b->cost = fmax(0, b->cost - use->cost);
  changed(e, b);
}

void egress_drain(struct egress *e, str key, uint64_t ms) {
  struct budget *b = map_find(&e->by_key, key);
  uint64_t until = loop_now(e->loop) + ms;
  if (!b || until <= b->blocked) return;
  b->blocked = until;
  b->tokens = 0;
  changed(e, b);
}

// ---- life

struct egress *egress_new(struct loop *loop, struct store *store) {
  struct egress *e = MEM_NEW(struct egress);
  struct hash_key seed = rand_hash_key(loop->rand);
  e->loop = loop;
  e->store = store;
  map_init(&e->by_key, &seed);
  list_init(&e->by_use);
  list_init(&e->dirty);
  timer_init(&e->save, on_save);
  return e;
}

void egress_free(struct egress **egress) {
  struct egress *e = *egress;
  *egress = NULL;
  if (!e) return;
  timer_stop(&e->save);
  LIST_EACH(it, &e->by_use) forget(e, CONTAINER_OF(it, struct budget, node));
  map_done(&e->by_key);
  mem_free(e);
}
