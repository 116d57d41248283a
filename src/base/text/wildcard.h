// SPDX-License-Identifier: Apache-2.0
// Shell patterns for file names: `*` matches any run of characters, `?` one character, `[abc]` and `[a-z]` one of a
// set, `[!abc]` one outside a set. Any other character, and a `[` without its `]`, matches itself.
#pragma once
#include "base/str.h"

// Returns whether the whole text matches, case-sensitively, by UTF-8 characters. Takes up to pattern.n * text.n steps.
bool wildcard_match(str pattern, str text);
