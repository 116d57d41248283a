// SPDX-License-Identifier: Apache-2.0
// Patterns in which `*` matches any run of characters and every other character matches itself.
#pragma once
#include "base/str.h"

// Returns whether the whole text matches, case-sensitively. Takes at most pattern.n * text.n steps.
bool glob_match(str pattern, str text);

bool glob_is_plain(str pattern);  // has no `*`
