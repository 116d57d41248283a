// SPDX-License-Identifier: Apache-2.0
// Exactly one line of the audit log for every request that a surface gets, whatever becomes of it, except for refusals
// that repeat (call/refusals.h).
//
// A request that comes gets a note (audit_recorder_open). Whoever learns something about it adds that to the note. When
// the request is over, which its session tells of every one, answered, refused, cancelled or left by its client, the
// line is written (audit_recorder_close). So a new operation is logged without doing anything; it only has to say what
// is not to be seen from outside: of which server and tool it is, what the rules said, what went wrong.
//
// Without an audit log requests have no notes, and nothing below does anything.
#pragma once
#include "call/caller.h"
#include "observe/audit.h"
#include "text/secrets.h"

struct audit_recorder;

struct audit_recorder_options {
  struct loop *loop;
  struct audit *audit;  // the ledger's from now on
  bool arguments;       // their values are written too
  unsigned refusals;    // of one principal for one reason that have lines, in a minute; 0: all have
};

struct audit_recorder *audit_recorder_new(const struct audit_recorder_options *opt);
void audit_recorder_free(struct audit_recorder **l);   // writes what is left, before the loop runs out
void audit_recorder_rotate(struct audit_recorder *l);  // goes on in a new file; NULL: does nothing

// False: it is required, and cannot be written at the moment. *out_why: what is wrong with it; may be empty.
bool audit_recorder_ready(struct audit_recorder *l, const char **out_why);
bool audit_recorder_failing(const struct audit_recorder *l);     // it cannot be written at the moment
uint64_t audit_recorder_lost(const struct audit_recorder *l);    // lines that were lost so far
uint64_t audit_recorder_breaks(const struct audit_recorder *l);  // logs that could not be verified so far

// A request begins, and gets a note. operation: one of our own texts, or the request's; mode: a constant.
void audit_recorder_open(struct audit_recorder *l, struct request *r, const char *mode, str operation);
// Calls `admitted`: at once, or later while it is unknown whether the log can be written; never for a request that is
// cancelled meanwhile. f: NULL, or the reason to refuse the request: the log is required and cannot be written.
typedef void audit_admitted(void *ctx, struct request *r, const struct fault *f);
void audit_recorder_admit(struct audit_recorder *l, struct request *r, audit_admitted *admitted, void *ctx);
void audit_recorder_close(struct audit_recorder *l, struct request *r,
                          str answer);  // answer.p == NULL: nobody waits for one

// Something happened that is no request: somebody was turned away, the rules were changed. NULL: does nothing.
void audit_recorder_add(struct audit_recorder *l, const struct audit_event *e);

// What is copied into the note. The last one counts.
void audit_recorder_agent(struct request *r, str agent);
void audit_recorder_server(struct request *r, str server);
void audit_recorder_tool(struct request *r, str server, str tool);
void audit_recorder_target(struct request *r,
                           str target);  // a URI, a prompt, a task, a handle; secrets in it are masked
// What the rules said, whatever is told of it: one who may not see something hears that there is no such thing.
void audit_recorder_decided(struct request *r, const struct policy_decision *d);
// The same when it is no decision: the rule as a dotted path, or STR_NONE.
void audit_recorder_rule(struct request *r, str rule);
// The same, to be told if that is what it fails for: nobody knows who asks.
void audit_recorder_unknown(struct request *r, str rule);
// What is masked in the line besides what looks like a secret.
void audit_recorder_secrets(struct request *r, const struct secrets_known *known);
void audit_recorder_trace(struct request *r, str trace);  // the id of the trace that it belongs to, or STR_NONE
void audit_recorder_fault(struct request *r, enum fault_code code);
// The part of the answer that the client gives its model (mcp/server/clients.h), to be counted; the whole answer if
// neither is called.
// structured: the raw structuredContent of the same answer, or STR_NONE.
void audit_recorder_shown(struct request *r, const struct json *result);
void audit_recorder_shown_text(struct request *r, str text, str structured);

enum audit_recorder_mark {
  AUDIT_NOTE_TOOL_ERROR = 1,
  AUDIT_NOTE_CACHED = 2,
  AUDIT_NOTE_DRY_RUN = 4,
  AUDIT_NOTE_ASKED = 8,
  AUDIT_NOTE_SENT = 16
};
void audit_recorder_mark(struct request *r, unsigned marks, unsigned retries);
