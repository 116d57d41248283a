// SPDX-License-Identifier: Apache-2.0
// Decision records: what was decided about a call, by which rules, from which inputs. The same question and the same
// rules give the same bytes.
#pragma once
#include "base/crypto/hash.h"
#include "govern/records.h"
#include "json/write.h"

// "sha256:", 64 hexadecimal digits and a NUL.
enum { RECORD_DIGEST_SIZE = 7 + 2 * SHA256_SIZE + 1 };

// Writes the digest of a question: the SHA-256 of the canonical form (RFC 8785) of {"args", "capability", "context",
// "flow", "mode"}, where "flow" is optional. Empties `scratch`. If a number has no canonical form, all numbers are
// hashed as they were written.
void decision_record_inputs(const struct governance_question *q, struct buf *scratch, char out[RECORD_DIGEST_SIZE]);
// Writes the digest of one JSON value: "sha256:" and the SHA-256 of its canonical form.
void decision_record_digest(const struct json *v, struct buf *scratch, char out[RECORD_DIGEST_SIZE]);

struct decision_record {
  const struct governance *governance;
  const struct governance_question *question;
  const struct governance_decision *decision;
  str tenant, agent, principal, server, tool;  // STR_NONE if unknown
  const char *inputs;                          // digest of the question (decision_record_inputs)
  str access;                                  // SHA-256 of the rules file in hexadecimal, or STR_NONE
  // The arguments as recorded (raw JSON), or STR_NONE if they are not recorded. `kept` says how they are recorded.
  str args;
  const char *kept;         // "full", "masked", "digest", "too_large", "none"
  const char *args_digest;  // or NULL
  str ceiling;              // safety_mode that the request asked for, or STR_NONE
};

// Writes the record as an object.
void decision_record_put(struct buf *out, const struct decision_record *r);
