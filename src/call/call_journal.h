// SPDX-License-Identifier: Apache-2.0
// Records governed calls in the journal of the gateway: a Decision Record for each decision.
//
// A line of the journal is an object with `record` ("decision"), `id`, `time` and the record itself
// (docs/reference/governance.md).
#pragma once
#include "call/call.h"
#include "govern/decision_record.h"
#include "observe/journal.h"

struct call_journal;

// `journal` may be NULL: then nothing is recorded. It must outlive the call_journal.
struct call_journal *call_journal_new(struct journal *journal);
void call_journal_free(struct call_journal **j);

// Returns false, with the reason in f, if the governance file of the call requires records and they cannot be written.
bool call_journal_ready(const struct call *c, struct fault *f);

// Records a decision. `id` is the id of the decision.
void call_journal_decided(struct call *c, const struct governance_question *q, const struct governance_decision *d,
                          str id);
