// SPDX-License-Identifier: Apache-2.0
// Counts the requests that are refused for their credentials. Writes only some of them to the log and the audit log:
// for each reason a burst of ten lines, then one line per minute with the number of omitted requests. The limit keeps
// clients without a credential from filling the disk and from displacing other entries of the log.
#pragma once
#include "app/gateway.h"
#include "io/http/http_server.h"
#include "observe/rejection.h"

struct rejections {
  struct gateway *gateway;
  struct {
    uint64_t full_at;  // loop time from which a burst of ten lines is allowed again
    uint64_t omitted;
  } of[REJECTION_COUNT];
};

// Counts a refused request and returns whether to log it. If so, sets *out_omitted to the number of refused requests
// since the last logged one.
bool rejections_may_log(struct rejections *r, enum rejection why, uint64_t now_ms, uint64_t *out_omitted);

// Counts a refused request, and logs it if rejections_may_log allows it. `at` is the listener that refused the request:
// "admin", or STR_NONE for the MCP endpoint.
void rejections_note(struct rejections *r, const struct http_exchange *x, enum rejection why, str at);
