// SPDX-License-Identifier: Apache-2.0
#include "app/clients/text_file.h"
#include "base/crypto/locked.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"

enum { LOCK_TRIES = 100, LOCK_PAUSE_NS = 50 * 1000 * 1000 };

// folder_of returns the folder of a path, name_of the part after the last slash. Both texts are in the arena.
static const char *folder_of(str path, struct arena *a) {
  return dirname(arena_cstr(a, path));
}

static const char *name_of(str path, struct arena *a) {
  return basename(arena_cstr(a, path));
}

// Resolves symbolic links in the part of the path that exists, so that a write replaces the target and not the link.
static str resolve(str path, struct arena *a) {
  char resolved[PATH_MAX], cwd[PATH_MAX];
  if (realpath(arena_cstr(a, path), resolved)) return arena_str(a, str_of(resolved));
  if (realpath(folder_of(path, a), resolved)) return arena_printf(a, "%s/%s", resolved, name_of(path, a));
  if (str_starts(path, STR("/")) || !getcwd(cwd, sizeof cwd)) return arena_str(a, path);
  return arena_printf(a, "%s/%.*s", cwd, STR_ARG(path));
}

static bool read_open(struct text_file *t, int fd, struct arena *a, struct fault *f) {
  struct stat st;
  struct buf b;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    fault_set(f, FAULT_IO, "the path is not a regular file");
    return false;
  }
  if (!file_read(fd, TEXT_FILE_MAX, &b, f)) return false;
  *t = (struct text_file){t->path, true, st.st_mode & 07777, st.st_uid, st.st_gid, arena_str(a, buf_view(&b))};
  buf_wipe(&b);
  return true;
}

bool text_file_open(struct text_file *t, str path, struct arena *a, struct fault *f) {
  *t = (struct text_file){.path = resolve(path, a), .mode = 0600, .uid = geteuid(), .gid = getegid()};
  int fd = open(arena_cstr(a, t->path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    struct stat st;
    if (lstat(arena_cstr(a, t->path), &st) != 0 || !S_ISLNK(st.st_mode)) return true;
    fault_set(f, FAULT_IO, "the path is a link to a file that does not exist: create that file, or remove the link");
    return false;
  }
  if (fd < 0) {
    fault_set(f, FAULT_IO, "cannot read the file: %s", strerror(errno));
    return false;
  }
  bool ok = read_open(t, fd, a, f);
  close(fd);
  return ok;
}

static int open_folder(const char *path, struct fault *f) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return file_open_folder(str_of(path), f);
  if (fd < 0) fault_set(f, FAULT_IO, "cannot open the folder of the file: %s", strerror(errno));
  return fd;
}

static bool put(const struct text_file *t, int folder, const char *name, str text, struct fault *f) {
  ASSERT(folder >= 0 && *name && !strchr(name, '/'));
  char aside[FILE_ASIDE_SIZE];
  if (!file_write_aside(folder, text, &rand_system, aside, f)) return false;
  bool ok = fchmodat(folder, aside, t->mode, 0) == 0;
  if (ok && geteuid() == 0) ok = fchownat(folder, aside, t->uid, t->gid, AT_SYMLINK_NOFOLLOW) == 0;
  // fchownat may clear bits of the mode, so the mode is set again.
  if (ok && geteuid() == 0) ok = fchmodat(folder, aside, t->mode, 0) == 0;
  if (!ok) fault_set(f, FAULT_IO, "cannot keep the mode and owner of the file: %s", strerror(errno));
  if (ok && file_rename(folder, aside, name, f)) return true;
  unlinkat(folder, aside, 0);
  return false;
}

bool text_file_write_beside(const struct text_file *t, str path, str text, struct fault *f) {
  struct arena a;
  arena_init(&a);
  int folder = open_folder(folder_of(path, &a), f);
  bool ok = folder >= 0 && put(t, folder, name_of(path, &a), text, f);
  if (folder >= 0) close(folder);
  arena_done(&a);
  return ok;
}

// Locks the folder until its descriptor is closed. Every replacement of a file in the folder needs this lock. Returns
// false if another command holds the lock for too long. On file systems without locks, continues without one.
static bool lock_folder(int folder, struct fault *f) {
  for (int tries = 0; flock(folder, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR); tries++) {
    if (tries == LOCK_TRIES) {
      fault_set(f, FAULT_IO, "another command is changing files in this folder: run the command again");
      return false;
    }
    nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
  }
  return true;
}

static bool is_unchanged(const struct text_file *t, struct arena *a, struct fault *f) {
  struct text_file now;
  if (!text_file_open(&now, t->path, a, f)) return false;
  if (now.exists == t->exists && str_eq(now.text, t->text)) return true;
  fault_set(f, FAULT_IO, "another program changed the file while this command was running: run the command again");
  return false;
}

bool text_file_replace(struct text_file *t, str text, struct arena *a, struct fault *f) {
  ASSERT(t->path.n && (t->exists || !t->text.n));
  int folder = open_folder(folder_of(t->path, a), f);
  bool ok =
      folder >= 0 && lock_folder(folder, f) && is_unchanged(t, a, f) && put(t, folder, name_of(t->path, a), text, f);
  if (folder >= 0) close(folder);
  if (!ok) return false;
  t->exists = true;
  t->text = arena_str(a, text);
  return true;
}
