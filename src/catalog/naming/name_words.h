// SPDX-License-Identifier: Apache-2.0
// The words of a tool's name: "listPullRequests" and "list_pull_requests" are list, pull, requests.
#pragma once
#include "base/arena.h"

enum { NAME_WORDS_MAX = 12 };  // words behind these are not looked at

// Lower-cases the name into the arena and splits it at everything that is no letter or digit, and where camelCase
// begins a word. Writes at most `max` slices, gives their number.
size_t name_words(struct arena *a, str name, str *out, size_t max);

// What singular and plural of a word have in common, to compare by: "issue" for issues, "polic" for policy and
// policies. A slice of the word.
str name_word_key(str word);

// May things be grouped by this word? Not by one that says what is done (get, list, create) or only joins (by, of).
// Some words are the one or the other by their place: `first` is true for the first of a name.
bool name_word_is_object(str word, bool first);
