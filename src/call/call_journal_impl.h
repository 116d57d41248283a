// SPDX-License-Identifier: Apache-2.0
// Internals of the records of governed calls.
#pragma once
#include "call/call_journal.h"
#include "call/steps/steps.h"
#include "govern/tool_envelopes.h"

struct call_journal {
  struct journal *journal;
  struct buf line, args, scratch;
  int64_t time_ms;              // the wall time that `time` shows
  char time[CLOCK_TEXT];        // see call_journal_time
  struct governed_call *spare;  // freed records, for reuse
  size_t spare_count;
};

enum { CALL_ID = 8 };  // random bytes of the id of a call

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
  str id, run_id, trace_id, decision_id, started, gate, idempotency_key;
  str capability;  // raw JSON string: the id
  str tenant, agent, server, tool;
  str envelope;  // ToolCallEnvelope
  str citations;
  const struct governance_adapter *adapter;  // belongs to the call's governance
  enum approval_mode effective;
  bool recorded;  // a line must be written when the call ends
  enum governance_code code;
  bool hashed;
  char id_text[sizeof "tool_" - 1 + 2 * CALL_ID], trace_text[2 * TRACE_ID], started_text[CLOCK_TEXT];
  char output_hash[RECORD_DIGEST_SIZE];
};

// Writes the ToolCallEnvelope of a new record.
void governed_call_begin(struct call *c, struct governed_call *g, const struct governance_question *q,
                         const struct governance_decision *d, const struct recorded_args *args);

// Returns a wall time as text, which the next call of this function overwrites. Many calls have the same time, so the
// text is written only when the time changes.
str call_journal_time(struct call_journal *j, int64_t ms);

// Begins a line of the journal with the members `record` (from `kind`), `id` and `time`. Returns the buffer to which the
// rest of the line must be appended, before journal_end.
struct buf *call_journal_begin(struct call_journal *j, const char *kind, str id, str time);
