// SPDX-License-Identifier: Apache-2.0
// Detects text that repeats structured content. Reads text and JSON in parallel, without allocating memory.
#pragma once
#include "base/str.h"

// Returns whether the text repeats `json`, which must be valid. The text repeats it if it is JSON with the same values
// in the same order (in short JSON, keys may be in any order); white space, escapes and forms of numbers are ignored.
// The text also repeats an object whose only member is this text or has these values, because some servers wrap plain
// results.
bool says_same(str text, str json);
