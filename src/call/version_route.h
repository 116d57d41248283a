// SPDX-License-Identifier: Apache-2.0
// Routes calls of an adapter with versions (govern/versions.h) to the server of one version.
//
// A version gets no calls of a tool if its tool is not compatible with the tool of the adapter's own server: if a
// schema differs, if the tool is riskier by its annotations, if the server needs other credentials, if the server does
// not list the tool, or if access rules forbid the server. Such calls use the adapter's own server.
#pragma once
#include "call/call.h"

// Replaces the route of a tool call by the route to the chosen version's server, whichever server of the adapter the
// client has named. Returns CALL_NEXT, or ends the call.
enum call_result call_route_version(struct call *c);
