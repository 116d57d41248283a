// SPDX-License-Identifier: Apache-2.0
// What a run of the load generator found: how long every request took, and what went wrong.
#pragma once
#include "base/str.h"

struct stats {
  uint32_t *tenths;  // of a microsecond, one for each good reply
  size_t n, cap;
  uint64_t errors, reconnects;
  char first_error[200];
};

void stats_done(struct stats *s);
void stats_record(struct stats *s, uint64_t ns);
void stats_error(struct stats *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void stats_forget(struct stats *s);  // what was found while warming up

// One line of JSON on stdout; `seconds`: how long the counted part took.
void stats_print(struct stats *s, unsigned connections, double seconds);
