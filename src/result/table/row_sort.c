// SPDX-License-Identifier: Apache-2.0
// Finds the rows that sort first. Rows are collected unsorted. When there are twice as many rows as wanted, quickselect
// finds the half that sorts last, and this half is dropped. Quickselect partitions the list repeatedly around a row,
// the pivot.
#include "result/table/row_sort.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"

enum { NUMBER, TEXT, NOTHING };
enum { ROOM_MIN = 256, SORTED_MAX = 16 };

void row_sort_init(struct row_sort *s, size_t most, bool descending) {
  ASSERT(most > 0);
  *s = (struct row_sort){.descending = descending, .most = most};
  arena_init(&s->scratch);
}

void row_sort_done(struct row_sort *s) {
  mem_free(s->list);
  arena_done(&s->scratch);
}

// ---- the order

static int compare(struct row_sort *s, const struct sorted_row *a, const struct sorted_row *b) {
  int order = a->kind - b->kind;
  if (order && (a->kind == NOTHING || b->kind == NOTHING)) return order;
  if (!order && a->kind == NUMBER) order = (a->number > b->number) - (a->number < b->number);
  else if (!order && a->kind == TEXT) {
    if (s->scratch.head) arena_reset(&s->scratch);
    order = str_cmp(cell_text(&a->key, &s->scratch), cell_text(&b->key, &s->scratch));
  }
  if (order) return s->descending ? -order : order;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int compare_rows(const void *a, const void *b, void *sort) {
  return compare(sort, a, b);
}

static void sort(struct row_sort *s, size_t from, size_t to) {
  if (to > from) qsort_r(s->list + from, to - from, sizeof *s->list, compare_rows, s);
}

// ---- selection

static void swap(struct row_sort *s, size_t i, size_t k) {
  struct sorted_row row = s->list[i];
  s->list[i] = s->list[k];
  s->list[k] = row;
}

// Moves the rows that sort before the pivot (the median of three rows) in front of it. Returns the index of the pivot.
static size_t partition(struct row_sort *s, size_t from, size_t to) {
  ASSERT(to > from && to <= s->count);
  size_t a = from, b = from + (to - from) / 2, c = to - 1, left = from;
  if (compare(s, &s->list[a], &s->list[b]) > 0) swap(s, a, b);
  if (compare(s, &s->list[b], &s->list[c]) > 0) swap(s, b, c);
  if (compare(s, &s->list[a], &s->list[b]) < 0) swap(s, a, b);
  for (size_t i = from + 1; i < to; i++)
    if (compare(s, &s->list[i], &s->list[from]) < 0) swap(s, ++left, i);
  swap(s, from, left);
  return left;
}

// Moves the rows that sort first to the indexes up to `at`. If partitioning makes too little progress, which an
// attacker can cause, sorts the whole list.
static void select_first(struct row_sort *s, size_t at) {
  size_t from = 0, to = s->count;
  ASSERT(at < s->count);
  unsigned tries = 8;
  for (size_t n = to; n; n /= 2) tries += 2;
  while (to - from > SORTED_MAX && tries--) {
    size_t pivot = partition(s, from, to);
    if (pivot == at) return;
    if (pivot < at) from = pivot + 1;
    else to = pivot;
  }
  sort(s, from, to);
}

// ---- rows

static void cut(struct row_sort *s) {
  ASSERT(s->count >= s->most);
  select_first(s, s->most - 1);
  s->count = s->most;
  s->cut = true;
}

void row_sort_add(struct row_sort *s, const char *begin, size_t row, const struct cell *key) {
  ASSERT(s->most && s->count <= s->room);
  struct sorted_row x = {.begin = begin, .row = row, .key = *key};
  x.kind = key->kind == CELL_NONE ? NOTHING : cell_number(key, &x.number) ? NUMBER : TEXT;
  if (s->cut && compare(s, &x, &s->list[s->most - 1]) > 0) return;
  if (s->count == s->room) {
    s->room = s->room ? 2 * s->room : ROOM_MIN;
    s->list = mem_grow(s->list, s->room * sizeof *s->list);
  }
  s->list[s->count++] = x;
  if (s->count >= 2 * s->most && s->count >= ROOM_MIN) cut(s);
}

void row_sort_finish(struct row_sort *s, size_t start) {
  ASSERT(s->most);
  size_t end = s->count < s->most ? s->count : s->most;
  if (end < s->count) select_first(s, end - 1);
  s->count = end;
  if (start && start < end) select_first(s, start - 1);
  s->count = start < end ? end - start : 0;
  if (s->count && start) memmove(s->list, s->list + start, s->count * sizeof *s->list);
  sort(s, 0, s->count);
}
