// SPDX-License-Identifier: Apache-2.0
// Diagnostics of tool calls for operators: each that is over is an event, `execute.completed` or `execute.dry_run`, as
// a line of the log (at level debug) and as a log record for a collector.
#pragma once
#include "call/pipeline.h"

void call_event(struct call *c, bool cancelled);  // the same, as a diagnostic event
