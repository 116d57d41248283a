// SPDX-License-Identifier: Apache-2.0
// A histogram of durations from 250 µs to 60 s, as in the metrics page.
#pragma once
#include "base/buf.h"

enum { HISTOGRAM_BOUNDS = 17 };

struct histogram {
  uint64_t times[HISTOGRAM_BOUNDS + 1], count, us;
};

void histogram_add(struct histogram *h, uint64_t us);

// Returns the quantile `permille`/1000 of the durations, interpolated linearly within a bucket.
uint64_t histogram_quantile(const struct histogram *h, uint64_t permille);

// Writes the series NAME_bucket, NAME_sum and NAME_count with one label, unless the histogram is empty.
void histogram_write(const struct histogram *h, const char *name, const char *label, str value, struct buf *out);

// Appends the value of a label, with the three escapes that the Prometheus text format requires.
void metrics_put_label(struct buf *out, str value);
