// SPDX-License-Identifier: Apache-2.0
// The upper part of JSON text, however large: the first elements and members of the first levels as nodes, everything
// else counted. The text is walked once and not copied; what lies deeper is skipped over (json/scan.h).
#pragma once
#include "base/arena.h"
#include "json/scan.h"

enum {
  OUTLINE_DEPTH = 6,       // levels with nodes
  OUTLINE_ELEMENTS = 60,   // of an array that get one
  OUTLINE_MEMBERS = 120,   // of an object
  OUTLINE_VALUES = 12000,  // nodes in all
};

struct outline {
  enum json_type type;
  str key;       // of a member, between its quotes, still escaped; else STR_NONE
  str span;      // of the text
  size_t count;  // elements or members, all of them; OUTLINE_UNCOUNTED when it was skipped
  struct outline *child, *next;
};

#define OUTLINE_UNCOUNTED SIZE_MAX

struct outline_text {
  struct outline root;  // of several values, an array of them
  bool several;         // values one after another, as in JSON Lines
  size_t broken;        // from this byte on it is no JSON; SIZE_MAX: all is
};

// False, with nothing in *out, when not even the beginning is JSON. A text that breaks off later has what was before.
bool outline_read(str text, struct arena *a, struct outline_text *out);
