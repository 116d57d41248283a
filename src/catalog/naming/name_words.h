// SPDX-License-Identifier: Apache-2.0
// Splits a tool's name into words: both "listPullRequests" and "list_pull_requests" give list, pull, requests.
#pragma once
#include "base/arena.h"

enum { NAME_WORDS_MAX = 12 };  // further words are ignored

// Splits a name at all characters except letters and digits, and at the start of camelCase words. Writes at most `max`
// words to `out`, in lower case, and returns their number.
size_t name_words(struct arena *a, str name, str *out, size_t max);

// Returns a form of the word that is the same for singular and plural: "issue" for issues, "polic" for policy and
// policies. The result is a slice of the word.
str name_word_key(str word);

// Returns whether the word can be the subject of a tool's name. Actions (get, list, create) and function words (by, of)
// cannot be the subject. Some words can be the subject unless they are the first word of the name; `first` is true for
// the first word.
bool name_word_is_object(str word, bool first);
