// SPDX-License-Identifier: Apache-2.0
// A part of a kept piece, as text that fits a context window. What to show is said by a selector:
//
//   {"type": "head", "start": 0, "chars": 500}     characters (code points); both may be left out
//   {"type": "lines", "start": 0, "end": 100}      lines from 0, the end is not included; both may be left out
//   {"type": "rows", "start": 0, "end": 100}       the same
//   {"type": "json_keys", "keys": ["a", "b"]}      the members of a JSON object that are named, sorted and indented;
//                                                  "start": how many of them to leave out
//   {"type": "path", "path": "$.items[*].name"}    what a JSONPath query (json/path/path.h) selects in JSON text,
//                                                  each on a line of its own; "start": how many of them to leave out
//   {"type": "pointer", "pointer": "/items/0"}     the value at a JSON Pointer, as it is written in the text
//   {"type": "search", "query": "some words"}      the passages that hold the words, the best first; "top": so many;
//                                                  "start": how many of them to leave out
//   {"type": "records", "columns": ["a"]}          rows of a table; "where", "sort" and "limit": which of them; "path":
//                                                  the table in JSON text; "start": how many of them to leave out
//   {"type": "stats", "column": "a", "by": "b"}    what a column holds, for each value of another one; "where", "path"
//                                                  and "start" as with records
//
// Numbers below zero count from the end, as in a slice in Python. Lines are joined by \n, whatever ended them.
//
// A view never has more tokens than its limit. When there is more to show, its last line begins with the mark and has
// the selector that goes on where it was cut: following these selectors shows everything that the first one asked for.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum {
  VIEW_TOKENS = 2000,     // the usual limit
  VIEW_TOKENS_MIN = 200,  // a lower limit counts as this: the last line needs its room
  VIEW_TOKENS_MAX = 1 << 20,
  VIEW_CHARS = 500,  // of a head that says nothing
  VIEW_KEYS_MAX = 64,
};

// The bytes may be anything; what is no UTF-8 is shown as U+FFFD. False: f says what is wrong with the selector, or
// that json_keys was asked of what is no JSON object, or path or pointer of what is no JSON; FAULT_LIMIT when a query
// takes too many steps. Nothing was written. A limit of 0 is the usual one.
// mark: begins lines of ours (mcp/server/session.h).
bool view_select(str bytes, const struct json *selector, size_t limit, str mark, struct buf *out, struct fault *f);
