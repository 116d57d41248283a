// SPDX-License-Identifier: Apache-2.0
// Makes the reports about a call: audit line, metrics, span, event. The reports are made before the request is
// answered, or when the client cancels the request. They also name items that the caller may not see.
#pragma once
#include "call/steps/steps.h"

void call_report(struct call *c, bool cancelled);  // makes all reports about a call; called once

// `asked`: the answer to the request is a question, and the call continues later
void call_audit(struct call *c, bool asked);
uint64_t call_took_us(const struct call *c);                    // time since the start; 0 if nothing measures the call
void call_measure_saved(struct call *c, str whole, str shown);  // counts the tokens saved by shortening
void call_record(struct call *c);  // records the call as an event of the session; call it before answering

void call_trace_begin(struct call *c);
void call_trace_end(struct call *c, bool cancelled);
void call_trace_refused(struct call_context *x, struct request *r, const struct call_refused *c);

enum fault_code call_ended_with(const struct call *c);
str call_ended_at(const struct call *c);    // the server's name, or STR_NONE
str call_ended_tool(const struct call *c);  // name of the called tool, or STR_NONE
