// SPDX-License-Identifier: Apache-2.0
// Represents a cell of a table as written in the source. The functions return the text, the number or the type of a
// cell, or write the cell in a short form. Views and summaries use them.
#pragma once
#include "base/arena.h"
#include "base/buf.h"

enum cell_kind {
  CELL_NONE,  // missing, null, or an empty field
  CELL_TEXT,  // a field of text, including its quotes
  CELL_JSON,  // a JSON value
};

struct cell {
  str raw;
  enum cell_kind kind;
};

static inline struct cell cell_of_field(str raw) {
  return (struct cell){raw, raw.n ? CELL_TEXT : CELL_NONE};
}

// Returns the value as text. Strings and quoted fields are unescaped, in the arena if they have escapes. JSON objects
// and arrays are returned as written. Returns STR_NONE for CELL_NONE.
str cell_text(const struct cell *c, struct arena *a);

// Returns whether the cell is a number in the syntax of JSON. A field may have quotes and blanks around the number.
bool cell_number(const struct cell *c, double *out);
bool text_number(str text, double *out);

// ---- for summaries

// Types of values, guessed from their form.
enum cell_type {
  TYPE_EMPTY,  // empty, null, NaN, - or <none>
  TYPE_BOOLEAN,
  TYPE_INTEGER,
  TYPE_NUMBER,
  TYPE_DATE,
  TYPE_LINK,
  TYPE_TEXT,
  TYPE_LIST,
  TYPE_OBJECT,
};

enum cell_type cell_type(const struct cell *c);

// Returns whether a text looks like a number that people write: digits with plus or minus, commas, a percent sign or a
// currency sign.
bool text_looks_numeric(str s);

// Returns the value as written, without blanks and quotes around it; escapes are not decoded.
str cell_inside(const struct cell *c);

// Appends the value on one line of at most `chars` characters. A longer value is cut, with an ellipsis.
void cell_put_short(struct buf *out, const struct cell *c, size_t chars);
