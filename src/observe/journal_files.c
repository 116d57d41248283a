// SPDX-License-Identifier: Apache-2.0
#include "observe/journal_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "io/file.h"

enum { TIME_DIGITS = 18, SALT_DIGITS = 8, NAMES_MAX = 100000, TAIL = 4096, TRIES = 100 };
#define ENDING ".jsonl"

// ---- names

static bool is_name(const char *name) {
  size_t n = strlen(name), end = sizeof ENDING - 1;
  return n == TIME_DIGITS + 1 + SALT_DIGITS + end && strspn(name, "0123456789") == TIME_DIGITS &&
         name[TIME_DIGITS] == '-' && memcmp(name + n - end, ENDING, end) == 0;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

bool journal_list(int folder, struct arena *a, struct journal_names *out) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  size_t room = 64;
  if (!dir && fd >= 0) close(fd);
  if (!dir) return false;
  *out = (struct journal_names){ARENA_ARRAY(a, char *, room), 0};
  for (struct dirent *e; out->count < NAMES_MAX && (e = readdir(dir));) {
    if (!is_name(e->d_name)) continue;
    if (out->count == room) {
      char **more = ARENA_ARRAY(a, char *, 2 * room);
      memcpy(more, out->names, room * sizeof *more);
      out->names = more;
      room *= 2;
    }
    out->names[out->count++] = arena_cstr(a, str_of(e->d_name));
  }
  closedir(dir);
  if (out->count) qsort(out->names, out->count, sizeof *out->names, compare_names);
  return true;
}

// ---- appending

void journal_file_close(struct journal_file *file) {
  if (file->fd >= 0) close(file->fd);
  if (file->folder >= 0) close(file->folder);
  file->fd = file->folder = -1;
}

// Removes the incomplete line that a crash has left at the end of the file. Sets *size to the new size.
static bool repair(int fd, uint64_t *size) {
  char text[TAIL];
  uint64_t end = *size;
  while (end) {
    size_t n = end < TAIL ? (size_t)end : TAIL;
    if (pread(fd, text, n, (off_t)(end - n)) != (ssize_t)n) return false;
    const char *last = memrchr(text, '\n', n);
    end -= n;
    if (!last) continue;
    end += (uint64_t)(last + 1 - text);
    break;
  }
  if (end == *size) return true;
  *size = end;
  return ftruncate(fd, (off_t)end) == 0;
}

// Locks an open file. Returns false if another process has locked it, if it is full, or if it is not usable.
static bool take(struct journal_file *file, int fd, uint64_t file_max) {
  struct stat st;
  if (fd < 0) return false;
  bool ok = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 0;
  file->size = ok ? (uint64_t)st.st_size : 0;
  if (ok && file->size < file_max && repair(fd, &file->size)) {
    file->fd = fd;
    return true;
  }
  close(fd);
  return false;
}

static bool create(struct journal_file *file, uint64_t file_max, const struct clock *clock, uint32_t salt) {
  int64_t now = clock_wall_ms(clock);
  for (unsigned i = 0; i < TRIES; i++) {
    char name[JOURNAL_NAME_SIZE];
    int n = snprintf(name, sizeof name, "%0*lld-%08x" ENDING, TIME_DIGITS, (long long)(now > 0 ? now : 0) + i, salt);
    ASSERT(n > 0 && (size_t)n < sizeof name);
    int fd = openat(file->folder, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    return take(file, fd, file_max);
  }
  return false;
}

bool journal_file_open(struct journal_file *file, str folder, uint64_t file_max, const struct clock *clock,
                       uint32_t salt, struct fault *f) {
  struct arena a;
  struct journal_names all;
  ASSERT(file->fd < 0 && file->folder < 0 && file_max);
  file->folder = file_open_folder(folder, f);
  if (file->folder < 0) return false;
  arena_init(&a);
  bool ok = journal_list(file->folder, &a, &all);
  const char *newest = ok && all.count ? all.names[all.count - 1] : NULL;
  int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  ok = ok &&
       ((newest && take(file, openat(file->folder, newest, flags), file_max)) || create(file, file_max, clock, salt));
  if (!ok) {
    fault_set(f, FAULT_IO, "%s", strerror(errno));
    journal_file_close(file);
  }
  arena_done(&a);
  return ok;
}

bool journal_file_append(struct journal_file *file, str lines, struct fault *f) {
  size_t done = 0;
  ASSERT(file->fd >= 0);
  while (done < lines.n) {
    ssize_t n = write(file->fd, lines.p + done, lines.n - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fault_set(f, FAULT_IO, "%s", n ? strerror(errno) : "no bytes were written");
      int cut = done ? ftruncate(file->fd, (off_t)file->size) : 0;
      (void)cut;  // on failure, the next writer removes the incomplete line
      journal_file_close(file);
      return false;
    }
    done += (size_t)n;
  }
  file->size += lines.n;
  return true;
}

// ---- removing

// Locks a file to which no process appends, and sets *st to its status. Returns -1 if there is no such file.
static int lock_idle(int folder, const char *name, struct stat *st) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static uint64_t total_of(int folder, const struct journal_names *all) {
  uint64_t total = 0;
  struct stat st;
  for (size_t i = 0; i < all->count; i++)
    if (fstatat(folder, all->names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) total += (uint64_t)st.st_size;
  return total;
}

void journal_expire(int folder, const struct journal_limits *limits, int64_t now_ms) {
  struct arena a;
  struct journal_names all;
  arena_init(&a);
  bool ok = journal_list(folder, &a, &all);
  uint64_t total = ok ? total_of(folder, &all) : 0;
  for (size_t i = 0; ok && i < all.count; i++) {
    struct stat st;
    int fd = lock_idle(folder, all.names[i], &st);
    if (fd < 0) continue;
    int64_t written = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    bool old = limits->keep_ms && now_ms > written && (uint64_t)(now_ms - written) > limits->keep_ms;
    // The lock lasts until the file is removed, so that no gateway begins to append to it meanwhile (see take).
    if ((old || total > limits->max_bytes) && unlinkat(folder, all.names[i], 0) == 0)
      total -= (uint64_t)st.st_size < total ? (uint64_t)st.st_size : total;
    close(fd);
  }
  arena_done(&a);
}
