// SPDX-License-Identifier: Apache-2.0
// The form of an audit line, for those who write and those who verify it.
#pragma once
#include "base/buf.h"
#include "base/hash.h"
#include "observe/audit.h"

enum { AUDIT_HASH = 2 * SHA256_SIZE };  // hex digits

#define AUDIT_HASH_KEY ",\"hash\":\""  // between what is hashed and the hash
#define AUDIT_PREV_KEY ",\"prev\":\""
#define AUDIT_SEQ_KEY ",\"seq\":"
#define AUDIT_LINE_END "\"}"

extern const char audit_first_prev[AUDIT_HASH + 1];  // the `prev` of the very first line: zeros

// What a line says of its place in the chain. False: it is no such line.
struct audit_place {
  uint64_t seq;
  str prev, hash;
  str hashed;  // the part of the line that the hash is of
};
bool audit_read_place(str line, struct audit_place *out);

// The hash of a line's part, in hex.
void audit_hash(str hashed, char out[AUDIT_HASH + 1]);

// The last line that is whole, of an open file of this size. False: there is none, or it is no audit line.
bool audit_read_last(int fd, uint64_t size, struct audit_place *out, char *room, size_t room_size, bool *out_torn);

// The same of the first line.
bool audit_read_first(const char *path, struct audit_place *out, char *room, size_t room_size);

// FILE.head: the last line, and the first that is kept.
enum { AUDIT_HEAD_MAX = AUDIT_HASH + 96 };
struct audit_head {
  uint64_t seq, begins;
  char hash[AUDIT_HASH + 1];
};
int audit_open_head(const char *path, int flags);
bool audit_read_head(const char *path, struct audit_head *out);

enum { AUDIT_LINE_MAX = 1 << 16 };  // bytes; what would make it longer is left out

// The text of the last second that was told, which is most often the same again.
struct audit_second {
  int64_t second;
  char text[24];
};

// A line without its end: the chain is put behind it when it is written.
void audit_put_body(const struct audit_event *e, int64_t wall_ms, struct audit_second *last, struct buf *out);
