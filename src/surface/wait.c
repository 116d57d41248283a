// SPDX-License-Identifier: Apache-2.0
// Requests that wait for upstreams that are starting.
#include "surface/wait.h"
#include "base/mem.h"
#include "surface/surface_impl.h"

struct waiting {
  struct work work;
  struct list node;
  struct surface *d;
  struct request *request;
  surface_ready *ready;
  surface_then *then;
  struct timer timer;
};

static void drop(struct waiting *w) {
  timer_stop(&w->timer);
  list_remove(&w->node);
  w->request->work = NULL;
  mem_free(w);
}

static void on_cancel(struct work *work, struct request *r, str reason) {
  drop(CONTAINER_OF(work, struct waiting, work));
}

static const struct work_ops work_ops = {"wait", on_cancel};

static void go_on(struct waiting *w) {
  struct surface *d = w->d;
  struct request *r = w->request;
  surface_then *then = w->then;
  drop(w);
  then(d, r);
}

static void on_waited(struct timer *t) {
  go_on(CONTAINER_OF(t, struct waiting, timer));
}

// Mode direct lists what servers show to this client. An operator's command never reopens a server.
static bool is_settled(struct surface *d, struct session *s) {
  if (s->mode != MODE_DIRECT) return upstreams_known(d->upstreams, s);
  return s->as_operator ? upstreams_settle(d->upstreams, s) : upstreams_settle_exactly(d->upstreams, s);
}

// A list is read once, and better whole; who browses comes back, and may see what is not connected yet.
static bool is_ready(struct surface *d, struct request *r, surface_ready *ready) {
  struct session *s = r->session;
  if (s->mode == MODE_SERVERS) return ready(d, r);
  return is_settled(d, s) || (ready && ready(d, r));
}

void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then) {
  surface_wait_for(d, r, surface_wait_until(d, r->session), ready, then);
}

void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then) {
  uint64_t now = loop_now(d->opt.loop);
  if (is_ready(d, r, ready) || now >= until) {
    then(d, r);
    return;
  }
  struct waiting *w = MEM_NEW(struct waiting);
  *w = (struct waiting){.work = {&work_ops}, .d = d, .request = r, .ready = ready, .then = then};
  r->work = &w->work;
  list_push(&d->waiting, &w->node);
  timer_init(&w->timer, on_waited);
  timer_start(d->opt.loop, &w->timer, until - now);
}

void surface_waits_check(struct surface *d) {
  // Answering may bring in new requests, which wait behind those that are here now.
  struct list waiting;
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&d->waiting));) list_push(&waiting, n);
  for (struct list *n; (n = list_pop(&waiting));) {
    struct waiting *w = CONTAINER_OF(n, struct waiting, node);
    list_push(&d->waiting, &w->node);
    if (is_ready(d, w->request, w->ready)) go_on(w);
  }
}
