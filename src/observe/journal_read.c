// SPDX-License-Identifier: Apache-2.0
// Reads the lines of a journal.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/journal_files.h"

enum { BLOCK = 2 * JOURNAL_LINE_MAX };

struct reading {
  journal_line *line;
  void *ctx;
  char *text;
  bool stopped;
  bool skipping;  // the text continues a line that is too long
};

// Reports the complete lines of the first n bytes. Returns the number of bytes that are left.
static size_t report_lines(struct reading *r, size_t n) {
  size_t from = 0;
  if (r->skipping) {
    const char *end = memchr(r->text, '\n', n);
    if (!end) return 0;
    r->skipping = false;
    from = (size_t)(end + 1 - r->text);
  }
  for (char *end; !r->stopped && (end = memchr(r->text + from, '\n', n - from));) {
    str line = {r->text + from, (size_t)(end - r->text) - from};
    from = (size_t)(end + 1 - r->text);
    if (line.n && !r->line(r->ctx, line)) r->stopped = true;
  }
  memmove(r->text, r->text + from, n - from);
  return n - from;
}

// Reads one file. Reports only the beginning of a line that is longer than the limit: no journal has written it.
static bool read_file(struct reading *r, int fd) {
  size_t held = 0;
  r->skipping = false;
  while (!r->stopped) {
    ssize_t n = read(fd, r->text + held, BLOCK - held);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    held = report_lines(r, held + (size_t)n);
    if (held < BLOCK) continue;
    if (!r->line(r->ctx, (str){r->text, held})) r->stopped = true;
    r->skipping = true;
    held = 0;
  }
  return true;
}

static bool read_named(struct reading *r, int folder, const char *name, int64_t since_ms) {
  struct stat st;
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  // ENOENT: removed meanwhile. ELOOP, ENXIO: a link or a socket, which no gateway has made.
  if (fd < 0) return errno == ENOENT || errno == ELOOP || errno == ENXIO;
  bool ok = fstat(fd, &st) == 0, regular = ok && S_ISREG(st.st_mode);
  int64_t written = ok ? (int64_t)st.st_mtim.tv_sec * 1000 + 999 : 0;
  if (regular && written >= since_ms) ok = read_file(r, fd);
  close(fd);
  return ok;
}

bool journal_read(str folder, int64_t since_ms, journal_line *line, void *ctx, struct fault *f) {
  struct arena a;
  struct journal_names all = {0};
  arena_init(&a);
  int fd = open(arena_cstr(&a, folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool none = fd < 0 && errno == ENOENT, ok = fd >= 0 && journal_list(fd, &a, &all);
  struct reading r = {.line = line, .ctx = ctx, .text = mem_alloc(BLOCK)};
  for (size_t i = 0; ok && !r.stopped && i < all.count; i++) ok = read_named(&r, fd, all.names[i], since_ms);
  if (!ok && !none) fault_set(f, FAULT_IO, "%.*s cannot be read: %s", STR_ARG(folder), strerror(errno));
  if (fd >= 0) close(fd);
  mem_free(r.text);
  arena_done(&a);
  return ok || none;
}
