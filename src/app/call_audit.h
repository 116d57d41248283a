// SPDX-License-Identifier: Apache-2.0
// The operation of `toolgate calls audit`: an operator states which approval mode a recorded call really had. The
// statement is recorded with the calls, and written to the audit log and the metrics.
//
//   {"id", "mode", "effective", "capability", "adapter"?, "before"?, "note"?, "tenant"?, "agent"?, "server"?, "tool"?}
//
// `mode` is the real mode. The other members are from the records: the effective mode, and in `before` the real mode
// that an earlier statement about this call has named. The answer is {"misclassified"}.
#pragma once
#include "app/gateway.h"

enum { CALL_AUDIT_NOTE = 1024 };  // maximum bytes of `note`

// Writes the answer. Returns false with the reason in `f` if the params are invalid or nothing is recorded.
bool call_audit_answer(struct gateway *g, const struct json *params, struct json_writer *w, struct fault *f);
