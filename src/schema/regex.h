// SPDX-License-Identifier: Apache-2.0
// Regular expressions of ECMA-262, matched by PCRE2 with limits.
#pragma once
#include "base/arena.h"

struct regex;

// regex_new compiles a pattern into the arena. For an invalid pattern, it returns NULL and writes the reason to `why`,
// an array of REGEX_WHY bytes.
enum { REGEX_WHY = 128 };
struct regex *regex_new(struct arena *a, str pattern, char why[REGEX_WHY]);

// Memory that many matches share, one after another. Must be initialized with {.arena = ...}.
struct regex_room {
  struct arena *arena;
  void *data, *context;  // allocated by the first match
};

enum regex_verdict { REGEX_NO, REGEX_YES, REGEX_LIMIT };

// Searches the text for a match. The text must be valid UTF-8. Subtracts the cost from *steps. Returns REGEX_LIMIT if
// *steps is too small, or if the match needs too much work.
enum regex_verdict regex_match(const struct regex *x, str text, struct regex_room *room, size_t *steps);
