// SPDX-License-Identifier: Apache-2.0
// Builds the search indexes of agents on another thread, while the requests that need them wait.
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Returns whether the visible entries of the current directory can be searched now. If not, `r` waits until the index
// is built; then `again` handles the request from its beginning. A cancelled request stops waiting.
bool index_jobs_ready(struct surface *d, struct request *r, enum directory_kind kind, const uint64_t *visible,
                      void (*again)(struct surface *d, struct request *r));

// Detaches the builds in progress from a surface that ends; each build frees itself. No request may wait for a build.
void index_jobs_detach(struct surface *d);
