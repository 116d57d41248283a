// SPDX-License-Identifier: Apache-2.0
// What a text is: looked at from its beginning, cheaply, by what its lines have in common. A wrong guess only makes a
// summary less useful; it never fails.
#pragma once
#include "base/str.h"

enum content_kind {
  CONTENT_PROSE,  // sentences or lines, whatever they are; Markdown
  CONTENT_HTML,   // and XML
  CONTENT_JSON,   // one value, or several one after another
  CONTENT_MIXED,  // words, and JSON behind them that is most of it
  CONTENT_TABLE,
  CONTENT_LOG,  // and what builds and tests print
  CONTENT_DIFF,
  CONTENT_CODE,
  CONTENT_BLOB,  // nothing to be read: base64, minified, control characters
};

enum table_form {
  TABLE_SEPARATED,  // by one character, fields may be quoted: CSV, TSV
  TABLE_PIPES,      // Markdown, psql, mysql
  TABLE_ALIGNED,    // columns of blanks, as kubectl prints them
};

struct content {
  enum content_kind kind;
  const char *what;  // in words: "CSV", "Python source", "base64"
  enum table_form form;
  char separator;  // TABLE_SEPARATED
  size_t from;     // CONTENT_MIXED: where the JSON begins
};

// Of text in UTF-8. Reads at most some tens of kilobytes of it.
struct content content_look(str text);

// How grave a line of a log is.
enum line_level { LINE_NO_LEVEL, LINE_DEBUG, LINE_INFO, LINE_WARN, LINE_ERROR };
enum { LINE_LEVELS = LINE_ERROR + 1 };
enum line_level content_log_level(str line);

// The time at the beginning of a line, as it is written there; empty when there is none.
str content_log_time(str line);

// What bytes are by how they begin: "PNG image", "gzip archive"; NULL when that is not known.
const char *content_magic(str bytes);
