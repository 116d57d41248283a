// SPDX-License-Identifier: Apache-2.0
// Reads the lines of an audit log and its rotated files.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "observe/audit_impl.h"

unsigned audit_count_rotated(const char *path) {
  unsigned n = 0;
  bool there = true;
  while (there && ++n <= AUDIT_ROTATED_MAX) {
    char *name = audit_file_name(path, n);
    there = access(name, F_OK) == 0;
    mem_free(name);
  }
  return n - 1;
}

// Reads one file. Sets *out_stopped if `each` has returned false.
static bool read_file(const char *path, audit_each *each, void *ctx, bool *out_stopped, struct fault *f) {
  struct stat st;
  struct audit_place p;
  bool begins = true;  // the next text is at the beginning of a line
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  FILE *file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
  if (!file) {
    fault_set(f, FAULT_IO, "%s cannot be read: %s", path, fd < 0 ? strerror(errno) : "it is not a regular file");
    if (fd >= 0) close(fd);
    return false;
  }
  char *room = mem_alloc(AUDIT_LINE_MAX);
  while (!*out_stopped && fgets(room, AUDIT_LINE_MAX, file)) {
    str text = str_of(room);
    bool ends = str_ends(text, STR("\n"));
    if (ends) text.n--;
    if (begins && ends && audit_read_place(text, &p)) *out_stopped = !each(ctx, text, &p);
    begins = ends;
  }
  mem_free(room);
  fclose(file);
  return true;
}

bool audit_each_line(const char *path, audit_each *each, void *ctx, struct fault *f) {
  bool ok = true, stopped = false;
  for (unsigned n = audit_count_rotated(path) + 1; ok && !stopped && n-- > 0;) {
    char *name = audit_file_name(path, n);
    ok = read_file(name, each, ctx, &stopped, f);
    mem_free(name);
  }
  return ok;
}
