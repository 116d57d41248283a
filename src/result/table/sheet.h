// SPDX-License-Identifier: Apache-2.0
// A text read as a table, row by row, without copying: comma-separated values and their like, a JSON array (or the
// members of an object, with their keys as the column "key"), JSON lines, or a Markdown table.
//
// A column is named by the header, or by the key of a member; "a.b" and "/a/b" name what lies in a member. A row that
// is no object has the columns "0", "1", … when it is an array, else the one column "value".
#pragma once
#include "base/fault.h"
#include "result/table/csv.h"
#include "json/scan.h"

enum { SHEET_COLUMNS = 64 };  // of a header that are known, and of those that are read at once

enum cell_kind {
  CELL_NONE,  // nothing, null, or an empty field
  CELL_TEXT,  // a field, with its quotes if it has them
  CELL_JSON,  // a JSON value
};

struct cell {
  str raw;
  enum cell_kind kind;
};

enum sheet_kind { SHEET_CSV, SHEET_MARKDOWN, SHEET_JSON, SHEET_JSON_LINES };

struct sheet {
  enum sheet_kind kind;
  str bytes;
  str names[SHEET_COLUMNS];  // what the header says; of JSON the keys of the first rows
  size_t columns;
  const char *first;                 // where the first row begins
  size_t row;                        // number of the row that was read last, from 0
  const char *begin;                 // and where it begins
  struct cell cells[SHEET_COLUMNS];  // those that are wanted, in their order
  str wanted[SHEET_COLUMNS];
  size_t wanted_count;
  uint64_t seen;      // of JSON: which of them some row had, as bits; a null is something
  size_t wanted_end;  // no field of a row from this one on is wanted
  bool wrong;         // JSON that is none: the rows end where it is, f of table_fault says so
  // For the readers.
  struct csv csv;
  uint8_t field[SHEET_COLUMNS];  // which field of a row a wanted column is
  struct json_scan scan;
  struct json_walk walk;
  struct sheet_keys *keys;  // of JSON: what is looked for in a row
  struct arena *arena;
  size_t next_row;
};

// Finds out what the text is. path: a JSONPath query or a pointer to the rows of JSON, or empty. Names live in the
// arena. False: f says what is missing.
bool sheet_open(struct sheet *t, str bytes, str path, struct arena *a, struct fault *f);

// Which columns the cells of rows are from now on, at most SHEET_COLUMNS. False: f names one that is not there.
bool sheet_want(struct sheet *t, const str *names, size_t count, struct fault *f);

// Had the rows that were read so far every column that is wanted? The header of other tables than JSON says so at once.
bool sheet_all_seen(const struct sheet *t);

// At the end of the rows, when one was not there in any of them: false, and f names it, as sheet_want does.
bool sheet_has_wanted(const struct sheet *t, struct fault *f);

void sheet_rewind(struct sheet *t);
void sheet_seek(struct sheet *t, const char *begin, size_t row);  // begin as of a row that was read
bool sheet_next(struct sheet *t);                                 // false at the end

// ---- cells

// What a cell says, in the arena when it has to be unescaped; containers as they are written. STR_NONE for nothing.
str cell_text(const struct cell *c, struct arena *a);

// A number, written as one.
bool cell_number(const struct cell *c, double *out);
bool text_number(str text, double *out);
