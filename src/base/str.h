// SPDX-License-Identifier: Apache-2.0
// A string slice, passed by value: a pointer to bytes, and their number. The slice does not own the bytes, and they
// need no terminating NUL.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct str {
  const char *p;
  size_t n;
} str;

#define STR(literal) ((str){"" literal, sizeof(literal) - 1})
#define STR_NONE ((str){NULL, 0})

// For printf: "%.*s", STR_ARG(s)
#define STR_ARG(s) (int)(s).n, (s).p

static inline str str_of(const char *cstr) {
  return (str){cstr, cstr ? strlen(cstr) : 0};
}
static inline bool str_eq(str a, str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_starts(str s, str prefix) {
  return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}
static inline bool str_ends(str s, str suffix) {
  return s.n >= suffix.n && (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}
// Returns the rest of s from byte `from` on, or an empty slice if s is shorter.
static inline str str_from(str s, size_t from) {
  return from >= s.n ? (str){s.p + s.n, 0} : (str){s.p + from, s.n - from};
}

// Returns whether a and b are equal if the case of ASCII letters is ignored.
bool str_eq_nocase(str a, str b);
static inline bool str_starts_nocase(str s, str prefix) {
  return s.n >= prefix.n && str_eq_nocase((str){s.p, prefix.n}, prefix);
}

// Compares bytewise, like memcmp; a prefix comes before longer strings.
int str_cmp(str a, str b);

// Returns s without leading and trailing spaces and tabs.
str str_trim(str s);

// Replaces control characters (C0, DEL, and C1 in UTF-8), which terminals execute, and hidden characters
// (base/text/plain.h), in place: each byte of such a character becomes '?'.
void str_mask_controls(char *p, size_t n);

// Splits s at the first `sep`. If s contains no `sep`, returns false and sets *out_head to all of s.
bool str_cut(str s, char sep, str *out_head, str *out_tail);

// Returns the part of a path after its last slash, or the whole path if it contains no slash.
static inline str str_base_name(str path) {
  const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
  return slash ? str_from(path, (size_t)(slash + 1 - path.p)) : path;
}

// Returns the value of a variable in an environment (which may be NULL), or STR_NONE if it is not set.
str str_env(char *const *env, str name);

// Room for the decimal digits of a number. str_from_u64 writes the digits to *room and returns them.
struct str_digits {
  char text[20];
};
str str_from_u64(uint64_t v, struct str_digits *room);

// Converts a slice that consists of decimal digits only. Returns false for any other text and on overflow.
bool str_to_u64(str s, uint64_t *out);
