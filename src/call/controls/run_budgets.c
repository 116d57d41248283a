// SPDX-License-Identifier: Apache-2.0
#include "call/controls/run_budgets.h"

#include "base/mem.h"
#include "base/shares.h"

enum { RUNS_MAX = 1 << 16, KEEP_MS = 24 * 3600 * 1000 };

struct run_use {
  struct list node;  // node in by_use; the most recently used run is at the end
  struct share *share;
  uint64_t began, used, calls;
  double cost;
  str key;
  char text[];
};

struct run_budgets {
  struct map by_key;
  struct list by_use;
  struct shares shares;  // of the principals
};

struct run_budgets *run_budgets_new(const struct hash_key *seed) {
  struct run_budgets *b = MEM_NEW(struct run_budgets);
  map_init(&b->by_key, seed);
  list_init(&b->by_use);
  shares_init(&b->shares, seed, RUNS_MAX);
  return b;
}

static void forget(struct run_budgets *b, struct run_use *u) {
  map_remove(&b->by_key, u->key);
  list_remove(&u->node);
  shares_drop(&b->shares, &u->share);
  mem_free(u);
}

void run_budgets_free(struct run_budgets **budgets) {
  struct run_budgets *b = *budgets;
  if (!b) return;
  *budgets = NULL;
  LIST_EACH(it, &b->by_use) forget(b, CONTAINER_OF(it, struct run_use, node));
  map_done(&b->by_key);
  shares_done(&b->shares);
  mem_free(b);
}

static struct run_use *add(struct run_budgets *b, str principal, str key, uint64_t now) {
  if (!shares_allow(&b->shares, principal, 0)) return NULL;
  struct run_use *u = mem_zero(sizeof *u + key.n);
  memcpy(u->text, key.p, key.n);
  u->key = (str){u->text, key.n};
  u->share = shares_take(&b->shares, principal);
  u->began = now;
  list_push(&b->by_use, &u->node);
  ASSERT(map_add(&b->by_key, u->key, u));
  return u;
}

// Returns whether a sum of costs is above the limit. Costs are decimal numbers, whose sums as doubles are inexact:
// three calls that cost 0.1 fit into a budget of 0.3.
static bool is_above(double sum, double limit) {
  return sum > limit + limit * 1e-9;
}

static const char *reached(const struct run_use *u, const struct run_budget *limits, const struct run_call *call) {
  if (limits->max_wall_ms && call->now - u->began >= limits->max_wall_ms) return "max_wall_ms";
  if (call->continued) return NULL;
  if (limits->max_calls && u->calls >= limits->max_calls) return "max_calls";
  if (limits->max_cost >= 0 && is_above(u->cost + call->cost, limits->max_cost)) return "max_cost";
  return NULL;
}

const char *run_budgets_take(struct run_budgets *b, const struct run_call *call, const struct run_budget *limits,
                             uint64_t *out_left_ms) {
  LIST_EACH(it, &b->by_use) {
    struct run_use *old = CONTAINER_OF(it, struct run_use, node);
    if (call->now - old->used < KEEP_MS) break;
    forget(b, old);
  }
  struct run_use *u = map_find(&b->by_key, call->run);
  if (!u) u = add(b, call->principal, call->run, call->now);
  if (!u) return "runs";
  u->used = call->now;
  list_remove(&u->node);
  list_push(&b->by_use, &u->node);
  const char *limit = reached(u, limits, call);
  if (limit) return limit;
  u->calls += !call->continued;
  if (!call->continued) u->cost += call->cost;
  *out_left_ms = limits->max_wall_ms ? limits->max_wall_ms - (call->now - u->began) : UINT64_MAX;
  return NULL;
}

void run_budgets_forget(struct run_budgets *b, str run) {
  struct run_use *u = map_find(&b->by_key, run);
  if (u) forget(b, u);
}
