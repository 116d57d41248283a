// SPDX-License-Identifier: Apache-2.0
// One fault, told in the form of whoever asked: the three ways in which surfaces tell what went wrong.
#pragma once
#include "base/buf.h"
#include "base/fault.h"

// Of what may have gone wrong in a call, what a caller can tell apart.
enum fault_code fault_told_as(enum fault_code code);

// Flat: {"error": CODE, "message", "path", "retryable", "details"?}. details: a raw object, or STR_NONE.
void fault_put_flat(struct buf *out, const struct fault *f, str details);
// The same as the result of a tool: as text for the model, as structuredContent for programs, and its code alone in
// _meta. A server can imitate all of it but the last.
void fault_put_result(struct buf *out, const struct fault *f, str details, bool structured);

// Nested, with the rule that decided: {"error": {"code", "message", "rule", "details"?}}. rule: a dotted path, or
// STR_NONE: null; where it says no there are no details besides. Three codes have other names there: TOOL_NOT_FOUND,
// SERVER_UNAVAILABLE and TIMEOUT.
void fault_put_ruled(struct buf *out, const struct fault *f, str rule, str details);
const char *fault_ruled_name(enum fault_code code);
// The same as the result of a tool.
void fault_put_ruled_result(struct buf *out, const struct fault *f, str rule, str details, bool structured);

// The code of the JSON-RPC error that it is.
int fault_rpc_code(enum fault_code code);
// The data of a JSON-RPC error, whose message is the fault's: {"error": CODE, "retryable", "details"?}.
void fault_put_data(struct buf *out, const struct fault *f, str details);

// Members of _meta that say that the gateway itself answers; they are not taken from servers.
#define RESULT_FAULT "io.toolgate/fault"      // the code of a fault
#define RESULT_DRY_RUN "io.toolgate/dry_run"  // true: nothing was called

// The result of a tool: one text, and what it says for programs. meta, structured: raw objects, or STR_NONE.
void result_put(struct buf *out, str meta, str text, str structured, bool is_error);
