// SPDX-License-Identifier: Apache-2.0
// Names that every client takes: letters, digits, '_' and '-', at most 64.
#pragma once
#include "base/arena.h"

enum { NAMES_MAX = 64 };

bool names_is_safe(str name);

// The name itself, or server__name with `prefix`; shortened with a stable hash of server and name when that is
// not safe, or when salt is not 0.
str names_safe(struct arena *a, str server, str name, bool prefix, unsigned salt);

// The URI itself, or server__uri with `prefix`.
str names_uri(struct arena *a, str server, str uri, bool prefix);
