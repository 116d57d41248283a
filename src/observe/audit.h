// SPDX-License-Identifier: Apache-2.0
// The record of who did what: one JSON line for every operation, whatever became of it.
//
//   {"timestamp":"2025-10-28T10:30:00.123Z","agent_id":"researcher","operation":"execute_tool","server":"brave-search",
//    "tool":"search","decision":"ALLOW","latency_ms":145.200,"rule":"agents.…","code":null,…,
//    "seq":7,"prev":"…","hash":"…"}
//
// The lines are a chain: `prev` is the `hash` of the line before, `hash` the SHA-256 of the line up to its own
// `,"hash":`. audit_verify finds a line that was altered, removed, inserted or moved. The end of the chain is noted in
// FILE.head, so that lines taken off the end are found too.
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
  unsigned keep;       // rotated files; older ones are removed
  bool required;       // nothing may be done while it cannot be written
  str key;             // signs FILE.head; STR_NONE: nothing does. Outlives it
  const struct clock *clock;
  const struct log *log;
};

enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_ERROR, AUDIT_TIMEOUT };

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
  str reason, peer;               // why somebody was turned away, and from which address
  uint64_t omitted;               // so many others like it have no line
  str rules_before, rules_after;  // hashes
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

// False: it is required and cannot be written at the moment, so that nothing may be done. To be asked before: that the
// files are where they were and that no other process holds the lock is seen (once a millisecond at most, some system
// calls), and for what is there instead it is tried whether it can be written. May wait for the lock, 50 ms at most.
bool audit_ready(struct audit *a);
bool audit_failing(const struct audit *a);       // it is to be taken again, after a while
uint64_t audit_retry_ms(const struct audit *a);  // that while
const char *audit_why(const struct audit *a);    // what was wrong with it the last time; empty: nothing was
uint64_t audit_lost(const struct audit *a);      // lines, so far

// ---- verifying

enum audit_finding {
  AUDIT_ALTERED,    // a line is not what its hash says
  AUDIT_UNLINKED,   // it does not follow the line before: something was removed, inserted or moved
  AUDIT_MALFORMED,  // no line of an audit at all
  AUDIT_SHORTENED,  // the beginning or the end that FILE.head tells of is not there
  AUDIT_UNSIGNED,   // FILE.head is not signed with the key
};

struct audit_verdict {
  size_t files;
  uint64_t lines;
  size_t findings;  // 0: the chain is whole
  uint64_t first_seq, last_seq;
  uint64_t behind;  // lines that FILE.head does not tell of: whoever wrote them was stopped before
  bool torn;        // such a line is cut off at the end of the file
};

// file: which one; line: in it, from 1.
typedef void audit_tell(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message);

// Reads a file with those that it was before it was rotated (FILE.1, …), and FILE.head. key: that the head must be
// signed with; STR_NONE: it need not be. Reads what was there when it began, with some 256 KiB of memory, and tells the
// first 1000 findings. False: one cannot be read, or is no regular file.
bool audit_verify(str file, str key, audit_tell *tell, void *ctx, struct audit_verdict *out, struct fault *f);
