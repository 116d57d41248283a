// SPDX-License-Identifier: Apache-2.0
// The grammar of ids, which agents use to name items:
//
//   primitive_id = [ kind "::" ] tool_id           kind = "resource" | "prompt"; tools have none
//   tool_id      = namespace ":" name [ "@" version ] [ "#" hash8 ]      at most 240 characters
//   namespace    = [a-z] [a-z0-9_-]{0,63}
//   name         = [A-Za-z_] [A-Za-z0-9_.-]{0,127}
//   version      = [A-Za-z0-9._-]{1,32}
//   hash8        = [0-9a-f]{8}                     required when there is no version
//
// catalog/naming/identify.h makes ids from definitions. Other modules parse ids with the functions of this header or
// treat ids as opaque.
#pragma once
#include "base/arena.h"
#include "base/fault.h"
#include "json/json.h"

enum {
  TOOL_ID_MAX = 240,
  TOOL_ID_NAMESPACE_MAX = 64,
  TOOL_ID_NAME_MAX = 128,
  TOOL_ID_VERSION_MAX = 32,
  TOOL_ID_HASH = 8,
};

enum tool_id_kind { TOOL_ID_TOOL, TOOL_ID_RESOURCE, TOOL_ID_PROMPT };

struct tool_id_parts {
  enum tool_id_kind kind;
  str namespace;
  str name;
  str version;  // STR_NONE if absent
  str hash8;    // STR_NONE if absent
};

// Splits the id of a tool into slices of `id`. Returns false if the id breaks a rule: `f` names the rule, and *out is
// unchanged.
bool tool_id_parse(str id, struct tool_id_parts *out, struct fault *f);

// Like tool_id_parse, for an id of any kind. Does not accept an id with "~2" at its end, which distinguishes resources
// or prompts with the same id (catalog/directory/directory.c).
bool primitive_id_parse(str id, struct tool_id_parts *out, struct fault *f);

// Writes an id of any kind: the inverse of primitive_id_parse, with the same checks.
bool tool_id_format(const struct tool_id_parts *parts, struct arena *a, str *out_id, struct fault *f);

bool tool_id_is_namespace(str s);
bool tool_id_is_name(str s);
bool tool_id_is_version(str s);

// Returns the namespace that a name seems to have: the text before the first '.'; else before the first '/'; else
// before the first '_' if the name has at least two '_'; else "mcp". Does not check the grammar. The result is a part
// of the name, or "mcp".
str tool_id_infer_namespace(str name);

// Returns the name without its namespace: the text after the first '.', else after the first '/', if there is text
// before and after it; else the whole name. Underscores are ignored, because they may be part of the name.
str tool_id_infer_name(str name);

// These functions return a text, changed to fit the grammar of ids. Different texts may give the same result.
str tool_id_fit_namespace(struct arena *a, str text);
str tool_id_fit_name(struct arena *a, str text);

// Returns the hash8 of a text: the first hex digits of its SHA-256, allocated in the arena.
str tool_id_hash8(struct arena *a, str text);
