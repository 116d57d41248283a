// SPDX-License-Identifier: Apache-2.0
// Checks strings against the formats of the keyword "format".
#pragma once
#include "base/str.h"

struct schema_format {
  const char *name;
  bool (*check)(str text);
};

const struct schema_format *schema_format_find(str name);  // returns NULL for an unknown format
