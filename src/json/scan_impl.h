// SPDX-License-Identifier: Apache-2.0
// The interface between scan.c, scan_check.c and json/path/; private to them.
#pragma once
#include "base/text/block.h"
#include "json/scan.h"

extern const char json_scan_too_deep[];

// Sets s->wrong and s->what at the first error. Returns NULL.
const char *json_scan_fail(struct json_scan *s, const char *at, const char *what);

// Returns the byte at `p`, or 0 at the end of the text. The grammar accepts a NUL byte nowhere.
static inline char json_scan_peek(const struct json_scan *s, const char *p) {
  return p < s->end ? *p : 0;
}

static inline const char *json_scan_blanks(const char *p, const char *end) {
  if (p < end && (unsigned char)*p > ' ') return p;
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// Returns whether the byte ends a scalar other than a string: white space, control characters, comma, colon, closing
// brackets and bytes above ASCII do.
static inline bool json_scan_ends_scalar(char c) {
  return c == ',' || c == ':' || (c | 0x20) == '}' || (signed char)c <= ' ';
}

// Returns the end of a number. Does not branch on the length of the number, because processors cannot predict this
// length well.
static inline const char *json_scan_scalar_end(const char *p, const char *end) {
#ifdef __SSE2__
  for (; end - p >= 16; p += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i close = _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('}'));
    __m128i other = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(',')), _mm_cmpeq_epi8(x, _mm_set1_epi8(':')));
    __m128i ends = _mm_or_si128(_mm_or_si128(close, other), _mm_cmplt_epi8(x, _mm_set1_epi8('!')));
    unsigned stops = (unsigned)_mm_movemask_epi8(ends);
    if (stops) return p + __builtin_ctz(stops);
  }
#endif
  while (p < end && !json_scan_ends_scalar(*p)) p++;
  return p;
}

// Opens a walk over a value that is known to be an object.
static inline struct json_walk json_walk_object(struct json_scan *s, const char *object) {
  return (struct json_walk){.scan = s, .after = object + 1, .close = '}'};
}

// Skips true, false or null.
const char *json_scan_word(struct json_scan *s, const char *p);

// Checks every byte of the value that starts at `value`, and returns the position after it. Returns NULL if the value
// is not JSON or nests deeper than max_depth.
const char *json_scan_verify(struct json_scan *s, const char *value, unsigned max_depth);

// Like json_scan_verify, for a value that is not a container.
const char *json_scan_verify_scalar(struct json_scan *s, const char *value);

// ---- blocks of 64 bytes

// The state that a scan carries from one block of 64 bytes to the next.
struct json_strings {
  uint64_t inside;  // all bits are set if the previous block ended inside a string, else 0
  bool escaped;     // the last byte was a backslash that escapes the byte after it
};

// Properties of the bytes in a block, as bit masks.
struct json_marks {
  uint64_t strings;        // bytes of strings, including the opening quotes
  uint64_t quotes;         // quotes that open or close a string
  uint64_t opens, closes;  // brackets outside of strings
};

// Returns the mask of escaped bytes. Of two backslashes, the second one is escaped.
static inline uint64_t json_scan_escaped(struct json_strings *k, uint64_t slashes) {
  uint64_t escaped = k->escaped;
  slashes &= ~escaped;
  k->escaped = false;
  while (slashes) {
    unsigned i = block_first(slashes);
    if (i == 63) k->escaped = true;
    else escaped |= UINT64_C(2) << i;
    slashes &= i == 63 ? 0 : ~(UINT64_C(3) << i);
  }
  return escaped;
}

__attribute__((always_inline)) static inline struct json_marks json_scan_marks(struct json_strings *k,
                                                                               const char *block) {
  struct block b = block_load(block), folded = block_or(b, 0x20);  // bit 0x20 turns '[' into '{' and ']' into '}'
  struct json_marks m = {.quotes = block_is(b, '"')};
  if (__builtin_expect(block_has(b, '\\') || k->escaped, 0)) m.quotes &= ~json_scan_escaped(k, block_is(b, '\\'));
  m.strings = block_between(m.quotes) ^ k->inside;
  k->inside = (uint64_t)((int64_t)m.strings >> 63);
  m.opens = block_is(folded, '{') & ~m.strings;
  m.closes = block_is(folded, '}') & ~m.strings;
  return m;
}

// Copies the rest of the text, which must be shorter than a block, and pads it with blanks.
static inline void json_scan_tail(const struct json_scan *s, const char *p, char out[BLOCK_BYTES]) {
  size_t n = (size_t)(s->end - p);
  ASSERT(n <= BLOCK_BYTES);
  memset(out, ' ', BLOCK_BYTES);
  if (n) memcpy(out, p, n);
}
