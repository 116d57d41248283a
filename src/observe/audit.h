// SPDX-License-Identifier: Apache-2.0
// The audit log: one JSON line for every operation, whether it succeeded, failed or was denied.
//
//   {"timestamp":"2025-10-28T10:30:00.123Z","agent_id":"researcher","operation":"execute_tool","server":"brave-search",
//    "tool":"search","decision":"ALLOW","latency_ms":145.200,"rule":"agents.…","code":null,…,
//    "seq":7,"prev":"…","hash":"…"}
//
// The lines form a chain: `prev` is the `hash` of the preceding line, `hash` the SHA-256 of the line up to its own
// `,"hash":`. audit_verify detects altered, removed, inserted and moved lines. FILE.head records the end of the chain,
// so that lines removed from the end are detected too. With a key, FILE.head is signed, and every line also has a
// `mac`: the HMAC-SHA256 of its hash, which cannot be forged without the key.
//
// With a key, lines are appended only to a log whose end is signed with that key. Any other log, with its head and
// rotated files, is renamed to FILE.unverified-N, unchanged; a new chain then begins with an `audit_break` line.
//
// Several processes may write one file: each appends under a lock. A file that reaches its size limit is renamed to
// FILE.1, FILE.1 to FILE.2 and so on; the chain continues in the new file.
#pragma once
#include "base/arena.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

struct audit;
struct gateway_key;

struct audit_options {
  str file;
  uint64_t max_bytes;  // a file that reaches this size is rotated; 0 if there is no such limit
  unsigned keep;       // number of rotated files to keep regardless of age
  uint64_t keep_ms;    // age after which further rotated files are removed; if 0, they are removed immediately
  uint64_t max_total;  // maximum bytes of all files of the log; a write that would exceed them fails; 0 if unlimited
  bool required;       // refuse operations while the log cannot be written
  str key;             // signs lines and FILE.head; STR_NONE if they are not signed
  // Signs heads of the Merkle tree over the lines (observe/audit_tree.h). NULL: there is no tree. Must outlive the log.
  const struct gateway_key *signer;
  uint64_t head_ms;  // minimum time between two heads
  const struct clock *clock;
  const struct log *log;
};

enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_ERROR, AUDIT_TIMEOUT, AUDIT_DRY_RUN };

// The data of one audit line. Texts may contain any bytes: they are escaped to ASCII and truncated. STR_NONE is written
// as null or left out.
struct audit_event {
  str agent, operation, server, tool;
  enum audit_decision decision;
  uint64_t latency_us;
  str rule;    // access rule that decided; STR_NONE if no rules are configured
  str code;    // the name of a fault; STR_NONE on success
  str target;  // for operations other than tool calls: the URI, prompt, task or handle concerned
  str mode;    // mode of the client's tool view
  str request_id, session, principal;
  str tenant;           // of the run context; STR_NONE if there is none
  str subject, issuer;  // subject and issuer of the credential; STR_NONE if unknown
  str trace;            // W3C trace id, or STR_NONE
  str decision_id;      // of the governance file; STR_NONE if the request is not governed
  str envelope_hash;    // SHA-256 of the envelopes of a governed call, or STR_NONE
  str key;              // idempotency key, or STR_NONE
  size_t bytes_in, bytes_out;
  // Request and response text. Only their token counts are logged; null is logged for STR_NONE.
  str counted_in, counted_out;
  unsigned attempts;  // failed attempts before this one
  bool tool_error;    // the tool reported an error
  bool cached, dry_run;
  bool replayed;        // the outcome is that of an earlier call with the same key
  bool effect_unknown;  // the call was sent, and its outcome is unknown
  bool asked;           // the operation is unfinished: the client must answer an elicitation or sampling request
  str arguments;        // arguments in raw JSON, without secrets; STR_NONE if they are not logged
  // The following members are only used for events other than requests.
  str reason, peer;                     // why a client was rejected, and its address
  uint64_t omitted;                     // number of similar events that were not logged
  int64_t omitted_from, omitted_until;  // wall-clock time of the first and the last omitted event; 0 if unknown
  str rules_before, rules_after;        // hashes of the rules
};

// Reads a key of at least 16 bytes from a file, without the trailing line end, into the arena.
bool audit_read_key(str path, struct arena *a, str *out, struct fault *f);

// Opens a log. Creates its folder if necessary, and repairs a file that ends in the middle of a line after a crash or
// on a full disk. If the log is required and cannot be written, returns NULL with the reason in f.
struct audit *audit_open(const struct audit_options *opt, struct fault *f);
// Returns whether audit_open could open this file; creates nothing. If false, f has the reason.
bool audit_can_open(str file, struct fault *f);
void audit_close(struct audit **a);  // writes the remaining lines

// audit_add formats a line. Lines are written in batches, in three steps: audit_take moves the pending lines to a batch
// and returns false if no line waits or if it is too early to retry; audit_write writes the batch on any thread, while
// more lines may be added; audit_settle handles the result. A batch that could not be written is kept and retried.
void audit_add(struct audit *a, const struct audit_event *e);
bool audit_take(struct audit *a);
void audit_write(struct audit *a);
void audit_settle(struct audit *a);
void audit_flush(struct audit *a);  // audit_take, audit_write and audit_settle

// Makes the next write start a new file. Not needed if the current file was moved away, because the next write then
// creates a new one.
void audit_rotate(struct audit *a);

// Returns the time after which audit_take must be called again so that a head for the last lines is signed; 0 if a head
// covers all lines.
uint64_t audit_head_after(const struct audit *a);

// Whether an operation may begin. Always AUDIT_READY if the configuration does not require the audit log.
enum audit_readiness {
  AUDIT_READY,
  AUDIT_WAIT,    // unknown: call audit_take and audit_write, and ask again after at most AUDIT_ASK_MS
  AUDIT_REFUSE,  // the log cannot be written now
};
enum { AUDIT_ASK_MS = 10 };

// Must be called before each operation. At most once a millisecond, checks with a few system calls that the files are
// in place and that no other process holds the lock. If this check fails, the operation must wait until a write
// succeeds, even if no line is pending; it waits at most AUDIT_GLANCE_MS for another process's lock. This function
// never blocks.
enum audit_readiness audit_ready(struct audit *a);
bool audit_failing(const struct audit *a);       // the last write failed and must be retried
uint64_t audit_retry_ms(const struct audit *a);  // milliseconds from a failed write to its retry
const char *audit_why(const struct audit *a);    // reason of the last failure, or ""
uint64_t audit_lost(const struct audit *a);      // lines lost since the start
unsigned audit_breaks(const struct audit *a);    // logs set aside or found empty since the start

// ---- verifying

enum audit_finding {
  AUDIT_ALTERED,    // the hash of a line does not match its text
  AUDIT_UNLINKED,   // a line does not follow the preceding one: lines were removed, inserted or moved
  AUDIT_MALFORMED,  // not an audit line
  AUDIT_SHORTENED,  // FILE.head records a first and a last line, and one of them is missing
  AUDIT_UNSIGNED,   // a line or FILE.head is not signed with the key
};

struct audit_verdict {
  size_t files;
  uint64_t lines;
  size_t findings;  // number of findings; 0 if the chain is intact
  uint64_t first_seq, last_seq;
  // Number of lines after the last line that FILE.head records. There are such lines if the writer stopped before it
  // updated FILE.head.
  uint64_t behind;
  uint64_t breaks;  // number of audit_break lines; each reports that a log was set aside or found empty
  bool keyed;       // the log was written with a key; without that key only hashes are checked
  bool torn;        // an unfinished line follows the line recorded in FILE.head
};

// Reports one finding. `line` is the number of the line in `file`, from 1.
typedef void audit_report(void *ctx, enum audit_finding what, const char *file, uint64_t line, const char *message);

// Verifies a file with its rotated files (FILE.1, …) and FILE.head. Checks hashes and, unless `key` is STR_NONE,
// signatures. Ignores lines that are appended during the check, uses about 256 KiB of memory, and reports the first
// 1000 findings. Returns false if a file cannot be read or is not a regular file.
bool audit_verify(str file, str key, audit_report *tell, void *ctx, struct audit_verdict *out, struct fault *f);
