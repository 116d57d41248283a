// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "observe/audit_impl.h"

struct verifier {
  audit_tell *tell;
  void *ctx;
  struct audit_verdict verdict;
  const char *file;
  uint64_t line;  // in it
  uint64_t seq;   // of the line before; 0: there is none
  char prev[AUDIT_HASH + 1];
  bool joined;  // there was a line before
  bool headed;  // FILE.head is there
  struct audit_head head;
  bool head_met;  // and the line that it tells of
};

static void __attribute__((format(printf, 3, 4)))
found(struct verifier *v, enum audit_finding what, const char *fmt, ...) {
  char message[FAULT_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  v->verdict.findings++;
  v->tell(v->ctx, what, v->file, v->line, message);
}

static void check_link(struct verifier *v, const struct audit_place *p) {
  bool linked = str_eq(p->prev, str_of(v->prev));
  if (linked && p->seq == v->seq + 1) return;
  if (p->seq > v->seq + 1)
    found(v, AUDIT_UNLINKED, "%llu lines are missing before it: number %llu follows number %llu",
          (unsigned long long)(p->seq - v->seq - 1), (unsigned long long)p->seq, (unsigned long long)v->seq);
  else found(v, AUDIT_UNLINKED, "it does not follow the line before: one was altered, inserted or moved");
}

static void take_line(struct verifier *v, str line) {
  struct audit_place p;
  char hash[AUDIT_HASH + 1];
  v->line++;
  v->verdict.lines++;
  if (!audit_read_place(line, &p)) {
    found(v, AUDIT_MALFORMED, "this is no line of an audit log");
    return;
  }
  audit_hash(p.hashed, hash);
  if (!str_eq(p.hash, str_of(hash))) found(v, AUDIT_ALTERED, "it was altered: its hash is that of another line");
  if (v->joined) check_link(v, &p);
  else v->verdict.first_seq = p.seq;
  if (v->headed && p.seq == v->head.seq) v->head_met = str_eq(p.hash, str_of(v->head.hash));
  v->joined = true;
  v->seq = v->verdict.last_seq = p.seq;
  memcpy(v->prev, p.hash.p, AUDIT_HASH);
}

static void take_lines(struct verifier *v, str text) {
  while (text.n) {
    str line, rest;
    bool ended = str_cut(text, '\n', &line, &rest);
    take_line(v, line);
    text = ended ? rest : STR_NONE;
  }
}

static bool take_file(struct verifier *v, const char *path, struct fault *f) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  bool ok = fd >= 0 && fstat(fd, &st) == 0;
  size_t size = ok ? (size_t)st.st_size : 0;
  char *map = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  ok = ok && map != MAP_FAILED;
  if (!ok) fault_set(f, FAULT_IO, "%s cannot be read: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  if (!ok) return false;
  v->file = path;
  v->line = 0;
  v->verdict.files++;
  take_lines(v, (str){map, size});
  if (size) munmap(map, size);
  return true;
}

static void check_beginning(struct verifier *v) {
  uint64_t begins = v->headed ? v->head.begins : 1;
  if (v->joined && v->verdict.first_seq > begins)
    found(v, AUDIT_SHORTENED, "it begins with number %llu: %llu lines before it are missing",
          (unsigned long long)v->verdict.first_seq, (unsigned long long)(v->verdict.first_seq - begins));
}

// Lines behind the one that the head tells of are no finding: it is written after them.
static void check_end(struct verifier *v, const char *path) {
  if (!v->headed && v->joined) found(v, AUDIT_SHORTENED, "%s.head is missing: nothing tells where the log ends", path);
  else if (v->headed && v->head.seq > v->seq && (v->joined || v->head.begins <= v->head.seq))
    found(v, AUDIT_SHORTENED, "it ends with number %llu, and %s.head tells of number %llu: lines are missing",
          (unsigned long long)v->seq, path, (unsigned long long)v->head.seq);
  else if (v->headed && v->head.seq && !v->head_met && v->joined)
    found(v, AUDIT_SHORTENED, "number %llu is not the line that %s.head tells of", (unsigned long long)v->head.seq,
          path);
  else if (v->headed && v->joined) v->verdict.behind = v->seq - v->head.seq;
}

static void check_signature(struct verifier *v, const char *path, str key) {
  if (!key.n || !v->headed || audit_head_is_signed(&v->head, key)) return;
  found(v, AUDIT_UNSIGNED, "%s.head is not signed with this key", path);
}

static unsigned count_rotated(const char *path, char *name, size_t room) {
  for (unsigned n = 1;; n++) {
    snprintf(name, room, "%s.%u", path, n);
    if (access(name, F_OK) != 0) return n - 1;
  }
}

bool audit_verify(str file, str key, audit_tell *tell, void *ctx, struct audit_verdict *out, struct fault *f) {
  struct verifier v = {.tell = tell, .ctx = ctx};
  size_t room = file.n + 16;
  char *path = mem_alloc(room), *name = mem_alloc(room);
  snprintf(path, room, "%.*s", STR_ARG(file));
  bool ok = true;
  v.headed = audit_read_head(path, &v.head);
  for (unsigned n = count_rotated(path, name, room); ok && n; n--) {
    snprintf(name, room, "%s.%u", path, n);
    ok = take_file(&v, name, f);
  }
  ok = ok && take_file(&v, path, f);
  if (ok) {
    check_beginning(&v);
    check_end(&v, path);
    check_signature(&v, path, key);
  }
  *out = v.verdict;
  mem_free(path);
  mem_free(name);
  return ok;
}
