// SPDX-License-Identifier: Apache-2.0
// Adds requests for calls that the surface itself refuses to the metrics and traces, as if they were failed calls.
#pragma once
#include "base/fault.h"
#include "mcp/server/session.h"

struct surface;
struct entry;

// Must be called before the refusal is sent. `hidden` is the entry that the request names and the caller may not see,
// or NULL.
void surface_refused(struct surface *d, struct request *r, enum fault_code code, const struct entry *hidden);
