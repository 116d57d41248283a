// SPDX-License-Identifier: Apache-2.0
// Verifies an audit log: reads every line of all its files and reports where the chain is broken.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "observe/audit_impl.h"

enum {
  FINDINGS_MOST = 1000,  // maximum number of reported findings; further findings are only counted
};

struct verifier {
  audit_report *tell;
  void *ctx;
  struct audit_verdict verdict;
  const char *file;
  uint64_t line;  // number of the current line in `file`
  uint64_t seq;   // seq of the preceding line; 0 before the first line
  char prev[AUDIT_HASH + 1];
  struct hmac *key;  // NULL if signatures are not checked
  bool signing;      // an earlier line has a mac: all later lines must have one
  bool joined;       // a line was already read
  bool headed;       // FILE.head exists
  struct audit_head head;
  bool head_met;  // the line that FILE.head records was found
  bool last;      // `file` is the current file, not a rotated one
  char room[2 * AUDIT_LINE_MAX];
};

static void __attribute__((format(printf, 3, 4)))
found(struct verifier *v, enum audit_finding what, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  if (v->verdict.findings++ < FINDINGS_MOST) v->tell(v->ctx, what, v->file, v->line, message);
}

static void check_link(struct verifier *v, const struct audit_place *p) {
  bool linked = str_eq(p->prev, str_of(v->prev));
  if (linked && p->seq == v->seq + 1) return;
  if (p->seq > v->seq + 1)
    found(v, AUDIT_UNLINKED, "%llu lines are missing before this line: number %llu follows number %llu",
          (unsigned long long)(p->seq - v->seq - 1), (unsigned long long)p->seq, (unsigned long long)v->seq);
  else found(v, AUDIT_UNLINKED, "the line does not follow the preceding one: a line was altered, inserted or moved");
}

static void check_beginning(struct verifier *v) {
  uint64_t begins = v->headed ? v->head.begins : 1, first = v->verdict.first_seq;
  if (first > begins)
    found(v, AUDIT_SHORTENED, "the log begins with number %llu: %llu earlier lines are missing",
          (unsigned long long)first, (unsigned long long)(first - begins));
}

// Checks the signature (`mac`) of a line. Lines written before a key was set need no signature: the signed head
// contains the hash of the last line, which depends on all preceding lines.
static void check_mac(struct verifier *v, const struct audit_place *p) {
  bool owed = v->signing || !v->headed || p->seq > v->head.seq;
  v->signing |= p->mac.n > 0;
  if (!v->key) return;
  if (!p->mac.n && owed) found(v, AUDIT_UNSIGNED, "the line has no mac: it was not written with the key");
  else if (p->mac.n && !audit_line_is_signed(p, v->key))
    found(v, AUDIT_UNSIGNED, "the line's mac was not made with this key");
}

// Returns whether a line is an audit_break line. A text search for the key with its quotes is sufficient, because
// quotes inside values are escaped.
static bool is_break(str line) {
  static const str key = STR(",\"operation\":\""), word = STR("audit_break\"");
  const char *at = memmem(line.p, line.n, key.p, key.n);
  return at && str_starts(str_from(line, (size_t)(at - line.p) + key.n), word);
}

static void take_line(struct verifier *v, str line) {
  struct audit_place p;
  char hash[AUDIT_HASH + 1];
  v->line++;
  v->verdict.lines++;
  if (!audit_read_place(line, &p)) {
    found(v, AUDIT_MALFORMED, "not an audit line");
    return;
  }
  audit_hash(p.hashed, hash);
  if (!str_eq(p.hash, str_of(hash))) found(v, AUDIT_ALTERED, "the line was altered: its hash does not match its text");
  check_mac(v, &p);
  v->verdict.breaks += is_break(line);
  if (!v->joined) v->verdict.first_seq = p.seq;
  if (v->joined) check_link(v, &p);
  else check_beginning(v);
  if (v->headed && p.seq == v->head.seq) v->head_met = str_eq(p.hash, str_of(v->head.hash));
  v->joined = true;
  v->seq = v->verdict.last_seq = p.seq;
  memcpy(v->prev, p.hash.p, AUDIT_HASH);
}

// ---- reading files

// Handles an unfinished last line of a file. In the current file, such a line is a finding only if the head records it.
// Otherwise, the writer stopped before it had written the whole line.
static void take_torn(struct verifier *v, str line) {
  struct audit_place p;
  bool noted = !v->last || !v->headed || v->head.seq > v->seq;
  v->verdict.torn = !noted;
  if (!noted) return;
  take_line(v, line);
  if (audit_read_place(line, &p)) found(v, AUDIT_MALFORMED, "the line has no line end");
}

static void take_long(struct verifier *v) {
  v->line++;
  v->verdict.lines++;
  found(v, AUDIT_MALFORMED, "not an audit line: too long");
}

// Checks the complete lines of `text`. Returns the rest, which is the beginning of the next line.
static str take_lines(struct verifier *v, str text, bool *in_long) {
  str line, rest;
  while (text.n && str_cut(text, '\n', &line, &rest)) {
    if (*in_long) take_long(v);
    else take_line(v, line);
    *in_long = false;
    text = rest;
  }
  return text;
}

// Reads only the first `size` bytes, which is the size of the file when it was opened, because the file may grow during
// the check.
static bool read_lines(struct verifier *v, int fd, uint64_t size) {
  bool in_long = false;
  size_t n = 0;
  for (uint64_t at = 0; at < size;) {
    ASSERT(n < sizeof v->room);
    size_t want = sizeof v->room - n;
    ssize_t k = pread(fd, v->room + n, size - at < want ? (size_t)(size - at) : want, (off_t)at);
    if (k < 0) return false;
    if (!k) break;
    at += (uint64_t)k;
    str rest = take_lines(v, (str){v->room, n + (size_t)k}, &in_long);
    in_long |= rest.n == sizeof v->room;
    n = in_long ? 0 : rest.n;
    memmove(v->room, rest.p, n);
  }
  if (in_long) take_long(v);
  else if (n) take_torn(v, (str){v->room, n});
  return true;
}

static bool take_file(struct verifier *v, const char *path, struct fault *f) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  bool there = fd >= 0 && fstat(fd, &st) == 0, regular = there && S_ISREG(st.st_mode);
  v->file = path;
  v->line = 0;
  bool ok = regular && read_lines(v, fd, (uint64_t)st.st_size);
  if (there && !regular) fault_set(f, FAULT_IO, "%s is not a regular file", path);
  else if (!ok) fault_set(f, FAULT_IO, "%s cannot be read: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  v->verdict.files += ok;
  return ok;
}

// Checks that the log contains the last line that the head records. Lines after it are not a finding, because the head
// is written after the lines.
static void check_end(struct verifier *v, const char *path) {
  if (!v->headed) found(v, AUDIT_SHORTENED, "%s.head is missing: nothing records where the log ends", path);
  else if (v->headed && v->head.seq > v->seq && (v->joined || v->head.begins <= v->head.seq))
    found(v, AUDIT_SHORTENED, "the log ends with number %llu, but %s.head records number %llu: lines are missing",
          (unsigned long long)v->seq, path, (unsigned long long)v->head.seq);
  else if (v->headed && v->head.seq && !v->head_met && v->joined)
    found(v, AUDIT_SHORTENED, "number %llu is not the line that %s.head records", (unsigned long long)v->head.seq,
          path);
  else if (v->headed && v->joined) {
    ASSERT(v->seq >= v->head.seq);
    v->verdict.behind = v->seq - v->head.seq;
  }
}

// Returns whether a running gateway has updated the head since the verifier read it.
static bool was_noted_since(const struct verifier *v, const char *head_path) {
  struct audit_head now;
  return audit_read_head(head_path, &now) && now.seq >= v->seq;
}

static void check_signature(struct verifier *v, const char *path, const char *head_path) {
  if (v->key && v->headed && !audit_head_is_signed(&v->head, v->key))
    found(v, AUDIT_UNSIGNED, "%s.head is not signed with this key", path);
  if (!v->key && v->headed && *v->head.mac && v->verdict.behind && !was_noted_since(v, head_path))
    found(v, AUDIT_UNSIGNED,
          "%llu lines follow the last line that %s.head records: verifying them needs the key (--key)",
          (unsigned long long)v->verdict.behind, path);
}

// Returns whether `path` is a rotated file, which can only be verified with the other files of its log. Sets f in this
// case.
static bool is_part(const char *path, char *name, size_t room, struct fault *f) {
  size_t n = strlen(path);
  while (n && path[n - 1] >= '0' && path[n - 1] <= '9') n--;
  if (!path[n] || n < 2 || path[n - 1] != '.') return false;
  snprintf(name, room, "%.*s", (int)n - 1, path);
  bool part = access(name, F_OK) == 0;
  if (part)
    fault_set(f, FAULT_INVALID, "%s is a rotated file of the log %s; verify that log, which includes its rotated files",
              path, name);
  return part;
}

static bool verify(struct verifier *v, const char *path, char *name, size_t room, struct fault *f) {
  bool ok = true;
  snprintf(name, room, "%s.head", path);
  v->headed = audit_read_head(name, &v->head);
  if (!v->headed && is_part(path, name, room, f)) return false;
  for (unsigned n = audit_count_rotated(path); ok && n; n--) {
    char *part = audit_file_name(path, n);
    ok = take_file(v, part, f);
    mem_free(part);
  }
  v->last = true;
  return ok && take_file(v, path, f);
}

bool audit_verify(str file, str key, audit_report *tell, void *ctx, struct audit_verdict *out, struct fault *f) {
  struct verifier *v = MEM_NEW(struct verifier);
  size_t room = file.n + 16;
  char *path = mem_alloc(room), *name = mem_alloc(room);
  ASSERT(tell);
  v->tell = tell;
  v->ctx = ctx;
  v->key = key.n ? hmac_new(key) : NULL;
  snprintf(path, room, "%.*s", STR_ARG(file));
  bool ok = verify(v, path, name, room, f);
  if (ok) {
    check_end(v, path);
    snprintf(name, room, "%s.head", path);
    check_signature(v, path, name);
  }
  v->verdict.keyed = v->signing || *v->head.mac;
  *out = v->verdict;
  hmac_free(&v->key);
  mem_free(path);
  mem_free(name);
  mem_free(v);
  return ok;
}
