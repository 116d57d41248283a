// SPDX-License-Identifier: Apache-2.0
// Checks the end of an existing log with the key. Sets aside a log that fails the check: renames it without changing
// it, because it is evidence. A new chain then begins.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

enum {
  ASIDE_MOST = 1000,  // maximum number of logs set aside
  // After setting aside a log, minimum milliseconds before another one may be set aside. Without this limit, two
  // gateways with different keys would set aside each other's logs forever.
  ASIDE_APART = 60000,
};

// ---- checking the end

bool audit_was_rotated(struct audit_file *a, const char *hash) {
  char *name = audit_file_name(a->path, 1);
  struct stat st;
  struct audit_place last;
  uint64_t tail;
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            audit_read_last(fd, (uint64_t)st.st_size, &last, a->room, sizeof a->room, &tail) && !tail &&
            memcmp(last.hash.p, hash, AUDIT_HASH) == 0;
  if (fd >= 0) close(fd);
  mem_free(name);
  return is;
}

// Checks a log file that has no complete line. Returns NULL if it is new or was just rotated, otherwise the reason to
// distrust it.
static const char *doubt_empty(struct audit_file *a, const struct audit_end *e) {
  if (!e->size || a->seq) return NULL;
  if (!e->headed) return "its head file is missing";
  return !e->head.seq || audit_was_rotated(a, e->head.hash) ? NULL : "its lines are missing";
}

// Returns whether copies of earlier lines were appended: lines follow the last line that this process wrote, but their
// numbers (`seq`) are not higher.
static bool is_copied(const struct audit_file *a, const struct audit_end *e) {
  return a->size != UINT64_MAX && e->size > a->size && e->size - a->size > e->tail && e->last.seq <= a->seq;
}

static const char *doubt_last(struct audit_file *a, const struct audit_end *e) {
  const struct audit_place *last = &e->last;
  char hash[AUDIT_HASH + 1];
  ASSERT(e->lined && a->key);
  audit_hash(last->hashed, hash);
  bool as_noted = e->headed && last->seq == e->head.seq;
  if (memcmp(hash, last->hash.p, AUDIT_HASH) != 0) return "its last line was altered";
  if (e->headed && last->seq < e->head.seq) return "lines are missing at its end";
  if (as_noted && memcmp(hash, e->head.hash, AUDIT_HASH) != 0)
    return "its last line is not the one recorded in its head file";
  if (last->seq < a->seq || (last->seq == a->seq && memcmp(hash, a->prev, AUDIT_HASH) != 0))
    return "lines that this process wrote are missing";
  if (is_copied(a, e)) return "copies of earlier lines were appended";
  return as_noted || audit_line_is_signed(last, a->key) ? NULL : "its last line is not signed with the key";
}

const char *audit_doubt(struct audit_file *a, const struct audit_end *e) {
  if (!a->key) return NULL;
  if (e->head_there && !e->headed) return "its head file is not signed with the key";
  if (e->headed && e->head.began < a->began) return "it is an older log";
  if (!e->lined) return e->tail == e->size ? doubt_empty(a, e) : "its last line is not an audit line";
  if (!e->headed && !a->seq) return "its head file is missing";
  return doubt_last(a, e);
}

// ---- setting aside

void audit_note_break(struct audit_file *a, const char *file, const char *why) {
  struct audit_event e = {.operation = STR("audit_break"),
                          .decision = AUDIT_ERROR,
                          .code = STR("AUDIT_UNVERIFIED"),
                          .target = str_of(file),
                          .reason = str_of(why)};
  buf_reset(&a->notice);
  audit_put_body(&e, clock_wall_ms(a->clock), &a->notice);
  ASSERT(a->notice.n && !a->notice.over);
  a->breaks++;
}

static bool is_there(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

// Finds a new name for the log. That name, and the name of the head file that belongs to it, must be unused. Returns
// false if there is no such name.
static bool find_name(const struct audit_file *a, char *out, size_t size, char *head, size_t head_size) {
  for (unsigned i = 1; i <= ASIDE_MOST; i++) {
    snprintf(out, size, "%s.unverified-%u", a->path, i);
    int n = snprintf(head, head_size, "%s.head", out);
    ASSERT(n > 0 && (size_t)n < head_size);
    if (!is_there(out) && !is_there(head)) return true;
  }
  return false;
}

// Renames the rotated files of a log that was set aside, because they belong to the same chain.
static void move_rotated(const struct audit_file *a, const char *name) {
  bool moved = true;
  for (unsigned i = 1; moved; i++) {
    char *from = audit_file_name(a->path, i), *to = audit_file_name(name, i);
    moved = rename(from, to) == 0;
    mem_free(from);
    mem_free(to);
  }
}

static bool move_all(struct audit_file *a, char *name, size_t room) {
  char *head = mem_alloc(room);
  bool ok = find_name(a, name, room, head, room);
  if (!ok) errno = EEXIST;
  ok = ok && rename(a->path, name) == 0;
  if (ok) move_rotated(a, name);
  ok = ok && (rename(a->head_path, head) == 0 || errno == ENOENT);
  if (ok) audit_leaves_set_aside(a, name);
  mem_free(head);
  return ok;
}

// Returns the start time for a new chain: later than the start of any known chain, even if the clock was set back.
static uint64_t begin_after(const struct audit_file *a, const struct audit_end *e) {
  int64_t now = clock_wall_ms(a->clock);
  uint64_t known = e->headed && e->head.began > a->began ? e->head.began : a->began;
  return now > 0 && (uint64_t)now > known ? (uint64_t)now : known + 1;
}

bool audit_set_aside(struct audit_file *a, const struct audit_end *e, const char *why, struct fault *f) {
  uint64_t now = clock_mono_ms(a->clock);
  ASSERT(a->key && why);
  if (a->set_aside_at && now - a->set_aside_at < ASIDE_APART) {
    fault_set(f, FAULT_IO,
              "the audit log %s cannot be verified (%s), and another log was set aside less than a minute ago; check "
              "whether two gateways write this log with different keys",
              a->path, why);
    return false;
  }
  size_t room = strlen(a->path) + 64;
  char *name = mem_alloc(room);
  bool ok = move_all(a, name, room);
  if (ok) {
    a->set_aside_at = now ? now : 1;
    a->began = begin_after(a, e);
    audit_note_break(a, name, why);
    const char *slash = strrchr(name, '/');
    fault_set(&a->broke, FAULT_INVALID,
              "the audit log %s cannot be verified: %s; this log is renamed to %s, and a new log begins", a->path, why,
              slash ? slash + 1 : name);
  } else {
    fault_set(f, FAULT_IO, "the audit log %s cannot be verified (%s) and cannot be set aside: %s", a->path, why,
              strerror(errno));
  }
  mem_free(name);
  return ok;
}
