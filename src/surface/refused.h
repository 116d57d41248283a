// SPDX-License-Identifier: Apache-2.0
// Requests that a surface refuses itself. Refused requests for calls are counted and traced like calls that failed.
#pragma once
#include "base/fault.h"
#include "mcp/server/session.h"

struct surface;
struct entry;

// Call before the refusal is sent. hidden: the entry that the request names and the caller may not see, or NULL.
void surface_refused(struct surface *d, struct request *r, enum fault_code code, const struct entry *hidden);
