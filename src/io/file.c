// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

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

// Gives the finished file its name.
static bool put_in_place(int folder, const char *from, const char *name, bool exclusive, struct fault *f) {
  if (!exclusive) return renameat(folder, from, folder, name) == 0 || refused(f, "cannot be renamed");
  bool ok = linkat(folder, from, folder, name, 0) == 0;
  if (!ok && errno == EEXIST) fault_set(f, FAULT_INVALID, "is there already");
  else if (!ok) refused(f, "cannot be linked");
  unlinkat(folder, from, 0);
  return ok;
}

bool file_write(int folder, const char *name, str text, bool exclusive, const struct rand_source *rand,
                struct fault *f) {
  char id[RAND_ID_SIZE], unfinished[NAME_MAX + 1];
  rand_id(rand, id);
  snprintf(unfinished, sizeof unfinished, ".%s" FILE_UNFINISHED, id);
  int fd = openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return refused(f, "cannot be made");
  bool ok = write_all(fd, text) || refused(f, "cannot be written");
  close(fd);
  if (ok && put_in_place(folder, unfinished, name, exclusive, f)) return true;
  if (!ok || !exclusive) unlinkat(folder, unfinished, 0);
  return false;
}
