// SPDX-License-Identifier: Apache-2.0
// Runs a skill step by step, without making the calls itself: skill_run_next returns the next call, and skill_run_give
// takes its outcome. The gateway makes real calls; golden sets give recorded outcomes.
//
// Expressions and templates read {"input", "context", "steps": {ID: {"result"}}, "evidence_refs": [NAME, …]}, where
// `input` are the arguments of the skill, `context` is the context of the caller, `steps` has the steps that have
// completed, and `evidence_refs` has the evidence of the capabilities that were called. Evidence of nested skills
// counts, too. A nested skill has its own input and steps; its result is {"steps"} or its output.
#pragma once
#include "skill/skills.h"

enum { SKILL_RESULT_MAX = 256 << 10, SKILL_HELD_MAX = 1 << 20, SKILL_DATA_MAX = 4 << 20, SKILL_CALLS_MAX = 64 };

enum skill_state { SKILL_CALLS, SKILL_COMPLETED, SKILL_FAILED_RUN };

// A step that has begun.
struct skill_frame;
struct skill_record {
  const struct skill_frame *frame;
  str id;          // with the ids of the outer steps: "verify.lookup"
  str capability;  // STR_NONE for a nested skill
  str skill;       // STR_NONE for a capability
  str outcome;     // "completed", or a fault code; STR_NONE while the step runs
  str mode;        // effective approval mode, or STR_NONE
  str result;      // raw JSON, or STR_NONE
  str message;     // of a failed step, or STR_NONE
};

// A condition that was evaluated, or prose. `holds` is meaningful only if the condition is not prose.
struct skill_verdict {
  str text;  // raw JSON
  bool after, prose, holds;
};

struct skill_run {
  const struct skills *skills;
  const struct governance *governance;
  struct arena *arena;  // holds everything below
  str context;          // raw JSON object
  struct skill_frame *frame;
  struct skill_record *records[SKILL_CALLS_MAX];
  size_t record_count;
  struct skill_verdict verdicts[2 * SKILL_CONDITIONS_MAX];  // of the outermost skill
  size_t verdict_count;
  str evidence;             // elements of a JSON array
  enum approval_mode mode;  // highest effective mode of the steps; APPROVAL_NONE before the first
  enum skill_state state;
  const char *code;  // of a run that failed: PRECONDITION_FAILED, STEP_FAILED, POSTCONDITION_FAILED, …
  str message;
  str output;   // raw JSON of a completed run: the output of the skill, or STR_NONE
  size_t held;  // bytes of the results
};

struct skill_call {
  str capability;
  str args;  // raw JSON object
};

// Begins a run: validates the input and tests the preconditions. `input` and `context` are raw JSON objects that were
// parsed before. The run is in the arena and needs no release.
struct skill_run *skill_run_begin(const struct skills *skills, const struct governance *g, const struct skill_entry *e,
                                  str input, str context, struct arena *a);

// Returns true and sets *out to the next call. Returns false if the run has ended: see run->state.
bool skill_run_next(struct skill_run *run, struct skill_call *out);

// The outcome of the last call of skill_run_next.
struct skill_outcome {
  bool ok;
  str result;               // raw JSON, if ok: the value for expressions
  str whole;                // raw JSON, if ok: the result of the call, which may have evidence
  str code, message;        // if not ok
  enum approval_mode mode;  // effective mode; APPROVAL_NONE if unknown
};
void skill_run_give(struct skill_run *run, const struct skill_outcome *o);

// Writes the members of the answer: skill_id, version, outcome, code, mode_effective, preconditions, steps,
// postconditions, and output or the results of the steps.
void skill_run_put(const struct skill_run *run, const struct skill *skill, bool results, struct json_writer *w);
