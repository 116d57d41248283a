// SPDX-License-Identifier: Apache-2.0
// Tolerant arguments: converts text to a number, a boolean or null if the tool's schema requires it. The rules are
// fixed:
//
//   parse_stringified_object   the arguments are text that holds a JSON object
//   str_to_integer             " 42 " where the type is integer: -?(0|[1-9][0-9]*)
//   str_to_number              "129.0" where the type is number: a JSON number that a double can hold
//   str_to_boolean             "true" or "false" where the type is boolean
//   str_to_null                "null" where the type is null
//
// Except for the first, the rules apply only to top-level arguments whose types in the schema do not include "string".
// Nothing is guessed, renamed or dropped. The digits of a number are not changed.
#pragma once
#include "base/arena.h"
#include "json/json.h"

enum literal_rule {
  LITERAL_OBJECT,
  LITERAL_INTEGER,
  LITERAL_NUMBER,
  LITERAL_BOOLEAN,
  LITERAL_NULL,
};

const char *literal_rule_name(enum literal_rule rule);  // "str_to_integer"

struct literal_repair {
  enum literal_rule rule;
  str key;  // key of the argument, unescaped; STR_NONE for LITERAL_OBJECT
};

struct literal_repairs {
  struct literal_repair *list;  // in the order of the arguments
  size_t count;
};

// Sets *out to a copy of the JSON object that the string `v` contains, without byte order mark and surrounding white
// space. Returns false if `v` is not a string, or if the string does not contain an object within the limits.
bool literal_object(const struct json *v, const struct json_limits *limits, struct arena *a, str *out);

// Returns whether any argument may need a repair. This check is quick, and does not need the schema.
bool literal_suspects(const struct json *args);

enum { LITERAL_MOST_ARGS = 1024 };
// Repairs the object `args` as `schema` requires (NULL if there is no schema). Returns true if an argument was
// repaired: *out is then the text of the whole object, and the repairs are appended to *repairs; both are in the arena.
// An object with more than LITERAL_MOST_ARGS members is not repaired.
bool literal_repair(const struct json *args, const struct json *schema, struct arena *a, str *out,
                    struct literal_repairs *repairs);

enum { LITERAL_LISTED = 32 };
// Returns the repairs as [{"path":"$.i","rule":"str_to_integer"},…], but at most LITERAL_LISTED of them.
str literal_list(const struct literal_repairs *repairs, struct arena *a);
