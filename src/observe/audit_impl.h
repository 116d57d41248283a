// SPDX-License-Identifier: Apache-2.0
// Internals of the audit log, shared by the writer and the verifier: line format, head, files, rotation.
#pragma once
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/crypto/hmac.h"
#include "observe/audit.h"
#include "text/tokens.h"

enum { AUDIT_HASH = 2 * SHA256_SIZE };  // number of hex digits

// Flags with which a log is opened (open(2)).
enum { AUDIT_OPEN_FLAGS = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };

#define AUDIT_LINE_BEGIN "{\"timestamp\":\""
#define AUDIT_HASH_KEY ",\"hash\":\""  // the hash covers the line up to this key
#define AUDIT_MAC_KEY ",\"mac\":\""
#define AUDIT_PREV_KEY ",\"prev\":\""
#define AUDIT_SEQ_KEY ",\"seq\":"
#define AUDIT_LINE_END "\"}"

extern const char audit_first_prev[AUDIT_HASH + 1];  // value of `prev` in the first line of a chain: zeros

// The fields of a line that form the chain, such as `prev` and `hash`. The strings are slices of the line.
struct audit_place {
  uint64_t seq;
  str prev, hash;
  str hashed;  // the part of the line covered by the hash
  str mac;     // HMAC-SHA256 of the hash; STR_NONE if the line was written without a key
};
// Reads the chain fields of a line; returns false if it is not an audit line.
bool audit_read_place(str line, struct audit_place *out);

// Writes the SHA-256 of the hashed part of a line, in hex.
void audit_hash(str hashed, char out[AUDIT_HASH + 1]);

// Writes the HMAC-SHA256 of `text` in hex. For a line, `text` is its hash, which also covers all preceding lines. For
// FILE.head, `text` never looks like a hash, so the signature of a head cannot be used for a line.
void audit_sign(struct hmac *key, str text, char out[AUDIT_HASH + 1]);
bool audit_line_is_signed(const struct audit_place *p, struct hmac *key);  // recomputes the hash

// Reads the last complete line of an open file of `size` bytes. Returns false if there is no such line or if it is not
// an audit line. Sets *out_tail to the number of bytes after the last complete line, or to UINT64_MAX if these bytes do
// not fit into `room`.
bool audit_read_last(int fd, uint64_t size, struct audit_place *out, char *room, size_t room_size, uint64_t *out_tail);

// Reads the first line of a file. Returns false if this line is incomplete or not an audit line.
bool audit_read_first(const char *path, struct audit_place *out, char *room, size_t room_size);

// Returns whether an open file is an audit log or empty. A file with other contents is accepted only if its head file
// exists. Otherwise sets f to the reason.
bool audit_is_log(int fd, const char *path, const char *head_path, struct fault *f);

enum { AUDIT_HEAD_MAX = 320 };  // maximum bytes of FILE.head
// FILE.head records the last line and the oldest kept line. With a key, FILE.head ends with an HMAC-SHA256 of its other
// fields.
struct audit_head {
  uint64_t seq, begins;
  // Start of this chain in milliseconds since 1970; 0 without a key. If there are two chains, the one that started
  // later is valid.
  uint64_t began;
  char hash[AUDIT_HASH + 1];
  char mac[AUDIT_HASH + 1];  // "" if unsigned
};
bool audit_read_head(const char *head_path, struct audit_head *out);
size_t audit_put_head(const struct audit_head *head, struct hmac *key, char out[AUDIT_HEAD_MAX]);  // key may be NULL
bool audit_head_is_signed(const struct audit_head *head, struct hmac *key);

enum { AUDIT_LINE_MAX = 1 << 17 };  // maximum bytes of a line

// Appends the body of a line. The writer adds token counts and chain fields.
void audit_put_body(const struct audit_event *e, int64_t wall_ms, struct buf *out);

// Header of a pending line in a buffer. Three texts follow this header: the body of the line, the request text and the
// response text. Tokens are counted in the last two.
struct audit_record {
  uint32_t body, in, out;          // sizes of the three texts in bytes
  uint32_t tokens_in, tokens_out;  // set by the writer
  bool has_in, has_out;
};

enum { AUDIT_PENDING_MAX = 16 << 20 };

// State of the current write.
enum audit_state {
  AUDIT_WORKS,
  AUDIT_LOCKED_OUT,  // the write waits, because another process holds the lock
  AUDIT_BROKEN,      // the write failed
};

// Identity of a regular file; `number` is 0 if there is no file.
struct audit_inode {
  dev_t device;
  ino_t number;
};

// The files of a log that is being written. Only one thread at a time may use this struct, except for `state`.
struct audit_file {
  char *path, *head_path;
  atomic_int state;
  uint64_t max_bytes;
  uint64_t max_total;  // maximum bytes of all files; 0 if unlimited
  uint64_t keep_ms;    // younger rotated files are kept
  unsigned keep;
  bool required;
  struct hmac *key;  // NULL if lines are not signed
  const struct clock *clock;
  int fd;
  struct audit_inode inode;
  uint64_t size;      // file size after our last write; a different size means that another process wrote
  uint64_t others;    // bytes of all rotated files; UINT64_MAX if unknown
  uint64_t reserved;  // file offset up to which disk space is reserved
  uint64_t seq;       // seq of the last line
  char prev[AUDIT_HASH + 1];
  uint64_t begins;  // number (`seq`) of the oldest kept line
  uint64_t began;   // as in struct audit_head
  int head_fd;      // file descriptor of FILE.head
  struct audit_inode head_inode;
  bool headless;  // the last attempt to write FILE.head failed
  int head_errno;
  struct buf lines;
  struct tokens_memo words;  // cache of token counts
  struct buf notice;         // body of an audit_break line, to be written before other lines
  struct fault broke;        // message about the break for the gateway's log; FAULT_NONE if there is no message
  uint64_t set_aside_at;     // monotonic time when a log was last set aside; 0 if never
  uint64_t rotate_from;      // monotonic time before which a failed rotation is not repeated
  unsigned breaks;           // number of breaks of the chain since the start
  char room[AUDIT_LINE_MAX];
};

// The end of a log as found on disk, before lines are appended.
struct audit_end {
  uint64_t size;
  uint64_t tail;    // bytes after the last complete line
  bool head_there;  // FILE.head exists
  bool headed;      // FILE.head is a valid head, and signed if a key is set
  struct audit_head head;
  bool lined;  // the file has a complete line, and the last complete line is an audit line
  struct audit_place last;
};

// Checks the signatures at the end of a log. Returns NULL if they are valid or if there is no key, so that lines may be
// appended; otherwise, returns why the end cannot be trusted.
const char *audit_doubt(struct audit_file *a, const struct audit_end *end);

// Returns whether the last line of FILE.1 has this hash, which means that FILE was rotated after that line.
bool audit_was_rotated(struct audit_file *a, const char *hash);

// Renames the log with its head and its rotated files to FILE.unverified-N, and prepares the audit_break line for the
// next chain. The caller must hold the lock and release it. On failure, f has the reason, and the caller must not write
// to the log.
bool audit_set_aside(struct audit_file *a, const struct audit_end *end, const char *why, struct fault *f);

// Prepares the audit_break line. `file` is the log that was set aside or found empty, `why` is the reason.
void audit_note_break(struct audit_file *a, const char *file, const char *why);

enum { AUDIT_ROTATED_MAX = 1000 };  // maximum number of rotated files; a log with this many is not rotated any more

// Returns the name of a rotated file, FILE.number; number 0 is FILE itself. The caller must free it.
char *audit_file_name(const char *path, unsigned number);

// Returns whether one more rotated file is allowed. The caller must hold the lock.
bool audit_may_shift(const struct audit_file *a);
// Renames FILE to FILE.1, FILE.1 to FILE.2 and so on, then removes the files that are older than `keep_ms` and not
// among the newest `keep` files. Sets *out_gone if a file was removed. On failure, restores the names and sets errno.
bool audit_shift_files(const struct audit_file *a, bool *out_gone);
// Returns the number (`seq`) of the first line of the oldest rotated file. If there are no rotated files, returns the
// number of the next line.
uint64_t audit_first_kept(struct audit_file *a);
// Returns whether `more` bytes fit audit.max_total. Removes rotated files older than audit.keep_days if that makes
// room. Otherwise returns false, with a reason in f.
bool audit_has_room(struct audit_file *a, uint64_t more, struct fault *f);

enum {
  AUDIT_LOCK_MS = 1000,  // maximum time that a batch of lines waits for the file lock
  AUDIT_GLANCE_MS = 50,  // maximum time that a request waits while another process holds the file lock
};

// Opens the log. On failure, f has the reason; the caller may still try to write. In any case, the caller must call
// audit_file_close in the end.
bool audit_file_open(struct audit_file *a, const struct audit_options *opt, struct fault *f);
void audit_file_close(struct audit_file *a);

// Returns whether the log and its head are at their paths and no other process holds the lock. Makes only a few system
// calls.
bool audit_file_in_place(const struct audit_file *a);

// Appends records. If `aside` is true, rotates the file first. Sets *out_written to whether the records were written.
// The function can fail even after the records were written, if FILE.head cannot be written or no disk space is left.
bool audit_file_write(struct audit_file *a, struct buf *batch, bool aside, bool *out_written, struct fault *f);
