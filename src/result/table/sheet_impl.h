// SPDX-License-Identifier: Apache-2.0
// What the files of the table share.
#pragma once
#include "result/table/sheet.h"

// False when the text does not begin as JSON does. t->first is NULL, with f set, when there are no rows.
bool sheet_json_open(struct sheet *t, str path, struct arena *a, struct fault *f);
void sheet_json_want(struct sheet *t);  // wanted and wanted_count are set
void sheet_json_rewind(struct sheet *t);
void sheet_json_seek(struct sheet *t, const char *begin);
bool sheet_json_next(struct sheet *t);
