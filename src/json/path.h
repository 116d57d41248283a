// SPDX-License-Identifier: Apache-2.0
// JSONPath (RFC 9535): queries such as $.items[?@.price < 10].name over parsed JSON.
//
// A query is compiled once, strictly, and may then be run on any number of documents. Nodes are handed out in the order
// of the RFC as they are found, so a run takes no memory for what lies between its steps. Regular expressions are
// I-Regexp (RFC 9485) and run in time that grows with the text, never with the ways to match it.
//
// Everything is bounded: the query by the constants below, a run by its limits. Work is counted in steps (about one for
// each value that is looked at), so the same query on the same document ends the same way on every machine.
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

// What a run does with a node; false ends the run, which then succeeds.
typedef bool json_path_visit(void *ctx, const struct json *node);

// Visits the nodes that the query selects, one may come more than once. The document is one that json_parse made.
// Scratch memory comes from the arena. False: FAULT_LIMIT, more steps than allowed, or a document and query that lie
// too deep; some nodes may have been visited.
bool json_path_each(const struct json_path *path, const struct json *root, const struct json_path_limits *limits,
                    struct arena *scratch, json_path_visit *visit, void *ctx, struct fault *f);

struct json_path_nodes {
  const struct json **list;
  size_t count;
};

// All nodes at once, listed in the arena. False as above, and when there are more than the limit.
bool json_path_find(const struct json_path *path, const struct json *root, const struct json_path_limits *limits,
                    struct arena *a, struct json_path_nodes *out, struct fault *f);

// Appends the normalized path of a node of that document: $['items'][3]['name'].
void json_path_locate(struct buf *out, const struct json *root, const struct json *node);
