// SPDX-License-Identifier: Apache-2.0
// A fixed set of names, each with a value, for lookups without hashing.
#pragma once
#include "base/arena.h"

struct name {
  str text;
  const void *value;
};

struct names {
  struct name *list;  // by length, then bytewise
  size_t count;
};

// Room for so many names; the caller fills names_add and calls names_sort once.
struct names *names_new(struct arena *a, size_t room);
void names_add(struct names *n, str text, const void *value);
void names_sort(struct names *n);

const struct name *names_find(const struct names *n, str text);  // NULL when it is not there
