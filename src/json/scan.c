// SPDX-License-Identifier: Apache-2.0
#include "json/scan.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/text/block.h"
#include "base/text/utf8.h"
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
  ASSERT(at >= s->begin && at <= s->end && what);
  if (!s->wrong) s->wrong = at, s->what = what;
  return NULL;
}

// ---- errors

void json_scan_fault(const struct json_scan *s, struct fault *f) {
  ASSERT(s->wrong && s->what);
  if (s->what == json_scan_too_deep) fault_set(f, FAULT_LIMIT, "%s", s->what);
  else if (s->wrong >= s->end) fault_set(f, FAULT_INVALID, "%s, but the text ends", s->what);
  else fault_set(f, FAULT_INVALID, "%s", s->what);
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

// Finds the closing quote. `p` is the position after the opening quote. Returns `end` if there is no closing quote.
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
  return p < s->end ? p + 1 : json_scan_fail(s, p, "expected the closing quote of a string");
}

static inline const char *skip_scalar(struct json_scan *s, const char *p) {
  const char *begin = p;
  char c = json_scan_peek(s, p);
  if (c == 't' || c == 'f' || c == 'n') return json_scan_word(s, p);
  if (c != '-' && (unsigned char)(c - '0') > 9) return json_scan_fail(s, begin, "expected a value");
  return json_scan_scalar_end(p, s->end);
}

// ---- skipping containers by blocks of 64 bytes

struct skip {
  struct json_strings strings;
  size_t depth;
};

// Reads the brackets of a block one by one, because the container may end in this block. Returns the offset of the
// bracket that closes the container, or BLOCK_BYTES if the container does not end here.
static inline unsigned find_end(struct skip *k, uint64_t opens, uint64_t closes) {
  for (uint64_t both = opens | closes; both; both &= both - 1) {
    unsigned i = block_first(both);
    if (opens >> i & 1) k->depth++;
    else if (--k->depth == 0) return i;
  }
  return BLOCK_BYTES;
}

// Skips one block. If few brackets are open, the closing brackets are read one by one, because this costs less than
// counting them.
__attribute__((always_inline)) static inline unsigned skip_block(struct skip *k, const char *p) {
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
  return json_scan_fail(s, s->end,
                        k->strings.inside ? "expected the closing quote of a string" : "expected a closing bracket");
}

#ifdef __SSE2__
// Skips a container that ends within sixteen bytes, which is the most frequent case. Returns NULL for a longer
// container, and if the bytes contain a backslash: the caller then uses skip_rest.
static inline const char *skip_short(const char *p) {
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p), folded = _mm_or_si128(x, _mm_set1_epi8(0x20));
  unsigned inside = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
  unsigned opens = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
  unsigned closes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  if (!closes || _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')))) return NULL;
  inside = (unsigned)block_between(inside);
  struct skip k = {.depth = 1};
  unsigned at = find_end(&k, opens & ~inside, closes & ~inside);
  return at < BLOCK_BYTES ? p + at + 1 : NULL;
}
#endif

// Skips the rest of a container. `p` is a position in the container, at nesting level `depth`. Returns the position
// after the container's closing bracket.
static const char *skip_rest(struct json_scan *s, const char *p, size_t depth) {
  struct skip k = {.depth = depth};
  for (; s->end - p >= BLOCK_BYTES; p += BLOCK_BYTES) {
    unsigned at = skip_block(&k, p);
    if (at < BLOCK_BYTES) return p + at + 1;
  }
  return skip_tail(s, &k, p);
}

static const char *skip_container(struct json_scan *s, const char *container) {
  const char *inside = container + 1;
#ifdef __SSE2__
  const char *near = s->end - inside >= 16 ? skip_short(inside) : NULL;
  if (near) return near;
#endif
  return skip_rest(s, inside, 1);
}

static inline const char *skip_value(struct json_scan *s, const char *value) {
  if (s->strict) return json_scan_verify(s, value, JSON_DEEPEST);
  char c = json_scan_peek(s, value);
  if (c == '"') return skip_string(s, value);
  if (c == '{' || c == '[') return skip_container(s, value);
  return skip_scalar(s, value);
}

const char *json_scan_skip(struct json_scan *s, const char *value) {
  return s->wrong ? NULL : skip_value(s, value);
}

const char *json_scan_skip_rest(struct json_scan *s, const char *inside, size_t levels) {
  ASSERT(levels > 0);
  return s->wrong ? NULL : skip_rest(s, inside, levels);
}

bool json_scan_ends(struct json_scan *s, const char *after) {
  ASSERT(after >= s->begin && after <= s->end);
  if (s->wrong) return false;
  const char *p = json_scan_blanks(after, s->end);
  if (p == s->end) return true;
  json_scan_fail(s, p, "expected the end of the text");
  return false;
}

// ---- walks

bool json_walk_open(struct json_walk *w, struct json_scan *s, const char *container) {
  *w = (struct json_walk){.scan = s};
  if (s->wrong) return false;
  if (container == s->end) json_scan_fail(s, container, "expected a value");
  char c = json_scan_peek(s, container);
  if (c != '{' && c != '[') return false;
  w->close = c == '{' ? '}' : ']';
  w->after = container + 1;
  return true;
}

// Reads from the opening quote of a key to the start of the member's value.
static inline const char *read_key(struct json_walk *w, const char *p) {
  struct json_scan *s = w->scan;
  if (json_scan_peek(s, p) != '"') return json_scan_fail(s, p, "expected a key in quotes");
  bool escaped = false;
  const char *quote = find_quote(p + 1, s->end, &escaped);
  w->escaped = escaped;
  if (quote == s->end) return json_scan_fail(s, quote, "expected the closing quote of a string");
  if ((s->strict || escaped) && !json_scan_verify_scalar(s, p)) return NULL;
  w->key = (str){p + 1, (size_t)(quote - p - 1)};
  p = json_scan_blanks(quote + 1, s->end);
  if (json_scan_peek(s, p) != ':') return json_scan_fail(s, p, "expected ':' after a key");
  return json_scan_blanks(p + 1, s->end);
}

static bool end_walk(struct json_walk *w, const char *after) {
  w->close = 0;
  w->after = after;
  w->value = NULL;
  return false;
}

// Returns the start of the next value, or NULL at the end or after an error.
static inline const char *find_next(struct json_walk *w) {
  struct json_scan *s = w->scan;
  if (!w->after && !(w->after = skip_value(s, w->value))) return NULL;
  const char *p = json_scan_blanks(w->after, s->end);
  char c = json_scan_peek(s, p);
  if (c == w->close) {
    end_walk(w, p + 1);
    return NULL;
  }
  if (!w->count) return p;
  if (c != ',') return json_scan_fail(s, p, w->close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  return json_scan_blanks(p + 1, s->end);
}

// Moves to the next value. Sets *out_from to the position after the previous value.
static inline bool walk_on(struct json_walk *w, const char **out_from) {
  if (!w->close || w->scan->wrong) return false;
  const char *p = find_next(w);
  if (!p) return false;
  *out_from = w->after;
  if (w->close == '}' && !(p = read_key(w, p))) return false;
  if (p == w->scan->end || json_scan_ends_scalar(*p)) return json_scan_fail(w->scan, p, "expected a value");
  w->value = p;
  w->after = NULL;
  w->count++;
  return true;
}

bool json_walk_next(struct json_walk *w) {
  const char *ignored;
  return walk_on(w, &ignored);
}

static inline bool key_is(const struct json_walk *w, str key) {
  return w->escaped ? json_text_equals(w->key, key) : str_eq(w->key, key);
}

// ---- members by their names

enum { HINT_BYTES = 32 };

// Compares `n` bytes, sixteen at a time. May read beyond `n`: HINT_BYTES bytes must be readable at both `a` and `b`.
static inline bool same_bytes(const char *a, const char *b, size_t n) {
#ifdef __SSE2__
  for (size_t i = 0;; i += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
    __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + i));
    uint32_t other = 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y));
    if (n - i <= 16) return !(other & ((UINT32_C(1) << (n - i)) - 1));
    if (other) return false;
  }
#else
  return memcmp(a, b, n) == 0;
#endif
}

static void remember(const struct json_walk *w, struct json_names *names, const char *from, int name) {
  if (w->count > JSON_HINTS || w->escaped || w->value - from > HINT_BYTES || w->scan->end - from <= HINT_BYTES) return;
  names->at[w->count - 1] = (struct json_hint){.p = from,
                                               .n = (uint8_t)(w->value - from),
                                               .key_at = (uint8_t)(w->key.p - from),
                                               .key_n = (uint8_t)w->key.n,
                                               .name = (int16_t)name};
}

// Skips a value and returns the position after the value. Checks for the most frequent types first.
static inline const char *pass_value(struct json_scan *s, const char *p) {
  if ((unsigned char)(*p - '0') < 10) return json_scan_scalar_end(p, s->end);
  return *p == '"' ? skip_string(s, p) : skip_value(s, p);
}

static void take_guessed(struct json_walk *w, const struct json_hint *h, const char *from, const char *value) {
  w->key = (str){from + h->key_at, h->key_n};
  w->escaped = false;
  w->value = value;
  w->after = NULL;
  w->count++;
}

// Skips members as long as their keys equal the keys at the same places of an earlier object, up to a member with a
// wanted name. Returns the index of this name. Returns -1 at a key that differs: the caller must then call read_member.
static inline int pass_known(struct json_walk *w, const struct json_names *names) {
  struct json_scan *s = w->scan;
  const char *from = w->after ? w->after : skip_value(s, w->value);
  size_t i = w->count;
  for (; from && i < JSON_HINTS && s->end - from > HINT_BYTES; i++) {
    const struct json_hint *h = &names->at[i];
    if (!h->n || !same_bytes(from, h->p, h->n)) break;
    const char *value = json_scan_blanks(from + h->n, s->end);
    if (value == s->end || json_scan_ends_scalar(*value)) break;  // no value: read_member reports the error
    if (h->name >= 0) {
      w->count = i;
      take_guessed(w, h, from, value);
      return h->name;
    }
    from = pass_value(s, value);
  }
  w->count = i;
  w->after = from;
  return -1;
}

static int name_of(const struct json_walk *w, const struct json_names *names) {
  for (size_t i = 0; i < names->count; i++)
    if (key_is(w, names->list[i])) return (int)i;
  return -1;
}

// Reads the next member, whatever its name. Stores the bytes between the previous value and this value as a hint for
// pass_known.
__attribute__((noinline)) static bool read_member(struct json_walk *w, struct json_names *names, int *out_name) {
  const char *from;
  if (!walk_on(w, &from)) return false;
  *out_name = name_of(w, names);
  remember(w, names, from, *out_name);
  return true;
}

int json_walk_find(struct json_walk *w, struct json_names *names) {
  int name = -1;
  while (name < 0 && w->close == '}' && !w->scan->wrong) {
    if (!w->scan->strict && (name = pass_known(w, names)) >= 0) return name;
    if (w->after && json_scan_peek(w->scan, w->after) == '}') return end_walk(w, w->after + 1), -1;
    if (!read_member(w, names, &name)) return -1;
  }
  return name;
}

str json_walk_value(struct json_walk *w) {
  if (!w->value || w->scan->wrong) return STR("");
  if (!w->after) w->after = json_scan_skip(w->scan, w->value);
  return w->after ? (str){w->value, (size_t)(w->after - w->value)} : STR("");
}

bool json_walk_key_is(const struct json_walk *w, str key) {
  return key_is(w, key);
}

bool json_walk_enter(struct json_walk *w, struct json_walk *out_inner) {
  return json_walk_open(out_inner, w->scan, w->value);
}

void json_walk_leave(struct json_walk *w, struct json_walk *inner) {
  ASSERT(w->scan == inner->scan);
  if (inner->scan->strict || !inner->close) {
    while (json_walk_next(inner)) {
    }
  } else if (!inner->scan->wrong) {
    if (inner->count && !inner->after) inner->after = json_scan_skip(inner->scan, inner->value);
    if (inner->after) end_walk(inner, skip_rest(inner->scan, inner->after, 1));
  }
  if (!inner->scan->wrong && !inner->close) w->after = inner->after;
}
