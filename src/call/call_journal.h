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

// Records a decision, whose id is call_decision_id. Returns the record of the call, which the caller must free, or NULL
// if neither records nor envelopes are wanted.
struct governed_call *call_journal_decided(struct call *c, const struct governance_question *q,
                                           const struct governance_decision *d);
void governed_call_free(struct governed_call **g);

str call_journal_id(const struct call *c);  // id of the call in its envelope, or STR_NONE

// Notes what the server has returned (c->reply) for the envelope: hash, citations, evidence, mutations, output. Does
// nothing if the call has no record.
void call_journal_result(struct call *c);

// Decides about a call that ended before step_govern: its arguments are invalid, or the caller may not see the tool.
// Does nothing if a decision was made, or if the call is not governed.
void call_journal_decide_late(struct call *c);

// Records the end of a call, once.
void call_journal_ended(struct call *c, bool cancelled);

// Returns the SHA-256 of the recorded envelopes, after the end of the call. Returns STR_NONE if nothing was recorded.
str call_journal_hash(const struct call *c);

// Returns whether the governance file requires that the call's records are written before the call goes on.
bool call_journal_waits(const struct call *c);
// Calls w->done when the records that were made so far are written, or cannot be written. Returns what journal_wait
// returns.
enum journal_state call_journal_wait(struct call *c, struct journal_wait *w);

// Returns the envelopes for the answer, {"call", "result"}, in the request's memory. Returns STR_NONE if the governance
// file does not ask for them.
str call_journal_envelopes(struct call *c);
