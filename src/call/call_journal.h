// SPDX-License-Identifier: Apache-2.0
// Records governed calls in the journal of the gateway: a Decision Record for each decision, and the envelopes of a
// call when the call ends.
//
// A line of the journal is an object with `record` ("decision" or "call"), `id`, `time` and the record itself
// (docs/reference/governance.md).
#pragma once
#include "call/call.h"
#include "govern/decision_record.h"
#include "observe/journal.h"

struct call_journal;
struct governed_call;  // the record of one call until it ends

// `journal` may be NULL: then nothing is recorded. It must outlive the call_journal.
struct call_journal *call_journal_new(struct journal *journal);
void call_journal_free(struct call_journal **j);

// Returns false, with the reason in f, if the governance file of the call requires records and they cannot be written.
bool call_journal_ready(const struct call *c, struct fault *f);

// Records a decision. `id` is the id of the decision, `now` the wall time in milliseconds. Returns the record of the call, which the caller must free, or
// NULL if neither records nor envelopes are wanted.
struct governed_call *call_journal_decided(struct call *c, const struct governance_question *q,
                                           const struct governance_decision *d, str id, int64_t now);
void governed_call_free(struct governed_call **g);

// Stores the hash and the citations of the server's result for the envelope. Does nothing if the call has no record.
void call_journal_result(struct call *c, const struct json *result);

// Records the end of a call, which took `us` microseconds. A call of a tool that the governance file hides is recorded as a denied call.
void call_journal_ended(struct call *c, bool cancelled, uint64_t us);

// Returns the envelopes for the answer, {"call", "result"}, in the request's memory. Returns STR_NONE if the governance
// file does not ask for them.
str call_journal_envelopes(struct call *c);
