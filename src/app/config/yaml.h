// SPDX-License-Identifier: Apache-2.0
// YAML as JSON text, so that there is one configuration model. Scalars follow the YAML 1.2 core schema:
// yes, no, on and off are text, 0o17 and 0x1f are numbers, there is no merge key (<<).
//
// Refused: more than one document, duplicate keys, keys that are no scalars, tags outside the core schema,
// .inf and .nan (JSON has none), aliases to a node that is not complete, more depth or values than the limits.
#pragma once
#include "base/buf.h"
#include "base/fault.h"

enum { YAML_MAX_DEPTH = 64, YAML_MAX_VALUES = 100000 };  // after aliases were expanded

// Appends the JSON text; an empty stream is null. The maximum of `out` bounds what aliases can expand to.
// False on failure: f has FAULT_INVALID or FAULT_LIMIT and the path "line L, column C"; `out` holds a fragment.
bool yaml_to_json(str text, struct buf *out, struct fault *f);
