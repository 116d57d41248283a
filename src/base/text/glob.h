// SPDX-License-Identifier: Apache-2.0
// Patterns in which `*` stands for any run of characters, and everything else for itself.
#pragma once
#include "base/str.h"

// The whole text matches, case-sensitive. Takes at most pattern.n * text.n steps.
bool glob_match(str pattern, str text);

bool glob_is_plain(str pattern);  // has no `*`
