// SPDX-License-Identifier: Apache-2.0
#include "schema/name_set.h"

#include <stdlib.h>

#include "base/assert.h"

struct name_set *name_set_new(struct arena *a, size_t room) {
  struct name_set *n = ARENA_NEW(a, struct name_set);
  n->list = ARENA_ARRAY(a, struct name_set_entry, room);
  n->room = room;
  return n;
}

void name_set_add(struct name_set *n, str text, const void *value) {
  ASSERT(n->count < n->room);
  n->list[n->count++] = (struct name_set_entry){text, value};
}

static inline int compare(str a, str b) {
  if (a.n != b.n) return a.n < b.n ? -1 : 1;
  return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

static int compare_names(const void *a, const void *b) {
  return compare(((const struct name_set_entry *)a)->text, ((const struct name_set_entry *)b)->text);
}

void name_set_sort(struct name_set *n) {
  ASSERT(n->count <= n->room);
  if (n->count) qsort(n->list, n->count, sizeof *n->list, compare_names);
}

const struct name_set_entry *name_set_find(const struct name_set *n, str text) {
  size_t low = 0, high = n->count;
  while (low < high) {
    size_t mid = (low + high) / 2;
    int order = compare(text, n->list[mid].text);
    if (order == 0) return &n->list[mid];
    if (order < 0) high = mid;
    else low = mid + 1;
  }
  return NULL;
}
