// SPDX-License-Identifier: Apache-2.0
// Rows and cells of tables that are text: CSV and its like, Markdown and psql with pipes, columns of blanks.
#pragma once
#include "result/summary/content_kind.h"

enum { TABLE_COLUMNS = 40 };  // of more, the rest is one cell

struct table {
  enum table_form form;
  char separator;
  size_t columns;
  bool named;                    // the first row is a header
  str names[TABLE_COLUMNS];      // of the columns, when there is one
  str body;                      // the text from the first row on that is no header
  size_t starts[TABLE_COLUMNS];  // TABLE_ALIGNED by place: where columns begin, in bytes
  bool by_place;                 // else by single words, the last column takes the rest
};

// Do these lines, from the first on, make a table of this form? Sets what and separator.
bool table_fits(const str *lines, size_t count, struct content *c);

// The text as such a table, its header read. False: it is none.
bool table_open(str text, const struct content *c, struct table *out);

// Takes the next row off the front of rest; gives the number of its cells. 0: there is no more, or it is no row.
size_t table_next(const struct table *t, str *rest, str cells[TABLE_COLUMNS]);

// All rows of the body, in one pass.
size_t table_count(const struct table *t);
