// SPDX-License-Identifier: Apache-2.0
// Checks a container without building nodes. To find duplicate keys, stores the position and length of each key of the
// open objects. The keys of a large object are sorted in place by their hashes, so that equal keys become neighbours.
// The check needs only eight bytes of memory for each key.
#include "base/assert.h"
#include "base/crypto/rand.h"
#include "json/parse_impl.h"

enum { INSERTION_UP_TO = 24, HASH_SHIFT = 32 };

struct key_place {
  uint32_t at;  // offset of the first byte of the key in the text
  uint32_t n : 31;
  uint32_t escaped : 1;
};

struct check {
  struct parser *s;
  unsigned top, depth;                   // depth of the checked container, and of the innermost open container
  uint32_t count;                        // number of elements or members of the checked container
  struct buf keys;                       // struct key_place: all keys of the open objects, outermost object first
  bool object[JSON_DEEPEST + 1];         // whether the open container at this depth is an object
  uint32_t first_key[JSON_DEEPEST + 1];  // index of the first key of the open container at this depth
};

// ---- keys

static str text_of(const struct check *c, struct key_place k) {
  return (str){c->s->start + k.at, k.n};
}

// Returns the unescaped key, which may be allocated in the arena. The caller must rewind the arena.
static str plain_of(const struct check *c, struct key_place k) {
  str text = text_of(c, k);
  if (!k.escaped) return text;
  char *plain = arena_alloc(c->s->arena, text.n);
  return (str){plain, json_text_unescape(text, plain)};
}

static bool fail_duplicate(struct check *c, struct key_place k) {
  return json_fail_duplicate(c->s, text_of(c, k), k.escaped);
}

static bool check_few(struct check *c, const struct key_place *list, size_t count) {
  str keys[JSON_PAIRS_UP_TO];
  uint64_t seen = 0;
  for (size_t n = 0; n < count; n++) {
    keys[n] = plain_of(c, list[n]);
    uint64_t bit = json_key_bit(keys[n]);
    if (seen & bit)
      for (size_t i = 0; i < n; i++)
        if (str_eq(keys[i], keys[n])) return fail_duplicate(c, list[n]);
    seen |= bit;
  }
  return true;
}

// Sorts by the byte at bit `shift`, then sorts each range of equal bytes by the next byte (radix sort). Short lists are
// sorted by insertion.
static void sort(uint64_t *list, size_t n, unsigned shift) {
  if (n <= INSERTION_UP_TO) {
    for (size_t i = 1; i < n; i++) {
      uint64_t x = list[i];
      size_t at = i;
      for (; at && list[at - 1] > x; at--) list[at] = list[at - 1];
      list[at] = x;
    }
    return;
  }
  size_t next[256], end[256] = {0};
  for (size_t i = 0; i < n; i++) end[list[i] >> shift & 0xff]++;
  for (size_t b = 0, sum = 0; b < 256; b++) next[b] = sum, end[b] = sum += end[b];
  for (size_t b = 0; b < 256; b++) {
    while (next[b] < end[b]) {
      size_t to = list[next[b]] >> shift & 0xff;
      uint64_t x = list[next[to]];
      list[next[to]++] = list[next[b]];
      if (to != b) list[next[b]] = x;
    }
  }
  for (size_t b = 0, from = 0; b < 256 && shift > HASH_SHIFT; from = end[b++])
    sort(list + from, end[b] - from, shift - 8);
}

// Returns the key that begins at offset `at` of the text. The key has been checked before.
static struct key_place place_at(const struct check *c, uint32_t at) {
  const char *p = c->s->start + at;
  bool escaped = false;
  for (; *p != '"'; p++)
    if (*p == '\\') escaped = true, p++;
  return (struct key_place){.at = at, .n = (uint32_t)(p - c->s->start - at) & INT32_MAX, .escaped = escaped};
}

static bool same_keys(struct check *c, uint32_t a, uint32_t b) {
  struct arena_mark before = arena_mark(c->s->arena);
  bool same = str_eq(plain_of(c, place_at(c, a)), plain_of(c, place_at(c, b)));
  arena_rewind(c->s->arena, &before);
  return same;
}

// Searches for duplicates in `list`, whose keys have the same hash. Returns the smallest offset of a key that repeats
// an earlier key, or `found` if `found` is smaller.
static uint32_t find_duplicate(struct check *c, const uint64_t *list, size_t n, uint32_t found) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) {
      uint32_t a = (uint32_t)list[i], b = (uint32_t)list[k], later = a > b ? a : b;
      if (later < found && same_keys(c, a, b)) found = later;
    }
  return found;
}

// Writes one number for each key to `out`: the key's hash in the upper half, its position in the text in the lower
// half.
static void hash_keys(struct check *c, struct key_place *list, size_t n, uint64_t *out) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct arena_mark before = arena_mark(c->s->arena);
  for (size_t i = 0; i < n; i++) {
    uint64_t hash = hash_sip(&seed, plain_of(c, list[i]));
    uint32_t at = list[i].at;
    out[i] = hash >> HASH_SHIFT << HASH_SHIFT | at;
    arena_rewind(c->s->arena, &before);
  }
}

static bool check_many(struct check *c, struct key_place *list, size_t n) {
  _Static_assert(sizeof *list == sizeof(uint64_t), "both use the same memory");
  uint64_t *sorted = (uint64_t *)(void *)list;
  uint32_t found = UINT32_MAX;
  hash_keys(c, list, n, sorted);
  sort(sorted, n, 56);
  for (size_t i = 0, same; i < n; i += same) {
    for (same = 1; i + same < n && sorted[i] >> HASH_SHIFT == sorted[i + same] >> HASH_SHIFT;) same++;
    if (same > 1) found = find_duplicate(c, sorted + i, same, found);
  }
  return found == UINT32_MAX || fail_duplicate(c, place_at(c, found));
}

static bool check_keys(struct check *c) {
  size_t first = c->first_key[c->depth], n = c->keys.n / sizeof(struct key_place) - first;
  if (!n) return true;
  struct key_place *list = (struct key_place *)(void *)c->keys.p + first;
  struct arena_mark before = arena_mark(c->s->arena);
  bool ok = n <= JSON_PAIRS_UP_TO ? check_few(c, list, n) : check_many(c, list, n);
  arena_rewind(c->s->arena, &before);
  c->keys.n = first * sizeof(struct key_place);
  return ok;
}

static inline const char *check_key(struct check *c, const char *p) {
  struct parser *s = c->s;
  if (json_peek(s, p) != '"') return json_fail_expected(s, p, "expected a key in quotes");
  uint8_t flags = 0;
  const char *begin = p + 1;
  if (!(p = json_check_string(s, begin, JSON_KEY_ESCAPED, &flags))) return NULL;
  if (p - begin > INT32_MAX) return json_fail_limit(s, begin, LIMIT_OTHER, INT32_MAX);
  struct key_place k = {
      .at = (uint32_t)(begin - s->start), .n = (uint32_t)(p - begin) & INT32_MAX, .escaped = flags != 0};
  buf_add(&c->keys, &k, sizeof k);
  p = json_skip_space(p + 1, s->end);
  if (json_peek(s, p) != ':') return json_fail_expected(s, p, "expected ':' after a key");
  return json_skip_space(p + 1, s->end);
}

// ---- containers

static inline char closing_of(const struct check *c) {
  return c->object[c->depth] ? '}' : ']';
}

static inline const char *enter(struct check *c, const char *p) {
  struct parser *s = c->s;
  if (++c->depth > s->max_depth) return json_fail_limit(s, p, LIMIT_DEPTH, s->max_depth);
  c->object[c->depth] = *p == '{';
  c->first_key[c->depth] = (uint32_t)(c->keys.n / sizeof(struct key_place));
  return json_skip_space(p + 1, s->end);
}

static inline const char *leave(struct check *c, const char *p) {
  if (c->object[c->depth] && !check_keys(c)) return NULL;
  c->depth--;
  return p + 1;
}

// Closes the containers that end at `p`. Returns the start of the next element or member, after its comma. Returns the
// position after the checked container if this container ends.
static inline const char *check_separators(struct check *c, const char *p) {
  struct parser *s = c->s;
  while (c->depth >= c->top) {
    p = json_skip_space(p, s->end);
    char x = json_peek(s, p);
    if (x == ',') return json_skip_space(p + 1, s->end);
    if (x != closing_of(c))
      return json_fail_expected(s, p, c->object[c->depth] ? "expected ',' or '}'" : "expected ',' or ']'");
    if (!(p = leave(c, p))) return NULL;
  }
  return p;
}

static const char *check_values(struct check *c, const char *p) {
  do {
    if (c->depth == c->top) c->count++;
    if (c->object[c->depth] && !(p = check_key(c, p))) return NULL;
    char x = json_peek(c->s, p);
    if (x != '{' && x != '[') {
      uint8_t type, flags = 0;
      p = json_check_scalar(c->s, p, &type, &flags);
    } else {
      p = enter(c, p);
      if (p && json_peek(c->s, p) != closing_of(c)) continue;
      if (p) p = leave(c, p);
    }
    if (!p || !(p = check_separators(c, p))) return NULL;
  } while (c->depth >= c->top);
  return p;
}

const char *json_check_container(struct parser *s, const char *p, unsigned depth, uint32_t *out_count) {
  ASSERT(depth >= 1 && depth <= JSON_DEEPEST);
  struct check c = {.s = s, .top = depth, .depth = depth - 1};
  buf_init(&c.keys, SIZE_MAX / 2);
  p = enter(&c, p);
  if (p && json_peek(s, p) == closing_of(&c)) p = leave(&c, p);
  else if (p) p = check_values(&c, p);
  ASSERT(!p || (c.depth == depth - 1 && c.keys.n == 0));
  *out_count = c.count;
  buf_done(&c.keys);
  return p;
}
