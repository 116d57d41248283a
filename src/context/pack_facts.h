// SPDX-License-Identifier: Apache-2.0
// Short statements in a text: `key: value` lines and the entries of lists.
#pragma once
#include "base/arena.h"

enum { FACTS_MOST = 64, FACT_CHARS = 200 };

// First the lines `key: value` or `key = value`, each key once, in lower case with underscores, at its first place with
// its last value; then numbered entries; then those behind -, * or •. None twice, none empty, none of FACT_CHARS or
// more characters; at most `max`. Only the beginning of a long text is looked at. Gives how many.
size_t facts_extract(str text, struct arena *a, str *out, size_t max);
