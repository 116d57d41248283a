// SPDX-License-Identifier: Apache-2.0
// A text file of the user that a command changes. The file is read as a whole and replaced atomically. If the path is a
// link, its target is replaced. The mode stays the same; if the command runs as root, so does the owner.
#pragma once
#include <sys/types.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/fault.h"

enum { TEXT_FILE_MAX = 16 << 20 };

struct text_file {
  str path;  // absolute path, with links resolved in the part that exists
  bool exists;
  mode_t mode;
  uid_t uid;
  gid_t gid;
  str text;  // content of the file; empty if the file does not exist
};

// Reads a file; a missing file is not an error. Allocates in the arena. Returns false if the file cannot be read, is
// not a regular file, or is a link to a missing file.
bool text_file_open(struct text_file *t, str path, struct arena *a, struct fault *f);

// Replaces the content of the file. New files and folders are accessible only to their owner. Returns false, with
// nothing changed, on failure, or if another program changed the file after text_file_open.
bool text_file_replace(struct text_file *t, str text, struct arena *a, struct fault *f);

// Writes another file in the folder of `t`, with the mode of `t`. Replaces an existing file.
bool text_file_write_beside(const struct text_file *t, str path, str text, struct fault *f);
