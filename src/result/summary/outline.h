// SPDX-License-Identifier: Apache-2.0
// The upper part of JSON text of any size: nodes for the first elements and members of the first levels, and counts for
// the rest. The text is walked once and not copied; deeper values are skipped (json/scan.h).
#pragma once
#include "base/arena.h"
#include "json/scan.h"

enum {
  OUTLINE_DEPTH = 6,       // levels with nodes
  OUTLINE_ELEMENTS = 60,   // nodes of an array
  OUTLINE_MEMBERS = 120,   // nodes of an object
  OUTLINE_VALUES = 12000,  // nodes in all
};

struct outline {
  enum json_type type;
  str key;       // key of a member, without quotes but escaped; else STR_NONE
  str span;      // slice of the text
  size_t count;  // number of all elements or members; OUTLINE_UNCOUNTED: the value was skipped
  struct outline *child, *next;
};

#define OUTLINE_UNCOUNTED SIZE_MAX

struct outline_text {
  struct outline root;  // the value; an array if the text has several values
  bool several;         // values one after another, as in JSON Lines
  size_t broken;        // offset of the first byte that is not JSON; SIZE_MAX: all is JSON
};

// Reads the outline of a text. Returns false, with *out untouched, if the text does not begin with JSON. If it is
// invalid further down, the outline has the part before the error.
bool outline_read(str text, struct arena *a, struct outline_text *out);
