// SPDX-License-Identifier: Apache-2.0
// Reports that an id names no entry that the caller may use. The report has the likely reason: a typing error, a new
// version or name, or a server that is not available yet. The gateway never calls a similar tool instead.
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Ends the request with a fault. `hidden` is the entry that the id names and the caller may not see, or NULL.
void meta_missing(struct surface *d, struct request *r, enum directory_kind kind, str id, const struct entry *hidden);
