// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "govern/govern_impl.h"

const struct breaker_limits breaker_default_limits = {.enabled = true,
                                                      .consecutive = 5,
                                                      .min_calls = 20,
                                                      .probes = 3,
                                                      .ratio = 0.5,
                                                      .window_s = 30,
                                                      .open_s = 30,
                                                      .degraded_s = 300};

static void read_positive(struct governance_reader *r, str pointer, const struct json *v,
                          const struct governance_field *f, void *to) {
  double n;
  if (json_double(v, &n) && n > 0 && n <= 1e6) *(double *)to = n;
  else governance_report(r, pointer, "must be a number above 0 and of at most 1000000");
}

static void read_ratio(struct governance_reader *r, str pointer, const struct json *v, const struct governance_field *f,
                       void *to) {
  double n;
  if (json_double(v, &n) && n > 0 && n <= 1) *(double *)to = n;
  else governance_report(r, pointer, "must be a number above 0 and of at most 1");
}

#define AT(member) offsetof(struct breaker_limits, member)
void governance_read_breaker(struct governance_reader *r, str pointer, const struct json *v,
                             const struct governance_field *f, void *to) {
  static const struct governance_field fields[] = {
      {"enabled", governance_flag, AT(enabled), false, NULL},
      {"consecutive", governance_count, AT(consecutive), false, NULL},
      {"min_calls", governance_count, AT(min_calls), false, NULL},
      {"probes", governance_count, AT(probes), false, NULL},
      {"ratio", read_ratio, AT(ratio), false, NULL},
      {"window_s", governance_seconds, AT(window_s), false, NULL},
      {"open_s", governance_seconds, AT(open_s), false, NULL},
      {"degraded_s", governance_seconds, AT(degraded_s), false, NULL},
  };
  struct breaker_limits *limits = to;
  *limits = breaker_default_limits;
  limits->set = true;
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, limits);
}
#undef AT

#define AT(member) offsetof(struct egress_limits, member)
void governance_read_egress(struct governance_reader *r, str pointer, const struct json *v,
                            const struct governance_field *f, void *to) {
  static const struct governance_field fields[] = {
      {"rate", read_positive, AT(rate), false, NULL},
      {"burst", governance_count, AT(burst), false, NULL},
      {"daily", governance_count, AT(daily), false, NULL},
      {"daily_cost", governance_cost, AT(daily_cost), false, NULL},
  };
  struct egress_limits *limits = to;
  *limits = (struct egress_limits){.set = true, .daily_cost = -1};
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, limits);
  if (!limits->burst) limits->burst = limits->rate > 1 ? (uint64_t)ceil(limits->rate) : 1;
}
#undef AT

const struct breaker_limits *governance_breaker(const struct governance_capability *c) {
  if (c->breaker.set) return &c->breaker;
  return c->adapter->breaker.set ? &c->adapter->breaker : &breaker_default_limits;
}

const struct egress_limits *governance_egress(const struct governance_capability *c) {
  if (c->egress.set) return &c->egress;
  return c->adapter->egress.set ? &c->adapter->egress : NULL;
}
