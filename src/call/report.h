// SPDX-License-Identifier: Apache-2.0
// Makes the reports about a call: audit line, metrics, span, event. Reports are made before the request is answered, or
// when the client cancels it. They also name items that were hidden from the caller.
#pragma once
#include "call/steps/steps.h"

void call_report(struct call *c, bool cancelled);  // makes all reports about the request, once

void call_audit(struct call *c, bool asked);  // asked: the request was answered with questions, and the call continues
void call_measure_saved(struct call *c, str whole, str shown);  // counts the tokens that a cut result has saved
void call_record(struct call *c);  // records the call as an event of the session; called before the answer is sent

void call_trace_begin(struct call *c);
void call_trace_end(struct call *c, bool cancelled);
void call_trace_refused(struct call_context *x, struct request *r, const struct call_refused *c);

enum fault_code call_ended_with(const struct call *c);
str call_ended_at(const struct call *c);    // the server's name, or STR_NONE
str call_ended_tool(const struct call *c);  // the tool's name, or STR_NONE
