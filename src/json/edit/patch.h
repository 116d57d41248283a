// SPDX-License-Identifier: Apache-2.0
// Edits hand-written JSON: all bytes outside of the changes stay the same, including comments, order and indentation.
// The text may be relaxed JSON (json/edit/relaxed.h).
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct json_patch {
  struct arena *arena;  // all results are allocated here
  str text;             // the original text
  str relaxed;  // the text with comments and trailing commas overwritten by blanks; nodes are spans of this copy
  struct json *root;
  str unit;  // white space of one level of indentation
  struct json_change *changes;
  size_t count, cap;
};

// Copies and parses the text. Returns false if the text is not JSON; `f` has the error and its position.
bool json_patch_init(struct json_patch *p, struct arena *a, str text, const struct json_limits *limits,
                     struct fault *f);

// json_patch_members drops the members for which `drop` returns true, then adds the member `key` at the end. If `drop`
// is NULL, no member is dropped; if key.p is NULL, no member is added. `value` is JSON text, and is indented like its
// surroundings. Call json_patch_members only once for each object.
typedef bool json_patch_drop(void *ctx, const struct json *member);
void json_patch_members(struct json_patch *p, const struct json *object, json_patch_drop *drop, void *ctx, str key,
                        str value);

// Replaces a value by JSON text.
void json_patch_replace(struct json_patch *p, const struct json *value, str text);

// Returns the text with all changes applied, in the arena.
str json_patch_apply(struct json_patch *p);

// Writes a value on several lines; an array without objects stays on one line. `unit` is the white space of one level
// of indentation; `margin` is written before every line except the first.
void json_pretty(struct buf *out, const struct json *v, str unit, str margin);
