// SPDX-License-Identifier: Apache-2.0
// Detects text that repeats the structured content of a result. Reads text and JSON in parallel, without allocating
// memory.
#pragma once
#include "base/str.h"

// Returns whether the text repeats `json`, which must be valid. A text repeats `json` if the text is JSON with the same
// values in the same order (in short JSON, keys may be in any order); white space, escapes and forms of numbers are
// ignored. If `json` is an object with a single member, a text that repeats the value of this member also repeats
// `json`, because some servers wrap plain results.
bool says_same(str text, str json);
