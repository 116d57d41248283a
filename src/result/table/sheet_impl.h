// SPDX-License-Identifier: Apache-2.0
// Functions that the files of the table reader (sheet.h) share.
#pragma once
#include "result/table/sheet.h"

// Splits a line of SHEET_PIPES or SHEET_ALIGNED into at most SHEET_LISTED fields. Returns the number of fields, or 0 if
// the line is not a row.
size_t sheet_split_line(const struct sheet *t, str line, str *out);

// Opens a table in JSON. Returns false if the text does not begin like JSON. If the JSON has no rows, sets t->first to
// NULL, and `f` to the reason.
bool sheet_json_open(struct sheet *t, str path, struct arena *a, struct fault *f);
void sheet_json_want(struct sheet *t);  // must be called after t->wanted and t->wanted_count have changed
void sheet_json_rewind(struct sheet *t);
void sheet_json_seek(struct sheet *t, const char *begin);
bool sheet_json_next(struct sheet *t);
