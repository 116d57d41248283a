// SPDX-License-Identifier: Apache-2.0
// What the files of the table share.
#pragma once
#include "result/table.h"

// False when the text does not begin as JSON does. t->first is NULL, with f set, when there are no rows.
bool table_json_open(struct table *t, str path, struct arena *a, struct fault *f);
void table_json_rewind(struct table *t);
void table_json_seek(struct table *t, const char *begin);
bool table_json_next(struct table *t);
