// SPDX-License-Identifier: Apache-2.0
// Runs descendant segments, such as $..name. The selected children of a container come before everything selected
// inside these children, so in general a value is read twice. One pass is enough for names, and for filters that need a
// member with a certain name: the pass searches for the bytes of the names, and finds the object of each name by
// counting brackets. The results are then sorted by the order of their containers.
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/find.h"
#include "json/path/path_impl.h"
#include "json/scan_impl.h"
#include "json/text.h"

// The steps charged for a search for bytes: SEARCH_STEPS at its start, and one for every SEARCHED_BYTES bytes.
enum { MOST_HITS = 1 << 20, FIRST_HITS = 64, SEARCHED_BYTES = 256, SEARCH_STEPS = 8 };

static bool descend_any(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                        struct path_end *end);

static bool descend_children(struct path_run *r, const struct path_segment *s, const char *v,
                             const struct path_sink *sink, struct path_end *end) {
  struct json_walk w;
  bool on = true;
  json_walk_open(&w, &r->doc, v);
  while (on && path_next(r, &w)) {
    struct path_end inner = {0};
    if (*w.value != '{' && *w.value != '[') continue;
    on = descend_any(r, s, w.value, sink, &inner);
    if (on) path_settle(r, &w, &inner);
  }
  path_learn(end, &w);
  return on && path_alive(r);
}

static bool descend_any(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                        struct path_end *end) {
  bool on = path_enter_level(r) && path_select_all(r, s, v, sink, end) && descend_children(r, s, v, sink, end);
  r->depth--;
  return on;
}

// ---- names

// The result of a search for some bytes: `next` is the first place after `from` where they occur, or NULL. The result
// is valid for all positions between `from` and `next`, so a part of the text is searched only once, even if many
// searches begin in it.
struct ahead {
  const char *from, *next;
};

// A name to search for.
struct needle {
  str key;  // the name in quotes
  struct ahead ahead;
  const struct path_need *need;  // the member that the filter needs; NULL if the segment selects names
};

// A selected value. Offsets count from the start of the searched value.
struct hit {
  uint32_t holder, value;  // offsets of the container and of the value
  uint32_t selector;       // index of the selector; values of the same container are sorted by it
};

// The search for the names in one segment of the query. A run uses the same object for all searches of this segment.
struct path_finder {
  struct path_run *r;
  bool usable;                         // searching for bytes is possible for this segment
  const struct path_selector *filter;  // the segment's filter; NULL if the segment selects names
  struct needle needles[PATH_NEEDS];
  size_t needles_count;
  struct ahead escape;  // next escape of the form \u00 and two digits that stands for a character of a searched name
  struct hit *hits;
  size_t count, room;
  // Start of the value that is searched now. This and the following members belong to the search in this value.
  const char *begin;
  struct json_strings strings;
  const char *after;  // position after the value that is searched, or NULL if unknown
  bool too_many;
  unsigned depth;
  const char *open[JSON_DEEPEST];
  const char *tested[JSON_DEEPEST];  // for each depth: the object that the filter tested last
};

// Returns whether the only escapes for the characters of the name are of the form \u00 and two digits.
static bool is_plain(str name) {
  for (size_t i = 0; i < name.n; i++) {
    char c = name.p[i];
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '-' && c != ' ' && c != '.') return false;
  }
  return true;
}

static bool has_letter(const struct path_finder *d, int c) {
  for (size_t i = 0; i < d->needles_count; i++)
    if (memchr(d->needles[i].key.p + 1, c, d->needles[i].key.n - 2)) return true;
  return false;
}

// Finds the next escape, from p on, that stands for a character of a searched name.
static const char *find_escape(struct path_finder *d, const char *p) {
  const char *end = d->r->doc.end;
  path_charge(d->r, (uint64_t)(end - p) / SEARCHED_BYTES);
  while ((p = find_bytes(p, end, STR("\\u00"))) && path_charge(d->r, 1)) {
    int c = end - p >= 6 ? json_text_hex4(p + 2) : -1;
    if (c >= 0 && has_letter(d, c)) return p;
    p += 4;
  }
  return NULL;
}

static bool is_known(const struct ahead *a, const char *p) {
  return a->from && a->from <= p && (!a->next || p <= a->next);
}

// Returns whether a character of a searched name is written as an escape inside the searched value. Finds the end of
// this value only if necessary.
static bool is_escaped_inside(struct path_finder *d) {
  if (!is_known(&d->escape, d->begin)) d->escape = (struct ahead){d->begin, find_escape(d, d->begin)};
  if (!d->escape.next) return false;
  const char *after = json_scan_skip(&d->r->doc, d->begin);
  return path_passed(d->r, 0, d->begin, after) && after && d->escape.next < after;
}

static void add_hit(struct path_finder *d, const char *holder, const char *value, size_t selector) {
  ASSERT(holder >= d->begin && value > holder);
  d->too_many = d->count == MOST_HITS;
  if (d->too_many) return;
  if (d->count == d->room) {
    d->room = d->room ? 2 * d->room : FIRST_HITS;
    d->hits = mem_grow(d->hits, d->room * sizeof *d->hits);
  }
  d->hits[d->count++] = (struct hit){(uint32_t)(holder - d->begin), (uint32_t)(value - d->begin), (uint32_t)selector};
}

// Tests the current object with the filter. Called when the object has a member that the filter needs; `value` is the
// value of this member.
static void test_object(struct path_finder *d, const struct path_need *need, const char *value) {
  struct path_run *r = d->r;
  const char *object = d->open[d->depth - 1];
  struct path_end ignored = {0};
  if (d->depth < 2 || d->tested[d->depth - 1] == object) return;
  if (need->test) path_pick_member(r, need->member, value);
  if (need->test && !path_filter_test(r, need->test, object)) return;
  d->tested[d->depth - 1] = object;
  if (path_test(r, d->filter, object, &ignored)) add_hit(d, d->open[d->depth - 2], object, 0);
}

// Handles a searched name, in quotes, at `p`. The name is a key if a colon follows.
static void check_hit(struct path_finder *d, size_t needle, const char *p) {
  const char *end = d->r->doc.end, *object = d->open[d->depth - 1];
  p = json_scan_blanks(p + d->needles[needle].key.n, end);
  if (p == end || *p != ':' || *object != '{') return;
  p = json_scan_blanks(p + 1, end);
  if (p == end) return;
  if (d->filter) test_object(d, d->needles[needle].need, p);
  else add_hit(d, object, p, needle);
}

// Finds the next occurrence of the name from `from` on.
static void search_on(struct path_finder *d, struct needle *n, const char *from) {
  const char *end = d->r->doc.end, *next = find_bytes(from, end, n->key);
  n->ahead = (struct ahead){from, next};
  path_charge(d->r, (uint64_t)((next ? next : end) - from) / SEARCHED_BYTES);
}

static bool search_all(struct path_finder *d) {
  bool any = false;
  for (size_t i = 0; i < d->needles_count; i++) {
    struct needle *n = &d->needles[i];
    if (!is_known(&n->ahead, d->begin)) search_on(d, n, d->begin);
    any = any || n->ahead.next;
  }
  return any;
}

// Returns a mask of the quotes in `opening` at which a searched name begins. Sets *out_left to whether a searched name
// occurs after this block of 64 bytes.
static uint64_t hits_in(struct path_finder *d, const char *p, uint64_t opening, bool *out_left) {
  uint64_t hits = 0;
  *out_left = false;
  for (size_t i = 0; i < d->needles_count; i++) {
    struct needle *n = &d->needles[i];
    for (; n->ahead.next && n->ahead.next < p + BLOCK_BYTES; search_on(d, n, n->ahead.next + 1))
      hits |= UINT64_C(1) << (n->ahead.next - p);
    *out_left = *out_left || n->ahead.next;
  }
  return hits & opening;
}

static void check_needles(struct path_finder *d, const char *p) {
  str rest = {p, (size_t)(d->r->doc.end - p)};
  for (size_t i = 0; i < d->needles_count; i++)
    if (str_starts(rest, d->needles[i].key)) check_hit(d, i, p);
}

// Handles the brackets and the names found in a block of 64 bytes. Returns false when the searched value or the run
// ends.
static bool read_events(struct path_finder *d, const char *p, const struct json_marks *m, uint64_t hits) {
  for (uint64_t left = m->opens | m->closes | hits; left; left &= left - 1) {
    unsigned i = block_first(left);
    if (hits >> i & 1) {
      check_needles(d, p + i);
      if (d->too_many || !path_alive(d->r)) return false;
    } else if (m->opens >> i & 1) {
      if (d->depth == JSON_DEEPEST) return path_exceed(d->r, "the document is nested too deeply for this query");
      d->tested[d->depth] = NULL;
      d->open[d->depth++] = p + i;
    } else if (--d->depth == 0) {
      d->after = p + i + 1;
      return false;
    }
  }
  return true;
}

// Searches the value for the names, up to its end or to the last occurrence of a name.
static void find_hits(struct path_finder *d) {
  struct json_scan *doc = &d->r->doc;
  const char *p = d->begin;
  for (bool on = search_all(d); on && p < doc->end; p += BLOCK_BYTES) {
    char rest[BLOCK_BYTES];
    bool whole = doc->end - p >= BLOCK_BYTES, left;
    if (!whole) json_scan_tail(doc, p, rest);
    struct json_marks m = json_scan_marks(&d->strings, whole ? p : rest);
    uint64_t hits = hits_in(d, p, m.quotes & m.strings, &left);
    on = path_charge(d->r, 1) && read_events(d, p, &m, hits) && left;
  }
}

static int compare_hits(const void *a, const void *b) {
  const struct hit *x = a, *y = b;
  if (x->holder != y->holder) return x->holder < y->holder ? -1 : 1;
  if (x->selector != y->selector) return x->selector < y->selector ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static void sort_hits(struct path_finder *d) {
  size_t i = 1;
  while (i < d->count && compare_hits(&d->hits[i - 1], &d->hits[i]) <= 0) i++;
  if (i < d->count) qsort(d->hits, d->count, sizeof *d->hits, compare_hits);
}

// Returns whether the key of hit `i` already occurred in the same object. Only the first of several equal keys counts.
static bool is_again(const struct path_finder *d, size_t i) {
  const struct hit *x = &d->hits[i], *before = x - 1;
  return i && !d->filter && x->holder == before->holder && x->selector == before->selector;
}

static bool follow_hits(struct path_finder *d, const struct path_segment *s, const struct path_sink *sink) {
  ASSERT(d->usable);
  bool on = true;
  for (size_t i = 0; on && i < d->count; i++) {
    struct path_end ignored = {0};
    if (!is_again(d, i))
      on = path_charge(d->r, 1) && path_walk(d->r, s->next, d->begin + d->hits[i].value, sink, &ignored);
  }
  return on;
}

// ---- search in one pass

static bool add_needle(struct path_finder *d, str key, str name, const struct path_need *need) {
  if (d->needles_count == PATH_NEEDS || !is_plain(name)) return false;
  d->needles[d->needles_count++] = (struct needle){.key = key, .need = need};
  return true;
}

// Collects the names to search for. Returns false if the segment does not allow a search for the bytes of names.
static bool add_needles(struct path_finder *d, const struct path_segment *s) {
  const struct path_selector *selector = s->selectors;
  if (selector->kind == PATH_FILTER && !selector->next) {
    d->filter = selector;
    for (size_t i = 0; i < selector->needs_count; i++)
      if (!add_needle(d, selector->needs[i].quoted, selector->needs[i].member->name, &selector->needs[i])) return false;
    return selector->needs_count > 0;
  }
  for (; selector; selector = selector->next)
    if (selector->kind != PATH_NAME || !add_needle(d, selector->quoted, selector->name, NULL)) return false;
  return true;
}

static struct path_finder *finder_of(struct path_run *r, const struct path_segment *s) {
  struct path_finder *d = r->finders[s->descent];
  if (d) return d;
  d = r->finders[s->descent] = mem_zero(sizeof *d);
  d->r = r;
  d->usable = add_needles(d, s);
  return d;
}

static bool begin_search(struct path_finder *d, const char *v) {
  d->begin = v;
  d->strings = (struct json_strings){0};
  d->count = d->depth = 0;
  d->after = NULL;
  d->too_many = false;
  return path_charge(d->r, SEARCH_STEPS) && (uint64_t)(d->r->doc.end - v) <= UINT32_MAX && !is_escaped_inside(d);
}

bool path_descend(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                  struct path_end *end) {
  struct path_finder *d = finder_of(r, s);
  bool done = d->usable && begin_search(d, v), on = false;
  if (done) {
    find_hits(d);
    sort_hits(d);
    done = !d->too_many;
    end->after = d->after;
  }
  if (!done) return path_alive(r) && descend_any(r, s, v, sink, end);
  if (path_enter_level(r)) on = path_alive(r) && follow_hits(d, s, sink);
  r->depth--;
  return on;
}

void path_free_finders(struct path_run *r, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (r->finders[i]) mem_free(r->finders[i]->hits);
    mem_free(r->finders[i]);
  }
}
