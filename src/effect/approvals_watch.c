// SPDX-License-Identifier: Apache-2.0
// Reports changes of requests for approval: to listeners, to calls that wait for a decision, and as metrics.
#include <inttypes.h>

#include "base/assert.h"
#include "effect/approvals_impl.h"
#include "observe/metrics.h"

enum { POLL_MS = 1000, POLL_MOST = 32 };

// ---- watches

void approvals_wake(struct approvals *a, const struct approval *x) {
  for (struct list *it = a->watches.next; it != &a->watches;) {
    struct approvals_watch *w = CONTAINER_OF(it, struct approvals_watch, node);
    it = it->next;
    if (w->known == x->state || !str_eq(str_of(w->id), x->request_id)) continue;
    w->known = x->state;
    w->changed(w);
    it = a->watches.next;  // the callback may have changed the list
  }
}

// Another gateway may change a request without notice, so this gateway reads some of the watched requests every second.
// A watch that was read is moved to the end of the list.
static void on_poll(struct timer *t) {
  struct approvals *a = CONTAINER_OF(t, struct approvals, poll);
  size_t count = 0;
  if (list_empty(&a->watches)) return;
  LIST_EACH(it, &a->watches) count++;
  for (size_t i = 0; i < count && i < POLL_MOST; i++) {
    struct list *it = a->watches.next;
    list_remove(it);
    list_push(&a->watches, it);
    approvals_find(a, str_of(CONTAINER_OF(it, struct approvals_watch, node)->id), STR_NONE, NULL, NULL);
  }
  timer_start(a->opt.loop, t, POLL_MS);
}

void approvals_watch(struct approvals *a, struct approvals_watch *w, const struct approval *x,
                     void (*changed)(struct approvals_watch *w)) {
  ASSERT(!w->of && x->request_id.n < sizeof w->id);
  w->of = a;
  w->known = x->state;
  w->changed = changed;
  memcpy(w->id, x->request_id.p, x->request_id.n);
  w->id[x->request_id.n] = 0;
  list_push(&a->watches, &w->node);
  if (!timer_running(&a->poll)) timer_start(a->opt.loop, &a->poll, POLL_MS);
}

void approvals_unwatch(struct approvals_watch *w) {
  if (!w->of) return;
  list_remove(&w->node);
  w->of = NULL;
}

// ---- listeners

void approvals_listen(struct approvals *a, struct approvals_listener *l) {
  list_push(&a->listeners, &l->node);
}

void approvals_unlisten(struct approvals_listener *l) {
  list_remove(&l->node);
}

void approvals_watch_init(struct approvals *a) {
  list_init(&a->listeners);
  list_init(&a->watches);
  timer_init(&a->poll, on_poll);
}

void approvals_watch_done(struct approvals *a) {
  timer_stop(&a->poll);
  ASSERT(list_empty(&a->watches));
  while (list_pop(&a->listeners)) continue;
}

// ---- metrics

// Upper bounds of the buckets of waiting times, in seconds.
static const unsigned bounds[APPROVALS_BOUNDS] = {1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 14400};

static void count_wait(struct approvals_counts *n, const struct approval *x, int64_t now) {
  uint64_t ms = now > x->proposed_at ? (uint64_t)(now - x->proposed_at) : 0;
  size_t i = 0;
  while (i < APPROVALS_BOUNDS && ms > bounds[i] * UINT64_C(1000)) i++;
  n->waits[i]++;
  n->wait_count++;
  n->wait_ms += ms;
}

void approvals_changed(struct approvals *a, const struct approvals_change *c) {
  const struct approval *x = c->request;
  struct approvals_counts *n = &a->counts;
  if (c->before == APPROVAL_STATE_COUNT) n->proposed++;
  else if (c->before != x->state) n->ends[x->state]++;
  if (c->before == APPROVAL_STATE_PENDING && c->vote && x->state != c->before) count_wait(n, x, approvals_now(a));
  LIST_EACH(it, &a->listeners) {
    struct approvals_listener *l = CONTAINER_OF(it, struct approvals_listener, node);
    l->changed(l, c);
  }
}

size_t approvals_open(const struct approvals *a) {
  ASSERT_MAGIC(a, APPROVALS_MAGIC);
  return a->shares.total;
}

static size_t count_known(const struct approvals *a, enum approval_state s) {
  size_t n = 0;
  LIST_EACH(it, &a->known) n += CONTAINER_OF(it, struct known_request, node)->state == s;
  return n;
}

static void put_waits(const struct approvals_counts *n, struct buf *out) {
  const char *name = "toolgate_approval_wait_seconds";
  uint64_t sum = 0;
  metrics_put_head(out, name, "histogram", "Time from the request for approval to the decision.");
  for (size_t i = 0; i < APPROVALS_BOUNDS; i++) {
    sum += n->waits[i];
    buf_printf(out, "%s_bucket{le=\"%u\"} %" PRIu64 "\n", name, bounds[i], sum);
  }
  buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, n->wait_count);
  buf_printf(out, "%s_sum %" PRIu64 ".%03u\n", name, n->wait_ms / 1000, (unsigned)(n->wait_ms % 1000));
  buf_printf(out, "%s_count %" PRIu64 "\n", name, n->wait_count);
}

void approvals_write_metrics(const struct approvals *a, struct buf *out) {
  static const enum approval_state open[] = {APPROVAL_STATE_PENDING, APPROVAL_STATE_APPROVED, APPROVAL_STATE_EXECUTING};
  const struct approvals_counts *n = &a->counts;
  metrics_put_head(out, "toolgate_approvals", "gauge", "Requests for approval by state.");
  for (size_t i = 0; i < sizeof open / sizeof *open; i++)
    metrics_put_value(out, "toolgate_approvals", "state", str_of(approval_state_name(open[i])),
                      count_known(a, open[i]));
  metrics_put_head(out, "toolgate_approvals_proposed_total", "counter", "Requests for approval that calls made.");
  metrics_put_value(out, "toolgate_approvals_proposed_total", NULL, STR_NONE, n->proposed);
  metrics_put_head(out, "toolgate_approvals_total", "counter", "Requests for approval that reached a state.");
  for (unsigned s = APPROVAL_STATE_PENDING + 1; s < APPROVAL_STATE_COUNT; s++)
    metrics_put_value(out, "toolgate_approvals_total", "state", str_of(approval_state_name((enum approval_state)s)),
                      n->ends[s]);
  put_waits(n, out);
}
