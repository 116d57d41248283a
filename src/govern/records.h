// SPDX-License-Identifier: Apache-2.0
// The member `records` of a governance file: what is recorded about governed calls, and for how long.
#pragma once
#include "govern/govern.h"

// How the arguments of calls are recorded.
enum records_arguments {
  RECORDS_FULL,    // with secrets masked
  RECORDS_DIGEST,  // only their SHA-256
  RECORDS_NONE,
};

struct governance_records {
  bool enabled;
  bool return_envelope;  // results carry the envelopes of the call in _meta
  uint8_t on_failure;    // 0: continue; 1: refuse calls while records cannot be written
  uint8_t arguments;     // enum records_arguments
  uint64_t keep_days;
  int64_t max_bytes;
};

// Returns the settings; the defaults if the file has no member `records`.
const struct governance_records *governance_records(const struct governance *g);

// Returns "sha256:" and the SHA-256 of the canonical form (RFC 8785) of the file.
str governance_digest(const struct governance *g);
