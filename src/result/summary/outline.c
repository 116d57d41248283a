// SPDX-License-Identifier: Apache-2.0
#include "result/summary/outline.h"

#include "base/assert.h"
#include "base/text/block.h"

struct outline_reader {
  struct json_scan scan;
  struct arena *a;
  size_t values;
};

static const char *read_value(struct outline_reader *r, const char *p, unsigned depth, struct outline *v);

// Counts the commas of an array up to the next string or bracket. This is a fast path, because an array may have very
// many numbers.
static void count_plain(struct json_walk *w) {
  const char *p = w->value, *end = w->scan->end, *last = NULL;
  size_t commas = 0;
  for (; end - p >= BLOCK_BYTES; p += BLOCK_BYTES) {
    struct block b = block_load(p), folded = block_or(b, 0x20);  // bit 0x20 turns '[' into '{' and ']' into '}'
    uint64_t marks = block_is(b, '"') | block_is(folded, '{') | block_is(folded, '}'), found = block_is(b, ',');
    if (marks) found &= (marks & -marks) - 1;
    commas += block_count(found);
    if (found) last = p + (63 - __builtin_clzll(found));
    if (marks) break;
  }
  if (!last) return;
  // The walk continues at the last comma. The element after this comma is not counted yet.
  w->count += commas - 1;
  w->after = last;
}

static const char *read_container(struct outline_reader *r, const char *p, unsigned depth, struct outline *v) {
  struct json_walk w;
  struct outline **to = &v->child;
  size_t kept = v->type == JSON_ARRAY ? OUTLINE_ELEMENTS : OUTLINE_MEMBERS;
  json_walk_open(&w, &r->scan, p);
  while (json_walk_next(&w)) {
    if (w.count > kept || r->values >= OUTLINE_VALUES) {
      if (w.close == ']' && *w.value != '"' && *w.value != '{' && *w.value != '[') count_plain(&w);
      continue;
    }
    struct outline *child = ARENA_NEW(r->a, struct outline);
    child->key = w.key;
    w.after = read_value(r, w.value, depth + 1, child);
    *to = child;
    to = &child->next;
    if (!w.after) break;
  }
  v->count = w.count;
  return r->scan.wrong ? NULL : w.after;
}

// Reads the value at p. Returns the position after the value, or NULL if the value is not JSON.
static const char *read_value(struct outline_reader *r, const char *p, unsigned depth, struct outline *v) {
  r->values++;
  v->type = json_scan_type(&r->scan, p);
  bool container = v->type == JSON_ARRAY || v->type == JSON_OBJECT;
  const char *after;
  if (container && depth < OUTLINE_DEPTH && r->values < OUTLINE_VALUES) {
    after = read_container(r, p, depth, v);
  } else {
    v->count = container ? OUTLINE_UNCOUNTED : 0;
    after = json_scan_skip(&r->scan, p);
  }
  ASSERT(!after || (after > p && after <= r->scan.end));
  v->span = (str){p, (size_t)((after ? after : r->scan.end) - p)};
  return after;
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// Turns the root into an array of all values of the text: the first value, and those that follow it.
static void read_more(struct outline_reader *r, const char *p, struct outline_text *out) {
  struct outline first = out->root, *all = &out->root, **to = &all->child;
  *all = (struct outline){.type = JSON_ARRAY, .count = 0, .span = {r->scan.begin, 0}};
  *to = ARENA_NEW(r->a, struct outline);
  **to = first;
  to = &(*to)->next;
  for (all->count = 1; p && p < r->scan.end && (*p == '{' || *p == '['); all->count++) {
    const char *begin = p;
    if (all->count < OUTLINE_ELEMENTS && r->values < OUTLINE_VALUES) {
      struct outline *v = ARENA_NEW(r->a, struct outline);
      p = read_value(r, p, 1, v);
      *to = v;
      to = &v->next;
    } else {
      p = json_scan_skip(&r->scan, p);
    }
    if (p) p = skip_blanks(p, r->scan.end);
    else out->broken = (size_t)(begin - r->scan.begin);
  }
  if (p && p < r->scan.end) out->broken = (size_t)(p - r->scan.begin);
  all->span.n = (size_t)(r->scan.end - r->scan.begin);
}

bool outline_read(str text, struct arena *a, struct outline_text *out) {
  struct outline_reader r = {.scan = json_scan(text), .a = a};
  struct outline_text made = {.broken = SIZE_MAX};
  const char *p = json_scan_first(&r.scan);
  if (p == r.scan.end) return false;
  const char *after = read_value(&r, p, 0, &made.root);
  if (!after) {
    made.broken = (size_t)(r.scan.wrong - r.scan.begin);
  } else {
    after = skip_blanks(after, r.scan.end);
    made.several = after < r.scan.end && (*after == '{' || *after == '[');
    if (made.several) read_more(&r, after, &made);
    else if (after < r.scan.end) made.broken = (size_t)(after - r.scan.begin);
  }
  if (made.broken < 2 || (!after && made.root.count == 0)) return false;
  *out = made;
  return true;
}
