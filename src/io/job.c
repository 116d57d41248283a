// SPDX-License-Identifier: Apache-2.0
#include "io/job.h"

#include "base/assert.h"

static void start_first(struct loop *l);

static void on_run(uv_work_t *request) {
  struct job *c = CONTAINER_OF(request, struct job, request);
  c->run(c);
}

// Called on the loop thread when a job has run. Starts the next job, then calls `done`.
static void on_done(uv_work_t *request, int status) {
  struct job *c = CONTAINER_OF(request, struct job, request);
  struct loop *l = c->loop;
  const char *name = c->name;  // kept here, because `done` may free the job
  ASSERT(l->jobs.next == &c->node);
  loop_begin(l);
  list_remove(&c->node);
  start_first(l);
  c->done(c);
  loop_end(l, LOOP_JOB, name);
}

static void start_first(struct loop *l) {
  if (list_empty(&l->jobs)) return;
  struct job *c = CONTAINER_OF(l->jobs.next, struct job, node);
  ASSERT(uv_queue_work(&l->uv, &c->request, on_run, on_done) == 0);
}

void job_start_named(struct loop *l, struct job *c, const char *name) {
  ASSERT(c->run && c->done);
  bool idle = list_empty(&l->jobs);
  c->loop = l;
  c->name = name;
  list_push(&l->jobs, &c->node);
  if (idle) start_first(l);
}
