// SPDX-License-Identifier: Apache-2.0
// JSONPath (RFC 9535): queries such as $.items[?@.price < 10].name over JSON text.
//
// A query is compiled once, strictly, and runs on any number of texts. A run walks over the text (json/scan.h) and
// builds no nodes. It visits values in the order of RFC 9535 as it finds them, without memory for intermediate results,
// and stops when the visitor returns false. It checks only the text that it reads: in invalid JSON, it may visit values
// before it reaches the error. If a key occurs twice in an object, the first one counts.
//
// Regular expressions are I-Regexp (RFC 9485). Their time grows with the text, never with the number of ways to match.
//
// Everything is bounded: a query by the constants below, a run by struct json_path_limits. Work is counted in steps
// (about one for each value read and each 64 bytes skipped), so the same query on the same text gives the same result
// on every machine.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/fault.h"
#include "json/json.h"

enum {
  JSON_PATH_LENGTH_MAX = 4096,  // maximum length of a query in bytes
  JSON_PATH_DEPTH_MAX = 32,     // maximum nesting of parentheses, filters and function calls
};

struct json_path;

// Compiles a query into the arena; the caller may free `query` afterwards. Returns NULL on failure: `f` has a message,
// and the path "column N", counted in characters from 1. The code is FAULT_LIMIT if the query or a regular expression
// is too large or the query is nested too deeply, otherwise FAULT_INVALID.
struct json_path *json_path_compile(struct arena *a, str query, struct fault *f);

// Returns a hint about a valid query that is probably a mistake, or an empty text. Example: a pattern that is not a
// valid I-Regexp, and therefore never matches.
str json_path_hint(const struct json_path *path);

struct json_path_limits {
  uint64_t max_steps;
  size_t max_nodes;  // maximum number of values that json_path_find lists
};

extern const struct json_path_limits json_path_default_limits;  // 20 million steps, 100 000 nodes

// Returns the default limits, but with fewer steps for a small text: 3 million, plus one for every 4 bytes. With these
// limits, no query takes longer than a few tenths of a second.
struct json_path_limits json_path_limits_for(size_t bytes);

// Called for each selected value, with its start. Returns true to continue the run, or false to end it with success.
// May set *out_after (initially NULL) to the position after the value, so that the run need not search for this
// position.
typedef bool json_path_visit(void *ctx, const char *value, const char **out_after);

// Calls `visit` for each value that the query selects; a value may be visited more than once. Allocates temporary
// memory in `scratch`. Returns false with FAULT_LIMIT if a limit was exceeded, or with FAULT_INVALID and the path "line
// L, column C" if the text is not JSON. Values may have been visited before the failure.
bool json_path_each(const struct json_path *path, str text, const struct json_path_limits *limits,
                    struct arena *scratch, json_path_visit *visit, void *ctx, struct fault *f);

struct json_path_nodes {
  str *list;  // spans of the text
  size_t count;
};

// Lists all selected values in the arena. Fails in the same cases as json_path_each, and if more than limits->max_nodes
// values are selected.
bool json_path_find(const struct json_path *path, str text, const struct json_path_limits *limits, struct arena *a,
                    struct json_path_nodes *out, struct fault *f);

// Appends the normalized path of the value that starts at `value` in the text, such as $['items'][3]['name'].
void json_path_locate(struct buf *out, str text, const char *value);
