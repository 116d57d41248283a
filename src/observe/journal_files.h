// SPDX-License-Identifier: Apache-2.0
// The files of a journal. The functions of this header block until the disk has answered.
#pragma once
#include <dirent.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/fault.h"
#include "observe/journal.h"

enum { JOURNAL_NAME_SIZE = 40 };

// The names of a journal's files, the oldest first, in the arena.
struct journal_names {
  char **names;
  size_t count;
};
// Lists the files of a journal. If the folder cannot be read, returns false and sets errno.
bool journal_list(int folder, struct arena *a, struct journal_names *out);

struct journal_file {
  int folder, fd;  // -1 if not open
  uint64_t size;
};

// Opens and locks a file to append to. This is the newest file if it is not full and no other process appends to it,
// otherwise a new file. `salt` makes the name of a new file unique.
bool journal_file_open(struct journal_file *file, str folder, uint64_t file_max, const struct clock *clock,
                       uint32_t salt, struct fault *f);
// Appends lines. On failure, removes any part of the lines from the file and closes the file.
bool journal_file_append(struct journal_file *file, str lines, struct fault *f);
void journal_file_close(struct journal_file *file);

// Removes the oldest files that exceed the limits, except files to which a process appends.
void journal_expire(int folder, const struct journal_limits *limits, int64_t now_ms);
