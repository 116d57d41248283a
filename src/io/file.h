// SPDX-License-Identifier: Apache-2.0
// Reads whole files up to a limit, and writes files atomically: a reader sees either the old or the new contents. These
// functions wait for the disk: call them only while the gateway starts, or on libuv's thread pool.
#pragma once
#include <limits.h>

#include "base/buf.h"
#include "base/crypto/rand.h"
#include "base/fault.h"

// Reads to the end of the file. Fails with FAULT_LIMIT if the file has more than `max` bytes, and with FAULT_IO if it
// cannot be read.
bool file_read(int fd, size_t max, struct buf *out, struct fault *f);

// Writes `text` to the file `name` in an open folder, with mode 0600. With `exclusive`, fails with FAULT_INVALID if the
// file exists. `rand` generates the name of the temporary file.
bool file_write(int folder, const char *name, str text, bool exclusive, const struct rand_source *rand,
                struct fault *f);

// file_write_aside writes and syncs a temporary file with a unique name, and returns this name in out_name
// (FILE_ASIDE_SIZE bytes). file_write_aside and file_rename together do the same as file_write without `exclusive`.
enum { FILE_ASIDE_SIZE = RAND_ID_SIZE + 8 };
bool file_write_aside(int folder, str text, const struct rand_source *rand, char out_name[FILE_ASIDE_SIZE],
                      struct fault *f);
// Renames the temporary file `from` to `name`, replaces an existing file of that name, and syncs the folder.
bool file_rename(int folder, const char *from, const char *name, struct fault *f);

// Opens a folder. Fails if the folder belongs to another user or if another user can write to it. Creates missing
// folders on the path (mode 0700). Returns the folder's descriptor, or -1 with a reason in f.
int file_open_folder(str path, struct fault *f);
// Returns true if the file or folder belongs to the user of this process and no other user can write to it.
bool file_is_private(int fd, struct fault *f);
// Returns whether file_open_folder is likely to succeed for `path`. Creates nothing. Sets f on failure.
bool file_folder_fits(str path, struct fault *f);

// Returns whether both paths lead to the same existing file.
bool file_is_same(const char *a, const char *b);
// Memory for the result of file_real_path. file_real_path resolves the symbolic links of a path; if the file does not
// exist, it returns the path unchanged.
struct file_path {
  char text[PATH_MAX];
};
str file_real_path(str path, struct file_path *room);

// Suffix of temporary files. An old file with this suffix is left over from an interrupted write.
#define FILE_UNFINISHED ".new"
