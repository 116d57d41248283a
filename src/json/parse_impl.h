// SPDX-License-Identifier: Apache-2.0
// Functions of the parser that read and check single tokens. Used by parse.c and parse_fold.c only.
#pragma once
#include "base/text/utf8.h"
#include "json/json.h"
#include "json/text.h"

struct parser {
  const char *start, *end;
  struct arena *arena;
  struct json *root;
  struct json *open;  // innermost open container, or NULL
  struct json *last;  // the element of `open` that was read last, or NULL
  unsigned depth, max_depth;
  size_t nodes, max_nodes, most_nodes;
  struct fault *fault;
  // The following members are for folding: the depth and the limit of json_fold, the open container that may be folded,
  // and the state of the parser before this container.
  unsigned fold_depth;
  size_t fold_values;
  struct json *foldable;
  struct arena_mark before;
  size_t nodes_before;
};

// Functions that read text take a position. They return the position after the bytes that they read, or NULL after a
// failure.

const char *json_fail(struct parser *s, const char *at, const char *message);
const char *json_fail_limit(struct parser *s, const char *at, enum fault_limit which, size_t limit);
const char *json_fail_expected(struct parser *s, const char *at, const char *what);
bool json_fail_duplicate(struct parser *s, str key, bool escaped);

const char *json_check_escape(struct parser *s, const char *p);
const char *json_check_beyond_ascii(struct parser *s, const char *p);

// To find duplicate keys in an object with at most JSON_PAIRS_UP_TO members, a key is compared with all earlier keys,
// but only if an earlier key has the same json_key_bit. Equal keys always have the same bit.
enum { JSON_PAIRS_UP_TO = 64 };

static inline uint64_t json_key_bit(str key) {
  if (!key.n) return 1;
  unsigned first = (unsigned char)key.p[0], middle = (unsigned char)key.p[key.n / 2],
           last = (unsigned char)key.p[key.n - 1];
  return UINT64_C(1) << (((unsigned)key.n * 7 + first * 5 + last * 11 + middle) & 63);
}

// Checks the container at `p`, including duplicate keys, without building nodes. Sets *out_count to the number of its
// elements or members.
const char *json_check_container(struct parser *s, const char *p, unsigned depth, uint32_t *out_count);

static inline const char *json_skip_space(const char *p, const char *end) {
  if (p < end && (unsigned char)*p > ' ') return p;
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// Returns the byte at `p`, or 0 at the end of the text. The grammar accepts a NUL byte nowhere.
static inline char json_peek(const struct parser *s, const char *p) {
  return p < s->end ? *p : 0;
}

// Reads a string from the position after its opening quote; returns the position of its closing quote. Always inlined,
// because reading strings takes a fifth of the time of a short request.
__attribute__((always_inline)) static inline const char *json_check_string(struct parser *s, const char *p,
                                                                           uint8_t escaped, uint8_t *flags) {
  for (;;) {
    p = json_text_skip_plain(p, s->end);
    if (p == s->end) return json_fail_expected(s, p, "expected the closing quote of a string");
    if (*p == '"') return p;
    if (*p == '\\') {
      *flags |= escaped;
      if (!(p = json_check_escape(s, p))) return NULL;
      continue;
    }
    if ((unsigned char)*p < ' ') return json_fail(s, p, "a control character in a string must be escaped");
    if (!(p = json_check_beyond_ascii(s, p))) return NULL;
  }
}

static inline const char *json_skip_digits(const char *p, const char *end) {
  while (p < end && (unsigned char)(*p - '0') < 10) p++;
  return p;
}

static const char *json_check_digits(struct parser *s, const char *p) {
  const char *end = json_skip_digits(p, s->end);
  return end == p ? json_fail_expected(s, p, "expected a digit") : end;
}

static inline const char *json_check_number(struct parser *s, const char *p) {
  if (*p == '-') p++;
  const char *first = p;
  if (!(p = json_check_digits(s, p))) return NULL;
  if (*first == '0' && p - first > 1) return json_fail(s, first, "a number must not have leading zeros");
  if (json_peek(s, p) == '.' && !(p = json_check_digits(s, p + 1))) return NULL;
  if ((json_peek(s, p) | 0x20) != 'e') return p;
  p++;
  if (json_peek(s, p) == '+' || json_peek(s, p) == '-') p++;
  return json_check_digits(s, p);
}

static inline const char *json_check_word(struct parser *s, const char *p, str word) {
  if (!str_starts((str){p, (size_t)(s->end - p)}, word)) return json_fail_expected(s, p, "expected a value");
  return p + word.n;
}

// Reads a value that is not a container, and sets *type.
static inline const char *json_check_scalar(struct parser *s, const char *p, uint8_t *type, uint8_t *flags) {
  switch (json_peek(s, p)) {
  case '"':
    *type = JSON_STRING;
    p = json_check_string(s, p + 1, JSON_ESCAPED, flags);
    return p ? p + 1 : NULL;
  case 't': *type = JSON_TRUE; return json_check_word(s, p, STR("true"));
  case 'f': *type = JSON_FALSE; return json_check_word(s, p, STR("false"));
  case 'n': *type = JSON_NULL; return json_check_word(s, p, STR("null"));
  case '-':
  case '0' ... '9': *type = JSON_NUMBER; return json_check_number(s, p);
  default: return json_fail_expected(s, p, "expected a value");
  }
}
