// SPDX-License-Identifier: Apache-2.0
// Builds search indexes of the entries that an agent may see, on another thread. The requests that need such an index
// wait.
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Returns whether the visible entries of the current directory can be searched now. If not, the request `r` waits until
// the search index is built, and is then handled from its beginning by `again`. A request that is cancelled stops
// waiting.
bool index_jobs_ready(struct surface *d, struct request *r, enum directory_kind kind, const uint64_t *visible,
                      void (*again)(struct surface *d, struct request *r));

// Must be called when the surface ends and no request waits for a build. Detaches the builds in progress; each build
// frees itself at its end.
void index_jobs_detach(struct surface *d);
