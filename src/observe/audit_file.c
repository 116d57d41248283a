// SPDX-License-Identifier: Apache-2.0
// Writes the files of an audit log, with locking, the hash chain and rotation. Waits for the disk and for other
// processes. May run on any thread, but only on one at a time.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/file.h"
#include "observe/audit_impl.h"

enum {
  RESERVE = 1 << 20,     // bytes of disk space reserved for requests in flight, if the log is required
  ROTATE_APART = 60000,  // milliseconds between a failed attempt to rotate a full file and the next attempt
};

static bool refused(const struct audit_file *a, const char *what, struct fault *f) {
  fault_set(f, FAULT_IO, "the audit log %s %s: %s", a->path, what, strerror(errno));
  return false;
}

// ---- the file

static void close_file(struct audit_file *a) {
  if (a->fd >= 0) close(a->fd);
  a->fd = -1;
}

// Gets the identity of an open file. Returns false if it is not a regular file.
static bool identify(int fd, struct audit_inode *out) {
  struct stat st;
  bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  if (regular) *out = (struct audit_inode){st.st_dev, st.st_ino};
  return regular;
}

// Returns whether the file at the path is the file with this identity.
static bool is_at(const char *path, const struct audit_inode *inode) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode->number && st.st_dev == inode->device;
}

static bool open_file(struct audit_file *a, struct fault *f) {
  a->fd = open(a->path, AUDIT_OPEN_FLAGS | O_CREAT, 0600);
  if (a->fd < 0) return refused(a, "cannot be opened", f);
  a->size = UINT64_MAX;  // unknown until catch_up
  a->others = UINT64_MAX;
  a->reserved = 0;
  bool regular = identify(a->fd, &a->inode);
  if (regular && audit_is_log(a->fd, a->path, a->head_path, f)) return true;
  if (!regular) fault_set(f, FAULT_IO, "the audit log %s is not a regular file", a->path);
  close_file(a);
  return false;
}

bool audit_file_in_place(const struct audit_file *a) {
  bool there = a->fd >= 0 && is_at(a->path, &a->inode) && a->head_fd >= 0 && is_at(a->head_path, &a->head_inode);
  if (!there || flock(a->fd, LOCK_EX | LOCK_NB) != 0) return false;
  flock(a->fd, LOCK_UN);
  return true;
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

static bool take_lock(struct audit_file *a, struct fault *f) {
  static const struct timespec nap = {0, 1000000};
  ASSERT(a->fd >= 0);
  for (unsigned tries = 0; flock(a->fd, LOCK_EX | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR) return refused(a, "cannot be locked", f);
    atomic_store(&a->state, AUDIT_LOCKED_OUT);
    if (tries >= AUDIT_LOCK_MS) {
      fault_set(f, FAULT_IO, "the audit log %s cannot be written: another process keeps it locked", a->path);
      return false;
    }
    nanosleep(&nap, NULL);
  }
  atomic_store(&a->state, AUDIT_WORKS);
  return true;
}

// Opens and locks the log file. If the file was moved away before it was locked, closes it and tries again with the new
// file at its path.
static bool lock(struct audit_file *a, struct fault *f) {
  for (int tries = 0; tries < 100; tries++) {
    if ((a->fd < 0 && !open_file(a, f)) || !take_lock(a, f)) return false;
    if (is_at(a->path, &a->inode)) return true;
    close_file(a);
  }
  fault_set(f, FAULT_IO, "the audit log %s cannot be opened: another program keeps moving it away", a->path);
  return false;
}

static void unlock(struct audit_file *a) {
  if (a->fd >= 0) flock(a->fd, LOCK_UN);
}

// Continues the chain after the line with this number and hash. If this process knows a later line, continues after
// that line instead, so that audit_verify detects that lines were removed or replaced.
static void continue_after(struct audit_file *a, uint64_t seq, const char *hash) {
  if (seq <= a->seq) return;
  a->seq = seq;
  memcpy(a->prev, hash, AUDIT_HASH);
}

// Repairs an unfinished last line of `tail` bytes. If the head records this line (`noted`), appends a newline, so that
// audit_verify reports the line. Otherwise removes the line.
static bool mend_end(struct audit_file *a, uint64_t size, uint64_t tail, bool noted, struct fault *f) {
  ASSERT(tail == UINT64_MAX || tail <= size);
  a->size = size;
  if (!tail) return true;
  bool cut = !noted && tail != UINT64_MAX;
  if (cut ? ftruncate(a->fd, (off_t)(size - tail)) != 0 : !write_whole(a->fd, STR("\n"))) {
    a->size = UINT64_MAX;
    return refused(a, "cannot be written", f);
  }
  a->size = cut ? size - tail : size + 1;
  return true;
}

static void begin_chain(struct audit_file *a, uint64_t began) {
  a->seq = 0;
  a->begins = 1;
  a->began = began;
  memcpy(a->prev, audit_first_prev, sizeof a->prev);
}

static void read_end(struct audit_file *a, uint64_t size, struct audit_end *out) {
  struct stat st;
  *out = (struct audit_end){.size = size};
  out->head_there = lstat(a->head_path, &st) == 0;
  out->headed = audit_read_head(a->head_path, &out->head) && (!a->key || audit_head_is_signed(&out->head, a->key));
  out->lined = audit_read_last(a->fd, size, &out->last, a->room, sizeof a->room, &out->tail);
}

// Checks an empty log that has a key: FILE.1 must end with the last line that the head or this process knows. Otherwise
// lines were removed or moved, for example by a log rotation program, and this function notes a break of the chain.
static void check_empty(struct audit_file *a, const struct audit_end *e) {
  bool by_head = e->headed && e->head.seq >= a->seq;
  uint64_t seq = by_head ? e->head.seq : a->seq, begins = e->headed ? e->head.begins : a->begins;
  if (!a->key || e->size || seq < begins || audit_was_rotated(a, by_head ? e->head.hash : a->prev)) return;
  audit_note_break(a, a->path, "it is empty, and its last line is not in the newest rotated file");
  fault_set(&a->broke, FAULT_INVALID, "the audit log %s is empty: %llu lines are missing", a->path,
            (unsigned long long)seq - begins + 1);
}

static bool begin_again(struct audit_file *a, const struct audit_end *e, const char *why, struct fault *f);

// Finds the line after which the chain continues: the last line that any process wrote. With a key, ignores a head that
// is not signed with this key, and sets aside a log that audit_doubt rejects.
static bool catch_up(struct audit_file *a, struct fault *f) {
  struct stat st;
  struct audit_end e;
  ASSERT(a->fd >= 0);
  if (fstat(a->fd, &st) != 0) return refused(a, "cannot be examined", f);
  if ((uint64_t)st.st_size == a->size) return true;
  read_end(a, (uint64_t)st.st_size, &e);
  // Another gateway has begun a newer chain, so this gateway continues that chain.
  if (a->key && e.headed && e.head.began > a->began) begin_chain(a, e.head.began);
  const char *why = audit_doubt(a, &e);
  if (why) return begin_again(a, &e, why, f);
  check_empty(a, &e);
  if (a->key && !e.size && !e.head_there && !a->seq && !a->began) a->began = (uint64_t)clock_wall_ms(a->clock);
  if (e.headed) continue_after(a, e.head.seq, e.head.hash);
  if (e.lined) continue_after(a, e.last.seq, e.last.hash.p);
  if (e.headed) a->begins = e.head.begins;
  return mend_end(a, e.size, e.tail, !e.headed || e.head.seq > e.last.seq, f);
}

// If the log is required, reserves disk space for the lines of requests in flight, so that requests are refused before
// the disk is full. If the file system cannot reserve space, a later write may fail instead.
static bool reserve(struct audit_file *a, struct fault *f) {
  struct rlimit most;
  if (!a->required) return true;
  ASSERT(a->fd >= 0 && a->size != UINT64_MAX);
  if (!audit_has_room(a, RESERVE, f)) return false;
  if (a->size + RESERVE / 2 <= a->reserved) return true;
  bool bounded = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
  bool fits = !bounded || a->size + RESERVE <= most.rlim_cur;
  if (!fits) errno = EFBIG;
  if (fits && fallocate(a->fd, FALLOC_FL_KEEP_SIZE, (off_t)a->size, RESERVE) != 0)
    fits = errno != ENOSPC && errno != EDQUOT && errno != EROFS && errno != EIO;
  if (!fits) return refused(a, "cannot reserve disk space", f);
  a->reserved = a->size + RESERVE;
  return true;
}

// ---- rotation

static void close_head(struct audit_file *a) {
  if (a->head_fd >= 0) close(a->head_fd);
  a->head_fd = -1;
}

static bool open_head(struct audit_file *a) {
  a->head_fd = open(a->head_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  bool opened = a->head_fd >= 0, regular = opened && identify(a->head_fd, &a->head_inode);
  if (!regular) a->head_errno = opened ? EINVAL : errno;
  if (opened && !regular) close_head(a);
  a->headless = !regular;
  return regular;
}

// Records the end of the chain in FILE.head, for audit_verify and for catch_up after a rotation.
static void write_head(struct audit_file *a) {
  char text[AUDIT_HEAD_MAX];
  struct audit_head head = {.seq = a->seq, .begins = a->begins, .began = a->began};
  memcpy(head.hash, a->prev, sizeof head.hash);
  size_t n = audit_put_head(&head, a->key, text);
  ASSERT(n <= sizeof text);
  if (a->head_fd >= 0 && !is_at(a->head_path, &a->head_inode)) close_head(a);  // the head file was removed or moved
  if (a->head_fd < 0 && !open_head(a)) return;
  a->headless = pwrite(a->head_fd, text, n, 0) != (ssize_t)n;
  if (a->headless) a->head_errno = errno;
}

// Returns false if the log is required and its head could not be written. Without the head, lines removed from the end
// would not be detected.
static bool has_head(const struct audit_file *a, struct fault *f) {
  if (!a->headless || !a->required) return true;
  fault_set(f, FAULT_IO, "%s cannot be written: %s", a->head_path, strerror(a->head_errno));
  return false;
}

// Starts a new file that continues the chain, and releases reserved space. If the files cannot be renamed, continues
// with the same file.
static bool rotate(struct audit_file *a, struct fault *f) {
  bool gone;
  if (a->reserved && ftruncate(a->fd, (off_t)a->size) != 0) return refused(a, "cannot be truncated", f);
  a->reserved = 0;
  if (!audit_shift_files(a, &gone)) {
    refused(a, "cannot be rotated, and continues in the same file", &a->broke);
    a->rotate_from = clock_mono_ms(a->clock) + ROTATE_APART;
    return true;
  }
  if (gone) a->begins = audit_first_kept(a);
  write_head(a);  // after the rotation, catch_up reads the head to continue the chain in the new file
  unlock(a);
  close_file(a);
  return lock(a, f) && catch_up(a, f);
}

// Sets aside a log that audit_doubt rejects, and begins a new chain.
static bool begin_again(struct audit_file *a, const struct audit_end *e, const char *why, struct fault *f) {
  bool moved = audit_set_aside(a, e, why, f);
  if (moved) {
    begin_chain(a, a->began);
    write_head(a);  // another gateway that waits for the lock then reads the head and finds the new chain
  }
  unlock(a);
  close_file(a);
  return moved && lock(a, f) && catch_up(a, f);
}

// ---- lines

// Counts tokens for the lines of a batch. Runs before the file is locked, so that other processes do not wait
// meanwhile.
static void count_tokens(struct audit_file *a, struct buf *batch) {
  for (size_t at = 0; at < batch->n;) {
    struct audit_record r;
    ASSERT(batch->n - at >= sizeof r);
    memcpy(&r, batch->p + at, sizeof r);
    const char *text = batch->p + at + sizeof r + r.body;
    if (r.has_in) r.tokens_in = (uint32_t)tokens_count_like(&a->words, (str){text, r.in});
    if (r.has_out) r.tokens_out = (uint32_t)tokens_count_like(&a->words, (str){text + r.in, r.out});
    memcpy(batch->p + at, &r, sizeof r);
    at += sizeof r + r.body + r.in + r.out;
    ASSERT(at <= batch->n);
  }
}

static void put_tokens(struct audit_file *a, str key, bool counted, uint32_t tokens) {
  buf_str(&a->lines, key);
  if (counted) buf_u64(&a->lines, tokens);
  else buf_str(&a->lines, STR("null"));
}

static void put_mac(struct audit_file *a) {
  char mac[AUDIT_HASH + 1];
  audit_sign(a->key, (str){a->prev, AUDIT_HASH}, mac);
  buf_str(&a->lines, STR("\"" AUDIT_MAC_KEY));
  buf_add(&a->lines, mac, AUDIT_HASH);
}

static void put_line(struct audit_file *a, const struct audit_record *r, const char *p) {
  struct buf *out = &a->lines;
  size_t from = out->n;
  buf_add(out, p, r->body);
  put_tokens(a, STR(",\"tokens_in\":"), r->has_in, r->tokens_in);
  put_tokens(a, STR(",\"tokens_out\":"), r->has_out, r->tokens_out);
  buf_str(out, STR(AUDIT_SEQ_KEY));
  buf_u64(out, ++a->seq);
  buf_str(out, STR(AUDIT_PREV_KEY));
  buf_add(out, a->prev, AUDIT_HASH);
  buf_char(out, '"');
  unsigned char digest[SHA256_SIZE];
  hash_sha256(str_from(buf_view(out), from), digest);
  hash_hex(digest, sizeof digest, a->prev);
  buf_str(out, STR(AUDIT_HASH_KEY));
  buf_add(out, a->prev, AUDIT_HASH);
  if (a->key) put_mac(a);
  buf_str(out, STR(AUDIT_LINE_END "\n"));
}

static void put_lines(struct audit_file *a, str batch) {
  buf_reset(&a->lines);
  if (a->notice.n) put_line(a, &(struct audit_record){.body = (uint32_t)a->notice.n}, a->notice.p);
  while (batch.n) {
    struct audit_record r;
    memcpy(&r, batch.p, sizeof r);
    put_line(a, &r, batch.p + sizeof r);
    batch = str_from(batch, sizeof r + r.body + r.in + r.out);
  }
}

// Appends all lines or none: truncates the file after a partial write.
static bool append(struct audit_file *a, str batch, struct fault *f) {
  uint64_t seq = a->seq;
  char prev[sizeof a->prev];
  ASSERT(a->size != UINT64_MAX);
  memcpy(prev, a->prev, sizeof prev);
  put_lines(a, batch);
  if (write_whole(a->fd, buf_view(&a->lines))) {
    a->size += a->lines.n;
    buf_reset(&a->notice);
    return true;
  }
  refused(a, "cannot be written", f);
  if (ftruncate(a->fd, (off_t)a->size) != 0) a->size = UINT64_MAX;
  a->seq = seq;
  memcpy(a->prev, prev, sizeof prev);
  return false;
}

// Estimates the number of bytes that the records of a batch add to the file.
static uint64_t length_of(str batch) {
  uint64_t n = 0;
  while (batch.n) {
    struct audit_record r;
    memcpy(&r, batch.p, sizeof r);
    n += r.body + sizeof AUDIT_PREV_KEY AUDIT_HASH_KEY AUDIT_MAC_KEY AUDIT_LINE_END + 3 * AUDIT_HASH;
    batch = str_from(batch, sizeof r + r.body + r.in + r.out);
  }
  return n;
}

bool audit_file_write(struct audit_file *a, struct buf *records, bool aside, bool *out_written, struct fault *f) {
  count_tokens(a, records);
  str batch = buf_view(records);
  bool ok = lock(a, f) && catch_up(a, f), caught_up = ok;
  uint64_t begins = a->begins;
  bool full = ok && a->max_bytes && a->size && a->size + length_of(batch) > a->max_bytes &&
              clock_mono_ms(a->clock) >= a->rotate_from;
  if ((full || (ok && aside && a->size)) && audit_may_shift(a)) ok = rotate(a, f);
  ok = ok && audit_has_room(a, length_of(batch), f);
  ok = ok && (!(batch.n + a->notice.n) || append(a, batch, f));
  *out_written = ok;
  if (ok || (caught_up && a->begins != begins)) write_head(a);
  ok = ok && has_head(a, f) && reserve(a, f);
  unlock(a);
  if (!ok && atomic_load(&a->state) != AUDIT_LOCKED_OUT) atomic_store(&a->state, AUDIT_BROKEN);
  buf_reset(&a->lines);
  buf_trim(&a->lines, 1 << 16);
  return ok;
}

// ---- life

static bool make_folder(const struct audit_file *a, struct fault *f) {
  const char *slash = strrchr(a->path, '/');
  if (!slash || slash == a->path) return true;
  struct fault why;
  int folder = file_open_folder((str){a->path, (size_t)(slash - a->path)}, &why);
  if (folder >= 0) close(folder);
  else
    fault_set(f, FAULT_IO, "the audit log %s cannot be opened, because its folder cannot be created: %s", a->path,
              why.message);
  return folder >= 0;
}

static char *name_of(str file, const char *end) {
  size_t room = file.n + strlen(end) + 1;
  char *name = mem_alloc(room);
  snprintf(name, room, "%.*s%s", STR_ARG(file), end);
  return name;
}

bool audit_file_open(struct audit_file *a, const struct audit_options *opt, struct fault *f) {
  a->fd = a->head_fd = -1;
  a->max_bytes = opt->max_bytes;
  a->keep = opt->keep;
  a->keep_ms = opt->keep_ms;
  a->max_total = opt->max_total;
  a->required = opt->required;
  a->key = opt->key.n ? hmac_new(opt->key) : NULL;
  a->clock = opt->clock;
  a->path = name_of(opt->file, "");
  a->head_path = name_of(opt->file, ".head");
  begin_chain(a, 0);
  buf_init(&a->lines, 4 * AUDIT_PENDING_MAX);
  buf_init(&a->notice, AUDIT_LINE_MAX);
  bool there = open_file(a, f) || (errno == ENOENT && make_folder(a, f));
  struct buf nothing = {0};
  bool written;
  return there && audit_file_write(a, &nothing, false, &written, f);
}

void audit_file_close(struct audit_file *a) {
  ASSERT(a->path && a->head_path);
  close_file(a);
  close_head(a);
  buf_done(&a->lines);
  buf_done(&a->notice);
  hmac_free(&a->key);
  mem_free(a->path);
  mem_free(a->head_path);
}
