// SPDX-License-Identifier: Apache-2.0
#include "surface/wait.h"
#include "base/assert.h"
#include "base/mem.h"
#include "surface/surface_state.h"

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
  ASSERT(r->work == &w->work);
  drop(w);
  then(d, r);
}

static void on_waited(struct timer *t) {
  go_on(CONTAINER_OF(t, struct waiting, timer));
}

// Returns whether a request need not wait any longer. In direct mode, a client reads a list only once, so the list
// waits for the exact definitions that servers show to this client. In the other modes, cached definitions are enough.
// A command of the operator never reopens a server.
static bool is_ready(struct surface *d, struct request *r, surface_ready *ready) {
  struct session *s = r->session;
  bool settled;
  if (s->mode == MODE_SERVERS) return ready(d, r);
  if (s->mode != MODE_DIRECT) settled = upstreams_known(d->upstreams, s);
  else settled = s->as_operator ? upstreams_settle(d->upstreams, s) : upstreams_settle_exactly(d->upstreams, s);
  return settled || (ready && ready(d, r));
}

uint64_t surface_wait_until(void *surface, const struct session *s) {
  const struct surface *d = surface;
  uint64_t opened = surface_client(s)->opened_at;
  if (s->as_operator) return opened + s->as_operator->wait_ms;
  return (opened > d->began ? opened : d->began) + d->opt.start_wait_ms;
}

void surface_wait(struct surface *d, struct request *r, surface_ready *ready, surface_then *then) {
  surface_wait_for(d, r, surface_wait_until(d, r->session), ready, then);
}

void surface_wait_for(struct surface *d, struct request *r, uint64_t until, surface_ready *ready, surface_then *then) {
  uint64_t now = loop_now(d->opt.loop);
  ASSERT(then && !r->work && (ready || r->session->mode != MODE_SERVERS));
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
  // Answering a request may cause new requests, which are added to d->waiting. This loop must not visit them, so it
  // works on a separate list.
  struct list waiting;
  list_init(&waiting);
  for (struct list *n; (n = list_pop(&d->waiting));) list_push(&waiting, n);
  for (struct list *n; (n = list_pop(&waiting));) {
    struct waiting *w = CONTAINER_OF(n, struct waiting, node);
    list_push(&d->waiting, &w->node);
    if (is_ready(d, w->request, w->ready)) go_on(w);
  }
}
