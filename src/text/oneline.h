// SPDX-License-Identifier: Apache-2.0
// Puts untrusted text on one line, without invisible parts.
#pragma once
#include "base/arena.h"

// Replaces each run of white space and control characters by one blank. Removes blanks at the beginning and end, escape
// sequences of terminals, and hidden characters (plain_hidden). Returns `text` itself if nothing changes, otherwise a
// copy in the arena.
str oneline(struct arena *a, str text);
