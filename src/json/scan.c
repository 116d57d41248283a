// SPDX-License-Identifier: Apache-2.0
#include "json/scan.h"

#include <stdio.h>

#include "base/block.h"
#include "base/utf8.h"
#include "json/scan_impl.h"
#include "json/text.h"

const char json_scan_too_deep[] = "too many levels of nesting";

struct json_scan json_scan(str text) {
  if (!text.p) text = STR("");
  return (struct json_scan){.begin = text.p, .end = text.p + text.n};
}

struct json_scan json_scan_strict(str text) {
  struct json_scan s = json_scan(text);
  s.strict = true;
  return s;
}

const char *json_scan_fail(struct json_scan *s, const char *at, const char *what) {
  if (!s->wrong) s->wrong = at, s->what = what;
  return NULL;
}

// ---- what is wrong, and where

void json_scan_fault(const struct json_scan *s, struct fault *f) {
  if (s->what == json_scan_too_deep) fault_set(f, FAULT_LIMIT, "%s", s->what);
  else if (s->wrong >= s->end) fault_set(f, FAULT_INVALID, "the text ends where %s was expected", s->what);
  else fault_set(f, FAULT_INVALID, "%s was expected", s->what);
  unsigned line = 1, column = 1;
  for (const char *p = s->begin; p < s->wrong; p++) {
    if (*p == '\n') line++, column = 1;
    else if (!utf8_follows(*p)) column++;
  }
  char path[64];
  int n = snprintf(path, sizeof path, "line %u, column %u", line, column);
  fault_set_path(f, (str){path, (size_t)n});
}

// ---- values

const char *json_scan_first(struct json_scan *s) {
  return json_scan_blanks(s->begin, s->end);
}

enum json_type json_scan_type(const struct json_scan *s, const char *value) {
  switch (json_scan_peek(s, value)) {
  case '{': return JSON_OBJECT;
  case '[': return JSON_ARRAY;
  case '"': return JSON_STRING;
  case 't': return JSON_TRUE;
  case 'f': return JSON_FALSE;
  case 'n': return JSON_NULL;
  default: return JSON_NUMBER;
  }
}

// From behind the opening quote to the closing one, or the end.
static inline const char *find_quote(const char *p, const char *end, bool *out_escaped) {
#ifdef __SSE2__
  for (; end - p >= 16; p += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i marked = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    int stops = _mm_movemask_epi8(marked);
    if (!stops) continue;
    p += __builtin_ctz((unsigned)stops);
    if (*p == '"') return p;
    *out_escaped = true;
    p += 2 - 16;
  }
#endif
  while (p < end && *p != '"') {
    if (*p == '\\') *out_escaped = true, p++;
    p++;
  }
  return p < end ? p : end;
}

static inline const char *skip_string(struct json_scan *s, const char *p) {
  bool escaped;
  p = find_quote(p + 1, s->end, &escaped);
  return p < s->end ? p + 1 : json_scan_fail(s, p, "the end of a string");
}

// White space and control characters, comma, colon, closing brackets, and what is above ASCII: none of it is in a
// scalar that is no string.
static inline bool ends_scalar(char c) {
  return c == ',' || c == ':' || (c | 0x20) == '}' || (signed char)c <= ' ';
}

// Where a number ends; its length is hardly ever foreseen, so no branch depends on it.
static inline const char *find_scalar_end(const char *p, const char *end) {
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
  while (p < end && !ends_scalar(*p)) p++;
  return p;
}

static inline const char *skip_scalar(struct json_scan *s, const char *p) {
  const char *begin = p;
  char c = json_scan_peek(s, p);
  if (c == 't' || c == 'f' || c == 'n') return json_scan_word(s, p);
  if (c != '-' && (unsigned char)(c - '0') > 9) return json_scan_fail(s, begin, "a value");
  return find_scalar_end(p, s->end);
}

// ---- containers, sixty-four bytes at once

struct skip {
  struct json_strings strings;
  size_t depth;
};

// Bit by bit where the container may end. Gives where it does, or BLOCK_BYTES.
static inline unsigned find_end(struct skip *k, uint64_t opens, uint64_t closes) {
  for (uint64_t both = opens | closes; both; both &= both - 1) {
    unsigned i = block_first(both);
    if (opens >> i & 1) k->depth++;
    else if (--k->depth == 0) return i;
  }
  return BLOCK_BYTES;
}

// Where few are open, counting those that close would not spare a look at them.
static inline unsigned skip_block(struct skip *k, const char *p) {
  struct json_marks m = json_scan_marks(&k->strings, p);
  size_t closing = 0;
  if (m.closes) {
    if (k->depth <= 2) return find_end(k, m.opens, m.closes);
    closing = block_count(m.closes);
    if (closing >= k->depth) return find_end(k, m.opens, m.closes);
  }
  k->depth += block_count(m.opens) - closing;
  return BLOCK_BYTES;
}

static const char *skip_tail(struct json_scan *s, struct skip *k, const char *p) {
  char rest[BLOCK_BYTES];
  json_scan_tail(s, p, rest);
  unsigned at = skip_block(k, rest);
  if (at < BLOCK_BYTES) return p + at + 1;
  return json_scan_fail(s, s->end, k->strings.inside ? "the end of a string" : "a closing bracket");
}

#ifdef __SSE2__
// Most containers are small: the first sixteen bytes are looked at alone. A backslash is left to the blocks.
static inline const char *skip_short(struct skip *k, const char *p) {
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p), folded = _mm_or_si128(x, _mm_set1_epi8(0x20));
  unsigned inside = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
  unsigned opens = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
  unsigned closes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  if (!closes || _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')))) return NULL;
  for (unsigned shift = 1; shift < 16; shift *= 2) inside ^= inside << shift;
  struct skip here = *k;
  unsigned at = find_end(&here, opens & ~inside, closes & ~inside);
  return at < BLOCK_BYTES ? p + at + 1 : NULL;
}
#endif

// From inside a container, so deep, to behind its end.
static const char *skip_rest(struct json_scan *s, const char *p, size_t depth) {
  struct skip k = {.depth = depth};
#ifdef __SSE2__
  const char *near = s->end - p >= 16 ? skip_short(&k, p) : NULL;
  if (near) return near;
#endif
  for (; s->end - p >= BLOCK_BYTES; p += BLOCK_BYTES) {
    unsigned at = skip_block(&k, p);
    if (at < BLOCK_BYTES) return p + at + 1;
  }
  return skip_tail(s, &k, p);
}

static inline const char *skip_value(struct json_scan *s, const char *value) {
  if (s->strict) return json_scan_verify(s, value, JSON_DEEPEST);
  char c = json_scan_peek(s, value);
  if (c == '"') return skip_string(s, value);
  if (c == '{' || c == '[') return skip_rest(s, value + 1, 1);
  return skip_scalar(s, value);
}

const char *json_scan_skip(struct json_scan *s, const char *value) {
  return s->wrong ? NULL : skip_value(s, value);
}

const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels) {
  return s->wrong ? NULL : skip_rest(s, inside, levels);
}

bool json_scan_ends(struct json_scan *s, const char *behind) {
  if (s->wrong) return false;
  const char *p = json_scan_blanks(behind, s->end);
  if (p == s->end) return true;
  json_scan_fail(s, p, "the end of the text");
  return false;
}

// ---- walks

bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container) {
  *w = (struct json_walk){.scan = s};
  if (s->wrong) return false;
  if (container == s->end) json_scan_fail(s, container, "a value");
  char c = json_scan_peek(s, container);
  if (c != '{' && c != '[') return false;
  w->close = c == '{' ? '}' : ']';
  w->behind = container + 1;
  return true;
}

// The same sixteen bytes at most, without a branch that depends on how many.
static inline bool same_bytes(const char *a, const char *b, size_t n) {
#ifdef __SSE2__
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a), y = _mm_loadu_si128((const __m128i *)(const void *)b);
  return ((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) | (0xffffu << n & 0xffff)) == 0xffff;
#else
  return memcmp(a, b, n) == 0;
#endif
}

// The key is as it was in the object before: gives where its value begins, or NULL.
static inline const char *guess_key(struct json_walk *w, const char *p) {
  if (!w->hints || w->count >= 16 || w->scan->end - p < 16) return NULL;
  size_t n = w->hints->at[w->count].n;
  if (!n || !same_bytes(p, w->hints->at[w->count].p, n)) return NULL;
  w->key = (str){p + 1, w->hints->at[w->count].key_n};
  w->escaped = false;
  return json_scan_blanks(p + n, w->scan->end);
}

static void remember_key(struct json_walk *w, const char *key, const char *value) {
  if (!w->hints || w->count >= 16 || w->escaped || value - key > 16 || w->scan->end - key < 16) return;
  w->hints->at[w->count].p = key;
  w->hints->at[w->count].n = (uint8_t)(value - key);
  w->hints->at[w->count].key_n = (uint8_t)w->key.n;
}

// From the opening quote of a key to where its value begins.
static inline const char *read_key(struct json_walk *w, const char *p) {
  struct json_scan *s = w->scan;
  const char *guessed = guess_key(w, p), *key = p;
  if (guessed) return guessed;
  if (json_scan_peek(s, p) != '"') return json_scan_fail(s, p, "a key in quotes");
  bool escaped = false;
  const char *quote = find_quote(p + 1, s->end, &escaped);
  w->escaped = escaped;
  if (quote == s->end) return json_scan_fail(s, quote, "the end of a string");
  if ((s->strict || escaped) && !json_scan_verify_scalar(s, p)) return NULL;
  w->key = (str){p + 1, (size_t)(quote - p - 1)};
  p = json_scan_blanks(quote + 1, s->end);
  if (json_scan_peek(s, p) != ':') return json_scan_fail(s, p, "':' after a key");
  p = json_scan_blanks(p + 1, s->end);
  remember_key(w, key, p);
  return p;
}

static bool end_walk(struct json_walk *w, const char *behind) {
  w->close = 0;
  w->behind = behind;
  w->value = NULL;
  return false;
}

// Where the next one begins; NULL at the end, and when it is wrong.
static inline const char *find_next(struct json_walk *w) {
  struct json_scan *s = w->scan;
  if (!w->behind && !(w->behind = skip_value(s, w->value))) return NULL;
  const char *p = json_scan_blanks(w->behind, s->end);
  char c = json_scan_peek(s, p);
  if (c == w->close) {
    end_walk(w, p + 1);
    return NULL;
  }
  if (!w->count) return p;
  if (c != ',') return json_scan_fail(s, p, w->close == '}' ? "',' or '}'" : "',' or ']'");
  return json_scan_blanks(p + 1, s->end);
}

static inline bool walk_on(struct json_walk *w) {
  if (!w->close || w->scan->wrong) return false;
  const char *p = find_next(w);
  if (!p) return false;
  if (w->close == '}' && !(p = read_key(w, p))) return false;
  if (p == w->scan->end || ends_scalar(*p)) return json_scan_fail(w->scan, p, "a value");
  w->value = p;
  w->behind = NULL;
  w->count++;
  return true;
}

bool json_walk_next(struct json_walk *w) {
  return walk_on(w);
}

static inline bool key_is(const struct json_walk *w, str key) {
  return w->escaped ? json_text_equals(w->key, key) : str_eq(w->key, key);
}

// Behind a string or a number; NULL when it is something else, or has no end.
static inline const char *skip_plain(const char *p, const char *end) {
  bool escaped;
  if (*p == '"') {
    const char *quote = find_quote(p + 1, end, &escaped);
    return quote < end ? quote + 1 : NULL;
  }
  return *p == '-' || (unsigned char)(*p - '0') < 10 ? find_scalar_end(p, end) : NULL;
}

// From the beginning, over members whose keys are those of the object before, as long as their values are plain. True
// when it came to this key. Where it stops for another reason, the walk goes on from there.
static bool pass_known(struct json_walk *w, str key) {
  const char *end = w->scan->end, *p = json_scan_blanks(w->behind, end);
  for (size_t i = 0; i < 16 && end - p > 16; i++) {
    const char *quote = p;
    size_t n = w->hints->at[i].n;
    if (!n || !same_bytes(p, w->hints->at[i].p, n)) return false;
    p = json_scan_blanks(p + n, end);
    if (p == end || ends_scalar(*p)) return false;
    w->key = (str){quote + 1, w->hints->at[i].key_n};
    w->value = p;
    w->behind = NULL;
    w->count++;
    if (str_eq(w->key, key)) return true;
    p = skip_plain(p, end);
    if (!p || p == end || *p != ',') return false;
    w->behind = p;
    p = json_scan_blanks(p + 1, end);
  }
  return false;
}

bool json_walk_find(struct json_walk *w, str key) {
  bool known = w->hints && w->close == '}' && !w->count && !w->scan->strict && !w->scan->wrong;
  if (known && pass_known(w, key)) return true;
  while (walk_on(w))
    if (key_is(w, key)) return true;
  return false;
}

str json_walk_value(struct json_walk *w) {
  if (!w->value || w->scan->wrong) return STR("");
  if (!w->behind) w->behind = json_scan_skip(w->scan, w->value);
  return w->behind ? (str){w->value, (size_t)(w->behind - w->value)} : STR("");
}

bool json_walk_key_is(const struct json_walk *w, str key) {
  return key_is(w, key);
}

bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner) {
  return json_walk_open(out_inner, w->scan, w->value);
}

void json_walk_leave(struct json_walk *w, struct json_walk *inner) {
  if (inner->scan->strict || !inner->close) {
    while (json_walk_next(inner)) {
    }
  } else if (!inner->scan->wrong) {
    if (inner->count && !inner->behind) inner->behind = json_scan_skip(inner->scan, inner->value);
    if (inner->behind) end_walk(inner, skip_rest(inner->scan, inner->behind, 1));
  }
  if (!inner->scan->wrong && !inner->close) w->behind = inner->behind;
}
