// SPDX-License-Identifier: Apache-2.0
// Detects text that repeats structured content, without allocating: reads both in parallel.
#pragma once
#include "base/str.h"

// Returns whether the text repeats the (checked) JSON: the text is JSON with the same values in the same order (short
// JSON: with keys in any order), ignoring white space, escapes and forms of numbers; or the JSON is an object whose
// only member is this text or these values, as wrappers of plain results make it.
bool says_same(str text, str json);
