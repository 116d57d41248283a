// SPDX-License-Identifier: Apache-2.0
// Edits of hand-written JSON: everything else stays byte for byte, with its comments, order and indentation. The text
// may be relaxed JSON (json/edit/relaxed.h).
//
// The caller collects changes by the nodes of the text, then applies all of them at once.
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct json_patch {
  struct arena *arena;  // owner of all memory
  str text;             // the original text
  str relaxed;          // the text with comments and trailing commas blanked: nodes are spans of it
  struct json *root;
  str unit;  // one level of indentation of the text
  struct json_change *changes;
  size_t count, cap;
};

// Copies and parses the text. False if it is no JSON; f has the error and its place.
bool json_patch_init(struct json_patch *p, struct arena *a, str text, const struct json_limits *limits,
                     struct fault *f);

// Drops members of an object (none if `drop` is NULL), then adds one at the end (none if key.p is NULL). At most one
// call for each object. `value` is JSON text; it is indented like its surroundings.
typedef bool json_patch_drop(void *ctx, const struct json *member);
void json_patch_members(struct json_patch *p, const struct json *object, json_patch_drop *drop, void *ctx, str key,
                        str value);

// Replaces a value by the JSON text.
void json_patch_replace(struct json_patch *p, const struct json *value, str text);

// Returns the text with all changes, in the arena.
str json_patch_apply(struct json_patch *p);

// Writes a value on several lines. `unit`: one level of indentation; `margin`: prefix of every line but the first.
// Lists without objects stay on one line.
void json_pretty(struct buf *out, const struct json *v, str unit, str margin);
