// SPDX-License-Identifier: Apache-2.0
// Guesses the kind of a text from its first lines. A wrong guess only makes a summary less useful.
#pragma once
#include "result/table/sheet.h"

enum content_kind {
  CONTENT_PROSE,  // sentences or lines of any kind; Markdown
  CONTENT_HTML,   // HTML or XML
  CONTENT_JSON,   // one JSON value, or several one after another
  CONTENT_MIXED,  // plain words, followed by JSON that makes up most of the text
  CONTENT_TABLE,
  CONTENT_LOG,  // a log, or the output of a build or of tests
  CONTENT_DIFF,
  CONTENT_CODE,
  CONTENT_BLOB,  // unreadable: base64, minified text, control characters
};

struct content {
  enum content_kind kind;
  const char *what;      // description, such as "CSV", "Python source" or "base64"
  enum sheet_kind form;  // set for CONTENT_TABLE: SHEET_CSV, SHEET_PIPES or SHEET_ALIGNED
  char separator;        // delimiter, for SHEET_CSV
  size_t from;           // set for CONTENT_MIXED: offset of the JSON
};

// Guesses the kind of a text in UTF-8. Reads at most some tens of kilobytes.
struct content content_look(str text);

// Severity of a line of a log.
enum line_level { LINE_NO_LEVEL, LINE_DEBUG, LINE_INFO, LINE_WARN, LINE_ERROR };
enum { LINE_LEVELS = LINE_ERROR + 1 };
enum line_level content_log_level(str line);

// Returns the time at the beginning of a line, as it is written, or an empty string if the line has no time.
str content_log_time(str line);

// Returns the type of binary data, such as "PNG image", by its first bytes. Returns NULL if the type is unknown.
const char *content_magic(str bytes);
