// SPDX-License-Identifier: Apache-2.0
// Tolerant arguments: what a model wrote as text although the tool's schema wants a number, a boolean or null. The
// rules are few and fixed:
//
//   parse_stringified_object   the arguments are text that holds a JSON object
//   str_to_integer             " 42 " where the type is integer: -?(0|[1-9][0-9]*)
//   str_to_number              "129.0" where the type is number: a JSON number that a double can hold
//   str_to_boolean             "true" or "false" where the type is boolean
//   str_to_null                "null" where the type is null
//
// Only properties of the arguments themselves are looked at, and only where "string" is not among the types that the
// schema names. Nothing is guessed, renamed or dropped. A number keeps the bytes it was written in.
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
  str key;  // of the argument, unescaped; STR_NONE: the arguments as a whole
};

struct literal_repairs {
  struct literal_repair *list;  // in the order of the arguments
  size_t count;
};

// The text of the JSON object that a string holds, without a byte order mark and white space around it, in the arena.
// False: v is no string, or holds no object within the limits.
bool literal_object(const struct json *v, const struct json_limits *limits, struct arena *a, str *out);

// Could any of these arguments be repaired? Without a look at the schema, which costs more.
bool literal_suspects(const struct json *args);

// Puts args, an object, right by the schema (NULL: there is none). False: nothing was to be done; else *out has the
// whole object as text, and the repairs were appended to *repairs. Everything is in the arena. No tool has so many
// arguments as LITERAL_MOST_ARGS: more are left as they are.
enum { LITERAL_MOST_ARGS = 1024 };
bool literal_repair(const struct json *args, const struct json *schema, struct arena *a, str *out,
                    struct literal_repairs *repairs);

// [{"path":"$.i","rule":"str_to_integer"},…]: at most LITERAL_LISTED of them.
enum { LITERAL_LISTED = 32 };
str literal_list(const struct literal_repairs *repairs, struct arena *a);
