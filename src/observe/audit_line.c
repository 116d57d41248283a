// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "observe/audit_impl.h"
#include "json/json.h"

const char audit_first_prev[AUDIT_HASH + 1] = "0000000000000000000000000000000000000000000000000000000000000000";

static bool is_hex(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!s.p[i] || !strchr("0123456789abcdef", s.p[i])) return false;
  return s.n == AUDIT_HASH;
}

// Takes `text` off the end.
static bool take_end(str *s, str text) {
  if (!str_ends(*s, text)) return false;
  s->n -= text.n;
  return true;
}

static bool take_hex(str *s, str *out) {
  if (s->n < AUDIT_HASH) return false;
  *out = (str){s->p + s->n - AUDIT_HASH, AUDIT_HASH};
  s->n -= AUDIT_HASH;
  return is_hex(*out);
}

static bool take_number(str *s, uint64_t *out) {
  size_t from = s->n;
  while (from && s->p[from - 1] >= '0' && s->p[from - 1] <= '9') from--;
  str digits = str_from(*s, from);
  s->n = from;
  return str_to_u64(digits, out);
}

// The chain is at the end of the line, in a fixed form, so that no parser has a say in what was hashed.
bool audit_read_place(str line, struct audit_place *out) {
  str rest = line;
  if (!take_end(&rest, STR(AUDIT_LINE_END)) || !take_hex(&rest, &out->hash)) return false;
  if (!take_end(&rest, STR(AUDIT_HASH_KEY))) return false;
  out->hashed = rest;
  return take_end(&rest, STR("\"")) && take_hex(&rest, &out->prev) && take_end(&rest, STR(AUDIT_PREV_KEY)) &&
         take_number(&rest, &out->seq) && take_end(&rest, STR(AUDIT_SEQ_KEY)) && str_starts(rest, STR("{"));
}

void audit_hash(str hashed, char out[AUDIT_HASH + 1]) {
  unsigned char digest[SHA256_SIZE];
  hash_sha256(hashed, digest);
  hash_hex(digest, sizeof digest, out);
}

bool audit_read_last(int fd, uint64_t size, struct audit_place *out, char *room, size_t room_size, bool *out_torn) {
  size_t n = size < room_size ? (size_t)size : room_size;
  *out_torn = false;
  if (!n || pread(fd, room, n, (off_t)(size - n)) != (ssize_t)n) return false;
  str text = {room, n};
  const char *end = memrchr(text.p, '\n', text.n);
  *out_torn = !end || end != text.p + text.n - 1;
  // A line that was torn is not part of the chain: the next one follows the one before it.
  if (!end) return false;
  text.n = (size_t)(end - text.p);
  const char *begin = memrchr(text.p, '\n', text.n);
  if (!begin && n < size) return false;
  return audit_read_place(begin ? str_from(text, (size_t)(begin - text.p) + 1) : text, out);
}

bool audit_read_first(const char *path, struct audit_place *out, char *room, size_t room_size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  ssize_t n = fd >= 0 ? pread(fd, room, room_size, 0) : -1;
  if (fd >= 0) close(fd);
  const char *end = n > 0 ? memchr(room, '\n', (size_t)n) : NULL;
  return end && audit_read_place((str){room, (size_t)(end - room)}, out);
}

int audit_open_head(const char *path, int flags) {
  size_t room = strlen(path) + 8;
  char *name = mem_alloc(room);
  snprintf(name, room, "%s.head", path);
  int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  mem_free(name);
  return fd;
}

static bool parse_head(str text, struct arena *a, struct audit_head *out) {
  struct fault f;
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  int64_t seq, begins;
  str hash;
  if (!json_int(json_get(v, STR("seq")), &seq) || !json_int(json_get(v, STR("begins")), &begins)) return false;
  if (!json_string(json_get(v, STR("hash")), a, &hash) || !is_hex(hash) || seq < 0 || begins < 0) return false;
  *out = (struct audit_head){(uint64_t)seq, (uint64_t)begins, ""};
  memcpy(out->hash, hash.p, AUDIT_HASH);
  return true;
}

bool audit_read_head(const char *path, struct audit_head *out) {
  char text[AUDIT_HEAD_MAX];
  int fd = audit_open_head(path, O_RDONLY);
  ssize_t n = fd >= 0 ? pread(fd, text, sizeof text, 0) : -1;
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  struct arena a;
  arena_init(&a);
  bool ok = parse_head((str){text, (size_t)n}, &a, out);
  arena_done(&a);
  return ok;
}
