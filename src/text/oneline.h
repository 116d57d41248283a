// SPDX-License-Identifier: Apache-2.0
// Text from outside as one line that shows all of itself.
#pragma once
#include "base/arena.h"

// White space and control characters become one blank wherever they stand together, none at the ends. Escape sequences
// of terminals and hidden characters (plain_hidden) are left out. Text that needs no change comes back as it is, other
// text in the arena.
str oneline(struct arena *a, str text);
