// SPDX-License-Identifier: Apache-2.0
// Removes invisible text from definitions: they come from servers, and agents read them.
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct clean_report {
  size_t hidden;  // texts that had hidden characters
  size_t cut;     // titles and descriptions that were too long
};

// Removes hidden and control characters (base/text/plain.h) from the keys and strings of a definition. Returns the
// definition itself, byte for byte, if it has none, else a copy in the arena. Values of enum, const, default, examples
// and _meta keep C0 controls other than ESC. A regular expression keeps its meaning: hidden characters become escapes.
// `name_key` is the member that names the item; its value stays. `longest`: bytes of a title or a description, 0 for no
// limit. STR_NONE if two keys are equal without hidden characters.
str clean_definition(struct arena *a, const struct json *definition, str name_key, size_t longest,
                     struct clean_report *report);
