// SPDX-License-Identifier: Apache-2.0
#include "schema/name_set.h"

#include <stdlib.h>

struct names *names_new(struct arena *a, size_t room) {
  struct names *n = ARENA_NEW(a, struct names);
  n->list = ARENA_ARRAY(a, struct name, room + 1);
  return n;
}

void names_add(struct names *n, str text, const void *value) {
  n->list[n->count++] = (struct name){text, value};
}

static inline int compare(str a, str b) {
  if (a.n != b.n) return a.n < b.n ? -1 : 1;
  return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

static int compare_names(const void *a, const void *b) {
  return compare(((const struct name *)a)->text, ((const struct name *)b)->text);
}

void names_sort(struct names *n) {
  if (n->count) qsort(n->list, n->count, sizeof *n->list, compare_names);
}

const struct name *names_find(const struct names *n, str text) {
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
