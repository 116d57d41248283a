// SPDX-License-Identifier: Apache-2.0
// Words that mean the same to someone who looks for a tool: data/thesaurus.txt.
#pragma once
#include "base/str.h"

enum thesaurus_relation { THESAURUS_MEANS, THESAURUS_SHORT_FOR };

// Writes the stems that this stem means, or those that it is short for, to out, at most max; returns their number. They
// stay valid.
size_t thesaurus_find(enum thesaurus_relation relation, str stem, str *out, size_t max);
