// SPDX-License-Identifier: Apache-2.0
#include "surface/index_jobs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/job.h"
#include "surface/surface_state.h"

struct index_job {
  struct job job;
  struct index_build *build;
  struct list node;  // member of surface.index_jobs until the surface ends
  struct list waiters;
};

// A request that waits for a search index. Allocated in the arena of the request.
struct index_waiter {
  struct work work;
  struct list node;  // member of index_job.waiters
  struct surface *d;
  struct request *request;
  void (*again)(struct surface *d, struct request *r);
};

static void on_cancel(struct work *work, struct request *r, str reason) {
  list_remove(&CONTAINER_OF(work, struct index_waiter, work)->node);
}
static const struct work_ops waiter_ops = {"index", on_cancel};

static void on_run(struct job *job) {
  directory_index_run(CONTAINER_OF(job, struct index_job, job)->build);
}

static void on_built(struct job *job) {
  struct index_job *j = CONTAINER_OF(job, struct index_job, job);
  directory_index_end(&j->build);
  list_remove(&j->node);
  while (!list_empty(&j->waiters)) {
    struct index_waiter *w = CONTAINER_OF(j->waiters.next, struct index_waiter, node);
    ASSERT(w->request->work == &w->work);
    list_remove(&w->node);
    w->request->work = NULL;
    w->again(w->d, w->request);
  }
  mem_free(j);
}

static struct index_job *find_job(struct surface *d, const struct index_build *build) {
  LIST_EACH(it, &d->index_jobs) {
    struct index_job *j = CONTAINER_OF(it, struct index_job, node);
    if (j->build == build) return j;
  }
  return NULL;
}

bool index_jobs_ready(struct surface *d, struct request *r, enum directory_kind kind, const uint64_t *visible,
                      void (*again)(struct surface *d, struct request *r)) {
  bool new;
  struct index_build *build = directory_index_begin(d->directory, kind, visible, &new);
  if (!build) return true;
  struct index_job *j = new ? MEM_NEW(struct index_job) : find_job(d, build);
  ASSERT(j && !r->work);
  if (new) {
    j->job = (struct job){.run = on_run, .done = on_built};
    j->build = build;
    list_init(&j->waiters);
    list_push(&d->index_jobs, &j->node);
    job_start(d->opt.loop, &j->job);
  }
  struct index_waiter *w = ARENA_NEW(&r->arena, struct index_waiter);
  *w = (struct index_waiter){.work.ops = &waiter_ops, .d = d, .request = r, .again = again};
  list_push(&j->waiters, &w->node);
  r->work = &w->work;
  return false;
}

void index_jobs_detach(struct surface *d) {
  while (!list_empty(&d->index_jobs)) {
    struct index_job *j = CONTAINER_OF(d->index_jobs.next, struct index_job, node);
    ASSERT(list_empty(&j->waiters));
    list_remove(&j->node);
  }
}
