// SPDX-License-Identifier: Apache-2.0
// What the files of the scan share.
#pragma once
#include "json/scan.h"

extern const char json_scan_too_deep[];

// Remembers the first thing that is wrong; gives NULL.
const char *json_scan_fail(struct json_scan *s, const char *at, const char *what);

// 0 at the end of the text: no rule of the grammar accepts that byte.
static inline char json_scan_peek(const struct json_scan *s, const char *p) {
  return p < s->end ? *p : 0;
}

static inline const char *json_scan_blanks(const char *p, const char *end) {
  if (p < end && (unsigned char)*p > ' ') return p;
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// true, false or null.
const char *json_scan_word(struct json_scan *s, const char *p);

// Behind the value that begins here, every byte of it checked; NULL when it is wrong or lies deeper than this.
const char *json_scan_verify(struct json_scan *s, const char *value, unsigned max_depth);
