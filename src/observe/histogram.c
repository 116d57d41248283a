// SPDX-License-Identifier: Apache-2.0
#include "observe/histogram.h"

#include <inttypes.h>

#include "base/assert.h"

// Upper bound of each bucket: a number of microseconds, and the printed text in seconds.
static const struct {
  uint64_t us;
  const char *le;
} bounds[] = {
    {250, "0.00025"}, {500, "0.0005"}, {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"},
    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},  {1000000, "1"},
    {2500000, "2.5"}, {5000000, "5"},  {10000000, "10"}, {30000000, "30"}, {60000000, "60"},
};
_Static_assert(sizeof bounds / sizeof *bounds == HISTOGRAM_BOUNDS, "each bucket has a bound");

void histogram_add(struct histogram *h, uint64_t us) {
  size_t i = 0;
  while (i < HISTOGRAM_BOUNDS && us > bounds[i].us) i++;
  h->times[i]++;
  h->count++;
  h->us += us;
}

uint64_t histogram_quantile(const struct histogram *h, uint64_t permille) {
  uint64_t wanted = (h->count * permille + 999) / 1000, before = 0;
  for (size_t i = 0; h->count && i <= HISTOGRAM_BOUNDS; i++) {
    uint64_t from = i ? bounds[i - 1].us : 0, to = i < HISTOGRAM_BOUNDS ? bounds[i].us : from;
    if (before + h->times[i] >= wanted) return from + (to - from) * (wanted - before) / h->times[i];
    before += h->times[i];
  }
  return 0;
}

void metrics_put_label(struct buf *out, str value) {
  for (size_t i = 0; i < value.n; i++) {
    char c = value.p[i];
    if (c == '\n') buf_str(out, STR("\\n"));
    else if (c == '"' || c == '\\') buf_printf(out, "\\%c", c);
    else buf_char(out, c);
  }
}

static void put_name(struct buf *out, const char *name, const char *part, const char *label, str value) {
  buf_printf(out, "%s_%s{%s=\"", name, part, label);
  metrics_put_label(out, value);
  buf_char(out, '"');
}

void histogram_write(const struct histogram *h, const char *name, const char *label, str value, struct buf *out) {
  uint64_t sum = 0;
  if (!h->count) return;
  for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
    sum += h->times[i];
    put_name(out, name, "bucket", label, value);
    buf_printf(out, ",le=\"%s\"} %" PRIu64 "\n", i < HISTOGRAM_BOUNDS ? bounds[i].le : "+Inf", sum);
  }
  ASSERT(sum == h->count);
  put_name(out, name, "sum", label, value);
  buf_printf(out, "} %" PRIu64 ".%06" PRIu64 "\n", h->us / 1000000, h->us % 1000000);
  put_name(out, name, "count", label, value);
  buf_printf(out, "} %" PRIu64 "\n", h->count);
}
