// SPDX-License-Identifier: Apache-2.0
#include "observe/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

enum { MAGIC = 0x61756474, PENDING_MAX = 16 << 20, RETRY_MS = 1000 };

struct audit {
  uint32_t magic;
  struct audit_options opt;
  char *path;
  int fd;
  uint64_t size;  // of the file behind our last line; another one means that others wrote
  uint64_t seq;   // of the last line
  char prev[AUDIT_HASH + 1];
  struct buf pending;  // bodies of lines that were not written yet, each behind its length
  struct buf lines;    // the same with their places in the chain
  size_t lost;         // lines that there was no room for
  bool failing;
  uint64_t failed_at;
  int head_fd;      // of FILE.head
  bool headless;    // which could not be written
  uint64_t begins;  // the first line that is still kept
  struct audit_second second;
  char room[AUDIT_LINE_MAX + 256];
};

// ---- the file

static bool refused(const struct audit *a, const char *what, struct fault *f) {
  fault_set(f, FAULT_IO, "the audit log %s %s: %s", a->path, what, strerror(errno));
  return false;
}

static bool open_file(struct audit *a, struct fault *f) {
  a->fd = open(a->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat st;
  if (a->fd < 0) return refused(a, "cannot be opened", f);
  if (fstat(a->fd, &st) == 0 && S_ISREG(st.st_mode)) {
    a->size = UINT64_MAX;  // to be looked at
    return true;
  }
  fault_set(f, FAULT_IO, "the audit log %s is no regular file", a->path);
  close(a->fd);
  a->fd = -1;
  return false;
}

// Is the path still the file that is open?
static bool in_place(const struct audit *a) {
  struct stat here, there;
  return fstat(a->fd, &here) == 0 && stat(a->path, &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

static bool write_whole(int fd, str text) {
  while (text.n) {
    ssize_t k = write(fd, text.p, text.n);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return false;
    text = str_from(text, (size_t)k);
  }
  return true;
}

// Where the chain goes on: behind what others wrote, or at its beginning.
static bool catch_up(struct audit *a, struct fault *f) {
  struct stat st;
  struct audit_place last;
  bool torn;
  if (fstat(a->fd, &st) != 0) return refused(a, "cannot be looked at", f);
  uint64_t size = (uint64_t)st.st_size;
  if (size == a->size) return true;
  struct audit_head head;
  bool headed = audit_read_head(a->path, &head);
  if (audit_read_last(a->fd, size, &last, a->room, sizeof a->room, &torn)) {
    a->seq = last.seq;
    memcpy(a->prev, last.hash.p, AUDIT_HASH);
  } else if (headed) {
    a->seq = head.seq;
    memcpy(a->prev, head.hash, AUDIT_HASH);
  }
  if (headed) a->begins = head.begins;
  if (torn && !write_whole(a->fd, STR("\n"))) return refused(a, "cannot be written", f);
  a->size = size + torn;
  return true;
}

// ---- rotation

// What the end of the chain is, for who verifies it, and for ourselves after a rotation.
static void write_head(struct audit *a) {
  char text[AUDIT_HEAD_MAX];
  int n = snprintf(text, sizeof text, "{\"seq\":%llu,\"hash\":\"%s\",\"begins\":%llu}\n", (unsigned long long)a->seq,
                   a->prev, (unsigned long long)a->begins);
  if (a->head_fd < 0) a->head_fd = audit_open_head(a->path, O_RDWR | O_CREAT);
  bool ok = a->head_fd >= 0 && pwrite(a->head_fd, text, (size_t)n, 0) == n && ftruncate(a->head_fd, n) == 0;
  if (!ok && !a->headless) log_warn(a->opt.log, "%s.head cannot be written: %s", a->path, strerror(errno));
  a->headless = !ok;
}

static void put_number(char *out, size_t size, const char *path, unsigned number) {
  snprintf(out, size, "%s.%u", path, number);
}

// The lock is held: FILE.1 becomes FILE.2, and so on.
static void shift_files(const struct audit *a) {
  size_t room = strlen(a->path) + 16;
  char *from = mem_alloc(room), *to = mem_alloc(room);
  put_number(from, room, a->path, a->opt.keep);
  unlink(from);
  for (unsigned i = a->opt.keep; i > 1; i--) {
    put_number(from, room, a->path, i - 1);
    put_number(to, room, a->path, i);
    rename(from, to);
  }
  put_number(to, room, a->path, 1);
  if (a->opt.keep) rename(a->path, to);
  else unlink(a->path);
  mem_free(from);
  mem_free(to);
}

// The number of the first line that is left, in the oldest file.
static uint64_t first_kept(struct audit *a) {
  size_t room = strlen(a->path) + 16;
  char *path = mem_alloc(room);
  uint64_t seq = a->seq + 1;
  for (unsigned i = 1; i <= a->opt.keep; i++) {
    struct audit_place first;
    put_number(path, room, a->path, i);
    if (!audit_read_first(path, &first, a->room, sizeof a->room)) break;
    seq = first.seq;
  }
  mem_free(path);
  return seq;
}

static bool reopen(struct audit *a, struct fault *f) {
  if (a->fd >= 0) close(a->fd);
  return open_file(a, f);
}

// Opens what is at the path and locks it; what was moved away meanwhile is let go.
static bool lock(struct audit *a, struct fault *f) {
  for (int tries = 0; tries < 100; tries++) {
    if (a->fd < 0 && !open_file(a, f)) return false;
    while (flock(a->fd, LOCK_EX) != 0)
      if (errno != EINTR) return refused(a, "cannot be locked", f);
    if (in_place(a)) return true;
    close(a->fd);
    a->fd = -1;
  }
  fault_set(f, FAULT_IO, "the audit log %s is moved away all the time", a->path);
  return false;
}

static void unlock(struct audit *a) {
  if (a->fd >= 0) flock(a->fd, LOCK_UN);
}

// The chain goes on: what it ended with is remembered here.
static bool rotate(struct audit *a, struct fault *f) {
  shift_files(a);
  a->begins = first_kept(a);
  write_head(a);  // a new file begins with what it says
  unlock(a);
  return reopen(a, f) && lock(a, f) && catch_up(a, f);
}

// ---- lines

void audit_add(struct audit *a, const struct audit_event *e) {
  ASSERT_MAGIC(a, MAGIC);
  struct buf *b = &a->pending;
  size_t before = b->n;
  uint32_t length = 0;
  buf_add(b, &length, sizeof length);
  audit_put_body(e, clock_wall_ms(a->opt.clock), &a->second, b);
  if (b->over) {
    b->over = false;
    b->n = before;
    a->lost++;
    return;
  }
  length = (uint32_t)(b->n - before - sizeof length);
  memcpy(b->p + before, &length, sizeof length);
}

static void put_line(struct audit *a, str body) {
  size_t from = a->lines.n;
  buf_str(&a->lines, body);
  buf_str(&a->lines, STR(AUDIT_SEQ_KEY));
  buf_u64(&a->lines, ++a->seq);
  buf_str(&a->lines, STR(AUDIT_PREV_KEY));
  buf_add(&a->lines, a->prev, AUDIT_HASH);
  buf_char(&a->lines, '"');
  audit_hash(str_from(buf_view(&a->lines), from), a->prev);
  buf_str(&a->lines, STR(AUDIT_HASH_KEY));
  buf_add(&a->lines, a->prev, AUDIT_HASH);
  buf_str(&a->lines, STR(AUDIT_LINE_END "\n"));
}

static void put_lines(struct audit *a) {
  str rest = buf_view(&a->pending);
  buf_reset(&a->lines);
  while (rest.n) {
    uint32_t length;
    memcpy(&length, rest.p, sizeof length);
    put_line(a, (str){rest.p + sizeof length, length});
    rest = str_from(rest, sizeof length + length);
  }
}

// All or nothing: what is written in part is taken back.
static bool append(struct audit *a, struct fault *f) {
  uint64_t seq = a->seq;
  char prev[sizeof a->prev];
  memcpy(prev, a->prev, sizeof prev);
  put_lines(a);
  if (write_whole(a->fd, buf_view(&a->lines))) {
    a->size += a->lines.n;
    return true;
  }
  refused(a, "cannot be written", f);
  if (ftruncate(a->fd, (off_t)a->size) != 0) a->size = UINT64_MAX;
  a->seq = seq;
  memcpy(a->prev, prev, sizeof prev);
  return false;
}

static bool write_pending(struct audit *a, struct fault *f) {
  bool ok = lock(a, f) && catch_up(a, f);
  bool full = ok && a->opt.max_bytes && a->size && a->size + a->pending.n > a->opt.max_bytes;
  if (full) ok = rotate(a, f);
  ok = ok && append(a, f);
  if (ok) write_head(a);
  unlock(a);
  return ok;
}

// ---- for its owner

static void note_failure(struct audit *a, const struct fault *f) {
  if (!a->failing)
    log_error(a->opt.log, "%s; %s", f->message,
              a->opt.required ? "calls are refused until it can (audit.on_failure: deny)" : "lines are kept meanwhile");
  a->failing = true;
  a->failed_at = clock_mono_ms(a->opt.clock);
}

static void note_success(struct audit *a) {
  if (a->failing) log_info(a->opt.log, "the audit log %s is written again", a->path);
  if (a->lost) log_error(a->opt.log, "%zu lines of the audit log were lost: it could not be written", a->lost);
  a->failing = false;
  a->lost = 0;
  buf_reset(&a->pending);
  buf_trim(&a->pending, 1 << 16);
  buf_reset(&a->lines);
  buf_trim(&a->lines, 1 << 16);
}

void audit_flush(struct audit *a) {
  struct fault f;
  ASSERT_MAGIC(a, MAGIC);
  if (!a->pending.n) return;
  if (a->failing && clock_mono_ms(a->opt.clock) - a->failed_at < RETRY_MS) return;
  if (write_pending(a, &f)) note_success(a);
  else note_failure(a, &f);
}

bool audit_ready(struct audit *a) {
  ASSERT_MAGIC(a, MAGIC);
  if (!a->opt.required || !a->failing) return true;
  audit_flush(a);
  return !a->failing;
}

void audit_reopen(struct audit *a) {
  struct fault f;
  audit_flush(a);
  if (!reopen(a, &f)) note_failure(a, &f);
}

struct audit *audit_open(const struct audit_options *opt, struct fault *f) {
  struct audit *a = MEM_NEW(struct audit);
  a->magic = MAGIC;
  a->opt = *opt;
  a->fd = a->head_fd = -1;
  a->begins = 1;
  a->path = mem_alloc(opt->file.n + 1);
  memcpy(a->path, opt->file.p, opt->file.n);
  a->path[opt->file.n] = 0;
  memcpy(a->prev, audit_first_prev, sizeof a->prev);
  buf_init(&a->pending, PENDING_MAX);
  buf_init(&a->lines, 2 * PENDING_MAX);
  bool ok = lock(a, f) && catch_up(a, f);
  unlock(a);
  if (!ok) audit_close(&a);
  return a;
}

void audit_close(struct audit **a) {
  if (!*a) return;
  audit_flush(*a);
  if ((*a)->fd >= 0) close((*a)->fd);
  if ((*a)->head_fd >= 0) close((*a)->head_fd);
  buf_done(&(*a)->pending);
  buf_done(&(*a)->lines);
  mem_free((*a)->path);
  (*a)->magic = 0;
  mem_free(*a);
  *a = NULL;
}
