// SPDX-License-Identifier: Apache-2.0
// Puts outside text on one line, without invisible parts.
#pragma once
#include "base/arena.h"

// Each run of white space and control characters becomes one blank; none stay at the ends. Escape sequences of
// terminals and hidden characters (plain_hidden) are removed. Returns text that needs no change itself, other text in
// the arena.
str oneline(struct arena *a, str text);
