// SPDX-License-Identifier: Apache-2.0
// The formats that can be checked.
#pragma once
#include "base/str.h"

struct schema_format {
  const char *name;
  bool (*check)(str text);
};

const struct schema_format *schema_format_find(str name);  // NULL for one that is not known
