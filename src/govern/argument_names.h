// SPDX-License-Identifier: Apache-2.0
// Names of arguments that evade a governance file. Constraints and expressions read arguments by their exact names, but
// a server may ignore case: it would read "AMOUNT" as the argument "amount" that the file limits.
#pragma once
#include "govern/govern.h"

// Finds a member of the arguments whose name differs from a name that the file reads at this place, but that a decoder
// which ignores case may read as this name (base/text/fold.h). Members that the tool's input schema names are allowed;
// `schema` may be NULL. If there is such a member, returns its name, and sets *out_path to the path that the file
// reads; otherwise returns STR_NONE. If there are too many names to compare, returns *out_path.
str argument_names_find(const struct governance *g, const struct governance_capability *c, const struct json *args,
                        const struct json *schema, struct arena *a, str *out_path);
