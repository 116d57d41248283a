// SPDX-License-Identifier: Apache-2.0
// Finds guessable secrets with a rough estimate, which detects default and example values but does not measure entropy.
//
// Only unpredictable characters count. A character does not count if it repeats or continues the text before it (aaa,
// 123, qwerty, a repeated pair), or if it is part of a common placeholder word (changeme). A secret with fewer than
// STRENGTH_LEAST counted characters is weak; about 12 of 16 random hexadecimal digits count.
#pragma once
#include "base/str.h"

enum { STRENGTH_LEAST = 8 };

bool strength_is_weak(str secret);
