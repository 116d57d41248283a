// SPDX-License-Identifier: Apache-2.0
// Rotates audit files: FILE.1 is the newest rotated file. A file is removed only if it is old and enough newer files
// exist, so that a client that causes many new lines cannot remove old ones. The total size of the files is also
// limited.
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

char *audit_file_name(const char *path, unsigned number) {
  size_t room = strlen(path) + 16;
  char *name = mem_alloc(room);
  if (number) snprintf(name, room, "%s.%u", path, number);
  else snprintf(name, room, "%s", path);
  return name;
}

// Gets the status of a rotated file. Returns false if the file does not exist.
static bool look_at(const struct audit_file *a, unsigned number, struct stat *out) {
  char *name = audit_file_name(a->path, number);
  bool there = lstat(name, out) == 0;
  mem_free(name);
  return there;
}

static unsigned count_files(const struct audit_file *a, uint64_t *out_bytes) {
  struct stat st;
  unsigned n = 0;
  *out_bytes = 0;
  while (n < AUDIT_ROTATED_MAX && look_at(a, n + 1, &st)) {
    *out_bytes += (uint64_t)st.st_size;
    n++;
  }
  ASSERT(n <= AUDIT_ROTATED_MAX);
  return n;
}

bool audit_may_shift(const struct audit_file *a) {
  uint64_t bytes;
  return count_files(a, &bytes) < AUDIT_ROTATED_MAX;
}

// Returns whether a rotated file is older than keep_ms. A file whose time is in the future, because the clock was set
// back, does not count as old.
static bool is_old(const struct audit_file *a, unsigned number) {
  struct stat st;
  int64_t now = clock_wall_ms(a->clock);
  if (!look_at(a, number, &st)) return false;
  int64_t written = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
  return !a->keep_ms || (now > written && (uint64_t)(now - written) > a->keep_ms);
}

static bool remove_file(const struct audit_file *a, unsigned number) {
  char *name = audit_file_name(a->path, number);
  bool gone = unlink(name) == 0;
  mem_free(name);
  return gone;
}

// Removes old files, the oldest first, until `most` are left. Returns the number of files left.
static unsigned expire(const struct audit_file *a, unsigned count, unsigned most) {
  ASSERT(count <= AUDIT_ROTATED_MAX + 1);
  while (count > most && is_old(a, count) && remove_file(a, count)) count--;
  return count;
}

static bool move_file(const struct audit_file *a, unsigned number, unsigned next) {
  ASSERT(number + 1 == next || next + 1 == number);
  char *from = audit_file_name(a->path, number), *to = audit_file_name(a->path, next);
  bool moved = rename(from, to) == 0;
  int why = errno;
  mem_free(from);
  mem_free(to);
  errno = why;
  return moved;
}

// Renames the oldest file first, so that no file replaces another one. If a rename fails, undoes the earlier renames.
static bool move_all(const struct audit_file *a, unsigned count) {
  ASSERT(count <= AUDIT_ROTATED_MAX);
  unsigned to = count + 1;
  while (to && move_file(a, to - 1, to)) to--;
  if (!to) return true;
  int why = errno;
  while (to++ <= count) move_file(a, to, to - 1);
  errno = why;
  return false;
}

bool audit_shift_files(const struct audit_file *a, bool *out_gone) {
  uint64_t bytes;
  unsigned count = count_files(a, &bytes) + 1, least = a->keep ? a->keep : 1;
  bool none = !a->keep && !a->keep_ms;  // true if no rotated file is to be kept
  *out_gone = none && unlink(a->path) == 0;
  if (none) return *out_gone;
  if (!move_all(a, count - 1)) return false;
  *out_gone = expire(a, count, least) < count;
  return true;
}

uint64_t audit_first_kept(struct audit_file *a) {
  uint64_t seq = a->seq + 1;
  bool there = true;
  for (unsigned i = 1; there && i <= AUDIT_ROTATED_MAX; i++) {
    struct audit_place first;
    char *name = audit_file_name(a->path, i);
    there = audit_read_first(name, &first, a->room, sizeof a->room);
    if (there) seq = first.seq;
    mem_free(name);
  }
  return seq;
}

// Removes old files until `more` bytes fit max_total, even if fewer than `keep` files remain.
static void make_room(struct audit_file *a, uint64_t more) {
  unsigned count = count_files(a, &a->others);
  while (count && a->others + a->size + more > a->max_total) {
    unsigned left = expire(a, count, count - 1);
    if (left == count) return;
    count = count_files(a, &a->others);
    a->begins = audit_first_kept(a);
  }
}

bool audit_has_room(struct audit_file *a, uint64_t more, struct fault *f) {
  ASSERT(a->size != UINT64_MAX);
  if (a->others == UINT64_MAX) count_files(a, &a->others);
  if (!a->max_total || a->others + a->size + more <= a->max_total) return true;
  make_room(a, more);
  if (a->others + a->size + more <= a->max_total) return true;
  fault_set(f, FAULT_LIMIT,
            "the audit log %s is full: its files use %llu MiB, and audit.max_total is %llu MiB; move old files away or "
            "raise audit.max_total",
            a->path, (unsigned long long)((a->others + a->size) >> 20), (unsigned long long)(a->max_total >> 20));
  return false;
}
