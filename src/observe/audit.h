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
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

struct audit;

struct audit_options {
  str file;
  uint64_t max_bytes;  // then it is rotated; 0: never
  unsigned keep;       // rotated files; older ones are removed
  bool required;       // calls are refused while it cannot be written
  const struct clock *clock;
  const struct log *log;
};

enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_ERROR, AUDIT_TIMEOUT };

enum { AUDIT_NOT_COUNTED = -1 };

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
  str trace;  // W3C trace id; STR_NONE: none
  size_t bytes_in, bytes_out;
  int64_t tokens_in, tokens_out;  // or AUDIT_NOT_COUNTED
  unsigned attempts;              // that failed before
  bool tool_error;                // the tool itself says that it failed
  bool cached, dry_run;
  bool asked;     // it is not over: the client has questions to answer
  str arguments;  // raw JSON, scrubbed; STR_NONE: not told
};

// NULL: f says why. A file that ends in the middle of a line (a crash, a full disk) gets its line end first.
struct audit *audit_open(const struct audit_options *opt, struct fault *f);
void audit_close(struct audit **a);  // writes what is left

// The line is composed now, and written with others by audit_flush, which the owner calls before the loop waits.
void audit_add(struct audit *a, const struct audit_event *e);
void audit_flush(struct audit *a);

// False: it is required and cannot be written at the moment, so that nothing may be done.
bool audit_ready(struct audit *a);

// Somebody moved the file away: goes on in a new one.
void audit_reopen(struct audit *a);

// ---- verifying

enum audit_finding {
  AUDIT_ALTERED,    // a line is not what its hash says
  AUDIT_UNLINKED,   // it does not follow the line before: something was removed, inserted or moved
  AUDIT_MALFORMED,  // no line of an audit at all
  AUDIT_SHORTENED,  // the beginning or the end that FILE.head tells of is not there
};

struct audit_verdict {
  size_t files;
  uint64_t lines;
  size_t findings;  // 0: the chain is whole
  uint64_t first_seq, last_seq;
};

// file: which one; line: in it, from 1.
typedef void audit_tell(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message);

// Reads a file with those that it was before it was rotated (FILE.1, …), and FILE.head. False: one cannot be read.
bool audit_verify(str file, audit_tell *tell, void *ctx, struct audit_verdict *out, struct fault *f);
