// SPDX-License-Identifier: Apache-2.0
// Whole files, read within a bound and written so that a reader sees the old one or the new one, never a part. These
// calls wait for the disk: at the start, or on libuv's pool.
#pragma once
#include <limits.h>

#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

// As much as there is. False: FAULT_LIMIT when it is more than `max`, else FAULT_IO.
bool file_read(int fd, size_t max, struct buf *out, struct fault *f);

// Puts `text` under `name` in an open folder, for its owner alone (0600). `exclusive`: false, with FAULT_INVALID, when
// there is one already. `rand` names the file that it is until then.
bool file_write(int folder, const char *name, str text, bool exclusive, const struct rand_source *rand,
                struct fault *f);

// The same in two steps. Writes it aside, synced, under a name that nobody else has ...
enum { FILE_ASIDE_SIZE = RAND_ID_SIZE + 8 };
bool file_write_aside(int folder, str text, const struct rand_source *rand, char out_name[FILE_ASIDE_SIZE],
                      struct fault *f);
// ... and gives it its name, in place of what had it, for good: the folder is synced too.
bool file_rename(int folder, const char *from, const char *name, struct fault *f);

// A folder that only its owner can write to, made (0700) with those above it if need be. -1: f says why not.
int file_open_folder(str path, struct fault *f);
bool file_is_private(int fd, struct fault *f);  // nobody else can write to it
// Would that folder be opened, or made, as far as can be told without making anything? False: f says why not.
bool file_folder_fits(str path, struct fault *f);

// Do both paths lead to one file that exists?
bool file_is_same(const char *a, const char *b);
// The path with its links resolved, in *room; the path itself if it leads to nothing.
struct file_path {
  char text[PATH_MAX];
};
str file_real_path(str path, struct file_path *room);

// The end of the names of files that were being written; one that is old was left behind.
#define FILE_UNFINISHED ".new"
