// SPDX-License-Identifier: Apache-2.0
// The record of who did what: one JSON line for every operation, whatever became of it.
//
//   {"timestamp":"2025-10-28T10:30:00.123Z","agent_id":"researcher","operation":"execute_tool","server":"brave-search",
//    "tool":"search","decision":"ALLOW","latency_ms":145.200,"rule":"agents.…","code":null,…,
//    "seq":7,"prev":"…","hash":"…"}
//
// The lines are a chain: `prev` is the `hash` of the line before, `hash` the SHA-256 of the line up to its own
// `,"hash":`. audit_verify finds a line that was altered, removed, inserted or moved. The end of the chain is noted in
// FILE.head, so that lines taken off the end are found too. With a key every line also has a `mac`, the HMAC-SHA256 of
// its hash, so that nobody without the key can make one, and the head is signed.
//
// With a key, lines are added only to a log whose end the key vouches for. Any other is set aside untouched, as
// FILE.unverified-N with its head and rotated files, and a new chain begins with a line that says so (audit_break).
//
// Several processes may write one file: each appends under a lock, behind what the others wrote. A file that has grown
// to its limit becomes FILE.1, and so on; the chain goes on in the new one.
#pragma once
#include "base/arena.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

struct audit;

struct audit_options {
  str file;
  uint64_t max_bytes;  // then it is rotated; 0: never
  unsigned keep;       // the newest rotated files, which stay whatever their age
  uint64_t keep_ms;    // other rotated files are removed when they are older; 0: at once
  uint64_t max_total;  // bytes of all files: then it cannot be written; 0: any number
  bool required;       // nothing may be done while it cannot be written
  str key;             // signs lines and FILE.head; STR_NONE: nothing does
  const struct clock *clock;
  const struct log *log;
};

enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_ERROR, AUDIT_TIMEOUT, AUDIT_DRY_RUN };

// Texts may be anything: what a line holds of them is bounded, and plain ASCII. STR_NONE: null, or left out.
struct audit_event {
  str agent, operation, server, tool;
  enum audit_decision decision;
  uint64_t latency_us;
  str rule;    // that decided; STR_NONE: there is no policy
  str code;    // the name of a fault; STR_NONE: there was none
  str target;  // what it is about when that is no tool: a URI, a prompt, a task, a handle
  str mode;    // what of the surface its client sees
  str request_id, session, principal;
  str subject, issuer;  // who the principal is; STR_NONE: it is not known, and left out
  str trace;            // W3C trace id; STR_NONE: none
  size_t bytes_in, bytes_out;
  str counted_in, counted_out;  // their tokens are told; STR_NONE: null
  unsigned attempts;            // that failed before
  bool tool_error;              // the tool itself says that it failed
  bool cached, dry_run;
  bool asked;     // it is not over: the client has questions to answer
  str arguments;  // raw JSON, scrubbed; STR_NONE: not told
  // Of what is no request:
  str reason, peer;                     // why somebody was turned away, and from which address
  uint64_t omitted;                     // number of similar events without a line
  int64_t omitted_from, omitted_until;  // when the first and the last of them were, wall time; 0: not known
  str rules_before, rules_after;        // hashes
};

// A key from a file: all of it but the end of its line, 16 bytes or more, in the arena.
bool audit_read_key(str path, struct arena *a, str *out, struct fault *f);

// Makes the folder if need be. NULL: it is required and cannot be written, f says why. A file that ends in the middle
// of a line (a crash, a full disk) gets its line end first.
struct audit *audit_open(const struct audit_options *opt, struct fault *f);
// Could it be, as things are? Makes nothing. False: f says why not.
bool audit_can_open(str file, struct fault *f);
void audit_close(struct audit **a);  // writes what is left

// The line is composed now, and written with others later, in three steps: take what there is (false: nothing, or it is
// too early to try again); write it, on any thread, while others may be added; settle what came of it. What could not
// be written is kept for the next time.
void audit_add(struct audit *a, const struct audit_event *e);
bool audit_take(struct audit *a);
void audit_write(struct audit *a);
void audit_settle(struct audit *a);
void audit_flush(struct audit *a);  // all three

// The next write begins a new file. (One that somebody moved away is left behind anyway.)
void audit_rotate(struct audit *a);

// Whether an operation may begin. Always AUDIT_READY if the log is not required.
enum audit_readiness {
  AUDIT_READY,
  AUDIT_WAIT,    // not known yet: take and write, and ask again after at most AUDIT_ASK_MS
  AUDIT_REFUSE,  // the log cannot be written now
};
enum { AUDIT_ASK_MS = 10 };

// To be called before each operation. Checks, at most once a millisecond and with a few system calls, that the files
// are in place and that no other process holds the lock. If not, lines must be written first, even if none wait; a
// lock is waited for AUDIT_GLANCE_MS at most. Never blocks.
enum audit_readiness audit_ready(struct audit *a);
bool audit_failing(const struct audit *a);       // it is to be taken again, after a while
uint64_t audit_retry_ms(const struct audit *a);  // that while
const char *audit_why(const struct audit *a);    // what was wrong with it the last time; empty: nothing was
uint64_t audit_lost(const struct audit *a);      // lines, so far
unsigned audit_breaks(const struct audit *a);    // logs that were set aside, or found empty, so far

// ---- verifying

enum audit_finding {
  AUDIT_ALTERED,    // a line is not what its hash says
  AUDIT_UNLINKED,   // it does not follow the line before: something was removed, inserted or moved
  AUDIT_MALFORMED,  // no line of an audit at all
  AUDIT_SHORTENED,  // the beginning or the end that FILE.head tells of is not there
  AUDIT_UNSIGNED,   // a line or FILE.head is not signed with the key
};

struct audit_verdict {
  size_t files;
  uint64_t lines;
  size_t findings;  // 0: the chain is whole
  uint64_t first_seq, last_seq;
  uint64_t behind;  // lines that FILE.head does not tell of: whoever wrote them was stopped before
  uint64_t breaks;  // lines that say that a log before this one was set aside, or is missing
  bool keyed;       // it was written with a key: without that key only the hashes are checked
  bool torn;        // such a line is cut off at the end of the file
};

// file: which one; line: in it, from 1.
typedef void audit_tell(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message);

// Reads a file with its rotated files (FILE.1, …) and FILE.head. key: signs lines and head; STR_NONE:
// only hashes are checked. Reads what was there when it began, with some 256 KiB of memory, and reports the first 1000
// findings. False: one cannot be read, or is no regular file.
bool audit_verify(str file, str key, audit_tell *tell, void *ctx, struct audit_verdict *out, struct fault *f);
