// SPDX-License-Identifier: Apache-2.0
// What a call is about.
#pragma once
#include "call/pipeline.h"

const struct upstream_spec *call_spec(const struct call *c);  // of the connection that it has, or would get
str call_server(const struct call *c);                        // the name of the upstream it goes to
bool call_is_tool(const struct call *c);                      // it calls one
str call_tool_name(const struct call *c);                     // of the tool, or that of its task; STR_NONE: none
str call_ref_member(const struct json *ref);                  // that names what is to be completed
str call_tool_id(struct call *c);                             // its id; STR_NONE: it has none
str call_tool_safe(struct call *c);                           // its client-safe name; STR_NONE: it has none
bool call_is_bounded(const struct call *c);                   // its result is cut to what fits
struct ticket_use call_use(const struct call *c);             // what a ticket for this call is for

// Its client has answered something on the way, or it has become a task: it goes to no other server, nor again.
bool call_is_bound(const struct call *c);
