// SPDX-License-Identifier: Apache-2.0
// The kind of a text, guessed from its first lines. A wrong guess only makes a summary less useful.
#pragma once
#include "result/table/sheet.h"

enum content_kind {
  CONTENT_PROSE,  // sentences or lines of any kind; Markdown
  CONTENT_HTML,   // HTML or XML
  CONTENT_JSON,   // one value, or several one after another
  CONTENT_MIXED,  // words followed by JSON that is most of the text
  CONTENT_TABLE,
  CONTENT_LOG,  // log, or output of builds and tests
  CONTENT_DIFF,
  CONTENT_CODE,
  CONTENT_BLOB,  // unreadable: base64, minified text, control characters
};

struct content {
  enum content_kind kind;
  const char *what;      // description: "CSV", "Python source", "base64"
  enum sheet_kind form;  // CONTENT_TABLE: SHEET_CSV, SHEET_PIPES or SHEET_ALIGNED
  char separator;        // SHEET_CSV
  size_t from;           // CONTENT_MIXED: start of the JSON
};

// Guesses the kind of a text in UTF-8 from at most some tens of kilobytes.
struct content content_look(str text);

// Severity of a line of a log.
enum line_level { LINE_NO_LEVEL, LINE_DEBUG, LINE_INFO, LINE_WARN, LINE_ERROR };
enum { LINE_LEVELS = LINE_ERROR + 1 };
enum line_level content_log_level(str line);

// Returns the time at the beginning of a line, as written; empty if there is no time.
str content_log_time(str line);

// Returns the type of data by its first bytes, such as "PNG image"; NULL if it is unknown.
const char *content_magic(str bytes);
