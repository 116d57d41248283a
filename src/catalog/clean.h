// SPDX-License-Identifier: Apache-2.0
// Removes invisible characters from definitions. Servers write definitions and agents read them, so invisible text
// could instruct an agent without being noticed by people.
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct clean_report {
  size_t hidden;  // number of texts that had hidden characters
  size_t cut;     // number of titles and descriptions that were shortened
};

// Removes hidden and control characters (base/text/plain.h) from the keys and strings of a definition. Returns the
// definition itself if nothing must be removed, else a copy in the arena. Exceptions: in values of enum, const,
// default, examples and _meta, C0 controls other than ESC stay. In regular expressions, hidden characters are replaced
// by escapes, which match the same text. The value of the member `name_key`, which is the item's name, is not changed.
// `longest` is the maximum number of bytes of a title or a description; 0 means no limit. Returns STR_NONE if two keys
// of an object are equal after the removal.
str clean_definition(struct arena *a, const struct json *definition, str name_key, size_t longest,
                     struct clean_report *report);
