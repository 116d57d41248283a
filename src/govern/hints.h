// SPDX-License-Identifier: Apache-2.0
// The annotations of a tool: hints of its server about effects, which nobody has verified.
#pragma once
#include "govern/mode.h"
#include "json/json.h"

struct tool_hints {
  bool read_only, idempotent, destructive, open_world;
  bool harmless;  // destructiveHint is false
};

struct tool_hints hints_of(const struct json *annotations);  // `annotations` may be NULL

// Returns whether the hints say that the tool has no effects. A tool that also has destructiveHint may have effects.
bool hints_read(struct tool_hints h);

// Returns the class and the approval mode that the hints suggest. A tool without hints has the class act and the mode
// destructive.
enum capability_class hints_class(struct tool_hints h);
enum approval_mode hints_mode(struct tool_hints h);

bool hints_exceed(struct tool_hints own, struct tool_hints other);  // whether `other` declares more effects than `own`
