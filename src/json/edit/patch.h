// SPDX-License-Identifier: Apache-2.0
// Changes of a JSON text that somebody wrote by hand: what does not change stays as it is, byte for byte, with its
// comments, order and indentation. The text may be relaxed JSON (json/edit/relaxed.h).
//
// The changes are collected first, by the nodes of the text, and then applied at once.
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct json_patch {
  struct arena *arena;  // everything lives there
  str text;             // as it was given
  str relaxed;          // the same without comments and trailing commas: nodes are spans of it
  struct json *root;
  str unit;  // one level of indentation, as the text has it
  struct json_change *changes;
  size_t count, cap;
};

// Takes a copy of the text. False: it is no JSON; f says what is wrong, and its path where.
bool json_patch_init(struct json_patch *p, struct arena *a, str text, const struct json_limits *limits,
                     struct fault *f);

// Drops members of an object, and then adds one at the end. `drop` may be NULL, and so may `key`: then nothing is
// dropped or added. At most one call for each object. `value` is JSON text; it is indented like its surroundings.
typedef bool json_patch_drop(void *ctx, const struct json *member);
void json_patch_members(struct json_patch *p, const struct json *object, json_patch_drop *drop, void *ctx, str key,
                        str value);

// Puts another value in the place of one.
void json_patch_replace(struct json_patch *p, const struct json *value, str text);

// The text with all changes, in the arena.
str json_patch_apply(struct json_patch *p);

// Writes a value on several lines. `unit`: one level of indentation; `margin`: what every line but the first begins
// with. Lists without objects stay on one line.
void json_pretty(struct buf *out, const struct json *v, str unit, str margin);
