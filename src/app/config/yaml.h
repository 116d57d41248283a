// SPDX-License-Identifier: Apache-2.0
// Converts YAML to JSON text. Scalars follow the YAML 1.2 core schema: yes, no, on and off are strings, 0o17 and 0x1f
// are numbers, and there is no merge key (<<).
//
// The converter rejects: more than one document, duplicate keys, keys that are not scalars, tags outside the core
// schema, .inf and .nan (JSON cannot express them), an alias inside the node it refers to, and input that exceeds the
// limits on depth or number of values.
#pragma once
#include "base/buf.h"
#include "base/fault.h"

enum { YAML_MAX_DEPTH = 64, YAML_MAX_VALUES = 100000 };  // YAML_MAX_VALUES also limits copies made by aliases

// Appends the JSON text; an empty stream becomes null. The size limit of `out` also bounds the expansion of aliases.
// On failure returns false and sets `f` to FAULT_INVALID or FAULT_LIMIT, with the path "line L, column C"; `out` then
// contains only a part of the text.
bool yaml_to_json(str text, struct buf *out, struct fault *f);
