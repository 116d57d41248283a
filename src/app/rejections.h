// SPDX-License-Identifier: Apache-2.0
// Refused requests: every one is counted, and a limited number is written to the log and the audit log. Each reason has
// ten lines at once, then one a minute, with the number of requests that were omitted. So clients without a credential
// cannot fill the disk, nor push the actions of others out of the log.
#pragma once
#include "app/gateway.h"
#include "io/http/http_server.h"
#include "observe/rejection.h"

struct rejections {
  struct gateway *gateway;
  struct {
    uint64_t full_at;  // of the loop's time: when ten may come again
    uint64_t omitted;
  } of[REJECTION_COUNT];
};

// Counts a refusal at this time and returns whether it gets a line. *out_omitted: refusals without a line since the
// last line.
bool rejections_tell(struct rejections *r, enum rejection why, uint64_t now_ms, uint64_t *out_omitted);

// at: the address that refused it, or STR_NONE for the endpoint of clients.
void rejections_note(struct rejections *r, const struct http_exchange *x, enum rejection why, str at);
