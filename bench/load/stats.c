// SPDX-License-Identifier: Apache-2.0
#include "stats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void stats_done(struct stats *s) {
  mem_free(s->tenths);
}

void stats_record(struct stats *s, uint64_t ns) {
  if (s->n == s->cap) {
    s->cap = s->cap ? s->cap * 2 : 65536;
    s->tenths = mem_grow(s->tenths, s->cap * sizeof *s->tenths);
  }
  uint64_t tenths = ns / 100;
  s->tenths[s->n++] = tenths > UINT32_MAX ? UINT32_MAX : (uint32_t)tenths;
}

void stats_error(struct stats *s, const char *fmt, ...) {
  if (s->errors++) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(s->first_error, sizeof s->first_error, fmt, ap);
  va_end(ap);
}

void stats_forget(struct stats *s) {
  s->n = s->errors = s->reconnects = 0;
  s->first_error[0] = 0;
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static double quantile_us(const struct stats *s, double q) {
  return s->n ? s->tenths[(size_t)(q * (double)(s->n - 1) + 0.5)] / 10.0 : 0;
}

void stats_print(struct stats *s, unsigned connections, double seconds) {
  double sum = 0;
  for (size_t i = 0; i < s->n; i++) sum += s->tenths[i];
  if (s->n) qsort(s->tenths, s->n, sizeof *s->tenths, compare);
  printf("{\"connections\":%u,\"ok\":%zu,\"errors\":%llu,\"reconnects\":%llu,\"seconds\":%.3f,\"per_second\":%.1f,"
         "\"mean_us\":%.1f,\"p50_us\":%.1f,\"p95_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n",
         connections, s->n, (unsigned long long)s->errors, (unsigned long long)s->reconnects, seconds,
         seconds > 0 ? (double)s->n / seconds : 0, s->n ? sum / 10 / (double)s->n : 0, quantile_us(s, .5),
         quantile_us(s, .95), quantile_us(s, .99), quantile_us(s, 1));
  if (s->errors)
    fprintf(stderr, "mcpload: %llu errors, the first: %s\n", (unsigned long long)s->errors, s->first_error);
}
