// SPDX-License-Identifier: Apache-2.0
// JSONPath (RFC 9535): queries such as $.items[?@.price < 10].name over JSON text.
//
// A query is compiled once, strictly, and may then be run on any number of texts. A run walks over the text
// (json/scan.h) and builds nothing: values are handed out in the order of the RFC as they are found, so it takes no
// memory for the text nor for what lies between its steps, and ends as soon as nobody wants more. What it does not look
// at it does not check either: of a text that is no JSON it may find values before it comes to the place that is wrong.
// Of a key that occurs twice in an object the first one counts.
//
// Regular expressions are I-Regexp (RFC 9485) and run in time that grows with the text, never with the ways to match
// it.
//
// Everything is bounded: the query by the constants below, a run by its limits. Work is counted in steps (about one for
// each value that is looked at and for each 64 bytes that are skipped), so the same query on the same text ends the
// same way on every machine.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "json/json.h"

enum {
  JSON_PATH_LENGTH_MAX = 4096,  // bytes of a query
  JSON_PATH_DEPTH_MAX = 32,     // parentheses, filters and function calls inside each other
};

struct json_path;

// The query lives in the arena, `query` is not needed afterwards. NULL: f has FAULT_INVALID (FAULT_LIMIT when it is too
// long, too deep or has too large a regular expression), a message that says the column and what is wrong, and the path
// "column N", counted in characters from 1.
struct json_path *json_path_compile(struct arena *a, str query, struct fault *f);

// What is worth telling about a query that is valid but can hardly be meant: a pattern that is no I-Regexp never
// matches. Empty when there is nothing.
str json_path_hint(const struct json_path *path);

struct json_path_limits {
  uint64_t max_steps;
  size_t max_nodes;  // of json_path_find
};

extern const struct json_path_limits json_path_default_limits;  // 20 million steps, 100 000 nodes

// The same with fewer steps for a text that is small: 3 million, and one for every 4 bytes. No query then takes longer
// than some tenths of a second.
struct json_path_limits json_path_limits_for(size_t bytes);

// What a run does with a value, which begins here; false ends the run, which then succeeds. *out_behind, which is NULL
// before, may be set to what is behind the value: it spares the run to look for it.
typedef bool json_path_visit(void *ctx, const char *value, const char **out_behind);

// Visits the values that the query selects, one may come more than once. Scratch memory comes from the arena. False:
// FAULT_LIMIT, more steps than allowed, or a text and query that lie too deep; FAULT_INVALID, the text is no JSON, with
// the path "line L, column C". Some values may have been visited.
bool json_path_each(const struct json_path *path, str text, const struct json_path_limits *limits,
                    struct arena *scratch, json_path_visit *visit, void *ctx, struct fault *f);

struct json_path_nodes {
  str *list;  // spans of the text
  size_t count;
};

// All of them at once, listed in the arena. False as above, and when there are more than the limit.
bool json_path_find(const struct json_path *path, str text, const struct json_path_limits *limits, struct arena *a,
                    struct json_path_nodes *out, struct fault *f);

// Appends the normalized path of the value that begins here in that text: $['items'][3]['name'].
void json_path_locate(struct buf *out, str text, const char *value);
