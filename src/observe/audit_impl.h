// SPDX-License-Identifier: Apache-2.0
// The form of an audit line, for those who write and those who verify it.
#pragma once
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/hash.h"
#include "observe/audit.h"
#include "text/tokens.h"

enum { AUDIT_HASH = 2 * SHA256_SIZE };  // hex digits

enum { AUDIT_OPEN_FLAGS = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };  // how a log is opened

#define AUDIT_LINE_BEGIN "{\"timestamp\":\""
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

// The last line that is whole, of an open file of this size. False: there is none, or it is no audit line. *out_tail:
// bytes behind its end; UINT64_MAX: more than there is room for.
bool audit_read_last(int fd, uint64_t size, struct audit_place *out, char *room, size_t room_size, uint64_t *out_tail);

// The same of the first line.
bool audit_read_first(const char *path, struct audit_place *out, char *room, size_t room_size);

// Is this open file a log, or may it become one? Not when it holds something else: its first line is none of a log, and
// no head tells of it. False: f says so.
bool audit_is_log(int fd, const char *path, const char *head_path, struct fault *f);

// FILE.head: the last line, and the first that is kept. With a key it is signed: HMAC-SHA256 of the text before it.
enum { AUDIT_HEAD_MAX = 320 };
struct audit_head {
  uint64_t seq, begins;
  char hash[AUDIT_HASH + 1];
  char mac[AUDIT_HASH + 1];  // "": there is none
};
bool audit_read_head(const char *head_path, struct audit_head *out);
size_t audit_put_head(const struct audit_head *head, str key, char out[AUDIT_HEAD_MAX]);  // key: STR_NONE: none
bool audit_head_is_signed(const struct audit_head *head, str key);

enum { AUDIT_LINE_MAX = 1 << 17 };  // bytes: no line is longer

// A line without its end: tokens and chain are put behind it when it is written.
void audit_put_body(const struct audit_event *e, int64_t wall_ms, struct buf *out);

// A line that is to be written, before its texts: the body, and what is to be counted of the request and its answer.
struct audit_record {
  uint32_t body, in, out;          // bytes
  uint32_t tokens_in, tokens_out;  // once they are counted
  bool has_in, has_out;
};

enum { AUDIT_PENDING_MAX = 16 << 20 };

// How it goes with what is being written.
enum audit_state {
  AUDIT_WORKS,
  AUDIT_LOCKED_OUT,  // another process has the lock
  AUDIT_BROKEN,      // it failed
};

// What is at a path: a regular file, or (number 0) anything else.
struct audit_inode {
  dev_t device;
  ino_t number;
};

// What writes. Touched by one thread at a time, but for its state.
struct audit_file {
  char *path, *head_path;
  atomic_int state;
  unsigned lock_ms;  // for so long another process may hold the lock
  uint64_t max_bytes;
  unsigned keep;
  bool required;
  str key;
  int fd;
  struct audit_inode inode;
  uint64_t size;      // of the file behind our last line; another one means that others wrote
  uint64_t reserved;  // up to here there is room on the disk
  uint64_t seq;       // of the last line
  char prev[AUDIT_HASH + 1];
  uint64_t begins;  // the first line that is still kept
  int head_fd;      // of FILE.head
  struct audit_inode head_inode;
  bool headless;  // which could not be written
  int head_errno;
  struct buf lines;
  struct tokens_memo words;  // whose tokens are known
  struct hasher *hasher;
  char room[AUDIT_LINE_MAX];
};

enum { AUDIT_LOCK_MS = 1000, AUDIT_GLANCE_MS = 50 };  // that a writer waits for the lock, and who must know now

// False: f says why; it is to be closed all the same, and may be written to later.
bool audit_file_open(struct audit_file *a, const struct audit_options *opt, struct fault *f);
void audit_file_close(struct audit_file *a);

// Are the files where they were, and does nobody else hold the lock? A few system calls.
bool audit_file_in_place(const struct audit_file *a);

// Appends records. aside: the file is rotated first. *out_written may be true when it fails: there is no room for more.
bool audit_file_write(struct audit_file *a, struct buf *batch, bool aside, bool *out_written, struct fault *f);
