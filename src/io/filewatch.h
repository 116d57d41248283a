// SPDX-License-Identifier: Apache-2.0
// Files that somebody may save anew while we run: by writing into them, by renaming another file over them, by leading
// a symbolic link elsewhere, by removing and making them again. What happens beside them in their folders is not told.
//
// A file has changed when it is another one, or has another size or time, after nothing has happened to it for a
// moment: an editor that saves in several steps is told once.
#pragma once
#include <sys/types.h>
#include <time.h>

#include "base/fault.h"
#include "io/loop.h"

struct filewatch;

enum { FILEWATCH_FILES = 64, FILEWATCH_LINKS = 16 };  // at most, and links to follow from each

// What tells one state of a file from another.
struct file_state {
  bool there;
  dev_t dev;
  ino_t ino;
  off_t size;
  struct timespec changed, modified;
};
struct file_state file_state_of(const char *path);

// Called from the loop for each file that changed, in the order in which they were added; it may free the watch.
typedef void filewatch_changed(void *ctx, str path);

// NULL: f says why (the system's limit of watches).
struct filewatch *filewatch_new(struct loop *l, uint64_t settle_ms, filewatch_changed *changed, void *ctx,
                                struct fault *f);
void filewatch_free(struct filewatch **w);  // does not wait

// A file that need not be there yet, nor the folders that it is to be in. One that is watched already, or that there is
// no room for, is left as it is.
void filewatch_add(struct filewatch *w, str path);
// The same for one that was read before, in that state: if it is in another by now, that is told.
void filewatch_add_since(struct filewatch *w, str path, const struct file_state *state);
// All others are let go.
typedef bool filewatch_wanted(void *ctx, str path);
void filewatch_keep(struct filewatch *w, filewatch_wanted *wanted, void *ctx);
