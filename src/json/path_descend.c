// SPDX-License-Identifier: Apache-2.0
// Segments that go down: $..name. What a value holds itself comes before what those in it hold, so that in general a
// value is read once for the first and again for the second. A name alone is found in one pass: its bytes are looked
// for, and the brackets around them tell in which object it is. The results are then in the order of these objects.
#include <stdlib.h>

#include "base/find.h"
#include "base/mem.h"
#include "json/path_impl.h"
#include "json/scan_impl.h"
#include "json/text.h"

// A search by bytes passes so many in a step; to begin one takes some.
enum { MOST_HITS = 1 << 20, FIRST_HITS = 64, SEARCHED_BYTES = 256, SEARCH_STEPS = 8 };

static bool descend_any(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                        struct path_end *end) {
  struct json_walk w;
  bool on = path_select_all(r, s, v, sink, end);
  if (!on) return false;
  json_walk_open(&w, &r->doc, v);
  while (on && path_next(r, &w)) {
    struct path_end inner = {0};
    if (*w.value != '{' && *w.value != '[') continue;
    on = path_descend(r, s, w.value, sink, &inner);
    if (on) path_settle(r, &w, &inner);
  }
  path_learn(end, &w);
  return on && path_alive(r);
}

// ---- a name alone

// A key of that name: the object that it is in, and its value.
struct hit {
  const char *object, *value;
};

struct finder {
  struct path_run *r;
  str key;           // with its quotes
  const char *next;  // where these bytes come next; NULL: nowhere
  struct json_strings strings;
  unsigned depth;
  const char *open[JSON_DEEPEST];
  struct hit *hits;
  size_t count, room;
  const char *behind;  // the value that is searched ends before this; NULL: it was not read so far
  bool too_many;
};

// Letters, digits and a few marks can be written in one other way only: as \u00 and two digits.
static bool is_plain(str name) {
  for (size_t i = 0; i < name.n; i++) {
    char c = name.p[i];
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z', digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '-' && c != ' ' && c != '.') return false;
  }
  return true;
}

// Is a letter of the name written that way somewhere?
static bool is_escaped_somewhere(struct path_run *r, const char *from, str name) {
  const char *p = from, *end = r->doc.end;
  path_charge(r, SEARCH_STEPS + (uint64_t)(end - p) / SEARCHED_BYTES);
  while ((p = find_bytes(p, end, STR("\\u00"))) && path_charge(r, 1)) {
    int c = end - p >= 6 ? json_text_hex4(p + 2) : -1;
    if (c >= 0 && memchr(name.p, c, name.n)) return true;
    p += 4;
  }
  return false;
}

static void add_hit(struct finder *d, struct hit hit) {
  d->too_many = d->count == MOST_HITS;
  if (d->too_many) return;
  if (d->count == d->room) {
    d->room = d->room ? 2 * d->room : FIRST_HITS;
    d->hits = mem_grow(d->hits, d->room * sizeof *d->hits);
  }
  d->hits[d->count++] = hit;
}

// The bytes of the name lie at p, outside of strings: a key when a colon follows.
static void check_hit(struct finder *d, const char *p) {
  const char *end = d->r->doc.end, *object = d->open[d->depth - 1];
  p = json_scan_blanks(p + d->key.n, end);
  if (p == end || *p != ':' || *object != '{') return;
  p = json_scan_blanks(p + 1, end);
  if (p < end) add_hit(d, (struct hit){object, p});
}

// Where the bytes of the name come next.
static void search_on(struct finder *d, const char *from) {
  const char *end = d->r->doc.end;
  d->next = find_bytes(from, end, d->key);
  path_charge(d->r, (uint64_t)((d->next ? d->next : end) - from) / SEARCHED_BYTES);
}

// The hits that begin in a block, where strings begin.
static uint64_t hits_in(struct finder *d, const char *p, uint64_t opening) {
  uint64_t hits = 0;
  while (d->next && d->next < p + BLOCK_BYTES) {
    hits |= UINT64_C(1) << (d->next - p);
    search_on(d, d->next + 1);
  }
  return hits & opening;
}

// False: the value ends here, or the run does.
static bool read_events(struct finder *d, const char *p, const struct json_marks *m, uint64_t hits) {
  for (uint64_t left = m->opens | m->closes | hits; left; left &= left - 1) {
    unsigned i = block_first(left);
    if (hits >> i & 1) {
      check_hit(d, p + i);
      if (d->too_many) return false;
    } else if (m->opens >> i & 1) {
      if (d->depth == JSON_DEEPEST) return path_exceed(d->r, "the query goes too deep into this document");
      d->open[d->depth++] = p + i;
    } else if (--d->depth == 0) {
      d->behind = p + i + 1;
      return false;
    }
  }
  return true;
}

// Up to the end of the value, or of the last hit.
static void find_hits(struct finder *d, const char *v) {
  struct json_scan *doc = &d->r->doc;
  const char *p = v;
  search_on(d, v);
  for (bool on = true; on && d->next && p < doc->end; p += BLOCK_BYTES) {
    char rest[BLOCK_BYTES];
    bool whole = doc->end - p >= BLOCK_BYTES;
    if (!whole) json_scan_tail(doc, p, rest);
    struct json_marks m = json_scan_marks(&d->strings, whole ? p : rest);
    uint64_t hits = d->next < p + BLOCK_BYTES ? hits_in(d, p, m.quotes & m.strings) : 0;
    on = path_charge(d->r, 1) && read_events(d, p, &m, hits);
  }
}

static int compare_hits(const void *a, const void *b) {
  const struct hit *x = a, *y = b;
  if (x->object != y->object) return x->object < y->object ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static void sort_hits(struct finder *d) {
  size_t i = 1;
  while (i < d->count && d->hits[i - 1].object < d->hits[i].object) i++;
  if (i < d->count) qsort(d->hits, d->count, sizeof *d->hits, compare_hits);
}

static bool follow_hits(struct finder *d, const struct path_segment *s, const struct path_sink *sink) {
  bool on = true;
  for (size_t i = 0; on && i < d->count; i++) {
    struct path_end ignored = {0};
    bool again = i && d->hits[i - 1].object == d->hits[i].object;
    if (!again) on = path_charge(d->r, 1) && path_walk(d->r, s->next, d->hits[i].value, sink, &ignored);
  }
  return on;
}

// False in *out_done: there are too many, so that it must be done in the other way.
static bool descend_named(struct path_run *r, const struct path_segment *s, str key, const char *v,
                          const struct path_sink *sink, struct path_end *end, bool *out_done) {
  struct finder *d = mem_zero(sizeof *d);
  d->r = r;
  d->key = key;
  find_hits(d, v);
  end->behind = d->behind;
  sort_hits(d);
  *out_done = !d->too_many;
  bool on = path_alive(r) && (d->too_many || follow_hits(d, s, sink));
  mem_free(d->hits);
  mem_free(d);
  return on;
}

static bool descend(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                    struct path_end *end) {
  const struct path_selector *only = s->selectors;
  bool named = !only->next && only->kind == PATH_NAME && is_plain(only->name), done = false;
  if (named && !is_escaped_somewhere(r, v, only->name)) {
    bool on = descend_named(r, s, only->quoted, v, sink, end, &done);
    if (done || !on) return on;
  }
  return descend_any(r, s, v, sink, end);
}

bool path_descend(struct path_run *r, const struct path_segment *s, const char *v, const struct path_sink *sink,
                  struct path_end *end) {
  bool on = path_enter_level(r) && descend(r, s, v, sink, end);
  r->depth--;
  return on;
}
