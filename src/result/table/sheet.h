// SPDX-License-Identifier: Apache-2.0
// Reads a text as a table, row by row, without copying. Views (result/view) and summaries (result/summary) use this
// reader for all tables: comma-separated values and similar formats, tables between pipes, columns aligned with blanks,
// JSON arrays, JSON objects (each member is a row, with its key as the column "key"), and JSON lines.
//
// The name of a column is in the header, or is the key of a member; "a.b" and "/a/b" name a value inside a member. A
// row that is an array has the columns "0", "1", …; a row that is a single value has the column "value".
#pragma once
#include "base/fault.h"
#include "result/table/cell.h"
#include "result/table/csv.h"
#include "json/scan.h"

enum {
  SHEET_COLUMNS = 64,  // maximum number of columns in a header, and of wanted columns
  SHEET_LISTED = 40,   // maximum number of columns for sheet_open_as
};

enum sheet_kind {
  SHEET_CSV,         // fields between delimiters, perhaps quoted: CSV, TSV
  SHEET_MARKDOWN,    // every row begins with a pipe
  SHEET_PIPES,       // lines with pipes, as psql and mysql print them; in summaries, also Markdown tables
  SHEET_ALIGNED,     // columns aligned with blanks, as kubectl prints them
  SHEET_JSON,        // elements of an array or members of an object
  SHEET_JSON_LINES,  // one JSON value after another
};

struct sheet {
  enum sheet_kind kind;
  str bytes;
  bool named;                // there is a header; always true after sheet_open
  str names[SHEET_COLUMNS];  // names in the header; for JSON, the keys of the first rows
  size_t columns;
  const char *first;                 // start of the first row
  size_t row;                        // number of the last row read, from 0
  const char *begin;                 // start of the last row read
  struct cell cells[SHEET_COLUMNS];  // cells of the last row read: the columns in `wanted`, in this order
  str wanted[SHEET_COLUMNS];
  size_t wanted_count;
  uint64_t seen;      // for JSON: bit mask of the wanted columns that some row had so far, even as null
  size_t wanted_end;  // number of fields to read from a row to get all wanted columns
  bool wrong;         // invalid JSON ended the rows; json_scan_fault(&scan) describes it
  // Private state of the readers.
  struct csv csv;                // tables that are read line by line use only its position
  uint8_t field[SHEET_COLUMNS];  // field number of each wanted column
  size_t starts[SHEET_LISTED];   // SHEET_ALIGNED if by_place is set: offset of each column in a line
  bool by_place;  // SHEET_ALIGNED: whether columns have fixed offsets; if not, each cell but the last is one word
  struct json_scan scan;
  struct json_walk walk;
  struct sheet_keys *keys;  // for JSON: the wanted names, prepared for the search in a row
  struct arena *arena;
  size_t next_row;
};

// Detects the format and reads the header. `path` is empty, or a JSONPath query or JSON Pointer to the rows in JSON.
// Column names are in the arena. Returns false and sets f if the text is not a table.
bool sheet_open(struct sheet *t, str bytes, str path, struct arena *a, struct fault *f);

// Opens a text of a known format (SHEET_CSV with its delimiter, SHEET_PIPES or SHEET_ALIGNED), whose header may be
// missing. Returns false if the text is not such a table.
bool sheet_open_as(struct sheet *t, str text, enum sheet_kind kind, char delimiter);

// Sets the columns that sheet_next reads into `cells`. `count` must be at most SHEET_COLUMNS. Returns false, with f
// set, if a column is unknown.
bool sheet_want(struct sheet *t, const str *names, size_t count, struct fault *f);

// Returns whether each wanted column was in at least one of the rows read so far. Tables with a header always return
// true.
bool sheet_all_seen(const struct sheet *t);

// Must be called after the last row. Returns false, with f set as by sheet_want, if a wanted column was in no row.
bool sheet_has_wanted(const struct sheet *t, struct fault *f);

void sheet_rewind(struct sheet *t);
void sheet_seek(struct sheet *t, const char *begin, size_t row);  // moves to a row that was read before

// Reads the next row into `cells`. Returns false at the end.
bool sheet_next(struct sheet *t);

// Reads the first `max` (at least 1) fields of the next row of a text table, as written. Returns the number of fields
// read, or 0 at the end.
size_t sheet_fields(struct sheet *t, size_t max, str *out);

// Like sheet_fields, for a table opened with sheet_open_as, but reads at most SHEET_LISTED fields. In a CSV row with
// more fields, the last one holds the rest of the row.
size_t sheet_listed(struct sheet *t, str out[SHEET_LISTED]);

// Returns the number of rows of a table opened with sheet_open_as, counted in one fast pass.
size_t sheet_count(const struct sheet *t);

// Returns the number of runs of dashes in a line that separates the header from the rows, such as |---|:--:| or
// ---+---; 0 for any other line.
size_t sheet_rule(str line);
