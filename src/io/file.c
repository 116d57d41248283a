// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

enum { CHUNK = 65536 };

static bool refused(struct fault *f, const char *what) {
  fault_set(f, FAULT_IO, "%s: %s", what, strerror(errno));
  return false;
}

bool file_read(int fd, size_t max, struct buf *out, struct fault *f) {
  buf_init(out, max + CHUNK);
  while (out->n <= max) {
    char *room = buf_room(out, CHUNK);
    ssize_t k = read(fd, room, CHUNK);
    if (k < 0 && errno == EINTR) continue;
    if (k == 0) return true;
    if (k < 0) break;
    out->n += (size_t)k;
  }
  if (out->n > max) fault_set(f, FAULT_LIMIT, "is larger than %zu bytes", max);
  else refused(f, "cannot be read");
  buf_done(out);
  return false;
}

static bool write_all(int fd, str text) {
  while (text.n) {
    ssize_t k = write(fd, text.p, text.n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return false;
    text = str_from(text, (size_t)k);
  }
  return fsync(fd) == 0;
}

// Renames the finished temporary file `from` to `name`. With `exclusive`, fails if `name` exists.
static bool put_in_place(int folder, const char *from, const char *name, bool exclusive, struct fault *f) {
  if (!exclusive) return renameat(folder, from, folder, name) == 0 || refused(f, "cannot be renamed");
  bool ok = linkat(folder, from, folder, name, 0) == 0;
  if (!ok && errno == EEXIST) fault_set(f, FAULT_INVALID, "exists already");
  else if (!ok) refused(f, "cannot be linked");
  unlinkat(folder, from, 0);
  return ok;
}

bool file_write_aside(int folder, str text, const struct rand_source *rand, char out_name[FILE_ASIDE_SIZE],
                      struct fault *f) {
  char id[RAND_ID_SIZE], name[FILE_ASIDE_SIZE];
  rand_id(rand, id);
  snprintf(name, sizeof name, ".%s" FILE_UNFINISHED, id);
  int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return refused(f, "cannot be created");
  bool ok = write_all(fd, text) || refused(f, "cannot be written");
  close(fd);
  if (ok) memcpy(out_name, name, sizeof name);
  else unlinkat(folder, name, 0);
  return ok;
}

bool file_rename(int folder, const char *from, const char *name, struct fault *f) {
  if (renameat(folder, from, folder, name) != 0) return refused(f, "cannot be renamed");
  return fsync(folder) == 0 || refused(f, "cannot sync the folder of the file to disk");
}

bool file_write(int folder, const char *name, str text, bool exclusive, const struct rand_source *rand,
                struct fault *f) {
  char aside[FILE_ASIDE_SIZE];
  if (!file_write_aside(folder, text, rand, aside, f)) return false;
  if (put_in_place(folder, aside, name, exclusive, f)) return true;
  if (!exclusive) unlinkat(folder, aside, 0);
  return false;
}

// ---- folders

static bool make_folders(char *path) {
  for (char *p = path + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
    *p = '/';
    if (!ok) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool file_is_private(int fd, struct fault *f) {
  struct stat st;
  if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))) return true;
  fault_set(f, FAULT_IO,
            "other users can write to this file or folder: run chmod go-w, and chown it to the user of the gateway");
  return false;
}

int file_open_folder(str path, struct fault *f) {
  struct arena a;
  arena_init(&a);
  char *copy = arena_cstr(&a, path);
  int fd = make_folders(copy) ? open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd < 0) fault_set(f, FAULT_IO, "%s", strerror(errno));
  arena_done(&a);
  if (fd < 0 || file_is_private(fd, f)) return fd;
  close(fd);
  return -1;
}

// Opens the folder `path` or, if it does not exist, its nearest existing parent. Returns NULL on failure.
static DIR *nearest_folder(char *path) {
  DIR *dir = opendir(path);
  for (char *end; !dir && errno == ENOENT && (end = strrchr(path, '/')) && end > path; dir = opendir(path)) *end = 0;
  return dir;
}

bool file_folder_fits(str path, struct fault *f) {
  struct arena a;
  arena_init(&a);
  char *copy = arena_cstr(&a, path);
  DIR *dir = nearest_folder(copy);
  bool there = dir && strlen(copy) == path.n;
  bool ok = dir && access(copy, W_OK | X_OK) == 0;
  if (!ok) fault_set(f, FAULT_IO, "%s", strerror(errno));
  else ok = !there || file_is_private(dirfd(dir), f);
  if (dir) closedir(dir);
  arena_done(&a);
  return ok;
}

bool file_is_same(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

str file_real_path(str path, struct file_path *room) {
  char text[PATH_MAX];
  if (!path.n || path.n >= sizeof text) return path;
  memcpy(text, path.p, path.n);
  text[path.n] = 0;
  return realpath(text, room->text) ? str_of(room->text) : path;
}
