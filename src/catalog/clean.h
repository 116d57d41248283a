// SPDX-License-Identifier: Apache-2.0
// Definitions without what a reader does not see: they come from servers, and agents read them.
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct clean_report {
  size_t hidden;  // texts that had hidden characters
  size_t cut;     // titles and descriptions that were too long
};

// The definition without hidden and control characters (base/text/plain.h) in its keys and strings: itself, byte for
// byte, when it has none, else a copy in the arena. Values of enum, const, default, examples and _meta keep C0
// controls other than ESC. A regular expression keeps its meaning: hidden characters become escapes. `name_key` is the
// member that names the item; its value stays. `longest`: bytes of a title or a description, 0 for any number.
// STR_NONE: two keys are the same without hidden characters.
str clean_definition(struct arena *a, const struct json *definition, str name_key, size_t longest,
                     struct clean_report *report);
