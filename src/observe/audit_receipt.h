// SPDX-License-Identifier: Apache-2.0
// Receipts: proofs that a governed call is in the audit log. A receipt has the envelopes of the call, the audit line of
// the call, the path from this line to the root of the Merkle tree over the log, and a signed head with that root. It
// is verified without the log:
//
//   {"v":1,"envelopes":"{…}","line":"{…}","index":7,"size":214,"path":["…",…],"head":{…}}
//
// The SHA-256 of `envelopes` is the member envelope_hash of `line`.
#pragma once
#include "observe/audit_tree.h"

enum { RECEIPT_MAX = 4 << 20 };

struct audit_receipt {
  str line;
  struct tree_path path;
  struct tree_head head;
};

// Makes the receipt for the audit line with this decision_id, whose lines are in the log `file`. The strings are in the
// arena. Returns false with the reason in f: FAULT_NOT_FOUND if there is no such line, FAULT_INVALID if no signed head
// covers the line yet, FAULT_IO if a file cannot be read or is damaged.
bool audit_receipt_make(str file, str decision_id, struct arena *a, struct audit_receipt *out, struct fault *f);
void audit_receipt_put(const struct audit_receipt *r, str envelopes, struct buf *out);  // appends the JSON object

struct audit_receipt_checked {
  const struct json *call, *result;  // the envelopes
  uint64_t seq;                      // number of the audit line
  struct tree_head head;
};

// Verifies a receipt. `key` is the public key of the gateway in base64url or PEM; if it is empty, the key in the
// receipt is used, and the caller must compare it. Returns false with the first failure in f.
bool audit_receipt_check(str text, str key, struct arena *a, struct audit_receipt_checked *out, struct fault *f);
