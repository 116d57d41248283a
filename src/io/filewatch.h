// SPDX-License-Identifier: Apache-2.0
// Watches files for changes: a write, a rename over the file, a changed symbolic link, removal, re-creation. Ignores
// other files in the same folders. A path that ends with a slash is a folder, which changes if an entry is added to it
// or removed from it.
//
// A file counts as changed if its inode, size or time differs once `settle_ms` have passed without further events. An
// editor that saves in several steps therefore causes only one callback.
#pragma once
#include <sys/types.h>
#include <time.h>

#include "base/fault.h"
#include "io/loop.h"

struct filewatch;

enum { FILEWATCH_FILES = 64, FILEWATCH_LINKS = 16 };  // limits: number of files, and of links followed for each file

// Identity, size and times of a file, by which a changed file is detected.
struct file_state {
  bool there;
  dev_t dev;
  ino_t ino;
  off_t size;
  struct timespec changed, modified;
};
struct file_state file_state_of(const char *path);

// Called from the loop for each changed file, in the order in which the files were added. The callback may free the
// watch.
typedef void filewatch_changed(void *ctx, str path);

// On failure, for example at the system's limit on inotify instances, returns NULL with a reason in f.
struct filewatch *filewatch_new(struct loop *l, uint64_t settle_ms, filewatch_changed *changed, void *ctx,
                                struct fault *f);
void filewatch_free(struct filewatch **w);  // does not wait

// Adds a file. Neither the file nor its folders need to exist. Ignores a file that is watched already, and any file
// beyond FILEWATCH_FILES.
void filewatch_add(struct filewatch *w, str path);
// Adds a file that the caller has already read; `state` is the state that the file had then. Calls `changed` if the
// file has changed since.
void filewatch_add_since(struct filewatch *w, str path, const struct file_state *state);
// filewatch_keep stops watching the files for which `wanted` returns false.
typedef bool filewatch_wanted(void *ctx, str path);
void filewatch_keep(struct filewatch *w, filewatch_wanted *wanted, void *ctx);
