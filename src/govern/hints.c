// SPDX-License-Identifier: Apache-2.0
#include "govern/hints.h"

static bool says(const struct json *annotations, const char *hint, enum json_type value) {
  return json_is(json_get(annotations, str_of(hint)), value);
}

struct tool_hints hints_of(const struct json *annotations) {
  return (struct tool_hints){
      .read_only = says(annotations, "readOnlyHint", JSON_TRUE),
      .idempotent = says(annotations, "idempotentHint", JSON_TRUE),
      .destructive = says(annotations, "destructiveHint", JSON_TRUE),
      .open_world = says(annotations, "openWorldHint", JSON_TRUE),
      .harmless = says(annotations, "destructiveHint", JSON_FALSE),
  };
}

bool hints_read(struct tool_hints h) {
  return h.read_only && !h.destructive;
}

enum capability_class hints_class(struct tool_hints h) {
  return hints_read(h) ? CLASS_OBSERVE : CLASS_ACT;
}

enum approval_mode hints_mode(struct tool_hints h) {
  if (hints_read(h)) return h.open_world ? APPROVAL_NETWORK : APPROVAL_READ_ONLY;
  return h.harmless && h.idempotent ? APPROVAL_DELEGATED : APPROVAL_DESTRUCTIVE;
}

bool hints_exceed(struct tool_hints own, struct tool_hints other) {
  return hints_mode(other) > hints_mode(own) || (other.destructive && !own.destructive);
}
