// SPDX-License-Identifier: Apache-2.0
// Internals of the records of governed calls.
#pragma once
#include "call/call_journal.h"
#include "call/steps/steps.h"
#include "govern/tool_envelopes.h"

struct call_journal {
  struct journal *journal;
  struct hasher *hasher;
  struct buf line, args, scratch;
  struct governed_call *spare;  // freed records, for reuse
  size_t spare_count;
};

// The arguments as recorded.
struct recorded_args {
  str text;          // raw JSON, or STR_NONE
  const char *kept;  // see struct decision_record
  bool has_digest;
  char digest[RECORD_DIGEST_SIZE];
};

struct governed_call {
  struct call_journal *journal;
  struct governed_call *next;  // in journal->spare
  struct arena arena;          // owns the strings
  str id, run_id, trace_id, decision_id, capability_id, idempotency_key;
  str tenant, agent, server, tool;
  str envelope;  // ToolCallEnvelope
  str citations;
  const struct governance_adapter *adapter;  // belongs to the call's governance
  enum approval_mode effective;
  bool recorded;  // a line must be written when the call ends
  enum governance_code code;
  bool hashed;
  str started;  // time as text
  char output_hash[RECORD_DIGEST_SIZE];
  char envelope_hash[RECORD_DIGEST_SIZE];  // of the recorded envelopes; empty until the call has ended
};

// Writes the ToolCallEnvelope of a new record.
void governed_call_begin(struct call *c, struct governed_call *g, const struct governance_question *q,
                         const struct governance_decision *d, const struct recorded_args *args);

// Begins a line in j->line with the members `record` (from `kind`), `id` and `time`.
void call_journal_begin_line(struct call_journal *j, const char *kind, str id, str time);
void call_journal_add(struct call_journal *j);  // adds j->line to the journal
