// SPDX-License-Identifier: Apache-2.0
// The requests that a gateway knows: limits, identical calls, and the ends of their lifetimes.
#include "base/assert.h"
#include "base/mem.h"
#include "effect/approvals_impl.h"

struct known_request *known_find(const struct approvals *a, str id) {
  return map_find(&a->by_id, id);
}

static void on_end(struct timer *t) {
  struct known_request *k = CONTAINER_OF(t, struct known_request, end);
  if (k->state == APPROVAL_STATE_DENIED) known_drop(k);
  else if (k->state != APPROVAL_STATE_EXECUTING) approvals_expire(k->of, str_of(k->id));
}

static void copy(char *to, size_t size, str from) {
  size_t n = from.n < size ? from.n : size - 1;
  if (n) memcpy(to, from.p, n);
  to[n] = 0;
}

struct known_request *known_add(struct approvals *a, const struct approval *x, uint64_t ms) {
  struct known_request *k = MEM_NEW(struct known_request);
  k->of = a;
  copy(k->id, sizeof k->id, x->request_id);
  copy(k->same, sizeof k->same, x->same);
  copy(k->session, sizeof k->session, x->session);
  list_init(&k->waiting);
  list_init(&k->by_share);
  timer_init(&k->end, on_end);
  list_push(&a->known, &k->node);
  map_add(&a->by_id, str_of(k->id), k);
  k->named = map_add(&a->by_same, str_of(k->same), k);
  k->state = APPROVAL_STATE_COUNT;
  k->share = shares_take(&a->shares, x->principal);
  list_push(&k->share->members, &k->by_share);
  known_set(k, x->state);
  timer_start(a->opt.loop, &k->end, ms);
  return k;
}

void known_drop(struct known_request *k) {
  struct approvals *a = k->of;
  ASSERT(list_empty(&k->waiting));
  timer_stop(&k->end);
  list_remove(&k->node);
  list_remove(&k->by_share);
  if (k->share) shares_drop(&a->shares, &k->share);
  map_remove(&a->by_id, str_of(k->id));
  if (k->named) map_remove(&a->by_same, str_of(k->same));
  mem_free(k);
}

// A request that is being executed is not joined by identical calls any more. A denied request is remembered for its
// lifetime, so that a repeated call does not ask people again.
void known_set(struct known_request *k, enum approval_state s) {
  bool open = s == APPROVAL_STATE_PENDING || s == APPROVAL_STATE_APPROVED;
  k->state = s;
  if (!open && k->share) {
    list_remove(&k->by_share);
    shares_drop(&k->of->shares, &k->share);
  }
  if (!open && s != APPROVAL_STATE_DENIED && k->named) {
    map_remove(&k->of->by_same, str_of(k->same));
    k->named = false;
  }
  if (approval_state_is_final(s) && s != APPROVAL_STATE_DENIED) known_drop(k);
}

bool known_has_room(const struct approvals *a, str principal, struct fault *f) {
  if (a->shares.total >= APPROVALS_MAX)
    fault_set(f, FAULT_RATE_LIMITED, "%d requests for approval are open, which is the maximum; wait for decisions",
              APPROVALS_MAX);
  else if (shares_count(&a->shares, principal) >= APPROVALS_PRINCIPAL_MAX)
    fault_set(f, FAULT_RATE_LIMITED,
              "%d requests for approval of this principal are open, which is the maximum; wait for decisions",
              APPROVALS_PRINCIPAL_MAX);
  else return true;
  return false;
}

bool known_is_over(const struct known_request *k) {
  return !timer_running(&k->end);
}

// The lifetime of an expired request has ended, even if the clock was set back since it was made.
void known_adopt(struct approvals *a, const struct approval *x) {
  int64_t now = approvals_now(a), left = x->expires_at - now;
  bool over = left <= 0 || approval_state_at(x, now) == APPROVAL_STATE_EXPIRED;
  if (approval_state_is_final(x->state) && x->state != APPROVAL_STATE_DENIED) return;
  if (known_find(a, x->request_id) || (x->state == APPROVAL_STATE_DENIED && over)) return;
  known_add(a, x, over ? 0 : (uint64_t)left);
}

void approvals_seen(struct approvals *a, const struct approval *x) {
  struct known_request *k = known_find(a, x->request_id);
  if (k && k->state != x->state) known_set(k, x->state);
  approvals_wake(a, x);
}

void approvals_forget(struct approvals *a, str id) {
  struct known_request *k = known_find(a, id);
  if (k && !k->storing) known_drop(k);
}
