// SPDX-License-Identifier: Apache-2.0
// How common words are in tool definitions in general: experience that a small catalog does not have by itself.
#pragma once
#include "base/str.h"

// The share of all definitions, 0 to 1, that have a word with this stem.
double background_share(str stem);
