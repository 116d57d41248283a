// SPDX-License-Identifier: Apache-2.0
#include "io/chore.h"

#include "base/assert.h"

static void start_first(struct loop *l);

static void on_run(uv_work_t *request) {
  struct chore *c = CONTAINER_OF(request, struct chore, request);
  c->run(c);
}

// The next one is on its way before anybody hears of this one.
static void on_done(uv_work_t *request, int status) {
  struct chore *c = CONTAINER_OF(request, struct chore, request);
  struct loop *l = c->loop;
  loop_begin(l);
  list_remove(&c->node);
  start_first(l);
  c->done(c);
  loop_end(l, LOOP_CHORE);
}

static void start_first(struct loop *l) {
  if (list_empty(&l->chores)) return;
  struct chore *c = CONTAINER_OF(l->chores.next, struct chore, node);
  ASSERT(uv_queue_work(&l->uv, &c->request, on_run, on_done) == 0);
}

void chore_start(struct loop *l, struct chore *c) {
  bool idle = list_empty(&l->chores);
  c->loop = l;
  list_push(&l->chores, &c->node);
  if (idle) start_first(l);
}
