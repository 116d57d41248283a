// SPDX-License-Identifier: Apache-2.0
// Writes a fault (an error of the gateway) in one of three forms: flat; nested, with the rule that decided about the
// call; or as the data of a JSON-RPC error.
#pragma once
#include "base/buf.h"
#include "base/fault.h"

// Returns the code that clients see for a fault of a call: internal codes are replaced by stable ones.
enum fault_code fault_public_code(enum fault_code code);

// Writes the flat form: {"error": CODE, "message", "path", "retryable", "details"?}. `details` is a raw JSON object or
// STR_NONE.
void fault_put_flat(struct buf *out, const struct fault *f, str details);
// Writes the flat form as the result of a tool: text for the model, structuredContent for programs, and the code in
// _meta, which a server cannot imitate.
void fault_put_result(struct buf *out, const struct fault *f, str details, bool structured);

// Writes the nested form: {"error": {"code", "message", "rule", "details"?}}. `rule` is the dotted path of the rule
// that decided about the call, or STR_NONE, which is written as null. A denial has no details. Only this form uses the
// code names TOOL_NOT_FOUND, SERVER_UNAVAILABLE and TIMEOUT.
void fault_put_ruled(struct buf *out, const struct fault *f, str rule, str details);
const char *fault_ruled_name(enum fault_code code);
// Writes the nested form as the result of a tool.
void fault_put_ruled_result(struct buf *out, const struct fault *f, str rule, str details, bool structured);

// Returns the JSON-RPC error code for a fault code.
int fault_rpc_code(enum fault_code code);
// Writes the data of a JSON-RPC error: {"error": CODE, "retryable", "details"?}.
void fault_put_data(struct buf *out, const struct fault *f, str details);

// Members of _meta in results that the gateway itself writes; removed from results of servers.
#define RESULT_FAULT "io.toolgate/fault"        // the code of a fault
#define RESULT_DRY_RUN "io.toolgate/dry_run"    // true if the call was only a dry run
#define RESULT_APPROVAL "io.toolgate/approval"  // id of the request for approval that the call waits for

// Writes the result of a tool with one text part. `meta` and `structured` are raw JSON objects or STR_NONE.
void result_put(struct buf *out, str meta, str text, str structured, bool is_error);
