// SPDX-License-Identifier: Apache-2.0
// The words of a tool's name: "listPullRequests" and "list_pull_requests" are list, pull, requests.
#pragma once
#include "base/arena.h"

enum { NAME_WORDS_MAX = 12 };  // further words are ignored

// Copies the name in lower case to the arena and splits it at everything other than letters and digits, and where
// camelCase begins a word. Writes at most `max` slices, and returns their number.
size_t name_words(struct arena *a, str name, str *out, size_t max);

// Returns the common part of the singular and plural of a word, for comparison: "issue" for issues, "polic" for policy
// and policies. A slice of the word.
str name_word_key(str word);

// Returns whether items may be grouped by this word: not by an action (get, list, create) or a function word (by, of).
// For some words that depends on their place: `first` is true for the first word of a name.
bool name_word_is_object(str word, bool first);
