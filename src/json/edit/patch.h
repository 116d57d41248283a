// SPDX-License-Identifier: Apache-2.0
// Edits hand-written JSON: all bytes outside of the changes stay the same, with comments, order and indentation. The
// text may be relaxed JSON (json/edit/relaxed.h).
//
// The caller describes changes by the nodes of the parsed text, then applies all changes at once.
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct json_patch {
  struct arena *arena;  // arena for all memory
  str text;             // the original text
  str relaxed;  // the text with comments and trailing commas overwritten by blanks; nodes are spans of this copy
  struct json *root;
  str unit;  // one level of indentation in the text
  struct json_change *changes;
  size_t count, cap;
};

// Copies and parses the text. Returns false if the text is not JSON; `f` has the error and its position.
bool json_patch_init(struct json_patch *p, struct arena *a, str text, const struct json_limits *limits,
                     struct fault *f);

// Drops the members of an object for which `drop` returns true (NULL: drops no member), then adds a member at the end
// (key.p NULL: adds no member). May be called once for each object. `value` is JSON text; it is indented like its
// surroundings.
typedef bool json_patch_drop(void *ctx, const struct json *member);
void json_patch_members(struct json_patch *p, const struct json *object, json_patch_drop *drop, void *ctx, str key,
                        str value);

// Replaces a value by JSON text.
void json_patch_replace(struct json_patch *p, const struct json *value, str text);

// Returns the text with all changes applied, in the arena.
str json_patch_apply(struct json_patch *p);

// Writes a value on several lines; lists without objects stay on one line. `unit` is one level of indentation; `margin`
// is written before every line except the first.
void json_pretty(struct buf *out, const struct json *v, str unit, str margin);
