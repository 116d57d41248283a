// SPDX-License-Identifier: Apache-2.0
// Shows a part of a stored piece as text that fits a context window. A selector names the part:
//
//   {"type": "head", "start": 0, "chars": 500}     characters (code points); both are optional
//   {"type": "lines", "start": 0, "end": 100}      lines from 0 up to, but not including, end; both are optional
//   {"type": "rows", "start": 0, "end": 100}       the same as lines
//   {"type": "json_keys", "keys": ["a", "b"]}      these members of a JSON object, sorted and indented;
//                                                  "start": number of members to skip
//   {"type": "path", "path": "$.items[*].name"}    the results of a JSONPath query (json/path/path.h) in JSON
//                                                  text, one in each line; "start": number of results to skip
//   {"type": "pointer", "pointer": "/items/0"}     the value at a JSON Pointer, as it is written in the text
//   {"type": "search", "query": "some words"}      passages with the words, best first; "top": their number;
//                                                  "start": number of passages to skip
//   {"type": "records", "columns": ["a"]}          rows of a table, chosen by "where", "sort" and "limit"; "path":
//                                                  the table in JSON text; "start": number of rows to skip
//   {"type": "stats", "column": "a", "by": "b"}    statistics of column "a" for each value of column "b"; "where",
//                                                  "path" and "start" as with records
//
// Negative numbers count from the end, as in a slice in Python. Lines are joined by \n.
//
// A view never has more tokens than its limit. If a view is cut, its last line starts with the gateway's mark and has
// the selector of the rest. Following these selectors shows everything that the first selector selects.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum {
  VIEW_TOKENS = 2000,     // default limit
  VIEW_TOKENS_MIN = 200,  // smaller limits are raised to this, because the last line needs room
  VIEW_TOKENS_MAX = 1 << 20,
  VIEW_CHARS = 500,  // default number of characters that the selector `head` shows
  VIEW_KEYS_MAX = 64,
};

// Appends the view. Invalid UTF-8 is shown as U+FFFD. A limit of 0 means the default. `mark` is the start of the
// gateway's lines (mcp/server/session.h). Fails, with nothing written, if the selector is invalid, or if it needs JSON
// and the bytes are not JSON. Fails with FAULT_LIMIT if a query takes too many steps.
bool view_select(str bytes, const struct json *selector, size_t limit, str mark, struct buf *out, struct fault *f);
