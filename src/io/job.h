// SPDX-License-Identifier: Apache-2.0
// A job runs slow work on another thread, so that the work does not block the loop. Jobs run one at a time, in the
// order of job_start, which limits the memory in use. `run` is called on the other thread and must not access data that
// other threads use. `done` is called once, on the loop, and may start the job again or free it. A started job cannot
// be cancelled.
#pragma once
#include "io/loop.h"

struct job {
  struct list node;
  struct loop *loop;
  uv_work_t request;
  const char *name;  // source file that started the job, for the loop's watchdog
  void (*run)(struct job *c);
  void (*done)(struct job *c);
};

#define job_start(l, c) job_start_named((l), (c), __FILE_NAME__)
void job_start_named(struct loop *l, struct job *c, const char *name);
