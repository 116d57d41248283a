// SPDX-License-Identifier: Apache-2.0
// Reads the upper levels of JSON text of any size as a tree. The first elements and members of each container get
// nodes; the others are only counted. The text is read once and not copied; deeper values are skipped (json/scan.h).
#pragma once
#include "base/arena.h"
#include "json/scan.h"

enum {
  OUTLINE_DEPTH = 6,       // maximum number of levels with nodes
  OUTLINE_ELEMENTS = 60,   // maximum number of nodes for elements of an array
  OUTLINE_MEMBERS = 120,   // maximum number of nodes for members of an object
  OUTLINE_VALUES = 12000,  // maximum number of nodes of an outline
};

struct outline {
  enum json_type type;
  str key;       // for a member: its key, without quotes but with escapes; otherwise STR_NONE
  str span;      // the value as a slice of the text
  size_t count;  // number of all elements or members; OUTLINE_UNCOUNTED if the value was skipped
  struct outline *child, *next;
};

#define OUTLINE_UNCOUNTED SIZE_MAX

struct outline_text {
  struct outline root;  // the value of the text; if the text has several values, an array of them
  bool several;         // the text has values one after another, as in JSON Lines
  size_t broken;        // offset of the first byte that is not JSON; SIZE_MAX if the whole text is JSON
};

// Reads the outline of a text. Returns false, with *out unchanged, if the text does not begin with JSON. If an error
// follows later in the text, the outline has the part before the error.
bool outline_read(str text, struct arena *a, struct outline_text *out);
