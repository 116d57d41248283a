// SPDX-License-Identifier: Apache-2.0
// Reads the member `records` of a governance file.
#include "govern/govern_impl.h"
#include "govern/records.h"

enum { KEEP_DAYS = 30, MAX_BYTES = 256 << 20, BYTES_LEAST = 1 << 20 };

static const struct governance_records defaults = {.enabled = true, .keep_days = KEEP_DAYS, .max_bytes = MAX_BYTES};

void governance_read_records(struct governance_reader *r, str pointer, const struct json *v) {
  static const char *const failures[] = {"continue", "refuse", NULL};
  static const char *const arguments[] = {"full", "digest", "none", NULL};
  static const struct governance_field fields[] = {
      {"enabled", governance_flag, offsetof(struct governance_records, enabled), false, NULL},
      {"keep_days", governance_count, offsetof(struct governance_records, keep_days), false, NULL},
      {"max_bytes", governance_integer, offsetof(struct governance_records, max_bytes), false, NULL},
      {"on_failure", governance_choice, offsetof(struct governance_records, on_failure), false, failures},
      {"arguments", governance_choice, offsetof(struct governance_records, arguments), false, arguments},
      {"return_envelope", governance_flag, offsetof(struct governance_records, return_envelope), false, NULL},
  };
  struct governance_records *out = &r->governance->records;
  *out = defaults;
  if (!v) return;
  governance_read_members(r, pointer, v, fields, sizeof fields / sizeof *fields, out);
  if (out->max_bytes < BYTES_LEAST)
    governance_report(r, arena_printf(r->arena, "%.*s/max_bytes", STR_ARG(pointer)), "must be at least %d",
                      BYTES_LEAST);
}

const struct governance_records *governance_records(const struct governance *g) {
  return &g->records;
}

str governance_digest(const struct governance *g) {
  return (str){g->digest, sizeof g->digest - 1};
}
