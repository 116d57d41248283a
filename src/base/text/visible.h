// SPDX-License-Identifier: Apache-2.0
// Shows untrusted text on one line with its hidden characters (base/text/plain.h) and control characters as escapes,
// such as \u{200b}.
#pragma once
#include "base/buf.h"

void visible_put(str text, struct buf *out);

// Returns whether visible_put escapes a character other than a line feed or a tab.
bool visible_has_hidden(str text);
