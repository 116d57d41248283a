// SPDX-License-Identifier: Apache-2.0
// A text file of the user's that a command changes: read whole, and replaced at once or not at all. A link is followed
// to the file that it names; mode and, for root, owner stay.
#pragma once
#include <sys/types.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/fault.h"

enum { TEXT_FILE_MAX = 16 << 20 };

struct text_file {
  str path;  // absolute, links resolved as far as they exist
  bool exists;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  str text;  // empty when it does not exist
};

// All in the arena. A file that does not exist is no failure. False: it cannot be read, is no regular
// file, or is a link to a file that does not exist.
bool text_file_open(struct text_file *t, str path, struct arena *a, struct fault *f);

// Writes the text under the same name; a new file is for its owner alone (0600), and so are new folders. False, with
// nothing changed, when that fails, or when somebody changed the file since it was opened.
bool text_file_replace(struct text_file *t, str text, struct arena *a, struct fault *f);

// Writes another file beside it, with its mode, in place of one of that name.
bool text_file_write_beside(const struct text_file *t, str path, str text, struct fault *f);
