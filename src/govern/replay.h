// SPDX-License-Identifier: Apache-2.0
// Decides recorded questions again, with another governance file.
#pragma once
#include "govern/agents.h"

// The outcome of a decision, as a caller sees it.
struct replay_outcome {
  str code;   // "ALLOWED", or the code of the denial
  str mode;   // effective mode, or "-"
  str gates;  // ids of the gates that must approve the call, separated by commas; or ""
  str pointer;
  bool provisional;  // class and mode of the capability follow hints of its server
};

// A recorded decision.
struct replay_record {
  struct replay_outcome outcome;
  struct replay_outcome governed;  // the decision of the governance file alone
  bool by_rules, by_pins;          // the access rules or the pins refused the call, not the governance file
};

// Reads the outcome of a Decision Record (the object `decision` of govern/decision_record.h). Returns false if the
// record is incomplete.
bool replay_recorded(const struct json *record, struct arena *a, struct replay_record *out);

// Decides the question of a record by the file `g`. The context has the members that `g` gives the agent; only values
// that come from the token, such as principals and scopes, are the recorded ones. `now` is the time of the decision in
// seconds since 1970. Returns false, with the reason in f, if the record does not have all inputs.
bool replay_decide(const struct governance *g, const struct json *record, int64_t now, struct arena *a,
                   struct replay_outcome *out, struct fault *f);

// Returns whether both outcomes look the same to a caller.
bool replay_same(const struct replay_outcome *a, const struct replay_outcome *b);
