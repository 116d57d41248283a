// SPDX-License-Identifier: Apache-2.0
// Removes invisible text from definitions, because servers write definitions and agents read them.
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct clean_report {
  size_t hidden;  // number of texts that had hidden characters
  size_t cut;     // number of titles and descriptions that were too long
};

// Removes hidden and control characters (base/text/plain.h) from the keys and strings of a definition. Returns the
// definition itself, byte for byte, if nothing must be removed, else a copy in the arena. Values of enum, const,
// default, examples and _meta keep C0 controls other than ESC. In a regular expression, hidden characters become
// escapes, so that it keeps its meaning. The value of the member `name_key`, which names the item, is not changed.
// `longest` is the maximum number of bytes of a title or a description; 0: no limit. Returns STR_NONE if two keys
// become equal.
str clean_definition(struct arena *a, const struct json *definition, str name_key, size_t longest,
                     struct clean_report *report);
