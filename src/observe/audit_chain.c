// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "io/file.h"
#include "observe/audit_impl.h"
#include "json/json.h"

const char audit_first_prev[AUDIT_HASH + 1] = "0000000000000000000000000000000000000000000000000000000000000000";

static bool is_hex(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!s.p[i] || !strchr("0123456789abcdef", s.p[i])) return false;
  return s.n == AUDIT_HASH;
}

// Removes `text` from the end of *s. Returns false if *s does not end with `text`.
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

// Reads the chain fields at the end of a line. These fields have a fixed form, so no JSON parser is needed to find the
// hashed part of the line.
bool audit_read_place(str line, struct audit_place *out) {
  str rest = line;
  if (!take_end(&rest, STR(AUDIT_LINE_END)) || !take_hex(&rest, &out->hash)) return false;
  out->mac = STR_NONE;
  if (take_end(&rest, STR(AUDIT_MAC_KEY))) {
    out->mac = out->hash;
    if (!take_end(&rest, STR("\"")) || !take_hex(&rest, &out->hash)) return false;
  }
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

void audit_sign(struct hmac *key, str text, char out[AUDIT_HASH + 1]) {
  unsigned char mac[SHA256_SIZE];
  ASSERT(key);
  hmac_sign(key, text, mac);
  hash_hex(mac, sizeof mac, out);
}

static bool is_signed(struct hmac *key, str text, str mac) {
  char own[AUDIT_HASH + 1];
  audit_sign(key, text, own);
  return mac.n == AUDIT_HASH && CRYPTO_memcmp(own, mac.p, AUDIT_HASH) == 0;
}

bool audit_line_is_signed(const struct audit_place *p, struct hmac *key) {
  char hash[AUDIT_HASH + 1];
  audit_hash(p->hashed, hash);
  return is_signed(key, str_of(hash), p->mac);
}

bool audit_read_last(int fd, uint64_t size, struct audit_place *out, char *room, size_t room_size, uint64_t *out_tail) {
  size_t n = size < room_size ? (size_t)size : room_size;
  *out_tail = 0;
  ASSERT(room);
  if (!n || pread(fd, room, n, (off_t)(size - n)) != (ssize_t)n) return false;
  const char *end = memrchr(room, '\n', n);
  *out_tail = end ? (size_t)(room + n - end) - 1 : n == size ? size : UINT64_MAX;
  // An unfinished line is not part of the chain: the next line follows the last complete line.
  if (!end) return false;
  str text = {room, (size_t)(end - room)};
  const char *begin = memrchr(room, '\n', text.n);
  if (!begin && n < size) return false;
  return audit_read_place(begin ? str_from(text, (size_t)(begin - text.p) + 1) : text, out);
}

bool audit_read_first(const char *path, struct audit_place *out, char *room, size_t room_size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  ssize_t n = fd >= 0 ? pread(fd, room, room_size, 0) : -1;
  if (fd >= 0) close(fd);
  const char *end = n > 0 ? memchr(room, '\n', (size_t)n) : NULL;
  return end && audit_read_place((str){room, (size_t)(end - room)}, out);
}

static bool parse_head(str text, struct arena *a, struct audit_head *out) {
  struct fault f;
  const struct json *v = json_parse(a, text, &json_default_limits, &f);
  int64_t seq, begins, began = 0;
  str hash, mac = STR_NONE;
  if (!json_int(json_get(v, STR("seq")), &seq) || !json_int(json_get(v, STR("begins")), &begins)) return false;
  if (!json_string(json_get(v, STR("hash")), a, &hash) || !is_hex(hash) || seq < 0 || begins < 0) return false;
  json_int(json_get(v, STR("began")), &began);
  *out =
      (struct audit_head){.seq = (uint64_t)seq, .begins = (uint64_t)begins, .began = began < 0 ? 0 : (uint64_t)began};
  memcpy(out->hash, hash.p, AUDIT_HASH);
  if (json_string(json_get(v, STR("mac")), a, &mac) && is_hex(mac)) memcpy(out->mac, mac.p, AUDIT_HASH);
  return true;
}

// Returns whether the text begins like an audit log. Accepts an unfinished first line.
static bool begins_log(str text) {
  static const str begin = STR(AUDIT_LINE_BEGIN);
  struct audit_place ignored;
  const char *end = memchr(text.p, '\n', text.n);
  if (end) return audit_read_place((str){text.p, (size_t)(end - text.p)}, &ignored);
  return memcmp(text.p, begin.p, text.n < begin.n ? text.n : begin.n) == 0;
}

bool audit_is_log(int fd, const char *path, const char *head_path, struct fault *f) {
  struct audit_head head;
  char *room = mem_alloc(AUDIT_LINE_MAX);
  ssize_t n = pread(fd, room, AUDIT_LINE_MAX, 0);
  bool log = n <= 0 || begins_log((str){room, (size_t)n}) || audit_read_head(head_path, &head);
  if (!log) fault_set(f, FAULT_IO, "the file %s is not an audit log; choose another path for the audit log", path);
  mem_free(room);
  return log;
}

bool audit_read_key(str path, struct arena *a, str *out, struct fault *f) {
  enum { LEAST = 16, MOST = 4096 };
  struct buf text;
  int fd = open(arena_cstr(a, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fault_set(f, FAULT_IO, "%s", strerror(errno));
  buf_init(&text, MOST);
  bool ok = fd >= 0 && file_read(fd, MOST, &text, f);
  str key = buf_view(&text);
  while (key.n && (key.p[key.n - 1] == '\n' || key.p[key.n - 1] == '\r')) key.n--;
  if (ok && key.n < LEAST) fault_set(f, FAULT_INVALID, "the key has fewer than %d bytes", LEAST);
  ok = ok && key.n >= LEAST;
  if (ok) *out = arena_str(a, key);
  if (text.n) explicit_bzero(text.p, text.n);
  buf_done(&text);
  if (fd >= 0) close(fd);
  if (!ok) {
    struct fault why = *f;
    fault_set(f, why.code, "the key file %.*s cannot be used: %s", STR_ARG(path), why.message);
  }
  return ok;
}

// Writes the signed fields of a head. Omits the field `began` if it is 0: heads of earlier versions do not have this
// field, and their signatures must stay valid.
static size_t put_claim(const struct audit_head *head, char out[AUDIT_HEAD_MAX]) {
  int n = snprintf(out, AUDIT_HEAD_MAX, "{\"seq\":%llu,\"hash\":\"%s\",\"begins\":%llu", (unsigned long long)head->seq,
                   head->hash, (unsigned long long)head->begins);
  if (head->began)
    n += snprintf(out + n, AUDIT_HEAD_MAX - (size_t)n, ",\"began\":%llu", (unsigned long long)head->began);
  ASSERT(n > 0 && n < AUDIT_HEAD_MAX);
  return (size_t)n;
}

size_t audit_put_head(const struct audit_head *head, struct hmac *key, char out[AUDIT_HEAD_MAX]) {
  char mac[AUDIT_HASH + 1];
  size_t n = put_claim(head, out);
  if (key) {
    audit_sign(key, (str){out, n}, mac);
    n += (size_t)snprintf(out + n, AUDIT_HEAD_MAX - n, ",\"mac\":\"%s\"", mac);
  }
  ASSERT(n + 2 <= AUDIT_HEAD_MAX);
  out[n++] = '}';
  // Pads with blanks, which overwrite the rest of an older head that was longer.
  memset(out + n, ' ', AUDIT_HEAD_MAX - n);
  out[AUDIT_HEAD_MAX - 1] = '\n';
  return AUDIT_HEAD_MAX;
}

bool audit_head_is_signed(const struct audit_head *head, struct hmac *key) {
  char claim[AUDIT_HEAD_MAX];
  size_t n = put_claim(head, claim);
  return is_signed(key, (str){claim, n}, str_of(head->mac));
}

bool audit_read_head(const char *head_path, struct audit_head *out) {
  char text[AUDIT_HEAD_MAX];
  int fd = open(head_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  ssize_t n = fd >= 0 ? pread(fd, text, sizeof text, 0) : -1;
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  struct arena a;
  arena_init(&a);
  bool ok = parse_head((str){text, (size_t)n}, &a, out);
  arena_done(&a);
  return ok;
}
