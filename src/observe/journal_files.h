// SPDX-License-Identifier: Apache-2.0
// The files of a journal. Functions of this header wait for the disk.
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
// Returns false with errno set if the folder cannot be read.
bool journal_list(int folder, struct arena *a, struct journal_names *out);

struct journal_file {
  int folder, fd;  // -1 if not open
  uint64_t size;
};

// Opens a file to append to, and locks it: the newest one, if it is not full and no other process appends to it,
// otherwise a new one. `salt` makes the name of a new file unique.
bool journal_file_open(struct journal_file *file, str folder, uint64_t file_max, const struct clock *clock,
                       uint32_t salt, struct fault *f);
// Appends lines. If this fails, no part of them remains in the file, which is closed.
bool journal_file_append(struct journal_file *file, str lines, struct fault *f);
void journal_file_close(struct journal_file *file);

// Removes old files. Files that a process appends to are kept.
void journal_expire(int folder, const struct journal_limits *limits, int64_t now_ms);
