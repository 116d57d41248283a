// SPDX-License-Identifier: Apache-2.0
// A fixed set of names. Each name has a value. Lookups use binary search.
#pragma once
#include "base/arena.h"

struct name_set_entry {
  str text;
  const void *value;
};

struct name_set {
  struct name_set_entry *list;  // sorted by length, then bytewise
  size_t count, room;
};

// Creates an empty set for at most `room` names, in the arena. The caller must add all names and then sort the set.
struct name_set *name_set_new(struct arena *a, size_t room);
void name_set_add(struct name_set *n, str text, const void *value);
void name_set_sort(struct name_set *n);

const struct name_set_entry *name_set_find(const struct name_set *n, str text);  // NULL if not found
