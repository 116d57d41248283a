// SPDX-License-Identifier: Apache-2.0
#include "call/controls/allowance.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

enum { SECONDS = 60 };

enum meter { REQUESTS, BYTES, TOKENS, METERS };

struct allowance {
  struct list node;  // node in by_use; the list is ordered by the principal's last request, the latest at the end
  str name;
  uint64_t in_flight;
  uint64_t second;                  // second of the newest slot
  uint64_t slots[SECONDS][METERS];  // one slot for each of the last SECONDS seconds
  uint64_t sums[METERS];            // sums of all slots
  char text[];
};

struct allowances {
  struct allowance_limits limits;
  struct map by_name;
  struct list by_use;
  size_t max;
};

struct allowances *allowances_new(const struct allowance_limits *limits, size_t max, const struct hash_key *seed) {
  struct allowances *a = MEM_NEW(struct allowances);
  ASSERT(max);
  a->limits = *limits;
  a->max = max;
  map_init(&a->by_name, seed);
  list_init(&a->by_use);
  return a;
}

void allowances_limit(struct allowances *a, const struct allowance_limits *limits) {
  a->limits = *limits;
}

static void forget(struct allowances *a, struct allowance *it) {
  map_remove(&a->by_name, it->name);
  list_remove(&it->node);
  mem_free(it);
}

void allowances_free(struct allowances **allowances) {
  struct allowances *a = *allowances;
  if (!a) return;
  *allowances = NULL;
  LIST_EACH(it, &a->by_use) forget(a, CONTAINER_OF(it, struct allowance, node));
  ASSERT(!map_count(&a->by_name));
  map_done(&a->by_name);
  mem_free(a);
}

// ---- the last minute

static void pass_time(struct allowance *of, uint64_t now) {
  uint64_t second = now / 1000;
  for (int i = 0; i < SECONDS && of->second < second; i++) {
    uint64_t *slot = of->slots[++of->second % SECONDS];
    for (int m = 0; m < METERS; m++) {
      of->sums[m] -= slot[m];
      slot[m] = 0;
    }
  }
  of->second = second;
}

static void add(struct allowance *of, enum meter m, uint64_t n) {
  of->slots[of->second % SECONDS][m] += n;
  of->sums[m] += n;
}

// ---- requests

// Returns the allowance of a principal. For a new principal, creates the allowance and drops old allowances to make
// room.
static struct allowance *get_allowance(struct allowances *a, str principal, uint64_t now) {
  struct allowance *of = map_find(&a->by_name, principal);
  if (of) return of;
  LIST_EACH(it, &a->by_use) {
    struct allowance *old = CONTAINER_OF(it, struct allowance, node);
    if (map_count(&a->by_name) < a->max && now / 1000 < old->second + SECONDS) break;
    if (!old->in_flight) forget(a, old);
  }
  of = mem_zero(sizeof *of + principal.n);
  memcpy(of->text, principal.p, principal.n);
  of->name = (str){of->text, principal.n};
  of->second = now / 1000;
  map_add(&a->by_name, of->name, of);
  list_push(&a->by_use, &of->node);
  return of;
}

static bool allows(const struct allowances *a, const struct allowance *of, uint64_t now, struct allowance_breach *out) {
  const uint64_t limits[METERS] = {a->limits.requests, a->limits.bytes, a->limits.tokens};
  static const char *const scopes[METERS] = {"principal/requests", "principal/bytes", "principal/tokens"};
  if (a->limits.in_flight && of->in_flight >= a->limits.in_flight) {
    *out = (struct allowance_breach){.scope = "principal/in_flight", .limit = a->limits.in_flight};
    return false;
  }
  for (int m = 0; m < METERS; m++) {
    if (!limits[m] || of->sums[m] < limits[m]) continue;
    // Another attempt may succeed when the oldest counted use is more than a minute old.
    uint64_t oldest = of->second;
    for (uint64_t k = SECONDS - 1; k > 0 && oldest == of->second; k--)
      if (of->second >= k && of->slots[(of->second - k) % SECONDS][m]) oldest = of->second - k;
    *out = (struct allowance_breach){scopes[m], limits[m], (oldest + SECONDS) * 1000 - now};
    return false;
  }
  return true;
}

struct allowance *allowances_enter(struct allowances *a, str principal, uint64_t now, struct allowance_breach *out) {
  ASSERT(principal.p && out);
  struct allowance *of = get_allowance(a, principal, now);
  pass_time(of, now);
  list_remove(&of->node);
  list_push(&a->by_use, &of->node);
  if (!allows(a, of, now, out)) return NULL;
  of->in_flight++;
  add(of, REQUESTS, 1);
  return of;
}

void allowances_leave(struct allowances *a, struct allowance *of, uint64_t bytes, uint64_t tokens, uint64_t now) {
  ASSERT(of->in_flight > 0 && a->max);
  pass_time(of, now);
  of->in_flight--;
  add(of, BYTES, bytes);
  add(of, TOKENS, tokens);
}

bool allowances_count_tokens(const struct allowances *a, const struct allowance *of, uint64_t bytes) {
  return a->limits.tokens && of->sums[TOKENS] + bytes > a->limits.tokens / 2;
}
