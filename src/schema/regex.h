// SPDX-License-Identifier: Apache-2.0
// Patterns of ECMA-262, matched by PCRE2 with limits.
#pragma once
#include "base/arena.h"

struct regex;

// The pattern compiled into the arena. NULL when it is none: `why` says so.
enum { REGEX_WHY = 128 };
struct regex *regex_new(struct arena *a, str pattern, char why[REGEX_WHY]);

// What matching needs, kept for many matches; begins as {.arena = ...}.
struct regex_room {
  struct arena *arena;
  void *data, *context;  // made when first needed
};

enum regex_verdict { REGEX_NO, REGEX_YES, REGEX_LIMIT };

// Anywhere in the text, which is valid UTF-8. Takes what it cost off *steps; REGEX_LIMIT when that is not enough, or
// when one match is too much work.
enum regex_verdict regex_match(const struct regex *x, str text, struct regex_room *room, size_t *steps);
