// SPDX-License-Identifier: Apache-2.0
// Checks whether the files of an audit log could be opened, without creating them.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/audit_impl.h"

static bool cannot(const char *path, const char *why, struct fault *f) {
  fault_set(f, FAULT_IO, "the audit log %s cannot be opened: %s", path, why);
  return false;
}

// Returns whether the nearest existing folder above the file is writable.
static bool can_make(struct arena *a, const char *path, struct fault *f) {
  str above = str_of(path);
  struct stat st;
  for (;;) {
    const char *slash = memrchr(above.p, '/', above.n);
    above = !slash ? STR(".") : (str){above.p, slash == above.p ? 1 : (size_t)(slash - above.p)};
    const char *folder = arena_cstr(a, above);
    if (stat(folder, &st) == 0)
      return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 || cannot(path, strerror(errno), f);
    if (errno != ENOENT || above.n == 1) return cannot(path, strerror(errno), f);
  }
}

static bool can_open(struct arena *a, const char *path, struct fault *f) {
  struct stat st;
  int fd = open(path, AUDIT_OPEN_FLAGS);
  if (fd < 0) return errno == ENOENT ? can_make(a, path, f) : cannot(path, strerror(errno), f);
  bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  close(fd);
  return regular || cannot(path, "it is not a regular file", f);
}

static bool holds_log(const char *path, const char *head_path, struct fault *f) {
  int fd = open(path, AUDIT_OPEN_FLAGS);
  bool ok = fd < 0 || audit_is_log(fd, path, head_path, f);
  if (fd >= 0) close(fd);
  return ok;
}

bool audit_can_open(str file, struct fault *f) {
  struct arena a;
  arena_init(&a);
  const char *path = arena_cstr(&a, file), *head_path = arena_printf(&a, "%.*s.head", STR_ARG(file)).p;
  bool ok = can_open(&a, path, f) && can_open(&a, head_path, f) && holds_log(path, head_path, f);
  arena_done(&a);
  return ok;
}
