// SPDX-License-Identifier: Apache-2.0
// What a verb asks a tool to do: data/verbs.txt.
#pragma once
#include "base/str.h"

enum verb {
  VERB_READ = 1,
  VERB_CREATE = 2,
  VERB_DELETE = 4,
  VERB_CHANGE = 8,
  VERB_RUN = 16,
  VERB_SEND = 32,
  VERB_COMPUTE = 64,
};

// The kinds of a stem, as bits; 0 when it is no such verb.
unsigned verb_kinds(str stem);
