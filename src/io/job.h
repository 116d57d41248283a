// SPDX-License-Identifier: Apache-2.0
// Something that would hold up the loop, done by another thread: one after the other, in the order in which they were
// started, so that what they need in memory does not add up. `run` is on that thread and may touch nothing that others
// use meanwhile; `done` is on the loop, once, when the work may be started again or freed. What was started is done.
#pragma once
#include "io/loop.h"

struct job {
  struct list node;
  struct loop *loop;
  uv_work_t request;
  const char *name;  // the file that started it, for the loop's watchdog
  void (*run)(struct job *c);
  void (*done)(struct job *c);
};

#define job_start(l, c) job_start_named((l), (c), __FILE_NAME__)
void job_start_named(struct loop *l, struct job *c, const char *name);
