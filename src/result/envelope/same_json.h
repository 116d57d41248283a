// SPDX-License-Identifier: Apache-2.0
// Detects text that repeats structured content, without allocating memory: reads text and JSON in parallel.
#pragma once
#include "base/str.h"

// Returns whether the text repeats `json`, which must be valid. Either the text is JSON with the same values in the
// same order (in short JSON, keys may be in any order), ignoring white space, escapes and forms of numbers. Or `json`
// is an object whose only member is this text or these values, as some servers wrap plain results.
bool says_same(str text, str json);
