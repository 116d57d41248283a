// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static uint64_t system_mono(void *ctx) {
  (void)ctx;
  return (uint64_t)read_ms(CLOCK_MONOTONIC);
}
static int64_t system_wall(void *ctx) {
  (void)ctx;
  return read_ms(CLOCK_REALTIME);
}

const struct clock clock_system = {system_mono, system_wall, 0};

uint64_t clock_mono_us(const struct clock *c) {
  struct timespec t;
  if (c->mono_ms != system_mono) return 1000 * clock_mono_ms(c);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
