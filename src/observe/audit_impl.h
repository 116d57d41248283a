// SPDX-License-Identifier: Apache-2.0
// The form of an audit line, for those who write and those who verify it.
#pragma once
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/crypto/hmac.h"
#include "observe/audit.h"
#include "text/tokens.h"

enum { AUDIT_HASH = 2 * SHA256_SIZE };  // hex digits

enum { AUDIT_OPEN_FLAGS = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };  // how a log is opened

#define AUDIT_LINE_BEGIN "{\"timestamp\":\""
#define AUDIT_HASH_KEY ",\"hash\":\""  // between what is hashed and the hash
#define AUDIT_MAC_KEY ",\"mac\":\""
#define AUDIT_PREV_KEY ",\"prev\":\""
#define AUDIT_SEQ_KEY ",\"seq\":"
#define AUDIT_LINE_END "\"}"

extern const char audit_first_prev[AUDIT_HASH + 1];  // the `prev` of the very first line: zeros

// What a line says of its place in the chain. False: it is no such line.
struct audit_place {
  uint64_t seq;
  str prev, hash;
  str hashed;  // the part of the line that the hash is of
  str mac;     // HMAC-SHA256 of the hash; STR_NONE: the line was written without a key
};
bool audit_read_place(str line, struct audit_place *out);

// The hash of a line's part, in hex.
void audit_hash(str hashed, char out[AUDIT_HASH + 1]);

// HMAC-SHA256 in hex. The mac of a line is that of its hash, which stands for the line and all before it; a hash never
// looks like the text of a head.
void audit_sign(struct hmac *key, str text, char out[AUDIT_HASH + 1]);
bool audit_line_is_signed(const struct audit_place *p, struct hmac *key);  // works the hash out again

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
  uint64_t began;  // when this chain began, in ms since 1970: of two chains the later counts. 0: without a key
  char hash[AUDIT_HASH + 1];
  char mac[AUDIT_HASH + 1];  // "": there is none
};
bool audit_read_head(const char *head_path, struct audit_head *out);
size_t audit_put_head(const struct audit_head *head, struct hmac *key, char out[AUDIT_HEAD_MAX]);  // key: NULL: none
bool audit_head_is_signed(const struct audit_head *head, struct hmac *key);

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
  uint64_t max_bytes;
  uint64_t max_total;  // of all files; 0: any number
  uint64_t keep_ms;    // rotated files that are younger stay
  unsigned keep;
  bool required;
  struct hmac *key;  // NULL: there is none
  const struct clock *clock;
  int fd;
  struct audit_inode inode;
  uint64_t size;      // of the file behind our last line; another one means that others wrote
  uint64_t others;    // bytes of rotated files; UINT64_MAX: to be looked at
  uint64_t reserved;  // up to here there is room on the disk
  uint64_t seq;       // of the last line
  char prev[AUDIT_HASH + 1];
  uint64_t begins;  // the first line that is still kept
  uint64_t began;   // as in the head
  int head_fd;      // of FILE.head
  struct audit_inode head_inode;
  bool headless;  // which could not be written
  int head_errno;
  struct buf lines;
  struct tokens_memo words;  // whose tokens are known
  struct hasher *hasher;
  struct buf notice;      // the body of a line about a break of the chain, to be written first
  struct fault broke;     // what the gateway's log is to say of it; FAULT_NONE: nothing
  uint64_t set_aside_at;  // monotonic; 0: never
  uint64_t rotate_from;   // monotonic; a full file goes on until then, since it could not be rotated
  unsigned breaks;        // since the start
  char room[AUDIT_LINE_MAX];
};

// The end of a log as it lies on the disk, before lines are added to it.
struct audit_end {
  uint64_t size;
  uint64_t tail;    // bytes after the last whole line
  bool head_there;  // something is at FILE.head
  bool headed;      // and it is a head, signed if there is a key
  struct audit_head head;
  bool lined;  // the last whole line is one of a log
  struct audit_place last;
};

// Returns NULL if lines may be added, or why not: the key does not vouch for this end. Without a key, always NULL.
const char *audit_doubt(struct audit_file *a, const struct audit_end *end);

// Does the last line of FILE.1 have this hash? So it is after a rotation.
bool audit_was_rotated(struct audit_file *a, const char *hash);

// Renames the log with its head and its rotated files to FILE.unverified-N, and begins another chain, whose first line
// says so. The lock is held and given up. False: f says why; nothing may be written.
bool audit_set_aside(struct audit_file *a, const struct audit_end *end, const char *why, struct fault *f);

// Prepares the line that says that the chain is broken, and what the gateway's log says.
void audit_note_break(struct audit_file *a, const char *file, const char *why);

enum { AUDIT_ROTATED_MAX = 1000 };  // rotated files; then the file grows

// The name of a rotated file, FILE.number; number 0 is FILE itself. Owned by the caller.
char *audit_file_name(const char *path, unsigned number);

// The lock is held. May there be one more rotated file?
bool audit_may_shift(const struct audit_file *a);
// Renames FILE to FILE.1, FILE.1 to FILE.2 and so on, then removes the oldest files that are neither among the last
// `keep` nor young; *out_gone says whether any is gone. Returns false, with errno, if one cannot be renamed or removed:
// then all have the names that they had.
bool audit_shift_files(const struct audit_file *a, bool *out_gone);
// The number of the first line that is left, in the oldest rotated file; the next line's if there is none.
uint64_t audit_first_kept(struct audit_file *a);
// Returns whether `more` bytes fit audit.max_total. Removes rotated files older than audit.keep_days if that
// makes room. Returns false with a reason in f.
bool audit_has_room(struct audit_file *a, uint64_t more, struct fault *f);

enum {
  AUDIT_LOCK_MS = 1000,  // a batch of lines waits for the lock at most this long
  AUDIT_GLANCE_MS = 50,  // and requests wait for such a batch at most this long
};

// False: f says why; it is to be closed all the same, and may be written to later.
bool audit_file_open(struct audit_file *a, const struct audit_options *opt, struct fault *f);
void audit_file_close(struct audit_file *a);

// Are the files where they were, and does nobody else hold the lock? A few system calls.
bool audit_file_in_place(const struct audit_file *a);

// Appends records. aside: the file is rotated first. *out_written may be true when it fails: there is no room for more.
bool audit_file_write(struct audit_file *a, struct buf *batch, bool aside, bool *out_written, struct fault *f);
