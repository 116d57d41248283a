// SPDX-License-Identifier: Apache-2.0
// Writes one line to the audit log for every request of a client. Repeated refusals are only counted (call/refusals.h).
//
// audit_recorder_open gives each request a note, in which the functions below collect facts for the line: the server,
// the tool, the decision of the rules, the fault. The session reports the end of every request, whether it was
// answered, refused, cancelled or abandoned by its client. Then audit_recorder_close writes the line. So an operation
// needs no logging code of its own.
//
// If no audit log is configured, requests have no notes, and the functions do nothing.
#pragma once
#include "call/caller.h"
#include "observe/audit.h"
#include "text/secrets.h"

struct audit_recorder;

struct audit_recorder_options {
  struct loop *loop;
  struct audit *audit;  // owned by the recorder
  bool arguments;       // log the values of arguments too
  unsigned refusals;    // lines in a minute for one principal and one reason; 0: no limit
};

struct audit_recorder *audit_recorder_new(const struct audit_recorder_options *opt);
// writes the remaining lines; call it before the event loop ends
void audit_recorder_free(struct audit_recorder **recorder);
void audit_recorder_rotate(struct audit_recorder *l);  // continues in a new file; NULL: does nothing

// Returns false if the configuration requires the audit log and the log cannot be written at the moment. Sets *out_why
// to the reason of the last failure, or to "".
bool audit_recorder_ready(struct audit_recorder *l, const char **out_why);
bool audit_recorder_failing(const struct audit_recorder *l);     // the log cannot be written at the moment
uint64_t audit_recorder_lost(const struct audit_recorder *l);    // number of lines that were lost since the start
uint64_t audit_recorder_breaks(const struct audit_recorder *l);  // number of damaged or empty log files since the start

// Creates the note of a request, which collects facts for its audit line. `operation` must be a constant or in the
// request's memory; `mode` must be a constant.
void audit_recorder_open(struct audit_recorder *l, struct request *r, const char *mode, str operation);
// audit_recorder_admit checks whether the audit log can be written, and calls `admitted` with the result: immediately,
// or when the check has ended. `f` is NULL if the request may run. If the log is required and cannot be written, `f` is
// the reason to refuse the request. If the request is cancelled first, `admitted` is not called.
typedef void audit_admitted(void *ctx, struct request *r, const struct fault *f);
void audit_recorder_admit(struct audit_recorder *l, struct request *r, audit_admitted *admitted, void *ctx);
// Writes the audit line of a request. answer.p is NULL if the request gets no answer.
void audit_recorder_close(struct audit_recorder *l, struct request *r, str answer);

// Logs an event other than a request, such as a refused connection or changed rules. Does nothing if `l` is NULL.
void audit_recorder_add(struct audit_recorder *l, const struct audit_event *e);

// Each of the following functions sets a fact in the request's note, and copies its arguments. A later call of the same
// function replaces the fact.
void audit_recorder_agent(struct request *r, str agent);
void audit_recorder_caller(struct request *r, const struct caller *c);  // agent and tenant
void audit_recorder_server(struct request *r, str server);
void audit_recorder_tool(struct request *r, str server, str tool);
// `target` is a URI, the name of a prompt, the id of a task, or the handle of an artifact. Secrets in `target` are
// masked.
void audit_recorder_target(struct request *r, str target);
// Sets the decision of the access rules about the request. The decision is logged even if the client's answer only says
// that the item does not exist.
void audit_recorder_decided(struct request *r, const struct policy_decision *d);
// Sets the rule that refused the request (a dotted path, or STR_NONE), if there is no struct policy_decision.
void audit_recorder_rule(struct request *r, str rule);
// Sets the rule that is logged if the request fails because the caller is unknown.
void audit_recorder_unknown(struct request *r, str rule);
// Sets the known secrets to mask in the line. Text that looks like a secret is always masked.
void audit_recorder_secrets(struct request *r, const struct secrets_known *known);
void audit_recorder_trace(struct request *r, str trace);  // `trace` is the trace id, or STR_NONE
// Sets the id of the governance decision and the hash of the envelopes; each may be STR_NONE.
void audit_recorder_governed(struct request *r, str decision_id, str envelope_hash);
void audit_recorder_key(struct request *r, str key);  // idempotency key, or STR_NONE
void audit_recorder_fault(struct request *r, enum fault_code code);
// audit_recorder_shown and audit_recorder_shown_text set the part of the answer whose tokens are counted: the part that
// the client shows its model (mcp/server/clients.h). If neither is called, the whole answer is counted. `structured` is
// the raw structuredContent of the answer, or STR_NONE.
void audit_recorder_shown(struct request *r, const struct json *result);
void audit_recorder_shown_text(struct request *r, str text, str structured);

enum audit_recorder_mark {
  AUDIT_NOTE_TOOL_ERROR = 1,
  AUDIT_NOTE_CACHED = 2,
  AUDIT_NOTE_DRY_RUN = 4,
  AUDIT_NOTE_ASKED = 8,
  AUDIT_NOTE_SENT = 16,
  AUDIT_NOTE_REPLAYED = 32,
  AUDIT_NOTE_UNKNOWN = 64
};
void audit_recorder_mark(struct request *r, unsigned marks, unsigned retries);
