// SPDX-License-Identifier: Apache-2.0
// Servers tell structured content a second time as text. Found out without memory: both are walked side by side.
#pragma once
#include "base/str.h"

// Does the text say what the (checked) JSON says? That is when it is JSON with the same values in the same order, white
// space, escapes and forms of numbers apart; of short ones in any order of keys. Or when the JSON is an object whose
// only member is this text, or these values, as wrappers of plain results make it.
bool says_same(str text, str json);
